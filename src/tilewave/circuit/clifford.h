// Clifford actions derived from matrices: U P U^dagger for the Paulis P of one or two qubits, and
// the decomposition every stabilizer engine works on,
//   U = (post0 (x) post1) . SWAP^swap . C(a, b),   C(a, b) = (1 + a)/2 + (1 - a)/2 b,
// where a acts on qubit 0 and b on qubit 1. Every two-qubit Clifford gate has this form. Bit k of a
// matrix index is qubit k.
#pragma once

#include <optional>
#include <span>

#include "tilewave/base/complex.h"
#include "tilewave/circuit/gate_table.h"
#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::circuit {

/// A Pauli of two qubits with a phase: i^phase X^x Z^z, bit k is qubit k (Y = i X Z).
struct Pauli2 {
  std::uint8_t x = 0, z = 0, phase = 0;
  bool operator==(const Pauli2&) const = default;
};
Pauli2 operator*(Pauli2 a, Pauli2 b);
/// A Hermitian Pauli of one qubit placed on qubit 0 or 1.
Pauli2 pauli2(Pauli p, int qubit);
/// The Pauli on a qubit.
Pauli pauli_at(Pauli2 p, int qubit);
/// True when the Hermitian form has a minus sign.
bool is_negative(Pauli2 p);

/// Images of X and Z under conjugation by a one-qubit Clifford.
struct Clifford1 {
  Pauli x = Pauli::kX, z = Pauli::kZ;
  bool x_negative = false, z_negative = false;
  bool operator==(const Clifford1&) const = default;
  bool is_identity() const { return *this == Clifford1{}; }
};
/// The image of a Pauli, and whether it gains a minus sign.
struct SignedPauli {
  Pauli p;
  bool negative;
};
SignedPauli apply(const Clifford1& c, Pauli p);
/// First `first`, then `second`.
Clifford1 then(const Clifford1& first, const Clifford1& second);
Clifford1 inverse(const Clifford1& c);

/// Images of X0, Z0, X1, Z1.
struct Clifford2 {
  Pauli2 images[4];
};
Pauli2 apply(const Clifford2& c, Pauli2 p);

struct Clifford2Form {
  Pauli a = Pauli::kI, b = Pauli::kI;  ///< both kI: no controlled Pauli
  bool swap = false;
  Clifford1 post0, post1;
};

/// The action of a 2x2 (4x4) matrix; empty when it is no Clifford gate.
std::optional<Clifford1> clifford1_of(std::span<const cplx> matrix);
std::optional<Clifford2> clifford2_of(std::span<const cplx> matrix);
std::optional<Clifford2Form> clifford2_form(const Clifford2& c);

/// The 4x4 matrix of a two-qubit gate with its control expanded, or the 2x2 of a one-qubit gate.
std::vector<cplx> expanded_matrix(GateId gate);

/// The actions of the parameterless gates of Stim's language, computed once.
const Clifford1& gate_clifford1(GateId gate);
const Clifford2Form& gate_clifford2(GateId gate);
int gate_arity(GateId gate);

}  // namespace tilewave::circuit
