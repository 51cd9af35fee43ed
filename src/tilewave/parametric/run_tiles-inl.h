// What the parts of Run share: the memory of a thread, and loops over tiles.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "tilewave/base/bits.h"
#include "tilewave/parametric/cpu/kernels.h"
#include "tilewave/parametric/run.h"

namespace tilewave::parametric {

inline constexpr std::uint64_t kSlots =
    64;  // of sums: a fixed number, whatever the number of threads

inline constexpr std::size_t kMostSums =
    std::size_t{1} << 23;  // of all slots; there are fewer where each has many

using cpu::kLanes;

template <class T>
constexpr std::size_t kRow = std::size_t{2} * kLanes<T>;  // numbers of a row

template <class T>
struct Run<T>::Thread {
  runtime::HostBuffer scratch, psi, lam;
  std::vector<std::uint64_t> rows;
};

// Calls f(tile's outer wires, slot, thread, whether it is the thread's first) for every tile but those
// where one of `zeros` is 1. `slots` is a power of two, at most num_slots(active, zeros).
template <class T>
template <class F>
void Run<T>::for_tiles(std::uint64_t active, std::uint64_t zeros, std::uint64_t slots, F f) {
  const std::uint64_t outer_wires = outer(active, zeros);
  const std::uint64_t tiles = bit(std::popcount(outer_wires));
  const std::uint64_t each = tiles / slots;
  const int threads = static_cast<int>(std::min<std::uint64_t>(num_threads_, slots));
  if (threads == 1) {
    for (std::uint64_t k = 0; k < tiles; ++k)
      f(deposit_bits(k, outer_wires) | shard_, k / each, *threads_[0], k == 0);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    Thread* own = nullptr;
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t) own = threads_[static_cast<std::size_t>(t)].get();
    bool is_first = true;
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t slot = 0; slot < static_cast<std::int64_t>(slots); ++slot) {
      for (std::uint64_t k = 0; k < each; ++k) {
        f(deposit_bits(static_cast<std::uint64_t>(slot) * each + k, outer_wires) | shard_,
          static_cast<std::uint64_t>(slot), *own, is_first);
        is_first = false;
      }
    }
  }
}

// Where the rows of the tile 0 are, in rows of the whole state.
inline void place_rows(std::vector<std::uint64_t>& rows, std::uint64_t active, int lane_bits) {
  rows[0] = 0;
  std::size_t count = 1;
  for_each_bit(active, [&](int wire) {
    for (std::size_t k = 0; k < count; ++k) rows[count + k] = rows[k] | bit(wire - lane_bits);
    count *= 2;
  });
}

inline constexpr std::size_t kAhead =
    16;  // rows: pieces of memory are too short for the processor to foresee

// Rows whose number has a bit of `zeros` are zero, whatever lies in memory.
template <class T>
void load(const T* state, const std::vector<std::uint64_t>& rows, std::uint64_t first, T* tile,
          std::uint64_t zeros = 0) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (r + kAhead < rows.size()) {
      const T* next = state + (rows[r + kAhead] | first) * kRow<T>;
      __builtin_prefetch(next);
      __builtin_prefetch(next + kRow<T> / 2);
    }
    if (rows[r] & zeros) {
      std::memset(static_cast<void*>(tile + r * kRow<T>), 0, kRow<T> * sizeof(T));
    } else {
      std::memcpy(tile + r * kRow<T>, state + (rows[r] | first) * kRow<T>, kRow<T> * sizeof(T));
    }
  }
}
template <class T>
void store(T* state, const std::vector<std::uint64_t>& rows, std::uint64_t first, const T* tile,
           std::uint64_t zeros = 0) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!(rows[r] & zeros))
      std::memcpy(state + (rows[r] | first) * kRow<T>, tile + r * kRow<T>, kRow<T> * sizeof(T));
  }
}

}  // namespace tilewave::parametric
