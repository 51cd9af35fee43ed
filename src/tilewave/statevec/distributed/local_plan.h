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
/// With a slice, only for the part of the rank whose positions `slice.mask` (active in none of the
/// passes) have the values `slice.value`: the plan knows them to be zero, so that it runs on memory
/// that begins at index `slice.value`.
struct Slice {
  std::uint64_t mask = 0, value = 0;
};
Plan local_plan(const Plan& plan, std::size_t first, std::size_t last, std::uint64_t shard,
                Slice slice = {});

}  // namespace tilewave::statevec::distributed
