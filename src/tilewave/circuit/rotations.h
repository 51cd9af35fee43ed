// Rotations of Stim-language circuits beyond Clifford gates, written as rotations about products of
// Paulis,
//   R_P(a) = exp(-i pi a P / 2),   a in half-turns,
// up to phases of the whole state: T is R_Z(1/4), a doubly controlled Z seven commuting rotations
//   CCZ = R_Za R_Zb R_Zc (1/4)  R_ZaZb R_ZaZc R_ZbZc (-1/4)  R_ZaZbZc (1/4),
// CCX the same with the X of its target. Products of targets are multiplied out here as well.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::circuit {

/// A Hermitian product of Paulis on different qubits, perhaps with a minus sign.
struct PauliProduct {
  std::vector<std::pair<std::uint32_t, Pauli>> factors;
  bool negative = false;
};
/// The product of Pauli targets (combiners are skipped) with repeated qubits multiplied out; it must
/// be Hermitian, which StabilizerCircuit::append has checked.
PauliProduct product_of(std::span<const StabTarget> targets);

/// Behind the product, of a list such as X1*Z2 Y3, that begins at `first`.
inline std::size_t end_of_product(std::span<const StabTarget> targets, std::size_t first) {
  std::size_t end = first + 1;
  while (end < targets.size() && targets[end].kind == StabTarget::Kind::kCombiner) end += 2;
  return end;
}
/// Calls f(product) for each product of such a list.
template <class F>
void for_each_product(std::span<const StabTarget> targets, F f) {
  for (std::size_t i = 0; i < targets.size();) {
    const std::size_t end = end_of_product(targets, i);
    f(product_of(targets.subspan(i, end - i)));
    i = end;
  }
}

/// R_P(half_turns), the product without a sign.
struct PauliRotation {
  std::vector<std::pair<std::uint32_t, Pauli>> factors;
  double half_turns = 0;
};

/// X, Y or Z as a gate, and its square root.
GateId pauli_gate(Pauli p);
GateId root_gate(Pauli p, bool inverse);

/// Whether an instruction is one of kT to kCH.
bool is_rotation(StabKind kind);
/// A rotation that is a Clifford gate up to a phase: 0 nothing, 1 the square root of P, 2 P itself,
/// 3 the inverse of the square root; -1 for any other angle.
int quarter_turns(double half_turns);
/// The instruction as rotations in the order in which they act. A controlled H is three operations
/// of a target, R_Y(1/4), CX and R_Y(-1/4): `is_cx` marks the one in between, whose factors are the
/// control and the target.
struct RotationStep {
  PauliRotation rotation;
  bool is_cx = false;
};
std::vector<RotationStep> rotations_of(StabKind kind, std::span<const StabTarget> targets,
                                       std::span<const double> args);

}  // namespace tilewave::circuit
