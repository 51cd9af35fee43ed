// The sparse engine's machine on a GPU: a block of threads has a unit of shots, or a part of one. The threads
// take the events of a tile in turn, each a Philox word, an alias look-up and a few 32-bit exclusive
// ors into the shots' rows, which are atomic because two events may meet in a word. The bits are
// those of cpu/sparse_run.cc.
//
// The rows are in the block's shared memory, a window of them at a time (sparse_windows.h), which is written
// to device memory as it moves on, in the layout that is wanted (sparse_out.cuh). Where no window is
// wide enough the rows are in device memory; then they must stay in the second-level cache, or every event
// reads and writes a sector of memory: tiles come in the order of their output bits, so a block works
// on one stretch of its rows at a time. A host program that says what threads are runs it as well
// (tests/stabilizer/device_emulation.h).
#pragma once

#include "tilewave/stabilizer/cuda/bit_square.cuh"
#include "tilewave/stabilizer/cuda/sparse_out.cuh"
#include "tilewave/stabilizer/noise.h"
#include "tilewave/stabilizer/sparse_program.h"
#include "tilewave/stabilizer/sparse_streams.h"
#include "tilewave/stabilizer/sparse_windows.h"

namespace tilewave::stabilizer {

constexpr std::uint32_t kSparseThreads =
    1024;  // one block a multiprocessor: 25 to 30% over blocks of 256

/// A program in device memory, with its windows.
struct SparseView {
  const WindowTile* tiles;
  const WindowStep* steps;
  const SparseGroup* groups;
  const double* poisson;            // the tables one after the other
  const std::uint32_t* poisson_at;  // where each starts; the last entry is the end
  const std::uint64_t* poisson_first;
  const AliasEntry* alias;
  const std::uint32_t* bits;
  const SparseList* lists;
  const std::uint32_t* far;
  const SparseSiteGroup* site_groups;
  const SparseSite* sites;
  const SparseBranch* branches;
  const SparseList* coins;
  const std::uint32_t* always;
  std::uint32_t num_steps, num_site_groups, num_coins, num_always, log2_unit;
  std::uint32_t log2_parts, window_words, first_fixed, fixed_words;  // fixed: the last of a row
};

// The rows of a block in device memory.
template <SparseLayout kLayout>
struct DeviceRows {
  const BlockOut<kLayout>& out;
  __device__ void flip(std::uint32_t shot, std::uint32_t b) const { out.flip(shot, b); }
};

// The window of a block's rows in shared memory: its words from `first_word` on are a ring that
// starts at `start`; the fixed words follow it.
template <SparseLayout kLayout>
struct WindowRows {
  const BlockOut<kLayout>& out;
  std::uint32_t* rows;
  std::uint32_t words, fixed_words, first_fixed;
  std::uint32_t first_word = 0, start = 0;
  __device__ std::uint32_t* row(std::uint32_t shot) const {
    return rows + shot * (words + fixed_words);
  }
  __device__ std::uint32_t place(std::uint32_t word) const {
    if (word >= first_fixed) return words + word - first_fixed;
    const std::uint32_t at = start + word - first_word;
    return at < words ? at : at - words;
  }
  __device__ void flip(std::uint32_t shot, std::uint32_t b) const {
    b += out.shift(shot);
    atomicXor(row(shot) + place(b >> 5), 1u << (b & 31));
  }
  // Beyond the window nothing has been flipped.
  __device__ bool holds(std::uint32_t word) const {
    return word >= first_fixed || word - first_word < words;
  }
  /// Writes the words before `word` to device memory, clears them and moves the window to `word`.
  __device__ void move_to(std::uint32_t word, std::uint32_t shots) {
    const std::uint32_t count = word - first_word;
    if (count == 0) return;
    if constexpr (kLayout == SparseLayout::kBits) {
      turn(count, shots);
    } else {
      copy(count, shots);
    }
    if (words) start = (start + count) % words;
    first_word = word;
  }

