// Random circuits for property tests: every row of the gate table, further controls on either
// value, matrices, and on request measurements, resets and conditions. A seed names one circuit.
#pragma once

#include <cstdint>
#include <span>

#include "tilewave/circuit/circuit.h"

namespace tilewave::circuit {

struct RandomCircuitOptions {
  std::uint32_t num_qubits = 4;
  std::uint32_t num_ops = 50;
  std::uint64_t seed = 0;
  bool extra_controls = true;  ///< gates under further controls that act on 0 or 1
  bool matrices = true;        ///< random unitaries on one to three targets
  std::uint32_t num_clbits = 0;
  bool measure = false;  ///< needs num_clbits > 0, as conditions do
  bool reset = false;
  bool conditions = false;             ///< on the whole register of classical bits
  std::span<const GateId> gates = {};  ///< what to draw from; all rows of the table when empty
};

/// The circuit of these options. Throws Error(kUsage) where the options cannot be met.
Circuit make_random_circuit(const RandomCircuitOptions& options);

/// A unitary of 2^targets rows, Haar-distributed, from (seed, stream).
std::vector<cplx> random_unitary(int targets, std::uint64_t seed, std::uint64_t stream);

}  // namespace tilewave::circuit
