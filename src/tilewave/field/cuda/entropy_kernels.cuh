// Device code of local entropy. Both kernels form H exactly as EntropyTables::entropy does.
//
// Packed kernel (K <= 16, W x H of at most 31 cells, W <= 5, H <= 5): a thread owns four
// neighbouring columns, each a histogram of 16 nibbles in two registers, and rolls down the rows:
// one cell in, one out. The columns beside come from the neighbouring threads. Windows are nibble
// sums of at most 15 cells, then bytes; two counts at once index a table of pairs in shared memory
// (one dot product gives the address). No bytes but the image in and the result out.
//
// Sliding kernel (any shape, any K that fits): a warp slides one window along a row. The cells that
// enter and leave are dealt to its lanes, which count them by atomics in shared memory; an atomic
// returns the count before, so the changes of the sum telescope to the exact value whatever the
// order.
#pragma once

#include <cstdint>

namespace tilewave::field::device {

/// A band of the image on the device and what a pixel outside of it is.
struct Geometry {
  std::int64_t width, height;       // of the image
  std::int64_t row_begin, row_end;  // rows held
  std::int64_t pitch;               // elements
  std::int64_t y_begin, y_end;      // rows of output
  std::int64_t out_stride;
  int border;    // field::Border
  int constant;  // code, or levels for "no data"
  int levels;
};

/// Tables in device memory: see EntropyTables.
struct Tables {
  const std::int32_t* sums;
  const float *log_n, *inverse;
  const double *log_n_wide, *inverse_wide;
  std::int32_t max_count;
  bool narrow;
};

constexpr int kCrop = 0, kReflect = 1, kNearest = 2, kConstant = 3, kValid = 4, kStudy = 5;
constexpr std::int64_t kOutside = -1;

__device__ inline std::int64_t border_index(std::int64_t i, std::int64_t size, int border) {
  if (i >= 0 && i < size) return i;
  if (border == kReflect) {
    const std::int64_t period = 2 * size;
    i = ((i % period) + period) % period;
    return i < size ? i : period - 1 - i;
  }
  if (border == kNearest) return i < 0 ? 0 : size - 1;
  return kOutside;
}

__device__ inline float entropy(const Tables& t, std::int32_t sum, std::int32_t count) {
  if (t.narrow)
    return __fsub_rn(t.log_n[count], __fmul_rn(static_cast<float>(sum), t.inverse[count]));
  return static_cast<float>(
      __dsub_rn(t.log_n_wide[count], __dmul_rn(static_cast<double>(sum), t.inverse_wide[count])));
}

// The study's population along one axis.
__device__ inline std::int32_t study_population(std::int64_t i, int before, int after,
                                                std::int64_t size) {
  const std::int64_t left = i < before ? i : before, right = size - i < after ? size - i : after;
  return static_cast<std::int32_t>(left + 1 + right);
}

__device__ inline bool leaves_image(const Geometry& g, std::int64_t x, std::int64_t y, int left,
                                    int right, int top, int bottom) {
  return x < left || y < top || x + right >= g.width || y + bottom >= g.height;
}

// ---- packed kernel ----

// A column's histogram: classes 0..7 and 8..15, a nibble each.
struct Nibbles {
  std::uint32_t low, high;
};
__device__ inline Nibbles operator+(Nibbles a, Nibbles b) {
  return {a.low + b.low, a.high + b.high};
}

// 1 << s, and 0 for s >= 32 (also for what was negative).
__device__ inline std::uint32_t one_shifted(std::uint32_t s) {
  std::uint32_t r;
  asm("shl.b32 %0, 1, %1;" : "=r"(r) : "r"(s));
  return r;
}

// 1 in the nibble of a code given as 4 * code; 64 (no data) gives nothing.
__device__ inline Nibbles one_hot(std::uint32_t four_code) {
  return {one_shifted(four_code), one_shifted(four_code - 32u)};
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

__device__ inline std::int32_t sum_of_logs(Bytes b, const char* pairs) {
  std::int32_t sum = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    sum += *reinterpret_cast<const std::int32_t*>(pairs + __dp4a(b.word[k], kFirstPair, 0u));
    sum += *reinterpret_cast<const std::int32_t*>(pairs + __dp4a(b.word[k], kSecondPair, 0u));
  }
  return sum;
}

__device__ inline std::int32_t count_cells(Bytes b) {
  std::uint32_t n = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) n = __dp4a(b.word[k], 0x01010101u, n);
  return static_cast<std::int32_t>(n);
}

__device__ inline Nibbles shuffle(Nibbles n, int lane) {
  return {__shfl_sync(0xffffffffu, n.low, lane & 31), __shfl_sync(0xffffffffu, n.high, lane & 31)};
}

