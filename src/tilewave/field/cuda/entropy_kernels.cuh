// Device code of local entropy. Both kernels form H exactly as EntropyTables::entropy does.
//
// Packed kernel (K <= 16, 3x3 and 5x5): a thread owns four neighbouring columns, each a histogram
// of 16 nibbles in two registers, and rolls down the rows: one cell in, one out. The columns beside
// come from the neighbouring threads. Windows are nibble sums of at most 15 cells, then bytes; two
// counts at once index a table of pairs in shared memory (one dot product gives the address). No
// bytes but the image in and the result out.
//
// Rolling kernel (any shape, K as far as the histograms fit): a thread owns one column of pixels
// and a histogram of its own in shared memory, in a bank of its own, and rolls down the rows. Each
// column of the shape lets one cell in and one out, so a pixel costs twice the shape's width,
// whatever its height and K. The sum of n ln n follows by differences of the table: whole numbers,
// so exact.
//
// Sliding kernel (K too large for that): a warp slides one window along a row. The cells that enter
// and leave are dealt to its lanes, which count them by atomics in shared memory; an atomic returns
// the count before, so the changes of the sum telescope to the exact value whatever the order.
#pragma once

#include <cstdint>

namespace tilewave::field::device {

/// A piece of the image on the device and what a pixel outside of it is. Kernels get a pointer to
/// where pixel (0, row_begin) would be, and one to where the result of (0, y_begin) would be.
struct Geometry {
  std::int64_t width, height;             // of the image
  std::int64_t row_begin, row_end;        // rows held
  std::int64_t column_begin, column_end;  // columns held
  std::int64_t pitch;                     // elements
  std::int64_t y_begin, y_end;            // rows of output
  std::int64_t x_begin, x_end;            // columns of output
  std::int64_t out_stride;
  int border;    // field::Border
  int constant;  // code, or levels for "no data"
  int levels;
};

/// Tables in device memory: see EntropyTables.
struct Tables {
  const std::int32_t *sums, *steps;
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
      code = g.constant < g.levels ? static_cast<std::uint32_t>(g.constant) : 255u;
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
                          int rows_a_warp) {
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
  const std::int64_t strip = std::int64_t{blockIdx.x} * kPackedWarps + threadIdx.x / 32;
  const std::int64_t x_strip = g.x_begin + strip * kPackedPixels;
  if (x_strip >= g.x_end) return;             // the whole warp
  std::int64_t x = x_strip + 4 * (lane - 1);  // my first column
  const std::int64_t y_first = g.y_begin + std::int64_t{blockIdx.y} * rows_a_warp;
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

// ---- rolling kernel ----

/// Consecutive cells of one column of a shape, relative to the pixel: rows [dy_begin, dy_end).
struct ColumnSpan {
  std::int16_t dx, dy_begin, dy_end;
};

/// The shape as the rolling kernel wants it.
struct Shape {
  const ColumnSpan* spans;
  int num_spans;
  bool rectangle;
  int left, right, top, bottom;
};

// The code of a pixel anywhere, by the border rule; `levels` for no data.
template <class Code>
__device__ __noinline__ unsigned border_code(const Code* image, const Geometry& g, std::int64_t x,
                                             std::int64_t y) {
  const std::int64_t row = border_index(y, g.height, g.border),
                     column = border_index(x, g.width, g.border);
  if (row < 0 || column < 0) return g.border == kConstant ? g.constant : g.levels;
  const unsigned code = image[(row - g.row_begin) * g.pitch + column];
  return min(code, static_cast<unsigned>(g.levels));
}

// A thread's histogram: counts of kBits bits packed into 32-bit words, word k of all threads side
// by side, so that a thread stays within its bank. Whole words are read and written: stores of a
// part are several times slower.
template <int kBits>
struct OwnHistogram {
  static constexpr unsigned kInWord = 32 / kBits;
  static constexpr std::uint32_t kMask = kBits == 16 ? 0xFFFFu : 0xFFu;
  char* first;          // of this thread
  unsigned word_bytes;  // from a thread's word to its next
  __device__ std::uint32_t* word(unsigned code) const {
    return reinterpret_cast<std::uint32_t*>(first + code / kInWord * word_bytes);
  }
  static __device__ unsigned shift(unsigned code) { return code % kInWord * kBits; }
  __device__ int count(unsigned code) const {
    return static_cast<int>(*word(code) >> shift(code) & kMask);
  }
};

// The codes of a row four at a time, from anywhere in a word. Words are read whole, each once, and
// a step before they are needed.
class RowReader {
 public:
  __device__ RowReader(const std::uint8_t* at, int num_codes) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    word_ = reinterpret_cast<const std::uint32_t*>(address & ~std::uintptr_t{3});
    shift_ = 8 * static_cast<unsigned>(address & 3);
    left_ = (static_cast<int>(address & 3) + num_codes + 3) / 4;
    low_ = load();
    high_ = load();
  }
  __device__ std::uint32_t next() {
    const std::uint32_t four = __funnelshift_r(low_, high_, shift_);
    low_ = high_;
    high_ = load();
    return four;
  }

 private:
  __device__ std::uint32_t load() {
    const std::uint32_t word = left_ > 0 ? __ldg(word_) : 0u;
    ++word_;
    --left_;
    return word;
  }
  const std::uint32_t* word_;
  unsigned shift_;
  int left_;
  std::uint32_t low_, high_;
};

/// Threads are columns; each takes `rows_a_thread` rows. Shared memory: with kOwnSteps the
/// `num_steps` differences of the table (otherwise read from device memory), then the histograms.
template <class Code, int kBits, bool kOwnSteps>
__global__ void entropy_rolling_kernel(const Code* __restrict__ image, float* __restrict__ out,
                                       const __grid_constant__ Geometry g,
                                       const __grid_constant__ Tables t,
                                       const __grid_constant__ Shape shape, int num_steps,
                                       int rows_a_thread) {
  extern __shared__ char shared[];
  const int threads = blockDim.x;
  std::int32_t* const own_steps = reinterpret_cast<std::int32_t*>(shared);
  for (int i = threadIdx.x; i < num_steps; i += threads) own_steps[i] = t.steps[i];
  const auto step = [&](int n) { return kOwnSteps ? own_steps[n] : __ldg(t.steps + n); };
  using Histogram = OwnHistogram<kBits>;
  const Histogram counts{shared + 4 * num_steps + 4 * threadIdx.x,
                         4u * static_cast<unsigned>(threads)};
  const auto levels = static_cast<unsigned>(g.levels);
  for (unsigned k = 0; k < levels + 1; k += Histogram::kInWord) *counts.word(k) = 0;
  __syncthreads();

  // Threads past the end keep the last one company; they write nothing.
  const std::int64_t x_wanted = g.x_begin + std::int64_t{blockIdx.x} * threads + threadIdx.x;
  const std::int64_t x = min(x_wanted, g.x_end - 1);
  const std::int64_t y_first = g.y_begin + std::int64_t{blockIdx.y} * rows_a_thread;
  const std::int64_t y_last = min(y_first + rows_a_thread, g.y_end);
  const bool inside = __all_sync(0xffffffffu, x >= shape.left && x + shape.right < g.width);
  // What stands for a cell outside of the image, where the border does not point inside.
  const unsigned fill = g.border == kConstant ? static_cast<unsigned>(g.constant) : levels;
  const bool points_inside = g.border == kReflect || g.border == kNearest;
  const auto row_at = [&](std::int64_t y) -> const Code* {
    if (y < 0 || y >= g.height) {
      if (!points_inside) return nullptr;
      y = border_index(y, g.height, g.border);
    }
    return image + (y - g.row_begin) * g.pitch;
  };
  const auto code_at = [&](const Code* row, std::int64_t column) -> unsigned {
    if (row == nullptr) return fill;
    if (column < 0 || column >= g.width) {
      if (!points_inside) return fill;
      column = border_index(column, g.width, g.border);
    }
    return min(static_cast<unsigned>(__ldg(row + column)), levels);
  };
  std::int32_t sum = 0;  // of sums[n] over all classes, the invalid one included

  // fill: every cell of the first window
  for (int s = 0; s < shape.num_spans; ++s) {
    const ColumnSpan span = shape.spans[s];
    for (int dy = span.dy_begin; dy < span.dy_end; ++dy) {
      const unsigned code = code_at(row_at(y_first + dy), x + span.dx);
      sum += step(counts.count(code));
      *counts.word(code) += 1u << Histogram::shift(code);
    }
  }

  // One cell in for one out; equal ones cancel. (The table has an entry more than it needs, read
  // where a window is all one class.)
  const auto exchange = [&](unsigned in, unsigned gone) {
    std::uint32_t *const more = counts.word(in), *const less = counts.word(gone);
    const std::uint32_t a = *more, b = *less;
    const unsigned to = Histogram::shift(in), from = Histogram::shift(gone);
    const std::uint32_t plus = 1u << to, minus = 1u << from;
    const int n = static_cast<int>(a >> to & Histogram::kMask);
    const int m = static_cast<int>(b >> from & Histogram::kMask) - 1;
    const bool one_word = more == less;  // then both stores write the same
    *more = a + plus - (one_word ? minus : 0u);
    *less = b - minus + (one_word ? plus : 0u);
    const std::int32_t change = step(n) - step(m);
    sum += in == gone ? 0 : change;
  };
  for (std::int64_t y = y_first;; ++y) {
    const std::int32_t invalid = counts.count(levels);
    const std::int32_t count = g.border == kStudy
                                   ? study_population(x, shape.left, shape.right, g.width) *
                                         study_population(y, shape.top, shape.bottom, g.height)
                                   : t.max_count - invalid;
    float h = entropy(t, sum - t.sums[invalid], count);
    if (g.border == kValid &&
        leaves_image(g, x, y, shape.left, shape.right, shape.top, shape.bottom)) {
      h = __int_as_float(0x7fc00000);
    }
    if (x == x_wanted) out[(y - g.y_begin) * g.out_stride + x] = h;
    if (y + 1 >= y_last) break;
    if (shape.rectangle) {
      const Code* const leave = row_at(y - shape.top);
      const Code* const enter = row_at(y + 1 + shape.bottom);
      const std::int64_t first = x - shape.left;
      if (!inside || leave == nullptr || enter == nullptr) {
#pragma unroll 2
        for (int k = 0; k < shape.num_spans; ++k)
          exchange(code_at(enter, first + k), code_at(leave, first + k));
      } else if constexpr (sizeof(Code) == 1) {
        RowReader entering(enter + first, shape.num_spans), leaving(leave + first, shape.num_spans);
        int k = shape.num_spans;
#pragma unroll 1
        for (; k >= 4; k -= 4) {
          const std::uint32_t in = entering.next(), gone = leaving.next();
#pragma unroll
          for (int i = 0; i < 4; ++i)
            exchange(min(__byte_perm(in, 0, 0x4440u + i), levels),
                     min(__byte_perm(gone, 0, 0x4440u + i), levels));
        }
        std::uint32_t in = entering.next(), gone = leaving.next();
        for (; k > 0; --k, in >>= 8, gone >>= 8)
          exchange(min(in & 0xFFu, levels), min(gone & 0xFFu, levels));
      } else {
#pragma unroll 4
        for (int k = 0; k < shape.num_spans; ++k)
          exchange(min(static_cast<unsigned>(__ldg(enter + first + k)), levels),
                   min(static_cast<unsigned>(__ldg(leave + first + k)), levels));
      }
      continue;
    }
    // rows y - top (the first to go) to y + 1 + bottom (the last to come)
    const bool rows_inside = y >= shape.top && y + 1 + shape.bottom < g.height;
    const Code* const at = image + (y - g.row_begin) * g.pitch + x;
#pragma unroll 2
    for (int s = 0; s < shape.num_spans; ++s) {
      const ColumnSpan span = shape.spans[s];
      if (inside && rows_inside) {
        exchange(min(static_cast<unsigned>(__ldg(at + span.dy_end * g.pitch + span.dx)), levels),
                 min(static_cast<unsigned>(__ldg(at + span.dy_begin * g.pitch + span.dx)), levels));
      } else {
        exchange(code_at(row_at(y + span.dy_end), x + span.dx),
                 code_at(row_at(y + span.dy_begin), x + span.dx));
      }
    }
  }
}

// ---- sliding kernel ----

/// One cell of the window that changes when it moves one pixel right, relative to the new pixel.
struct Cell {
  std::int16_t dx, dy;
};

/// A warp a row segment of `segment` pixels. cells: `all` of the window, then `changes` entering,
/// then `changes` leaving.
template <class Code>
__global__ void entropy_sliding_kernel(const Code* __restrict__ image, float* __restrict__ out,
                                       Geometry g, Tables t, const Cell* __restrict__ cells,
                                       int all, int changes, int4 extent, int segment) {
  extern __shared__ std::int32_t histograms[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  std::int32_t* counts = histograms + static_cast<std::int64_t>(warp) * (g.levels + 1);
  const std::int64_t segments = (g.x_end - g.x_begin + segment - 1) / segment;
  const std::int64_t job = std::int64_t{blockIdx.x} * warps + warp;
  const std::int64_t y = g.y_begin + job / segments;
  if (y >= g.y_end) return;
  const std::int64_t x_first = g.x_begin + job % segments * segment;
  const std::int64_t x_last = min(x_first + segment, g.x_end);
  for (int i = lane; i <= g.levels; i += 32) counts[i] = 0;
  __syncwarp();
  std::int32_t sum = 0;  // of sums[n] over all classes, the invalid one included
  for (std::int64_t x = x_first; x < x_last; ++x) {
    std::int32_t change = 0;
    const Cell* enter = x == x_first ? cells : cells + all;
    const int entering = x == x_first ? all : changes;
    for (int i = lane; i < entering; i += 32) {
      const int n = atomicAdd(&counts[border_code(image, g, x + enter[i].dx, y + enter[i].dy)], 1);
      change += t.sums[n + 1] - t.sums[n];
    }
    __syncwarp();
    if (x > x_first) {
      const Cell* leave = cells + all + changes;
      for (int i = lane; i < changes; i += 32) {
        const int n =
            atomicSub(&counts[border_code(image, g, x + leave[i].dx, y + leave[i].dy)], 1);
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
