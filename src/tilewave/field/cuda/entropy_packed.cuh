// Packed kernel (K <= 16, 3x3 and 5x5): a thread owns four neighbouring columns, each a histogram
// of 16 nibbles in two registers, and rolls down the rows: one cell in, one out. The columns beside
// come from the neighbouring threads. Windows are nibble sums of at most 15 cells, then bytes; two
// counts at once index a table of pairs in shared memory (one dot product gives the address). No
// bytes but the image in and the result out.
#pragma once

#include "tilewave/field/cuda/entropy_device.cuh"

namespace tilewave::field::device {

// A column's histogram: classes 0..7 and 8..15, a nibble each.
struct Nibbles {
  std::uint32_t low, high;
};
__device__ inline Nibbles operator+(Nibbles a, Nibbles b) {
  return {a.low + b.low, a.high + b.high};
}

// 1 in the nibble of a code given as 4 * code; 64 (no data) gives nothing.
__device__ inline Nibbles one_hot(std::uint32_t four_code) {
  unsigned long long bit;
  asm("shl.b64 %0, 1, %1;" : "=l"(bit) : "r"(four_code));  // 0 from 64 on
  return {static_cast<std::uint32_t>(bit), static_cast<std::uint32_t>(bit >> 32)};
}

// Counts as bytes: even and odd classes of the low and of the high word.
struct Bytes {
  std::uint32_t word[4];
};
__device__ inline Bytes split(Nibbles n) {
  constexpr std::uint32_t kMask = 0x0F0F0F0Fu;
  return {{n.low & kMask, (n.low >> 4) & kMask, n.high & kMask, (n.high >> 4) & kMask}};
}
__device__ inline Bytes operator+(Bytes a, Bytes b) {
  return {
      {a.word[0] + b.word[0], a.word[1] + b.word[1], a.word[2] + b.word[2], a.word[3] + b.word[3]}};
}

// pairs[a * kPairStride + b] = sums[a] + sums[b]; the stride spreads small counts over the banks.
constexpr int kPairCounts = 32, kPairStride = 38;
constexpr std::uint32_t kFirstPair = 4u | (4u * kPairStride) << 8;
constexpr std::uint32_t kSecondPair = kFirstPair << 16;

// `pairs`: the table's address in shared memory; the dot product adds it.
__device__ inline std::int32_t sum_of_logs(Bytes b, std::uint32_t pairs) {
  const auto at = [](std::uint32_t address) {
    std::int32_t value;
    asm("ld.shared.s32 %0, [%1];" : "=r"(value) : "r"(address));
    return value;
  };
  std::int32_t sum = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    sum += at(__dp4a(b.word[k], kFirstPair, pairs));
    sum += at(__dp4a(b.word[k], kSecondPair, pairs));
  }
  return sum;
}

__device__ inline std::int32_t count_cells(Bytes b) {
  std::uint32_t n = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) n = __dp4a(b.word[k], 0x01010101u, n);
  return static_cast<std::int32_t>(n);
}

__device__ inline Nibbles from_left(Nibbles n) {
  return {__shfl_up_sync(0xffffffffu, n.low, 1), __shfl_up_sync(0xffffffffu, n.high, 1)};
}
__device__ inline Nibbles from_right(Nibbles n) {
  return {__shfl_down_sync(0xffffffffu, n.low, 1), __shfl_down_sync(0xffffffffu, n.high, 1)};
}

// Four codes of a row, times 4, invalid ones 64.
__device__ inline std::uint32_t canonical(std::uint32_t codes, int levels) {
  const std::uint32_t invalid = __vcmpgeu4(codes, static_cast<std::uint32_t>(levels) * 0x01010101u);
  return ((codes & ~invalid) << 2) | (invalid & 0x40404040u);
}

constexpr int kPackedWarps = 4;  // a block
constexpr int kPackedPixels =
    4 * 30;  // a warp's output columns: its first and last thread serve as halo

// The rare paths are functions that are called, not inlined: the row's code must fit the
// instruction cache.

