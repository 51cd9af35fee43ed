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

/// Options of a run in the session of this process. Throws Error(kUsage) for unknown words.
simulate::Options run_options(const std::string& precision, const std::string& device, int threads,
                              const std::string& effort, const Seed& seed);

}  // namespace tilewave::python
