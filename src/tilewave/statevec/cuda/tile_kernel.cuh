// The tile pass on a CUDA device: executes a tile program (tile/format.h) on every tile of a state,
// in place.
//
// One block of 2^(K-R) threads holds a tile of 2^K amplitudes in registers, 2^R a thread, and walks
// the program once a tile; blocks are persistent and take tiles in ascending order, a grid apart.
// Shared memory: the tile (exchanges only), the factors and angles of this tile, the chunk of the
// program. Every operation is decoded by whole warps: its head is read one operation ahead, then
// one switch over kind and register bit. Bytes moved: the state read once and written once.
// Barriers: two a tile, one an exchange.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "tilewave/statevec/cuda/tile_kernel.h"
#include "tilewave/statevec/tile/ops.h"

namespace tilewave::statevec::cuda {

using tile::ChunkHead;
using tile::OpControls;
using tile::OpHead;
using tile::PassFrame;

/// XOR of the columns of the 1 bits of `index`.
template <int Count, class I>
__device__ __forceinline__ I columns(const I* column, std::uint32_t index) {
  I sum = 0;
#pragma unroll
  for (int b = 0; b < Count; ++b) sum ^= (I{0} - static_cast<I>(index >> b & 1)) & column[b];
  return sum;
}

template <class T>
__device__ __forceinline__ Complex<T> load_amplitude(const std::byte* p) {
  if constexpr (sizeof(T) == 8) {
    const double2 v = *reinterpret_cast<const double2*>(p);
    return {v.x, v.y};
  } else {
    const float2 v = *reinterpret_cast<const float2*>(p);
    return {v.x, v.y};
  }
}

template <class T>
__device__ __forceinline__ void store_amplitude(std::byte* p, Complex<T> a) {
  if constexpr (sizeof(T) == 8) {
    *reinterpret_cast<double2*>(p) = make_double2(a.re, a.im);
  } else {
    *reinterpret_cast<float2*>(p) = make_float2(a.re, a.im);
  }
}

/// Calls f(j, p + offset of amplitude j) for every amplitude of a thread: one addition each.
template <int B, int J, class P, class F>
__device__ __forceinline__ void for_each_amplitude(P* p, const std::uint64_t* column, const F& f) {
  if constexpr (B < 0) {
    f(std::integral_constant<int, J>{}, p);
  } else {
    for_each_amplitude<B - 1, J>(p, column, f);
    for_each_amplitude<B - 1, (J | 1 << B)>(p + column[B], column, f);
  }
}

/// Byte offset of a tile: lane b of the warp adds the column of tile bit b.
__device__ __forceinline__ std::uint64_t tile_offset(std::uint64_t lane_column,
                                                     std::uint32_t tile) {
  const std::uint64_t mine = tile >> (threadIdx.x & 31) & 1 ? lane_column : 0;
  const std::uint32_t low = __reduce_or_sync(0xffffffffu, static_cast<std::uint32_t>(mine));
  const std::uint32_t high = __reduce_or_sync(0xffffffffu, static_cast<std::uint32_t>(mine >> 32));
  return static_cast<std::uint64_t>(high) << 32 | low;
}

/// Factors and angles of this tile and chunk into shared memory.
template <class T, int ThreadBits>
__device__ __forceinline__ void prepare_chunk(const ChunkHead& chunk, const std::byte* tables,
                                              Complex<T>* linear, Complex<T>* general,
                                              std::uint64_t* rows, std::uint32_t tile_number) {
  constexpr std::uint32_t kWarps = 1u << (ThreadBits - tile::kLaneBits);
  constexpr std::uint32_t kRows = 1 + ThreadBits;
  for (std::uint32_t i = threadIdx.x; i < chunk.num_linear * kWarps; i += blockDim.x) {
    linear[i] = tile::linear_value<T>(chunk, i / kWarps, i % kWarps, kWarps, tile_number);
  }
  if (chunk.num_general == 0) return;
  const std::uint32_t num_rows = chunk.num_general * kRows;
  const auto* entries = tile::table<tile::GeneralEntry>(tables, chunk.general_entries);
  for (std::uint32_t e = threadIdx.x >> 5; e < chunk.num_general; e += kWarps) {
    const std::uint32_t lane = threadIdx.x & 31;
    const auto* terms = tile::table<tile::MixedTerm>(tables, entries[e].tile_first);
    std::uint64_t angle = 0;
    for (std::uint32_t k = lane; k < entries[e].tile_count; k += 32) {
      angle += (tile_number & terms[k].tile_mask) == terms[k].tile_mask ? terms[k].turns : 0;
    }
    for (int step = 16; step; step >>= 1) angle += __shfl_xor_sync(0xffffffffu, angle, step);
    if (lane < kRows) {
      rows[e * kRows + lane] = tile::general_row(chunk, e * kRows + lane, num_rows, tile_number) +
                               (lane == 0 ? angle : 0);
    }
  }
  __syncthreads();
  for (std::uint32_t e = 0; e < chunk.num_general; ++e) {
    general[(e << ThreadBits) + threadIdx.x] = tile::general_factor<T>(
        entries[e], rows + e * kRows, tables, threadIdx.x, ThreadBits, tile_number);
  }
}

/// Asks for the rows of another tile in the L2 cache: each thread for its share.
template <int K, int RB, int RowBits>
__device__ __forceinline__ void prefetch_tile(const std::byte* tile_start, const PassFrame& f) {
  constexpr int kOwn = RB > RowBits ? RB - RowBits : 0;  // register bits this thread walks through
  constexpr int kSpread = RB - kOwn;                     // register bits spread over the row lanes
  const std::uint32_t thread = threadIdx.x;
  const std::uint64_t offset =
      columns<kSpread>(f.load_column + kOwn, thread) ^
      columns<K - RB - RowBits>(f.load_column + RB + RowBits, thread >> RowBits);
  for_each_amplitude<kOwn - 1, 0>(
      tile_start + offset, f.load_column,
      [&](auto, const std::byte* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); });
}

