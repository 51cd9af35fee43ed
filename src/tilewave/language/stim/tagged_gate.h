// Gates that bloqade-tsim writes as tags, because Stim's language has no names for them: `S[T] 0`
// is T, `S_DAG[T]`, `SPP[T] X0*X1`, `I[R_Z(theta=0.25*pi)] 0`, `SPP[R_PAULI(theta=0.5*pi)] X0*X1`,
// `I[U3(theta=0.1*pi, phi=0*pi, lambda=1*pi)] 0`; what follows a colon (`S[T:mine]`) is a tag of the
// user's own. Stim itself keeps the tag and runs the S. As the tag changes what the circuit means,
// it is never skipped: it is run, or the circuit is refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::language {

struct TaggedGate {
  circuit::StabKind kind;
  std::vector<double> args;  ///< in half-turns
  std::string tag;           ///< the user's own
};

/// The gate that an instruction's tag names; nothing where the tag names none. Throws Error(kInput)
/// for a tag of this form whose meaning is not certain, such as an angle that is no multiple of pi.
std::optional<TaggedGate> tagged_gate(const circuit::StabName& name, std::string_view tag);

}  // namespace tilewave::language