// Codes at columns x..x+3 of row y where some are not in the image, or not in one aligned word.
__device__ __noinline__ std::uint32_t gather_codes(const std::uint8_t* image, const Geometry& g,
                                                   std::int64_t x, std::int64_t y) {
  const std::int64_t row = border_index(y, g.height, g.border);
  std::uint32_t codes = 0;
#pragma unroll 1
  for (int k = 0; k < 4; ++k) {
    const std::int64_t column = border_index(x + k, g.width, g.border);
    std::uint32_t code = 255;
    if (row >= 0 && column >= 0) {
      // what is not held serves no pixel of this piece
      const bool held = column >= g.column_begin && column < g.column_end;
      code = held ? image[(row - g.row_begin) * g.pitch + column] : 0u;
    } else if (g.border == kConstant) {
      code = static_cast<std::uint32_t>(g.constant);
    }
    codes |= code << (8 * k);
  }
  return codes;
}

// Entropy of a window that is not full, where the border asks for more than counting.
template <int W, int H>
__device__ __noinline__ float cut_entropy(const Geometry& g, const Tables& t, std::int64_t x,
                                          std::int64_t y, std::int32_t sum, std::int32_t count) {
  constexpr int kSide = W / 2, kTop = H / 2;
  if (g.border == kStudy) {
    const std::int64_t column = min(max(x, std::int64_t{0}), g.width - 1);
    count =
        study_population(column, kSide, kSide, g.width) * study_population(y, kTop, kTop, g.height);
  }
  if (g.border == kValid && leaves_image(g, x, y, kSide, kSide, kTop, kTop))
    return __int_as_float(0x7fc00000);
  return __fsub_rn(t.log_n[count], __fmul_rn(static_cast<float>(sum), t.inverse[count]));
}

template <int W, int H, bool kAligned>
__global__ void __launch_bounds__(32 * kPackedWarps, 8)
    entropy_packed_kernel(const std::uint8_t* __restrict__ image, float* __restrict__ out,
                          const __grid_constant__ Geometry g, const __grid_constant__ Tables t,
                          int strips, int rows_a_warp) {
  static_assert(W <= 5 && H <= 5 && W % 2 == 1 && H % 2 == 1);
  constexpr int kSide = W / 2, kTop = H / 2, kThreads = 32 * kPackedWarps;
  __shared__ std::int32_t pairs[kPairCounts * kPairStride];
  __shared__ std::uint32_t ring[H * kThreads];  // the last H rows, canonical
  __shared__ float log_n[32], inverse[32];
  for (int i = threadIdx.x; i < kPairCounts * kPairStride; i += kThreads) {
    const int a = i / kPairStride, b = i % kPairStride;
    pairs[i] = (a <= t.max_count ? t.sums[a] : 0) + (b <= t.max_count ? t.sums[b] : 0);
  }
  if (threadIdx.x <= t.max_count) {
    log_n[threadIdx.x] = t.log_n[threadIdx.x];
    inverse[threadIdx.x] = t.inverse[threadIdx.x];
  }
  std::uint32_t* const my_ring = ring + threadIdx.x;
#pragma unroll
  for (int k = 0; k < H; ++k) my_ring[k * kThreads] = 0x40404040u;
  __syncthreads();
  auto pair_bytes = static_cast<std::uint32_t>(__cvta_generic_to_shared(pairs));

  const int lane = threadIdx.x % 32;
  // My warp's piece: pieces of a strip of columns lie `strips` apart, so that blocks are full
  // whatever the width.
  const std::uint32_t piece = blockIdx.x * kPackedWarps + threadIdx.x / 32;
  const std::uint32_t down = piece / static_cast<std::uint32_t>(strips);
  const std::uint32_t strip = piece - down * static_cast<std::uint32_t>(strips);
  const std::int64_t y_first = g.y_begin + std::int64_t{down} * rows_a_warp;
  if (y_first >= g.y_end) return;  // the whole warp
  std::int64_t x = g.x_begin + std::int64_t{strip} * kPackedPixels + 4 * (lane - 1);
  const int rows = static_cast<int>(min(std::int64_t{rows_a_warp}, g.y_end - y_first));
  const int steps = rows + H - 1;
  // How many of my four pixels are written; 4 only where one store may.
  int writes = 0;
  if (lane > 0 && lane < 31)
    writes = static_cast<int>(min(max(g.x_end - x, std::int64_t{0}), std::int64_t{4}));
  // bit 7 of a byte that is no class: of the code itself, or by the sum
  const std::uint32_t to_bit_7 = (128u - static_cast<std::uint32_t>(g.levels)) * 0x01010101u;
  const float full_log = t.log_n[W * H], full_inverse = t.inverse[W * H];

  // Steps [clear_begin, clear_end) read a row of the image, in one aligned word.
  const std::int64_t y_origin = y_first - kTop;
  const bool clear = kAligned && x >= g.column_begin && x + 4 <= g.column_end;
  int clear_begin = clear ? static_cast<int>(max(-y_origin, std::int64_t{0})) : steps;
  // Threads beside the image have nothing to load, where borders hold no cells.
  const bool no_cells = g.border == kCrop || g.border == kValid || g.border == kStudy;
  if (no_cells && (x + 3 < 0 || x >= g.width)) clear_begin = -1;
  const int clear_end = static_cast<int>(min(g.height - y_origin, std::int64_t{steps}));
  // Kept in registers: the compiler would rather work them out again in every row.
  asm volatile("" : "+r"(clear_begin), "+r"(writes), "+r"(pair_bytes), "+l"(x));
  const std::uint8_t* next = image + (y_origin - g.row_begin) * g.pitch + x;
  const auto load = [&](int step) -> std::uint32_t {
    if (clear_begin < 0) return 0xFFFFFFFFu;
    if (step >= clear_begin && step < clear_end)
      return __ldg(reinterpret_cast<const std::uint32_t*>(next));
    return gather_codes(image, g, x, y_origin + step);
  };

  Nibbles column[4] = {};
  int rows_since_bad = 0;
  std::uint32_t ahead = load(0);  // the row that enters next, asked for one step ahead
  float* to = out + (y_first - g.y_begin) * g.out_stride + x;
  const std::uint32_t* const ring_end = my_ring + H * kThreads;
  std::uint32_t* slot = my_ring;
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    // roll: one row in, one out
    const std::uint32_t codes = ahead;
    next += g.pitch;
    if (i + 1 < steps) ahead = load(i + 1);
    std::uint32_t in = codes << 2;
    ++rows_since_bad;
    if (__any_sync(0xffffffffu, ((codes + to_bit_7) | codes) & 0x80808080u)) {
      in = canonical(codes, g.levels);
      rows_since_bad = 0;
    }
    const std::uint32_t gone = *slot;
    *slot = in;
    slot += kThreads;
    if (slot == ring_end) slot = my_ring;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const Nibbles plus = one_hot(__byte_perm(in, 0, 0x4440u + k)),
                    minus = one_hot(__byte_perm(gone, 0, 0x4440u + k));
      column[k].low += plus.low - minus.low;
      column[k].high += plus.high - minus.high;
    }
    if (i < H - 1) continue;

    // windows: columns x - kSide .. x + 3 + kSide
    Nibbles c[4 + 2 * kSide];
