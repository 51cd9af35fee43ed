// The words of leakage as the few primitives of stab_program.h. Two projects have such words, which
// differ in what a gate does: to deltakit a CX whose one qubit is leaked depolarises the other, to
// cuStabilizer gates act on frames alone and such a depolarisation is an instruction of its own. So
// the words of a circuit say what its gates do, and a circuit has those of one project.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tilewave/stabilizer/stab_program.h"

namespace tilewave::stabilizer {

/// A primitive on the targets of an instruction.
struct LeakageStep {
  PrimKind kind;
  std::vector<double> probabilities;
  LeakScramble scramble = LeakScramble::kNone;
  bool flag = false;
};

/// What an instruction of leakage does, in order; nothing where its probabilities are 0.
std::vector<LeakageStep> leakage_steps(circuit::StabKind kind, std::span<const double> args);

/// Whether gates depolarise partners of leaked qubits: in the first project's words, where something
/// may leak at all. Throws Error(kInput) where the circuit has words of both projects.
bool gates_scramble(const circuit::StabilizerCircuit& circuit, const std::string& name);

}  // namespace tilewave::stabilizer
