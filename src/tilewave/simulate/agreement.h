// Processes that share a state must run the same circuit with the same questions: their parts are
// exchanged without a name. Different copies of a file on different hosts, or flags that differ,
// would be mixed to one wrong answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::simulate {

/// Collective, the first call of a run: throws the same Error(kUsage) on every process where one
/// has another version, circuit, precision, device, engine, effort, noise, number of shots, seed or
/// list of questions than the root; it names the rank and what differs. Does nothing in one process.
void check_agreement(const circuit::Circuit& circuit, const Options& options);

/// What a run is asked, as numbers that a checkpoint keeps: as above, but on any device.
std::vector<std::uint64_t> asked_of(const circuit::Circuit& circuit, const Options& options);
/// The first thing that differs, in words; empty: nothing.
std::string difference_of(const std::vector<std::uint64_t>& was,
                          const std::vector<std::uint64_t>& is);

}  // namespace tilewave::simulate
