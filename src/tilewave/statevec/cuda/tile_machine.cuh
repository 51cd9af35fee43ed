// What a tile pass on a CUDA device does around its operations, and what the threads of a tile do
// together: load, exchanges, chunks, store, sums. See tile_kernel.cuh.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "tilewave/statevec/cuda/cluster.cuh"
#include "tilewave/statevec/cuda/pass_arguments.h"
#include "tilewave/statevec/cuda/tile_access.cuh"
#include "tilewave/statevec/tile/matrix_ops.h"
#include "tilewave/statevec/tile/phase_ops.h"

namespace tilewave::statevec::cuda {

using tile::ChunkHead;
using tile::PassFrame;

/// Rows of the general angles of this tile and chunk into shared memory.
template <int ThreadBits>
__device__ __forceinline__ void prepare_rows(const ChunkHead& chunk, const std::byte* tables,
                                             std::uint64_t* rows, std::uint32_t tile_number) {
  constexpr std::uint32_t kWarps = 1u << (ThreadBits - tile::kLaneBits);
  constexpr std::uint32_t kRows = 1 + ThreadBits;
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
}

/// What the threads of a tile do together.
template <class T, int K, int RB, int BlockBits>
struct Machine {
  Complex<T> (&a)[1 << RB];
  std::uint32_t& here;  ///< address of amplitude 0
  std::byte *shared, *window;
  Complex<T>*linear, *general;
  std::uint32_t rows_at;  ///< in shared memory; as a number that is known before the first jump
  const std::byte *code, *tables;
  std::uint32_t tile;

  __device__ __forceinline__ std::uint64_t* rows() const {
    return static_cast<std::uint64_t*>(__cvta_shared_to_generic(rows_at));
  }

  /// Makes the rows of the chunk in the window.
  __device__ __forceinline__ void prepare() const {
    const ChunkHead& chunk = *reinterpret_cast<const ChunkHead*>(window);
    if (chunk.num_general) {
      prepare_rows<K - RB>(chunk, tables, rows(), tile);
      __syncthreads();
    }
  }

  /// Only its own thread reads a general factor.
  __device__ __forceinline__ void make_general(std::uint32_t entry) const {
    const ChunkHead& chunk = *reinterpret_cast<const ChunkHead*>(window);
    const std::uint32_t thread = from_here(threadIdx.x);
    general[thread] = tile::general_factor<T>(
        tile::table<tile::GeneralEntry>(tables, chunk.general_entries)[entry],
        rows() + entry * (1 + K - RB), tables, thread, K - RB, tile);
  }

  /// The next chunk and its linear factors, fetched together.
  __device__ __forceinline__ void next_chunk() const {
    constexpr std::uint32_t kThreads = 1u << (K - RB), kWarps = kThreads >> tile::kLaneBits;
    const ChunkHead head = *reinterpret_cast<const ChunkHead*>(window);
    const std::uint32_t thread = from_here(threadIdx.x);
    __syncthreads();  // nobody reads the chunk of before any more
    for (std::uint32_t i = thread; i < head.next_size16; i += kThreads) {
      copy_async(window + 16 * i, code + 16 * std::size_t{head.next16 + i});
    }
    if (thread < head.next_linear * kWarps) {
      linear[thread] = tile::linear_value<T>(head.tile_bits, head.next_linear_tables, tables,
                                             thread / kWarps, thread % kWarps, kWarps, tile);
    }
    wait_for_copies();
    __syncthreads();
    prepare();
  }

  __device__ __forceinline__ void exchange(const std::byte* payload, bool crosses) const {
    constexpr int kThreadBits = K - RB;
    const auto* column = reinterpret_cast<const std::uint32_t*>(payload);
    const std::uint32_t thread = from_here(threadIdx.x), old = from_here(here);
    std::uint32_t write[RB], read[RB];
#pragma unroll
    for (int b = 0; b < RB; ++b) write[b] = column[b], read[b] = column[RB + b];
    for_each_address<RB - 1, 0>(old, write, [&](auto j, std::uint32_t address) {
      *reinterpret_cast<Complex<T>*>(shared + address) = a[decltype(j)::value];
    });
    here = thread_columns<sizeof(T) == 4, kThreadBits>(column + 2 * RB, thread) ^
           tile::exchange_shift(column + 2 * RB + kThreadBits, tile);
    __syncthreads();
    for_each_address<RB - 1, 0>(here, read, [&](auto j, std::uint32_t address) {
      a[decltype(j)::value] = *reinterpret_cast<const Complex<T>*>(shared + address);
    });
    if constexpr (BlockBits > 0) {
      if (crosses) arrive_at_cluster();
    }
  }

