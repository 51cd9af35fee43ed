// From gates to four kinds of action, none of which depends on the value of an angle: real rotations
// of one wire (about Y), phases on basis states, flips (X) and fixed matrices. Every gate of the gate
// table that has angles is written with rotations and phases alone, whose angles are affine in the
// parameters:
//
//   rx(a) = phase(-pi/2) ry(a) phase(pi/2)           u(t, p, l) = phase(p) ry(t) phase(l)
//   rz(a) = e^{-ia/2} phase(a)                       r(t, p) = phase(p - pi/2) ry(t) phase(pi/2 - p)
//   rzz(a) = e^{-ia/2} phase(a on b0) phase(a on b1) phase(-2a on b0 b1)
//   rxx(a) = cx rx(a) cx                             rzx(a) = cz rx(a) cz
//   hops and pairs (xx_plus_yy, xx_minus_yy, fsim) = cx, a controlled r, cx
//
// The derivative by a rotation's angle is one real sum over the two states of the adjoint method,
// that by a phase's angle a sum of the products of their amplitudes; merged gates need nothing else,
// also at angles 0 and pi where other coordinates are singular. SWAP gates rename wires.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tilewave/base/complex.h"
#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/parameters.h"

namespace tilewave::parametric {

enum class ActionKind : std::uint8_t {
  kRotate,  ///< exp(-i angle/2 Y) on a wire, under controls
  kPhase,   ///< e^{i angle} where all bits of `mask` are 1
  kFlip,    ///< X on a wire, under controls
  kMatrix,  ///< a fixed unitary matrix on several wires, under controls
};

struct Action {
  ActionKind kind;
  std::uint64_t mask = 0;   ///< controls, or the bits of a phase
  std::uint64_t value = 0;  ///< of the controls
  std::uint64_t moved = 0;  ///< the wires whose amplitudes are mixed or moved
  std::uint32_t angle = 0;  ///< in Actions::angles
  std::uint32_t matrix = 0;
};

/// A matrix and its wires: bit k of an index is wires[k].
struct FixedMatrix {
  std::vector<int> wires;
  std::vector<cplx> entries;
};

struct Actions {
  int num_wires = 0;
  std::vector<Action> actions;
  std::vector<circuit::AffineAngle> angles;
  std::vector<FixedMatrix> matrices;
  std::vector<std::string> parameters;
  std::vector<int> wire_of_qubit;  ///< at the end
  /// The state's phase is this angle: no action has it. Expectations do not depend on it.
  circuit::AffineAngle global_phase;
};

/// Throws Error(kInput) for what is not unitary: measurements (but those at the end, which are left
/// out), resets, noise, conditions and matrices that are not unitary.
Actions lower(const circuit::Circuit& circuit);

/// While no value is larger, every angle is a finite number; at least 0.
double most_value(const Actions& actions);

/// Throws Error(kInput) where a value of a parameter, or an angle with these values, is no finite number.
void need_angles(const Actions& actions, std::span<const double> values);

}  // namespace tilewave::parametric
