// For tests only: what states of engines hold.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/statevec/state.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::statevec::testing {

inline Amplitudes read_all(State& state) {
  std::vector<std::uint64_t> indices(state.num_amplitudes());
  for (std::uint64_t x = 0; x < indices.size(); ++x) indices[x] = x;
  return state.amplitudes(indices);
}

}  // namespace tilewave::statevec::testing