template <class T, int K, int RB, int MinBlocks, tile::OpSet Set>
__global__ void __launch_bounds__(1 << (K - RB), MinBlocks)
    tile_pass_kernel(const __grid_constant__ PassArguments<T> args) {
  constexpr int kThreadBits = K - RB;
  constexpr int kRowBits = sizeof(T) == 8 ? 3 : 4;
  constexpr std::uint32_t kThreads = 1u << kThreadBits;
  constexpr std::uint32_t kWarps = 1u << (kThreadBits - tile::kLaneBits);
  extern __shared__ __align__(16) std::byte shared[];
  const PassFrame& f = args.frame;
  const std::uint32_t thread = threadIdx.x;
  std::byte* const prepared = shared + (sizeof(Complex<T>) << K);
  const std::uint32_t linear_size = tile::linear_bytes(f, sizeof(Complex<T>), kWarps);
  auto* const general = reinterpret_cast<Complex<T>*>(prepared + 2 * linear_size);
  auto* const rows = reinterpret_cast<std::uint64_t*>(
      prepared + 2 * linear_size + tile::general_bytes(f, sizeof(Complex<T>), kThreadBits));
  std::byte* const window = reinterpret_cast<std::byte*>(rows) + tile::row_bytes(f, kThreadBits);
  auto* const state = reinterpret_cast<std::byte*>(args.state);

  Complex<T> a[1 << RB];
  const auto load_chunk = [&](const std::byte* from) {
    const std::uint32_t size16 = reinterpret_cast<const ChunkHead*>(from)->size16;
    for (std::uint32_t i = thread; i < size16; i += kThreads) {
      reinterpret_cast<uint4*>(window)[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
    }
  };
  if (f.num_chunks == 1) load_chunk(args.code);
  __syncthreads();
  const std::uint64_t lane_column = f.tile_column[thread & 31];
  std::uint32_t parity = 0;

  for (std::uint32_t tile_number = blockIdx.x; tile_number < f.num_tiles;
       tile_number += gridDim.x) {
    // load the tile
    {
      const std::uint64_t start =
          tile_offset(lane_column, tile_number) + columns<kThreadBits>(f.load_column + RB, thread);
      if (f.zero_load == 0) {
        for_each_amplitude<RB - 1, 0>(
            state + start, f.load_column,
            [&](auto j, const std::byte* p) { a[decltype(j)::value] = load_amplitude<T>(p); });
      } else {
        for_each_amplitude<RB - 1, 0>(
            state + start, f.load_column, [&](auto j, const std::byte* p) {
              const bool zero = static_cast<std::uint64_t>(p - state) & f.zero_load;
              a[decltype(j)::value] = zero ? Complex<T>{0, 0} : load_amplitude<T>(p);
            });
      }
    }
    std::uint32_t here = columns<kThreadBits>(f.first_column, thread);  // address of amplitude 0
    const std::byte* chunk_code = args.code;
    for (std::uint32_t c = 0; c < f.num_chunks; ++c) {
      if (f.num_chunks > 1) {
        __syncthreads();  // nobody reads the window of before any more
        load_chunk(chunk_code);
        chunk_code +=
            static_cast<std::size_t>(reinterpret_cast<const ChunkHead*>(chunk_code)->size16) * 16;
        __syncthreads();
      }
      auto* const linear = reinterpret_cast<Complex<T>*>(prepared + (parity ? linear_size : 0));
      parity ^= 1;
      prepare_chunk<T, kThreadBits>(*reinterpret_cast<const ChunkHead*>(window), args.tables,
                                    linear, general, rows, tile_number);
      __syncthreads();  // factors are there; nobody reads the last tile's amplitudes any more
      if (args.prefetch && c == 0 && tile_number + gridDim.x < f.num_tiles && f.zero_load == 0) {
        prefetch_tile<K, RB, kRowBits>(state + tile_offset(lane_column, tile_number + gridDim.x),
                                       f);
      }
      const std::byte* pc = window + sizeof(ChunkHead);
      OpHead head = *reinterpret_cast<const OpHead*>(pc);
      while (head.code() != tile::kEnd) {
        const OpHead now = head;
        const std::byte* payload = pc + sizeof(OpHead);
        pc += now.num_bytes();
        head = *reinterpret_cast<const OpHead*>(pc);  // one operation ahead
        bool allowed = true;
        if (now.controlled()) {
          allowed = tile::op_allowed(now, *reinterpret_cast<const OpControls*>(payload), thread,
                                     tile_number);
          payload += sizeof(OpControls);
        }
        if (now.code() == tile::kExchange) {
          const auto* column = reinterpret_cast<const std::uint32_t*>(payload);
          std::uint32_t write[RB], read[RB];
#pragma unroll
          for (int b = 0; b < RB; ++b) write[b] = column[b], read[b] = column[RB + b];
#pragma unroll
          for (int j = 0; j < 1 << RB; ++j) {
            *reinterpret_cast<Complex<T>*>(shared + (here ^ columns<RB>(write, j))) = a[j];
          }
          here = columns<kThreadBits>(column + 2 * RB, thread);
          __syncthreads();
#pragma unroll
          for (int j = 0; j < 1 << RB; ++j) {
            a[j] = *reinterpret_cast<const Complex<T>*>(shared + (here ^ columns<RB>(read, j)));
          }
        } else if (Set == tile::OpSet::kAll && now.code() == tile::kMatrixShared) {
          if constexpr (Set == tile::OpSet::kAll) {
            const auto& m = *reinterpret_cast<const tile::SharedMatrix*>(payload);
#pragma unroll
            for (int j = 0; j < 1 << RB; ++j) {
              *reinterpret_cast<Complex<T>*>(shared + (here ^ columns<RB>(m.register_column, j))) =
                  a[j];
            }
            __syncthreads();
            if (allowed) {
#pragma unroll
              for (int j = 0; j < 1 << RB; ++j) {
                if (now.pairs >> j & 1) {
                  std::uint32_t row, clear;
                  tile::shared_matrix_place(m, thread, static_cast<std::uint32_t>(j), row, clear);
                  a[j] = tile::shared_matrix_row<T>(
                      m, args.tables, row, here ^ columns<RB>(m.register_column, j) ^ clear,
                      shared);
                }
              }
            }
            __syncthreads();
          }
        } else if (allowed) {
          const tile::PhaseContext<T> context{linear, general, thread, kThreadBits};
          tile::apply_op<RB, Set, T>(a, now, payload, context);
        }
      }
    }
    if (f.needs_barrier) __syncthreads();  // every load before any permuted store
    // store the tile
    if (f.scale_kind == tile::ScaleKind::kReal) {
      const T s = static_cast<T>(f.scale_re);
#pragma unroll
      for (int j = 0; j < 1 << RB; ++j) a[j] = {a[j].re * s, a[j].im * s};
    } else if (f.scale_kind == tile::ScaleKind::kComplex) {
      const Complex<T> s{static_cast<T>(f.scale_re), static_cast<T>(f.scale_im)};
#pragma unroll
      for (int j = 0; j < 1 << RB; ++j) a[j] = a[j] * s;
    }
    const std::uint64_t start = tile_offset(lane_column, tile_number) +
                                (columns<kThreadBits>(f.store_column + RB, thread) ^ f.store_xor) +
                                f.store_add;
    if (f.zero_store == 0) {
      for_each_amplitude<RB - 1, 0>(state + start, f.store_column, [&](auto j, std::byte* p) {
        store_amplitude(p, a[decltype(j)::value]);
      });
    } else {
      for_each_amplitude<RB - 1, 0>(state + start, f.store_column, [&](auto j, std::byte* p) {
        const bool zero = static_cast<std::uint64_t>(p - state) & f.zero_store;
        if (!zero) store_amplitude(p, a[decltype(j)::value]);
      });
    }
  }
}

}  // namespace tilewave::statevec::cuda
