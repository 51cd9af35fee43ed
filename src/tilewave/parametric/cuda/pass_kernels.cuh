// The kernels of one set of values: a pass over the state, forward or backward, sums over Pauli strings,
// and the product of two states. Blocks take tiles in turn.
#pragma once

#include <algorithm>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/parametric/cuda/string_sums.cuh"

namespace tilewave::parametric::device {

// Tiles of 2^12 amplitudes. As many of them in each thread's registers as 128 registers hold, which
// leaves one block of 512 threads on a multiprocessor, or two of 256.
constexpr int kRow = kDeviceRowBits;
template <class T, bool kBack>
struct Shape {
  static constexpr int kReg = sizeof(T) == 8 && kBack ? 3 : 4;
  static constexpr int kThreads = 1 << (kRow - kReg);
  static constexpr int kBlocks = 512 / kThreads;  // on a multiprocessor
  static constexpr std::size_t kTileBytes = sizeof(Amplitude<T>) << kRow;
};
template <class T>
constexpr int kBankBits = sizeof(T) == 8 ? 3 : 4;
constexpr std::size_t kMostSumBytes = std::size_t{16} << 10;  // of a multiprocessor's shared memory

/// Bytes of shared memory that a block has beside its tile and the sums of its warps.
template <class T, bool kBack>
std::size_t free_shared_bytes(const cudaDeviceProp& device) {
  using S = Shape<T, kBack>;
  constexpr std::size_t kOwn = std::size_t{2} << 10;  // of the kernel itself
  const std::size_t taken = S::kTileBytes + kMostSumBytes / S::kBlocks + kOwn;
  // its share where that is enough, or all that a block may have
  const std::size_t share =
      device.sharedMemPerMultiprocessor / S::kBlocks - device.reservedSharedMemPerBlock;
  const std::size_t block = std::min(device.sharedMemPerBlockOptin, std::max(share, taken));
  if (block < taken) refuse_shared(taken, device);
  return block - taken;
}

struct TileWires {
  std::uint8_t wire[kMostTileBits];
};

/// Which tiles a kernel takes, and where their amplitudes are. Amplitudes are numbered as in the whole
/// state: a device that has a shard of it gives kernels the address where amplitude 0 would be.
struct Tiles {
  TileWires rows;
  std::uint64_t outer = 0;   // wires that number the tiles
  std::uint64_t shard = 0;   // wires beyond those in memory that are 1 here
  std::uint64_t stride = 0;  // the number of blocks, on those wires
  std::uint64_t count = 0;
};

template <class T>
struct PassArguments {
  ProgramView<T> program;
  Tiles tiles;
  std::uint32_t pass;
  bool stores;
  std::uint64_t load_zeros,
      store_zeros;  // wires: where one is 1, amplitudes are 0, or not asked for
  Amplitude<T>*psi, *lam;
  const Amplitude<T>*op_factors, *term_factors, *table;
  double* sums;         // [block][derivative]
  double* far_sums;     // [block][warp][derivative], where shared memory has no room for them
  Amplitude<T>* start;  // where the amplitude of |0...0> goes, or null
};

__device__ inline std::uint64_t deposit(std::uint64_t value, std::uint64_t mask) {
  std::uint64_t out = 0;
  for (; mask; mask &= mask - 1, value >>= 1) {
    if (value & 1) out |= mask & (~mask + 1);
  }
  return out;
}

// Offsets of the thread's amplitudes in the state: its own part, and one for each register bit.
template <int kReg>
struct Places {
  std::uint64_t own = 0, bit[kReg];
  __device__ explicit Places(const TileWires& wires) {
#pragma unroll
    for (int b = 0; b < kRow - kReg; ++b) {
      if (threadIdx.x >> b & 1) own |= std::uint64_t{1} << wires.wire[b];
    }
#pragma unroll
    for (int b = 0; b < kReg; ++b) bit[b] = std::uint64_t{1} << wires.wire[kRow - kReg + b];
  }
  __device__ std::uint64_t at(int k) const {
    std::uint64_t place = own;
#pragma unroll
    for (int b = 0; b < kReg; ++b) {
      if (k >> b & 1) place |= bit[b];
    }
    return place;
  }
};

// Adds up what the warps of a block have, and writes it where the block's is.
template <int kThreads>
__device__ void write_sums(const double* of_warps, std::uint32_t count, double* out) {
  __syncthreads();
  for (std::uint32_t r = threadIdx.x; r < count; r += kThreads) {
    double sum = 0;
    for (int w = 0; w < kThreads / 32; ++w) sum += of_warps[w * count + r];
    out[std::uint64_t{blockIdx.x} * count + r] = sum;
  }
}

// Copies a part of a program to shared memory; `room` moves on.
template <int kThreads, class E>
__device__ const E* keep(const E* from, std::uint32_t count, unsigned char*& room) {
  static_assert(sizeof(E) % 4 == 0);
  room += -reinterpret_cast<std::uintptr_t>(room) & (alignof(E) - 1);
  auto* to = reinterpret_cast<std::uint32_t*>(room);
  for (std::uint32_t k = threadIdx.x; k < count * (sizeof(E) / 4); k += kThreads)
    to[k] = reinterpret_cast<const std::uint32_t*>(from)[k];
  room += count * sizeof(E);
  return reinterpret_cast<const E*>(to);
}

template <class T, bool kBack>
__global__ __launch_bounds__(Shape<T, kBack>::kThreads,
                             Shape<T, kBack>::kBlocks) void run_pass(const PassArguments<T> a) {
  using S = Shape<T, kBack>;
  constexpr int kHeld = 1 << S::kReg;
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ StagePass pass;
  if (threadIdx.x == 0) pass = a.program.passes[a.pass];
  __syncthreads();
  Tile<T, kRow, S::kReg, kBack> tile;
  tile.shared = reinterpret_cast<Amplitude<T>*>(memory);
  tile.table = a.table;
  // shared memory: a tile, the program, accumulators, addresses of exchanges, sums of warps
  unsigned char* room = memory + S::kTileBytes + pass.kept_program_bytes;
  const std::uint32_t reads = kBack ? pass.num_reads : 0;
  double* sums = nullptr;
  if constexpr (kBack) {
    tile.accumulators = reinterpret_cast<double*>(room);
    for (std::uint32_t k = 0; k < pass.num_accumulators; ++k)
      tile.accumulators[k * S::kThreads + threadIdx.x] = 0;
    room += pass.num_accumulators * S::kThreads * kAccumulatorBytes;
  }
  auto* addresses = reinterpret_cast<std::uint32_t*>(room);
  for (std::uint32_t k = 0; k < pass.num_kept; ++k)
    addresses[k * S::kThreads + threadIdx.x] =
        tile.addresses_of(a.program.exchanges[pass.first_exchange + k]);
  tile.addresses = addresses;
  tile.first_exchange = pass.first_exchange;
  tile.num_kept = pass.num_kept;
  if constexpr (kBack) {
    room += pass.num_kept * S::kThreads * kAddressBytes;
    sums = a.far_sums ? a.far_sums + std::uint64_t{blockIdx.x} * (S::kThreads / 32) * reads
                      : reinterpret_cast<double*>(room);
    for (std::uint32_t k = threadIdx.x; k < (S::kThreads / 32) * reads; k += S::kThreads)
      sums[k] = 0;
    tile.sums = sums + threadIdx.x / 32 * reads;
  }
  const StageOp* ops = a.program.ops + pass.first_op;
  const StagePhases* phases = a.program.phases + pass.first_phases;
  const StageTerm* terms = a.program.terms + pass.first_term;
  tile.op_factors = a.op_factors + pass.first_op;
  tile.term_factors = a.term_factors + pass.first_term;
  if (pass.kept_program_bytes) {
    room = memory + S::kTileBytes;  // it comes first: it needs the alignment of factors
    tile.op_factors = keep<S::kThreads>(tile.op_factors, pass.num_ops, room);
    tile.term_factors = keep<S::kThreads>(tile.term_factors, pass.num_terms, room);
    ops = keep<S::kThreads>(ops, pass.num_ops, room);
    phases = keep<S::kThreads>(phases, pass.num_phases, room);
    terms = keep<S::kThreads>(terms, pass.num_terms, room);
  }
  __syncthreads();
  const Places<S::kReg> places(a.tiles.rows);
  std::uint64_t outer = deposit(blockIdx.x, a.tiles.outer) | a.tiles.shard;
  for (std::uint64_t n = blockIdx.x; n < a.tiles.count; n += gridDim.x) {
    tile.outer = outer;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const std::uint64_t at = outer | places.at(k);
      const bool is_zero = at & a.load_zeros;
      tile.psi[k] = is_zero ? Amplitude<T>{0, 0} : a.psi[at];
      if constexpr (kBack) tile.lam[k] = is_zero ? Amplitude<T>{0, 0} : a.lam[at];
    }
    tile.run(a.program, pass, ops, phases, terms);
    if (kBack && a.start && outer == 0 && threadIdx.x == 0) *a.start = tile.psi[0];
    if (a.stores) {
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        const std::uint64_t at = outer | places.at(k);
        if (at & a.store_zeros) continue;
        a.psi[at] = tile.psi[k];
        if constexpr (kBack) a.lam[at] = tile.lam[k];
      }
    }
    outer = (((outer | ~a.tiles.outer) + a.tiles.stride) & a.tiles.outer) | a.tiles.shard;
  }
  if constexpr (kBack) {
    write_sums<S::kThreads>(sums, reads, a.sums);
    __syncthreads();
    for (std::uint32_t k = threadIdx.x / 32; k < pass.num_accumulated; k += S::kThreads / 32) {
      const StageRead read = a.program.reads[pass.first_accumulated + k];
      double sum = 0;
      for (std::uint32_t t = threadIdx.x & 31; t < S::kThreads; t += 32) {
        if ((t & read.thread) == read.thread)
          sum += tile.accumulators[read.accumulator * S::kThreads + t];
      }
      sum = sum_of_warp(sum);
      if ((threadIdx.x & 31) == 0) a.sums[std::uint64_t{blockIdx.x} * reads + read.read] += sum;
    }
  }
}

