// What one rank runs of a plan for all ranks. The bits of the rank are constants for it: controls
// on them hold or not, phase terms lose them or vanish. What is left is a plan on the local
// positions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::distributed {

/// Passes [first, last) of `plan` for the rank whose shard positions have the values of `shard`
/// (bit k is position num_qubits - shard_bits + k), starting and ending in the identity layout.
Plan local_plan(const Plan& plan, std::size_t first, std::size_t last, std::uint64_t shard);

}  // namespace tilewave::statevec::distributed
