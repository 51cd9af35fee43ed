// Gates that bloqade-tsim writes as tags, because Stim's language has no names for them: `S[T] 0`
// is T, `S_DAG[T]`, `SPP[T] X0*X1`, `I[R_Z(theta=0.25*pi)] 0`, `SPP[R_PAULI(theta=0.5*pi)] X0*X1`,
// `I[U3(theta=0.1*pi, phi=0*pi, lambda=1*pi)] 0`; what follows a colon (`S[T:mine]`) is a tag of the
// user's own. Stim itself keeps the tag and runs the S. As the tag changes what the circuit means,
// it is never skipped: it is run, or the circuit is refused.
#pragma once

#include <optional>
#include <span>
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

/// How bloqade-tsim writes a gate of circuit/rotations.h: its name and its tag.
/// Nothing for CCX, CCZ and what is no such gate, which have names there.
struct GateTag {
  std::string_view name;
  std::string tag;
};
std::optional<GateTag> gate_tag(circuit::StabKind kind, std::span<const double> args,
                                std::string_view own_tag);

/// Whether a user's tag on an instruction is no gate's.
bool names_no_gate(circuit::StabKind kind, circuit::GateId gate, std::string_view tag);
/// Whether bloqade-tsim keeps a user's tag beside what the instruction is there: it has no place for
/// one beside angles, and reads words such as T within tags as gates.
bool tsim_keeps_tag(circuit::StabKind kind, std::string_view tag);

}  // namespace tilewave::language
