// Numbers made of two registers, and their sums: where the states are, by sweeps over both at once.
#pragma once

#include "tilewave/quest/core/register.h"

namespace tilewave::quest {

/// sum conj(a_k) b_k.
cplx inner_product(Register& a, Register& b);
/// sqrt(sum |a_k - b_k|^2).
double distance(Register& a, Register& b);
/// <psi|rho|psi>, its real part.
double mixed_fidelity(Register& rho, Register& psi);
/// out = a x + b y + c out, in place; x and y may be out itself.
void weighted_sum(cplx a, Register& x, cplx b, Register& y, cplx c, Register& out);

}  // namespace tilewave::quest
