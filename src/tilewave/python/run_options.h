// What a run is asked, as Python gives it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tilewave/base/complex.h"
#include "tilewave/circuit/pauli.h"
#include "tilewave/python/bind.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::python {

using Seed = std::optional<std::uint64_t>;

/// Options of a run in the session of this process; the caller holds the initial state. Throws Error(kUsage) for unknown words.
simulate::Options run_options(const std::string& precision, const std::string& device, int threads,
                              const std::string& effort, const Seed& seed,
                              std::span<const cplx> initial_state = {});

}  // namespace tilewave::python
