// What a run is asked, as Python gives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tilewave/circuit/pauli.h"
#include "tilewave/python/bind.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::python {

using Seed = std::optional<std::uint64_t>;

/// Options with the plans of the circuit's earlier runs of this kind.
simulate::Options run_options(const PyCircuit& circuit, const std::string& precision,
                              const std::string& device, int threads, const Seed& seed);

}  // namespace tilewave::python
