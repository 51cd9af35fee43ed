// The part of a circuit between two of its TICKs, as a circuit of its own.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::stabilizer {

/// Time steps `first` to `last`: step k lies behind the k-th TICK, step 0 at the circuit's start.
struct TickRange {
  std::uint64_t first = 0;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
};

struct CircuitTicks {
  circuit::StabilizerCircuit part;
  std::uint64_t records = 0, detectors = 0;  ///< before it
};

/// Those of the steps that the circuit has. Throws Error(kUsage) where it has none of them.
TickRange existing_ticks(const circuit::StabilizerCircuit& circuit, TickRange range);

/// Blocks that lie in the range as a whole stay blocks; of others the turns in it are written out.
/// The TICK before the first step is left out. Throws Error(kResources) where very much is written
/// out.
CircuitTicks cut_ticks(const circuit::StabilizerCircuit& circuit, TickRange range);

/// The qubits that instructions act on, ascending; those with coordinates alone are left out.
std::vector<std::uint32_t> touched_qubits(const circuit::StabilizerCircuit& circuit);

/// Where qubits lie; those without coordinates are left out.
using QubitCoordinates = std::map<std::uint32_t, std::vector<double>>;
/// A block's are those of its first turn.
QubitCoordinates qubit_coordinates(const circuit::StabilizerCircuit& circuit);

/// The coordinates of these detectors, shifts added; those that are not there are left out. Walks
/// through a block once for each of its turns in which some of them are declared.
std::map<std::uint64_t, std::vector<double>> detector_coordinates(
    const circuit::StabilizerCircuit& circuit, const std::set<std::uint64_t>& detectors);

}  // namespace tilewave::stabilizer
