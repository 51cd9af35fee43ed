// A circuit prepared for shots: measurements that nothing depends on are moved to the end, resets
// of untouched qubits and conditions on bits that were never written are resolved.
#pragma once

#include <vector>

#include "tilewave/circuit/circuit.h"

namespace tilewave::simulate {

struct DeferredMeasure {
  circuit::Clbit clbit = 0;
  circuit::Qubit qubit = 0;
};

struct Program {
  const circuit::Circuit* circuit = nullptr;
  std::vector<circuit::Op> ops;           ///< what is left, in order
  std::vector<DeferredMeasure> deferred;  ///< read off the final state; each clbit once
  bool records = false;                   ///< some measurement writes a classical bit
  bool dynamic = false;                   ///< ops hold a measurement or a reset
};

/// O(operations + classical bits named by conditions).
Program prepare(const circuit::Circuit& circuit);

}  // namespace tilewave::simulate