// Four codes of a row, times 4, invalid ones 64; `bad` tells whether there is one.
__device__ inline std::uint32_t canonical(std::uint32_t codes, std::uint32_t levels4, bool& bad) {
  const std::uint32_t invalid = __vcmpgeu4(codes, levels4);
  bad = invalid != 0;
  return ((codes & ~invalid) << 2) | (invalid & 0x40404040u);
}

constexpr int kPackedWarps = 4;  // a block
constexpr int kPackedPixels =
    4 * 30;  // a warp's output columns: its first and last thread serve as halo

// The rare paths are functions that are called, not inlined: five copies of the row's code must fit
// the instruction cache.

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
      code = image[(row - g.row_begin) * g.pitch + column];
    } else if (g.border == kConstant) {
      code = g.constant < g.levels ? static_cast<std::uint32_t>(g.constant) : 255u;
    }
    codes |= code << (8 * k);
  }
  return codes;
}

template <bool kAligned>
__device__ inline std::uint32_t load_codes(const std::uint8_t* image, const Geometry& g,
                                           std::int64_t x, std::int64_t y, bool inside) {
  if (kAligned && inside && static_cast<std::uint64_t>(y) < static_cast<std::uint64_t>(g.height))
    return __ldg(reinterpret_cast<const std::uint32_t*>(image + (y - g.row_begin) * g.pitch + x));
  return gather_codes(image, g, x, y);
}

// Entropy of a window that is not full.
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
__global__ void __launch_bounds__(32 * kPackedWarps)
    entropy_packed_kernel(const std::uint8_t* __restrict__ image, float* __restrict__ out,
                          const __grid_constant__ Geometry g, const __grid_constant__ Tables t,
                          int rows_a_warp) {
  static_assert(W <= 5 && H <= 5 && W % 2 == 1 && H % 2 == 1);
  constexpr int kSide = W / 2, kTop = H / 2;
  __shared__ std::int32_t pairs[kPairCounts * kPairStride];
  for (int i = threadIdx.x; i < kPairCounts * kPairStride; i += 32 * kPackedWarps) {
    const int a = i / kPairStride, b = i % kPairStride;
    pairs[i] = (a <= t.max_count ? t.sums[a] : 0) + (b <= t.max_count ? t.sums[b] : 0);
  }
  __syncthreads();
  const char* pair_bytes = reinterpret_cast<const char*>(pairs);

  const int lane = threadIdx.x % 32;
  const std::int64_t strip = std::int64_t{blockIdx.x} * kPackedWarps + threadIdx.x / 32;
  const std::int64_t x = strip * kPackedPixels + 4 * (lane - 1);  // my first column
  if (strip * kPackedPixels >= g.width) return;                   // the whole warp
  const std::int64_t y_first = g.y_begin + std::int64_t{blockIdx.y} * rows_a_warp;
  const int rows = static_cast<int>(min(std::int64_t{rows_a_warp}, g.y_end - y_first));
  const bool inside = x >= 0 && x + 4 <= g.width;
  const bool writes = lane > 0 && lane < 31 && x < g.width;
  const std::uint32_t levels4 = static_cast<std::uint32_t>(g.levels) * 0x01010101u;
  const float full_log = t.log_n[W * H], full_inverse = t.inverse[W * H];

  Nibbles column[4] = {};
  std::uint32_t ring[H];  // the last H rows, canonical
#pragma unroll
  for (int k = 0; k < H; ++k) ring[k] = 0x40404040u;
  int rows_since_bad = 0;
  // The row that enters next, loaded one step ahead; y_in counts from y_first - kTop.
  const std::int64_t y_origin = y_first - kTop;
  std::uint32_t ahead = load_codes<kAligned>(image, g, x, y_origin, inside);
  const auto step = [&](int y_in, std::uint32_t& slot) {
    bool bad = false;
    const std::uint32_t in = canonical(ahead, levels4, bad);
    if (y_in + 1 < rows + H - 1)
      ahead = load_codes<kAligned>(image, g, x, y_origin + y_in + 1, inside);
    rows_since_bad = __any_sync(0xffffffffu, bad) ? 0 : rows_since_bad + 1;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const Nibbles plus = one_hot((in >> (8 * k)) & 0xffu),
                    minus = one_hot((slot >> (8 * k)) & 0xffu);
      column[k].low += plus.low - minus.low;
      column[k].high += plus.high - minus.high;
    }
    slot = in;
  };
  float* to = out + (y_first - g.y_begin) * g.out_stride + x;
  const auto evaluate = [&](int row) {
    // columns x - kSide .. x + 3 + kSide
    Nibbles c[4 + 2 * kSide];
#pragma unroll
    for (int k = 0; k < kSide; ++k) {
      c[k] = shuffle(column[4 - kSide + k], lane - 1);
      c[4 + kSide + k] = shuffle(column[k], lane + 1);
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
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k)
        h[k] = cut_entropy<W, H>(g, t, x + k, y_first + row, sum[k], count_cells(window[k]));
    }
    if (writes) {
      if (kAligned && x + 4 <= g.width) {
        // The intrinsic stays one store of 16 bytes; a plain one was merged with the four below.
        __stcs(reinterpret_cast<float4*>(to), make_float4(h[0], h[1], h[2], h[3]));
      } else {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (x + k < g.width) to[k] = h[k];
        }
      }
    }
    to += g.out_stride;
  };