// Re and Im of sum conj(lam) psi: sums[block][2].
template <class T>
__global__ __launch_bounds__(256) void run_dot(const Amplitude<T>* lam, const Amplitude<T>* psi,
                                               std::uint64_t count, double* out) {
  __shared__ double sums[8 * 2];
  double re = 0, im = 0;
  for (std::uint64_t k = blockIdx.x * 256ull + threadIdx.x; k < count; k += gridDim.x * 256ull) {
    const Amplitude<T> a = lam[k], b = psi[k];
    re += static_cast<double>(a.re * b.re + a.im * b.im);
    im += static_cast<double>(a.re * b.im - a.im * b.re);
  }
  re = sum_of_warp(re);
  im = sum_of_warp(im);
  if ((threadIdx.x & 31) == 0) {
    sums[threadIdx.x / 32 * 2] = re;
    sums[threadIdx.x / 32 * 2 + 1] = im;
  }
  write_sums<256>(sums, 2, out);
}

template <class T>
struct StringArguments {
  StringView<T, Shape<T, true>::kReg> strings;
  Tiles tiles;
  std::uint64_t flip_outer;
  std::uint32_t num_sums;
  bool adds;  // to lam
  const Amplitude<T>* psi;
  const Amplitude<T>* ket;  // what the strings act on: psi, or that of another process
  Amplitude<T>* lam;
  double* sums;      // [block][sum]
  double* far_sums;  // [block][warp][sum]
};

