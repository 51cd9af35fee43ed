// Memory experiments of error-correcting codes as circuits: surface codes (rotated and not), the
// repetition code, the color code, with four knobs of noise; instruction for instruction those of
// Stim's `gen`.
#pragma once

#include <cstdint>
#include <string_view>

#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::circuit {

struct CodeOptions {
  std::uint64_t rounds = 1;
  std::uint32_t distance = 3;
  double after_clifford_depolarization = 0;
  double before_round_data_depolarization = 0;
  double before_measure_flip_probability = 0;
  double after_reset_flip_probability = 0;
};

/// code: surface_code, repetition_code or color_code; task: rotated_memory_x, ..., memory,
/// memory_xyz. Throws Error(kUsage) for what does not exist.
StabilizerCircuit code_circuit(std::string_view code, std::string_view task,
                               const CodeOptions& options);

}  // namespace tilewave::circuit
