// What may be asked of a circuit: refused before anything is computed.
#pragma once

#include "tilewave/circuit/circuit.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::simulate {

/// Throws Error(kInput) for a circuit without qubits.
void check_has_qubits(const circuit::Circuit& circuit);

/// Throws Error(kUsage) for what does not exist and for what the engine asked for cannot answer.
void check_questions(const Program& program, const Options& options);

/// The same of shots; `program` as its engine runs it: resets of a density matrix part no shots, and
/// of trajectories kDefaultTrajectories run where no shots are asked for.
void check_shots(const Program& program, const Options& options);

}  // namespace tilewave::simulate
