// Gates of OpenQASM 2 under any number of controls, which its qelib1.inc does not have: their
// definitions, and single-qubit unitaries as what they are made of.
#pragma once

#include <span>
#include <string>

#include "tilewave/base/complex.h"

namespace tilewave::quest {

/// The name of the gate e^{i angle} on a target under `num_controls` controls; from two on it is
/// one of those that phase_definitions(num_controls) defines.
std::string phase_gate(int num_controls);
/// The definitions of phase_gate(2) to phase_gate(most_controls) and of all they use. Under k
/// controls, these are about 16 k Toffoli gates for the gate itself and as much again for each
/// smaller one, so O(k^2) gates; O(k^2) characters of text.
std::string phase_definitions(int most_controls);

/// U = W diag(e^{i phase0}, e^{i phase1}) W^dagger with W = u3(theta, phi, 0), for a unitary
/// matrix of two rows: under controls W and W^dagger need none.
struct Eigenphases {
  double theta, phi, phase0, phase1;
};
Eigenphases eigenphases(std::span<const cplx> m);

}  // namespace tilewave::quest
