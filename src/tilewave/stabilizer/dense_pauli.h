// A Pauli on the 2^k amplitudes of the active qubits of a near-Clifford circuit.
#pragma once

#include <cstdint>

namespace tilewave::stabilizer {

/// i^phase X^x Z^z: |b> becomes i^phase (-1)^(b . z) |b ^ x>.
struct DensePauli {
  std::uint32_t x = 0, z = 0;
  std::uint8_t phase = 0;
};

}  // namespace tilewave::stabilizer