  __device__ __forceinline__ void cross(bool arrived) const {
    if constexpr (BlockBits > 0) {
      if (!arrived) arrive_at_cluster();
      if (from_here(tile) & 1) {
        send_half<0>(0);
      } else {
        send_half<1>(1);
      }
    }
  }

  /// Sends the amplitudes whose highest bit is Half to block `to`, and takes its own. In memory the
  /// amplitudes of a warp lie side by side: scattered ones take the network twice as long.
  template <int Half>
  __device__ __forceinline__ void send_half(std::uint32_t to) const {
    constexpr int kThreads = 1 << (K - RB), kHalf = 1 << (RB - 1), kFirst = Half * kHalf;
    std::byte* const own = shared + from_here(threadIdx.x) * sizeof(Complex<T>);
    const std::uint32_t there =
        in_block(static_cast<std::uint32_t>(__cvta_generic_to_shared(own)), to);
    wait_for_cluster();  // every thread has read what it needs
#pragma unroll
    for (int j = 0; j < kHalf; ++j) send(there + j * kThreads * sizeof(Complex<T>), a[kFirst + j]);
    synchronize_cluster();
#pragma unroll
    for (int j = 0; j < kHalf; ++j) {
      a[kFirst + j] = *reinterpret_cast<const Complex<T>*>(own + j * kThreads * sizeof(Complex<T>));
    }
    __syncthreads();  // the next exchange writes elsewhere
  }