#pragma unroll
  for (int k = 0; k < H - 1; ++k) step(k, ring[k]);
  // ring[(H - 1 + i) % H] takes the row that enters at step i; unrolled so that the ring stays in
  // registers
  for (int row = 0; row < rows;) {
#pragma unroll
    for (int i = 0; i < H; ++i) {
      if (row < rows) {
        step(row + H - 1, ring[(H - 1 + i) % H]);
        evaluate(row);
        ++row;
      }
    }
  }
}

// ---- sliding kernel ----

/// One cell of the window that changes when it moves one pixel right, relative to the new pixel.
struct Cell {
  std::int16_t dx, dy;
};

template <class Code>
__device__ inline int load_code(const Code* image, const Geometry& g, std::int64_t x,
                                std::int64_t y) {
  const std::int64_t row = border_index(y, g.height, g.border),
                     column = border_index(x, g.width, g.border);
  if (row < 0 || column < 0) return g.border == kConstant ? g.constant : g.levels;
  const int code = image[(row - g.row_begin) * g.pitch + column];
  return code < g.levels ? code : g.levels;
}

/// A warp a row segment of `segment` pixels. cells: `all` of the window, then `changes` entering,
/// then `changes` leaving.
template <class Code>
__global__ void entropy_sliding_kernel(const Code* __restrict__ image, float* __restrict__ out,
                                       Geometry g, Tables t, const Cell* __restrict__ cells,
                                       int all, int changes, int4 extent, int segment) {
  extern __shared__ std::int32_t histograms[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  std::int32_t* counts = histograms + static_cast<std::int64_t>(warp) * (g.levels + 1);
  const std::int64_t segments = (g.width + segment - 1) / segment;
  const std::int64_t job = std::int64_t{blockIdx.x} * warps + warp;
  const std::int64_t y = g.y_begin + job / segments;
  if (y >= g.y_end) return;
  const std::int64_t x_first = job % segments * segment;
  const std::int64_t x_last = min(x_first + segment, g.width);
  for (int i = lane; i <= g.levels; i += 32) counts[i] = 0;
  __syncwarp();
  std::int32_t sum = 0;  // of sums[n] over all classes, the invalid one included
  for (std::int64_t x = x_first; x < x_last; ++x) {
    std::int32_t change = 0;
    const Cell* enter = x == x_first ? cells : cells + all;
    const int entering = x == x_first ? all : changes;
    for (int i = lane; i < entering; i += 32) {
      const int n = atomicAdd(&counts[load_code(image, g, x + enter[i].dx, y + enter[i].dy)], 1);
      change += t.sums[n + 1] - t.sums[n];
    }
    __syncwarp();
    if (x > x_first) {
      const Cell* leave = cells + all + changes;
      for (int i = lane; i < changes; i += 32) {
        const int n = atomicSub(&counts[load_code(image, g, x + leave[i].dx, y + leave[i].dy)], 1);
        change -= t.sums[n] - t.sums[n - 1];
      }
    }
    __syncwarp();
    sum += __reduce_add_sync(0xffffffffu, change);
    if (lane == 0) {
      const std::int32_t invalid = counts[g.levels];
      const std::int32_t count = g.border == kStudy
                                     ? study_population(x, extent.x, extent.y, g.width) *
                                           study_population(y, extent.z, extent.w, g.height)
                                     : t.max_count - invalid;
      float h = entropy(t, sum - t.sums[invalid], count);
      if (g.border == kValid && leaves_image(g, x, y, extent.x, extent.y, extent.z, extent.w)) {
        h = __int_as_float(0x7fc00000);
      }
      out[(y - g.y_begin) * g.out_stride + x] = h;
    }
    __syncwarp();
  }
}

}  // namespace tilewave::field::device
