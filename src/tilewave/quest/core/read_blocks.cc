// See read_blocks.h.
#include "tilewave/quest/core/read_blocks.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <vector>

#include "tilewave/quest/core/settings.h"
#include "tilewave/runtime/threads.h"

namespace tilewave::quest {
namespace {

constexpr std::uint64_t kHostBlock = std::uint64_t{1} << 12;    // stays in a core's cache
constexpr std::uint64_t kDeviceBlock = std::uint64_t{1} << 20;  // one transfer

bool is_on_host(const statevec::State& state) { return state.device() == "cpu"; }

}  // namespace

std::uint64_t block_size(const statevec::State& state) {
  return std::min(is_on_host(state) ? kHostBlock : kDeviceBlock, state.num_amplitudes());
}

void read_blocks(statevec::State& state,
                 const std::function<void(std::uint64_t first, std::span<const cplx>)>& f) {
  state.restore_layout();
  const std::uint64_t size = block_size(state), count = state.num_amplitudes() / size;
  const bool parallel = is_on_host(state) && count >= 8;
  std::exception_ptr failure;
#pragma omp parallel num_threads(runtime::resolve_num_threads(settings().num_threads)) if (parallel)
  {
    std::vector<std::uint64_t> indices;
#pragma omp for schedule(static)
    for (std::uint64_t b = 0; b < count; ++b) {
      try {
        indices.resize(size);
        std::iota(indices.begin(), indices.end(), b * size);
        f(b * size, state.amplitudes(indices));
      } catch (...) {
#pragma omp critical(tw_quest_read_blocks)
        failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tilewave::quest
