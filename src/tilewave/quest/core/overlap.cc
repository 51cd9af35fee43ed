#include "tilewave/quest/core/overlap.h"

#include <cmath>

#include "tilewave/statevec/sweep.h"

namespace tilewave::quest {
namespace {

cplx pair_sum(statevec::PairSum kind, Register& a, Register& b) {
  statevec::State& second = b.settled();
  cplx sum = a.settled().pair_sum(kind, second);
  a.share(&sum, sizeof sum);
  return sum;
}

}  // namespace

cplx inner_product(Register& a, Register& b) { return pair_sum(statevec::PairSum::kInner, a, b); }

double distance(Register& a, Register& b) {
  return std::sqrt(pair_sum(statevec::PairSum::kDistance, a, b).real());
}

double mixed_fidelity(Register& rho, Register& psi) {
  const Parts v(psi.all_amplitudes());
  statevec::SweepSum s;
  s.is_sandwich = true;
  s.row_bits = rho.num_qubits();
  s.table = v.table();
  cplx sum = rho.settled().sweep_sum(s);
  rho.share(&sum, sizeof sum);
  return sum.real();
}

void weighted_sum(cplx a, Register& x, cplx b, Register& y, cplx c, Register& out) {
  if (&x == &out) {
    c += a;
    a = 0;
  }
  if (&y == &out) {
    c += b;
    b = 0;
  }
  if (&x == &y) {
    a += b;
    b = 0;
  }
  const auto add = [&](cplx factor, Register& source, cplx kept) {
    statevec::State& from = source.settled();
    out.settled_for_change().add_scaled(from, factor, kept);
  };
  // a factor of the old state alone is a sum with itself
  if (a == 0.0 && b == 0.0) {
    statevec::State& state = out.settled_for_change();
    state.add_scaled(state, 0, c);
    return;
  }
  if (a != 0.0) add(a, x, c);
  if (b != 0.0) add(b, y, a != 0.0 ? cplx(1) : c);
}

}  // namespace tilewave::quest