  __device__ __forceinline__ void shared_matrix(const std::byte* payload, bool allowed,
                                                std::uint32_t pairs) const {
    const auto& m = *reinterpret_cast<const tile::SharedMatrix*>(payload);
    const std::uint32_t thread = from_here(threadIdx.x), here = from_here(this->here);
#pragma unroll
    for (int j = 0; j < 1 << RB; ++j) {
      *reinterpret_cast<Complex<T>*>(shared + (here ^ columns<RB>(m.register_column, j))) = a[j];
    }
    __syncthreads();
    if (allowed) {
#pragma unroll
      for (int j = 0; j < 1 << RB; ++j) {
        if (pairs >> j & 1) {
          std::uint32_t row, clear;
          tile::shared_matrix_place(m, thread, static_cast<std::uint32_t>(j), row, clear);
          a[j] = tile::shared_matrix_row<T>(
              m, tables, row, here ^ columns<RB>(m.register_column, j) ^ clear, shared);
        }
      }
    }
    __syncthreads();
  }
};

/// The sum of |a|^2 of the 2^B amplitudes from `first` on; with `of_slots`, ones[b] grows by those
/// whose bit b is 1.
template <bool of_slots, int B, int first, class T>
__device__ __forceinline__ double sum_registers(const Complex<T>* a, double* ones) {
  if constexpr (B == 0) {
    const double re = a[first].re, im = a[first].im;
    return re * re + im * im;
  } else {
    const double low = sum_registers<of_slots, B - 1, first>(a, ones);
    const double high = sum_registers<of_slots, B - 1, first + (1 << (B - 1))>(a, ones);
    if constexpr (of_slots) ones[B - 1] += high;
    return low + high;
  }
}

/// Writes the sums of a tile (num_tile_sums), always added up in the same order.
template <bool of_slots, int K, int RB, class T>
__device__ __forceinline__ void write_tile_sums(const Complex<T>* a, std::uint32_t thread,
                                                double* out) {
  constexpr int kOwn = num_tile_sums(RB + tile::kLaneBits, of_slots);
  constexpr std::uint32_t kWarps = 1u << (K - RB - tile::kLaneBits);
  // of a warp: everything, then register bits, then lane bits
  __shared__ double of_warp[kWarps][kOwn];
  double sum[kOwn]{};
  sum[0] = sum_registers<of_slots, RB, 0>(a, sum + 1);
#pragma unroll
  for (int b = 0; b < tile::kLaneBits; ++b) {
    const double other = __shfl_xor_sync(0xffffffffu, sum[0], 1 << b);
    if constexpr (of_slots) {
      sum[1 + RB + b] = thread >> b & 1 ? sum[0] : other;
#pragma unroll
      for (int before = 0; before < RB + b; ++before) {
        sum[1 + before] += __shfl_xor_sync(0xffffffffu, sum[1 + before], 1 << b);
      }
    }
    sum[0] += other;
  }
  if ((thread & 31) == 0) {
#pragma unroll
    for (int k = 0; k < kOwn; ++k) of_warp[thread >> 5][k] = sum[k];
  }
  __syncthreads();
  if (thread >= num_tile_sums(K, of_slots)) return;
  double total = 0;
  for (std::uint32_t w = 0; w < kWarps; ++w) {
    const bool counts = thread < kOwn || w >> (thread - kOwn) & 1;  // ... then the bits of the warp
    if (counts) total += of_warp[w][thread < kOwn ? thread : 0];
  }
  out[thread] = total;
}

/// A pass on the tile of this block: load, `walk` through the operations, store. `f`: the frame, in
/// the arguments or, with Walk::kIsKnown, known when the kernel is compiled; its scale is taken
/// from the arguments. walk(a, here, window, context, tile, machine) runs the operations,
/// walk.first_place(shared, here, j) is where amplitude j is in the first phase.
template <class T, int K, int RB, int BlockBits, class Walk>
__device__ __forceinline__ void run_tile_pass(const PassFrame& f, const TileArguments<T>& args,
                                              const Walk& walk) {
  constexpr int kThreadBits = K - RB;
  constexpr bool kPredicated = sizeof(T) == 4 && !Walk::kIsKnown;
  constexpr std::uint32_t kThreads = 1u << kThreadBits;
  constexpr std::uint32_t kWarps = 1u << (kThreadBits - tile::kLaneBits);
  extern __shared__ __align__(kTileAlignment) std::byte shared[];
  const std::uint32_t thread = threadIdx.x;
  auto* const linear = reinterpret_cast<Complex<T>*>(shared + (sizeof(Complex<T>) << K));
  auto* const general = reinterpret_cast<Complex<T>*>(
      reinterpret_cast<std::byte*>(linear) + tile::linear_bytes(f, sizeof(Complex<T>), kWarps));
  auto* const rows =
      reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(general) +
                                       tile::general_bytes(f, sizeof(Complex<T>), kThreadBits));
  std::byte* const window = reinterpret_cast<std::byte*>(rows) + tile::row_bytes(f, kThreadBits);
  const std::uint32_t tile_number = blockIdx.x;
  const std::uint32_t block = BlockBits ? tile_number & 1 : 0;
  std::byte* tile_start =
      reinterpret_cast<std::byte*>(args.state) + tile::tile_offset(f.runs, f.num_runs, tile_number);
  if (BlockBits && block) tile_start += f.block_load;
  const auto holds_zero = [&](const std::byte* p, std::uint64_t zero) {
    const std::byte* const from =
        BlockBits ? reinterpret_cast<const std::byte*>(args.state) : tile_start;
    return (static_cast<std::uint64_t>(p - from) & zero) != 0;
  };

  // Fetch the program and the factors of this tile first: they would queue behind the amplitudes.
  for (std::uint32_t i = thread; i < f.first_chunk16; i += kThreads) {
    copy_async(window + 16 * i, args.code + 16 * i);
  }
  tile::LinearParts<T> parts;
  const bool makes_factor = thread < f.first_linear * kWarps;
  if (makes_factor) {
    parts.fetch(tile::table<Complex<T>>(args.tables, f.first_linear_tables), f.tile_bits,
                thread / kWarps, thread % kWarps, kWarps, tile_number);
  }
  asm volatile("" ::: "memory");