 private:
  // As many lanes a shot as it has words, rounded up to a power of two. A thread has the same word of every
  // shot it comes to, and as their distance is a multiple of four their rows begin at the same byte of a word.
  __device__ void copy(std::uint32_t count, std::uint32_t shots) const {
    const std::uint32_t lanes = count >= 32 ? 32 : 1u << (32 - __clz(static_cast<int>(count - 1)));
    const std::uint32_t shot = threadIdx.x / lanes, step = kSparseThreads / lanes;
    const std::uint64_t to_step = step * out.stride() / 4;
    for (std::uint32_t k = threadIdx.x % lanes; k < count; k += lanes) {
      const std::uint32_t word = first_word + k;
      const bool is_held = holds(word);
      const auto each = [&](auto store) {
        std::uint32_t* from = is_held ? row(shot) + place(word) : nullptr;
        const std::uint32_t from_step = is_held ? step * (words + fixed_words) : 0;
        std::uint32_t* to = out.row(shot) + word;
        for (std::uint32_t s = shot; s < shots; s += step, from += from_step, to += to_step) {
          std::uint32_t v = 0;
          if (is_held) {
            v = *from;
            *from = 0;
          }
          if (out.wants(s)) store(to, v);
        }
      };
      if constexpr (kLayout == SparseLayout::kWords) {
        each([](std::uint32_t* to, std::uint32_t v) { *to = v; });
      } else {
        const RowBytes bytes = out.bytes_of(shot, word);
        if (bytes.begin >= bytes.end) continue;
        each([&](std::uint32_t* to, std::uint32_t v) { store_bytes(to, v, bytes); });
      }
    }
  }

