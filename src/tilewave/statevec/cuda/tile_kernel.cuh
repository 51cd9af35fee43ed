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

#include "tilewave/statevec/cuda/tile_kernel.h"
#include "tilewave/statevec/tile/ops.h"

namespace tilewave::statevec::cuda {

using tile::ChunkHead;
using tile::op_code;
using tile::OpHead;
using tile::OpKind;
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
__device__ __forceinline__ Complex<T> load_amplitude(const Complex<T>* p) {
  if constexpr (sizeof(T) == 8) {
    const double2 v = __ldcg(reinterpret_cast<const double2*>(p));
    return {v.x, v.y};
  } else {
    const float2 v = __ldcg(reinterpret_cast<const float2*>(p));
    return {v.x, v.y};
  }
}

template <class T>
__device__ __forceinline__ void store_amplitude(Complex<T>* p, Complex<T> a) {
  if constexpr (sizeof(T) == 8) {
    __stcg(reinterpret_cast<double2*>(p), make_double2(a.re, a.im));
  } else {
    __stcg(reinterpret_cast<float2*>(p), make_float2(a.re, a.im));
  }
}

__device__ __forceinline__ std::uint64_t tile_base(const PassFrame& f, std::uint32_t tile) {
  std::uint64_t base = 0;
  for (std::uint32_t r = 0; r < f.num_runs; ++r) {
    const std::uint32_t field = tile >> f.runs[r].from & ((1u << f.runs[r].width) - 1u);
    base |= static_cast<std::uint64_t>(field) << f.runs[r].to;
  }
  return base;
}

/// Factors and angles of this tile and chunk into shared memory.
template <class T, int ThreadBits>
__device__ __forceinline__ void prepare_chunk(const ChunkHead& chunk, const std::byte* tables,
                                              Complex<T>* linear, std::uint64_t* rows,
                                              std::uint32_t tile_number) {
  constexpr std::uint32_t kWarps = 1u << (ThreadBits - tile::kLaneBits);
  constexpr std::uint32_t kRows = 1 + ThreadBits;
  for (std::uint32_t i = threadIdx.x; i < chunk.num_linear * kWarps; i += blockDim.x) {
    linear[i] = tile::linear_value<T>(chunk, tables, i / kWarps, i % kWarps, kWarps, tile_number);
  }
  const std::uint32_t num_rows = chunk.num_general * kRows;
  for (std::uint32_t entry = threadIdx.x >> 5; entry < chunk.num_general; entry += kWarps) {
    const std::uint32_t lane = threadIdx.x & 31;
    const auto* list = tile::table<std::uint32_t>(tables, chunk.tile_lists) + 2 * entry;
    const auto* terms = tile::table<tile::MixedTerm>(tables, chunk.tile_terms) + list[0];
    std::uint64_t angle = 0;
    for (std::uint32_t k = lane; k < list[1]; k += 32) {
      angle += (tile_number & terms[k].tile_mask) == terms[k].tile_mask ? terms[k].turns : 0;
    }
    for (int step = 16; step; step >>= 1) angle += __shfl_xor_sync(0xffffffffu, angle, step);
    if (lane < kRows) {
      rows[entry * kRows + lane] =
          tile::general_row(chunk, tables, entry * kRows + lane, num_rows, tile_number) +
          (lane == 0 ? angle : 0);
    }
  }
}

template <class T, int K, int RB, int MinBlocks>
__global__ void __launch_bounds__(1 << (K - RB), MinBlocks)
    tile_pass_kernel(const __grid_constant__ PassArguments<T> args) {
  constexpr int kThreadBits = K - RB;
  constexpr std::uint32_t kThreads = 1u << kThreadBits;
  constexpr std::uint32_t kWarps = 1u << (kThreadBits - tile::kLaneBits);
  extern __shared__ __align__(16) std::byte shared[];
  const PassFrame& f = args.frame;
  const std::uint32_t thread = threadIdx.x;
  auto* linear = reinterpret_cast<Complex<T>*>(shared + (sizeof(Complex<T>) << K));
  std::byte* after_linear =
      reinterpret_cast<std::byte*>(linear) + tile::linear_bytes(f, sizeof(Complex<T>), kWarps);
  auto* rows = reinterpret_cast<std::uint64_t*>(after_linear);
  std::byte* window = after_linear + tile::general_bytes(f, kThreadBits);

  Complex<T> a[1 << RB];
  const auto load_chunk = [&](const std::byte* from) {
    const std::uint32_t size16 = reinterpret_cast<const ChunkHead*>(from)->size16;
    for (std::uint32_t i = thread; i < size16; i += kThreads) {
      reinterpret_cast<uint4*>(window)[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
    }
  };
  if (f.num_chunks == 1) load_chunk(args.code);

  for (std::uint32_t tile_number = blockIdx.x; tile_number < f.num_tiles;
       tile_number += gridDim.x) {
    // load the tile
    {
      const std::uint64_t base =
          tile_base(f, tile_number) ^ columns<kThreadBits>(f.load_column + RB, thread);
      const Complex<T>* source = args.state + base;
      if (f.zero_load == 0) {
#pragma unroll
        for (int j = 0; j < 1 << RB; ++j)
          a[j] = load_amplitude(source + columns<RB>(f.load_column, j));
      } else {
#pragma unroll
        for (int j = 0; j < 1 << RB; ++j) {
          const std::uint64_t offset = columns<RB>(f.load_column, j);
          a[j] = (base | offset) & f.zero_load ? Complex<T>{0, 0} : load_amplitude(source + offset);
        }
      }
    }
    std::uint32_t here = columns<kThreadBits>(f.first_column, thread);  // address of amplitude 0
    const std::byte* chunk_code = args.code;
    for (std::uint32_t c = 0; c < f.num_chunks; ++c) {
      __syncthreads();  // nobody reads the tile, the factors or the window of before any more
      if (f.num_chunks > 1) {
        load_chunk(chunk_code);
        chunk_code +=
            static_cast<std::size_t>(reinterpret_cast<const ChunkHead*>(chunk_code)->size16) * 16;
        __syncthreads();
      }
      const ChunkHead& chunk = *reinterpret_cast<const ChunkHead*>(window);
      if (chunk.num_linear | chunk.num_general) {
        prepare_chunk<T, kThreadBits>(chunk, args.tables, linear, rows, tile_number);
        __syncthreads();
      }
      const std::byte* pc = window + sizeof(ChunkHead);
      OpHead head = *reinterpret_cast<const OpHead*>(pc);
      while (head.code != op_code(OpKind::kEnd)) {
        const std::byte* payload = pc + sizeof(OpHead);
        pc += static_cast<std::uint32_t>(head.size16) * 16;
        const OpHead next = *reinterpret_cast<const OpHead*>(pc);
        if (head.code == op_code(OpKind::kExchange)) {
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
        } else if (head.code == op_code(OpKind::kMatrixShared)) {
          const auto& m = *reinterpret_cast<const tile::SharedMatrix*>(payload);
#pragma unroll
          for (int j = 0; j < 1 << RB; ++j) {
            *reinterpret_cast<Complex<T>*>(shared + (here ^ columns<RB>(m.register_column, j))) =
                a[j];
          }
          __syncthreads();
          if (tile::op_allowed(head, thread, tile_number)) {
#pragma unroll
            for (int j = 0; j < 1 << RB; ++j) {
              if (head.pairs >> j & 1) {
                std::uint32_t row, clear;
                tile::shared_matrix_place(m, thread, static_cast<std::uint32_t>(j), row, clear);
                a[j] = tile::shared_matrix_row<T>(
                    m, args.tables, row, here ^ columns<RB>(m.register_column, j) ^ clear, shared);
              }
            }
          }
          __syncthreads();
        } else if (tile::op_allowed(head, thread, tile_number)) {
          const tile::PhaseContext<T> context{linear, rows,        args.tables,
                                              thread, tile_number, kThreadBits};
          tile::apply_op<RB, T>(a, head, reinterpret_cast<const T*>(payload), context);
        }
        head = next;
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
    const std::uint64_t base =
        tile_base(f, tile_number) ^ columns<kThreadBits>(f.store_column + RB, thread);
    Complex<T>* target = args.state + base;
    if (f.zero_store == 0) {
#pragma unroll
      for (int j = 0; j < 1 << RB; ++j)
        store_amplitude(target + columns<RB>(f.store_column, j), a[j]);
    } else {
#pragma unroll
      for (int j = 0; j < 1 << RB; ++j) {
        const std::uint64_t offset = columns<RB>(f.store_column, j);
        if (!((base | offset) & f.zero_store)) store_amplitude(target + offset, a[j]);
      }
    }
  }
}

}  // namespace tilewave::statevec::cuda