  // load the tile
  Complex<T> a[1 << RB];
  const std::byte* const from =
      tile_start + thread_columns<kPredicated, kThreadBits>(f.load_column + RB, thread);
  std::uint32_t here =
      thread_columns<kPredicated, kThreadBits>(f.first_column + RB, thread);  // of amplitude 0
  if (tile::loads_through_shared(K, sizeof(Complex<T>)) || f.through_shared) {
    here ^= tile::exchange_shift(f.first_shift, tile_number);
    const std::uint32_t to = thread_columns<kPredicated, kThreadBits>(f.place_column + RB, thread);
    const auto place = [&](int j) { return shared + (to ^ columns<RB>(f.place_column, j)); };
    if (f.zero_load == 0) {
      for_each_amplitude<RB - 1, 0>(from, f.load_column, [&](auto j, const std::byte* p) {
        copy_async<sizeof(Complex<T>)>(place(decltype(j)::value), p);
      });
    } else {
      for_each_amplitude<RB - 1, 0>(from, f.load_column, [&](auto j, const std::byte* p) {
        copy_async<sizeof(Complex<T>)>(place(decltype(j)::value), p, holds_zero(p, f.zero_load));
      });
    }
    if (makes_factor) linear[thread] = parts.value();
    wait_for_copies();
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 1 << RB; ++j) {
      a[j] = *walk.first_place(shared, here, j);
    }
  } else {
    if (f.zero_load == 0) {
      for_each_amplitude<RB - 1, 0>(from, f.load_column, [&](auto j, const std::byte* p) {
        a[decltype(j)::value] = load_amplitude<T>(p);
      });
    } else {
      for_each_amplitude<RB - 1, 0>(from, f.load_column, [&](auto j, const std::byte* p) {
        a[decltype(j)::value] =
            holds_zero(p, f.zero_load) ? Complex<T>{0, 0} : load_amplitude<T>(p);
      });
    }
    asm volatile("" ::: "memory");
    if (makes_factor) linear[thread] = parts.value();
    wait_for_copies();
    __syncthreads();
  }
  const auto known_at_jumps = [](auto x) {
    if constexpr (Walk::kIsKnown) {
      return x;  // there are none
    } else {
      return from_here(x);
    }
  };
  const Machine<T, K, RB, BlockBits> machine{
      a,
      here,
      shared,
      window,
      linear,
      general,
      known_at_jumps(static_cast<std::uint32_t>(__cvta_generic_to_shared(rows))),
      known_at_jumps(args.code),
      known_at_jumps(args.tables),
      tile_number};
  machine.prepare();
  if constexpr (BlockBits > 0) {
    if (f.arrives) arrive_at_cluster();
  }
  const tile::PhaseContext<T> context{linear, general, thread, kThreadBits};
  walk(a, here, window, context, tile_number, machine);
  if (f.needs_barrier) {  // every load before any permuted store
    if constexpr (BlockBits > 0) {
      synchronize_cluster();
    } else {
      __syncthreads();
    }
  }
  // store the tile
  if (f.scale_kind == tile::ScaleKind::kReal) {
    const T s = args.scale.re;
#pragma unroll
    for (int j = 0; j < 1 << RB; ++j) a[j] = {a[j].re * s, a[j].im * s};
  } else if (f.scale_kind == tile::ScaleKind::kBits) {
    T s = args.scale_is_complex ? T{1} : args.scale.re;
#pragma unroll
    for (int b = 0; b < kThreadBits; ++b) {
      s *= thread >> b & 1 ? args.bit_scale[RB + b] : T{1};
    }
    if (BlockBits && block) s *= args.bit_scale[K];
    tile::with_bit_scale<RB - 1, 0>(a, s, args.bit_scale, [](Complex<T>& x, T scale) {
      x = {x.re * scale, x.im * scale};
    });
  }
  if (args.scale_is_complex) {
#pragma unroll
    for (int j = 0; j < 1 << RB; ++j) tile::multiply(a[j], args.scale);
  }
  if (args.sums) {
    double* const out =
        args.sums + std::uint64_t{tile_number} * num_tile_sums(K, args.sums_of_slots);
    if (args.sums_of_slots) {
      write_tile_sums<true, K, RB>(a, thread, out);
    } else {
      write_tile_sums<false, K, RB>(a, thread, out);
    }
  }
  if (BlockBits) tile_start += f.block_move[block];
  const std::uint64_t own =
      (thread_columns<kPredicated, kThreadBits>(f.store_column + RB, thread) ^ f.store_xor) +
      f.store_add;
  if (f.zero_store == 0) {
    for_each_amplitude<RB - 1, 0>(tile_start + own, f.store_column, [&](auto j, std::byte* p) {
      store_amplitude(p, a[decltype(j)::value]);
    });
  } else {
    for_each_amplitude<RB - 1, 0>(tile_start + own, f.store_column, [&](auto j, std::byte* p) {
      if (!holds_zero(p, f.zero_store)) store_amplitude(p, a[decltype(j)::value]);
    });
  }
}

}  // namespace tilewave::statevec::cuda