  // A warp: 32 bits of 256 shots, squares of which are transposed in registers; lane k then has bit k of
  // them, two stores.
  __device__ void turn(std::uint32_t count, std::uint32_t shots) const {
    constexpr std::uint32_t kSquares = 8;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t groups = (shots + 32 * kSquares - 1) / (32 * kSquares);
    for (std::uint32_t task = threadIdx.x / 32; task < groups * count;
         task += kSparseThreads / 32) {
      const std::uint32_t word = first_word + task / groups;
      const std::uint32_t first = task % groups * (32 * kSquares);
      const bool is_held = holds(word);
      std::uint32_t v[kSquares];
#pragma unroll
      for (std::uint32_t u = 0; u < kSquares; ++u) {
        const std::uint32_t shot = first + 32 * u + lane;
        v[u] = 0;
        if (is_held && shot < shots) {
          std::uint32_t* const from = row(shot) + place(word);
          if (out.wants(shot)) v[u] = *from;
          *from = 0;
        }
      }
#pragma unroll
      for (std::uint32_t u = 0; u < kSquares; ++u) v[u] = transposed(v[u]);
#pragma unroll
      for (std::uint32_t u = 0; u < kSquares; u += kBitStore / 32) {
        const std::uint32_t shot = first + 32 * u;
        if (shot >= shots || !out.wants(shot)) continue;
        if (Words* const to = out.line(32 * word + lane, shot))
          *to = {{v[u], v[u + 1], v[u + 2], v[u + 3]}};
      }
    }
  }
};

// The second part of packed rows, whose bits are all in the fixed words.
__device__ inline void write_second(const WindowRows<SparseLayout::kPacked>& window,
                                    std::uint32_t shots) {
  const auto& out = window.out;
  const auto bytes = static_cast<std::uint32_t>(out.second().stride);
  const std::uint32_t end = out.second().end;
  for (std::uint32_t k = threadIdx.x; k < shots * bytes; k += kSparseThreads) {
    const std::uint32_t shot = k / bytes, byte = k % bytes;
    if (!out.wants(shot)) continue;
    const std::uint32_t left = end - out.second().first - 8 * byte;
    const std::uint32_t bit = out.second().first + 8 * byte + out.shift(shot);
    const std::uint32_t word = bit / 32 - window.first_fixed;
    const std::uint32_t* const fixed = window.row(shot) + window.words;
    std::uint32_t v = fixed[word] >> bit % 32;
    if (bit % 32 > 24 && word + 1 < window.fixed_words) v |= fixed[word + 1] << (32 - bit % 32);
    *out.second_at(shot, byte) =
        static_cast<std::uint8_t>(v & (left < 8 ? (1u << left) - 1 : 255u));
  }
}

__device__ inline std::uint64_t events_of(const SparseView& v, UnitStream s,
                                          const WindowTile& tile) {
  s.tick = kCountStream + tile.stream;
  const Philox4x32 r = s.block(0);
  const double u = static_cast<double>(((std::uint64_t{r.v[1]} << 32) | r.v[0]) >> 11) * 0x1p-53;
  const std::uint32_t table = v.groups[tile.group].poisson;
  std::uint32_t low = v.poisson_at[table], high = v.poisson_at[table + 1];
  const std::uint32_t first = low;
  while (low < high) {  // the first entry above u
    const std::uint32_t middle = (low + high) / 2;
    if (v.poisson[middle] > u)
      high = middle;
    else
      low = middle + 1;
  }
  return v.poisson_first[table] + (low - first);
}

// The shots of a unit that a block makes.
struct Part {
  std::uint32_t unit_shots, log2_shots, index;
  __device__ bool has(std::uint32_t shot) const { return shot >> log2_shots == index; }
  __device__ std::uint32_t num_shots() const { return 1u << log2_shots; }
  __device__ std::uint32_t within(std::uint32_t shot) const { return shot & (num_shots() - 1); }
};

struct Event {
  std::uint32_t shot, mechanism;
};

// The upper half of `word` times the size of the group is the bucket, what follows the share. The
// table is not read for shots that are not of the part.
__device__ inline Event event_of(const SparseView& v, const SparseGroup& g, const Part& part,
                                 std::uint32_t low, std::uint32_t high) {
  Event e{low & (part.unit_shots - 1), 0};
  if (!part.has(e.shot)) return e;
  const std::uint64_t product =
      std::uint64_t{high} * g.count + ((std::uint64_t{low} * g.count) >> 32);
  const auto bucket = static_cast<std::uint32_t>(product >> 32);
  const AliasEntry entry = v.alias[g.first + bucket];
  e.mechanism = static_cast<std::uint32_t>(product) < entry.threshold ? bucket : entry.alias;
  return e;
}

// All bits of a narrow mechanism are asked for before the first of them is flipped.
template <class Rows>
__device__ void flip_event(const SparseView& v, const SparseGroup& g, std::uint32_t shift,
                           std::uint32_t mechanism, std::uint32_t shot, const Rows& rows) {
  const auto flip = [&](std::uint32_t b) {
    rows.flip(shot, b & kFixedBit ? b & ~kFixedBit : b - shift);
  };
  if (g.width == 0) {
    const SparseList l = v.lists[g.first_bit + mechanism];
    for (std::uint32_t k = 0; k < l.count; ++k) flip(v.far[l.first + k]);
    return;
  }
  const std::uint32_t* bits = v.bits + (g.first_bit + mechanism * g.width);
  std::uint32_t b[4];
#pragma unroll
  for (std::uint32_t k = 0; k < 4; ++k) b[k] = k < g.width ? bits[k] : 0;
#pragma unroll
  for (std::uint32_t k = 0; k < 4; ++k) {
    if (k < g.width) flip(b[k]);
  }
}

// The events of a step of at most kSparseThreads tiles; `counts`: shared memory for as many numbers.
template <class Rows>
__device__ void draw_step(const SparseView& v, UnitStream s, const WindowStep& step,
                          const Part& part, std::uint32_t* counts, const Rows& rows) {
  if (threadIdx.x < step.count)
    counts[threadIdx.x] =
        static_cast<std::uint32_t>(events_of(v, s, v.tiles[step.first + threadIdx.x]));
  __syncthreads();
  // A tile has fewer events than the block has threads: its warps take turns.
  std::uint32_t turn = threadIdx.x;
  for (std::uint32_t t = 0; t < step.count; ++t) {
    const std::uint32_t pairs = (counts[t] + 1) / 2;
    const std::uint32_t start = turn;
    turn = (turn + kSparseThreads - pairs % kSparseThreads / 32 * 32) % kSparseThreads;
    if (start >= pairs) continue;
    const WindowTile tile = v.tiles[step.first + t];
    const SparseGroup g = v.groups[tile.group];
    s.tick = kEventStream + tile.stream;
    for (std::uint32_t p = start; p < pairs; p += kSparseThreads) {
      const Philox4x32 r = s.block(p);
      const Event events[2] = {event_of(v, g, part, r.v[0], r.v[1]),
                               event_of(v, g, part, r.v[2], r.v[3])};
#pragma unroll
      for (std::uint32_t half = 0; half < 2; ++half) {
        if (2 * p + half < counts[t] && part.has(events[half].shot))
          flip_event(v, g, tile.shift, events[half].mechanism, part.within(events[half].shot),
                     rows);
      }
    }
  }
  __syncthreads();
}

// What is no event of a tile, on rows in device memory.
template <class Rows>
__device__ void draw_rest(const SparseView& v, UnitStream s, const Part& part, const Rows& rows) {
  // Disjoint channels: a chain of gaps each, one thread a chain.
  for (std::uint32_t index = threadIdx.x; index < v.num_site_groups; index += kSparseThreads) {
    const SparseSiteGroup g = v.site_groups[index];
    s.tick = kSiteStream + index;
    RareEvents hits{s, g.inv_log, std::uint64_t{g.num_sites} << v.log2_unit};
    std::uint64_t trial;
    std::uint32_t chosen;
    while (hits.next(&trial, &chosen)) {
      const std::uint32_t shot = static_cast<std::uint32_t>(trial) & (part.unit_shots - 1);
      if (!part.has(shot)) continue;
      const SparseSite site = v.sites[g.first_site + (trial >> v.log2_unit)];
      const SparseBranch* branch = v.branches + site.first_branch;
      while (chosen >= branch->upto) ++branch;
      for (std::uint32_t k = 0; k < branch->count; ++k)
        rows.flip(part.within(shot), v.far[branch->first + k]);
    }
  }
  for (std::uint32_t index = 0; index < v.num_coins; ++index) {
    s.tick = kCoinStream + index;
    const SparseList l = v.coins[index];
    for (std::uint32_t k = threadIdx.x; k < part.num_shots(); k += kSparseThreads) {
      const std::uint32_t shot = part.index * part.num_shots() + k;
      const Philox4x32 r = s.block(shot / 128);
      if (!((r.v[(shot / 32) % 4] >> (shot % 32)) & 1)) continue;
      for (std::uint32_t j = 0; j < l.count; ++j) rows.flip(k, v.far[l.first + j]);
    }
  }
  for (std::uint32_t shot = threadIdx.x; shot < part.num_shots(); shot += kSparseThreads) {
    for (std::uint32_t k = 0; k < v.num_always; ++k) rows.flip(shot, v.always[k]);
  }
}

/// Block `block` of a launch. `window_memory`: shared, the words of the window and the fixed ones of every shot
/// of the block; `counts`: shared, kSparseThreads of them.
template <bool kWindow, SparseLayout kLayout>
__device__ void run_sparse_block(const SparseView& v, std::uint64_t seed, std::uint64_t first_unit,
                                 const SparseOut& to, std::uint32_t block,
                                 std::uint32_t* window_memory, std::uint32_t* counts) {
  static_assert(kWindow || kLayout == SparseLayout::kWords);
  const Part part{1u << v.log2_unit, v.log2_unit - v.log2_parts,
                  block & ((1u << v.log2_parts) - 1)};
  const std::uint64_t unit = first_unit + (block >> v.log2_parts);
  const std::uint32_t shots = part.num_shots();
  const BlockOut<kLayout> out(to, std::uint64_t{block} * shots, shots);
  const UnitStream s{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), unit,
                     0};
  const DeviceRows<kLayout> device_rows{out};
  if constexpr (kWindow) {
    WindowRows<kLayout> window{out, window_memory, v.window_words, v.fixed_words, v.first_fixed};
    for (std::uint32_t k = threadIdx.x; k < shots * (v.window_words + v.fixed_words);
         k += kSparseThreads)
      window_memory[k] = 0;
    for (std::uint32_t k = 0; k < v.num_steps; ++k) {
      const WindowStep step = v.steps[k];
      __syncthreads();
      window.move_to(step.first_word, shots);
      draw_step(v, s, step, part, counts, window);  // its first barrier ends the move
    }
    __syncthreads();
    if constexpr (kLayout == SparseLayout::kPacked) {
      if (out.second().first < out.second().end) {
        write_second(window, shots);
        __syncthreads();
      }
    }
    window.move_to(v.first_fixed + v.fixed_words, shots);
  } else {
    std::uint32_t* const rows = out.row(0);
    for (std::uint64_t k = threadIdx.x; k < shots * (out.stride() / 4); k += kSparseThreads)
      rows[k] = 0;
    __syncthreads();
    for (std::uint32_t k = 0; k < v.num_steps; ++k)
      draw_step(v, s, v.steps[k], part, counts, device_rows);
  }
  __syncthreads();
  draw_rest(v, s, part, device_rows);
}

}  // namespace tilewave::stabilizer
