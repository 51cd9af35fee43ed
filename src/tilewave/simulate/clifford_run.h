// Clifford circuits whose shots are all that is asked for: no state of 2^n amplitudes is needed,
// the stabilizer engine draws them from a frame of 2 n bits a shot.
#pragma once

#include <optional>
#include <string>

#include "tilewave/circuit/stabilizer_circuit.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::simulate {

struct Program;

/// A prepared circuit in the stabilizer engine's vocabulary, and where its records belong.
struct CliffordProgram {
  circuit::StabilizerCircuit circuit;
  std::vector<std::uint64_t> record_of;  ///< of every classical bit, or of every qubit when nothing
                                         ///< is measured; kNoRecord: never written
  static constexpr std::uint64_t kNoRecord = ~std::uint64_t{0};
};

/// Translates; empty with the reason in `why_not` when a gate is no Clifford gate or a condition is
/// more than one bit on a Pauli.
std::optional<CliffordProgram> to_clifford(const Program& program, std::string* why_not);

/// True when the engine's answer is all that is asked: counts.
bool asks_only_counts(const Options& options);

/// Fills the counts, the plan, the device and the times of `result`, whose seed is set.
void run_clifford(const Program& program, const CliffordProgram& clifford, const Options& options,
                  Result& result);

}  // namespace tilewave::simulate
