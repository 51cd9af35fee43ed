// The gates of a circuit's first stretch, and its tableau made from them: the Paulis of all
// qubits go backwards through the gates, U^dagger P U, as frames with signs. Fused: 512 Paulis go
// through all gates while their bits lie in the second-level cache, by the same source as frames
// (frame_ops.h). Cost: a controlled gate 6 vectors a 512 Paulis.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tilewave/circuit/clifford.h"

namespace tilewave::stabilizer {

/// A gate of a tableau: C(a, b), a swap or a one-qubit Clifford.
struct TableauGate {
  enum class Kind : std::uint8_t { kControlled, kSwap, kClifford1 };
  Kind kind;
  std::uint8_t sub = 0;           ///< kControlled: as of FrameOp
  circuit::Pauli x_to{}, z_to{};  ///< kClifford1: images of X and Z
  bool x_negative = false, z_negative = false;
  std::uint32_t a = 0, b = 0;  ///< qubits
};

/// 512 Paulis of n qubits: x[q] and z[q] are the bits of qubit q, (low, high) the phases.
typedef std::uint64_t PauliLanes __attribute__((vector_size(64)));

/// The gates of U^dagger.
std::vector<TableauGate> inverse(std::span<const TableauGate> gates);

/// P -> U P U^dagger for the gates of U in their order.
void conjugate(std::span<const TableauGate> gates, PauliLanes* x, PauliLanes* z, PauliLanes& low,
               PauliLanes& high);

}  // namespace tilewave::stabilizer
