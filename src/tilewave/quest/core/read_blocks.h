// All amplitudes of a state in blocks, for readers that need no order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "tilewave/base/complex.h"
#include "tilewave/statevec/state.h"

namespace tilewave::quest {

/// How many amplitudes a block has.
std::uint64_t block_size(const statevec::State& state);
/// f(first basis state, amplitudes) for every block; several at once where the state is in host
/// memory. Restores the layout.
void read_blocks(statevec::State& state,
                 const std::function<void(std::uint64_t first, std::span<const cplx>)>& f);

}  // namespace tilewave::quest