template <class T, bool kLam>
__global__ __launch_bounds__(Shape<T, true>::kThreads,
                             Shape<T, true>::kBlocks) void run_strings(const StringArguments<T> a) {
  using S = Shape<T, true>;
  constexpr int kHeld = 1 << S::kReg, kThreadBits = kRow - S::kReg;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* source = reinterpret_cast<Amplitude<T>*>(memory);
  double* sums = a.far_sums
                     ? a.far_sums + std::uint64_t{blockIdx.x} * (S::kThreads / 32) * a.num_sums
                     : reinterpret_cast<double*>(memory + S::kTileBytes);
  for (std::uint32_t k = threadIdx.x; k < (S::kThreads / 32) * a.num_sums; k += S::kThreads)
    sums[k] = 0;
  const Places<S::kReg> places(a.tiles.rows);
  std::uint64_t outer = deposit(blockIdx.x, a.tiles.outer) | a.tiles.shard;
  for (std::uint64_t n = blockIdx.x; n < a.tiles.count; n += gridDim.x) {
    Amplitude<T> psi[kHeld], lam[kLam ? kHeld : 1];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const std::uint64_t at = outer | places.at(k);
      psi[k] = a.psi[at];
      const std::uint32_t to = swizzle(threadIdx.x | k << kThreadBits, kBankBits<T>);
      source[to] = a.flip_outer ? a.ket[at ^ a.flip_outer] : psi[k];
      if constexpr (kLam) lam[k] = a.adds ? a.lam[at] : Amplitude<T>{0, 0};
    }
    __syncthreads();
    add_strings<T, kRow, S::kReg, kLam>(a.strings, outer, threadIdx.x, psi, source, lam,
                                        sums + threadIdx.x / 32 * a.num_sums);
    if constexpr (kLam) {
#pragma unroll
      for (int k = 0; k < kHeld; ++k) a.lam[outer | places.at(k)] = lam[k];
    }
    outer = (((outer | ~a.tiles.outer) + a.tiles.stride) & a.tiles.outer) | a.tiles.shard;
  }
  write_sums<S::kThreads>(sums, a.num_sums, a.sums);
}

// total[k] += the sum over blocks of sums[block][k].
__global__ void add_blocks(const double* sums, std::uint32_t blocks, std::uint32_t count,
                           double* total) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  double sum = 0;
  for (std::uint32_t b = 0; b < blocks; ++b) sum += sums[std::uint64_t{b} * count + k];
  total[k] += sum;
}

}  // namespace tilewave::parametric::device