#pragma unroll
    for (int k = 0; k < kSide; ++k) {
      c[k] = from_left(column[4 - kSide + k]);
      c[4 + kSide + k] = from_right(column[k]);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) c[kSide + k] = column[k];
    Bytes window[4];
    if constexpr (W == 5) {  // three columns of five cells fit a nibble
      const Bytes middle = split(c[2] + c[3] + c[4]);
      window[0] = middle + split(c[0] + c[1]);
      window[1] = middle + split(c[1] + c[5]);
      window[2] = middle + split(c[5] + c[6]);
      window[3] = split(c[3] + c[4] + c[5]) + split(c[6] + c[7]);
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k) window[k] = split(c[k] + c[k + 1] + c[k + 2]);
    }
    std::int32_t sum[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] = sum_of_logs(window[k], pair_bytes);
    float h[4];
    if (rows_since_bad >= H && g.border != kStudy) {  // every window of the warp is full
#pragma unroll
      for (int k = 0; k < 4; ++k)
        h[k] = __fsub_rn(full_log, __fmul_rn(static_cast<float>(sum[k]), full_inverse));
    } else if (g.border != kStudy && g.border != kValid) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int count = count_cells(window[k]);
        h[k] = __fsub_rn(log_n[count], __fmul_rn(static_cast<float>(sum[k]), inverse[count]));
      }
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k)
        h[k] =
            cut_entropy<W, H>(g, t, x + k, y_first + i - (H - 1), sum[k], count_cells(window[k]));
    }

    // store
    if (kAligned && writes == 4) {
      // The intrinsic stays one store of 16 bytes; a plain one was merged with the four below.
      __stcs(reinterpret_cast<float4*>(to), make_float4(h[0], h[1], h[2], h[3]));
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (k < writes) to[k] = h[k];
      }
    }
    to += g.out_stride;
  }
}

}  // namespace tilewave::field::device
