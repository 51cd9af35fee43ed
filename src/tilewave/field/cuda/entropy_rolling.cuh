// Rolling kernel (any shape, K as far as the histograms fit): a thread owns one column of pixels
// and a histogram of its own in shared memory, in a bank of its own, and rolls down the rows. Each
// column of the shape lets one cell in and one out, so a pixel costs twice the shape's width,
// whatever its height and K. The sum of n ln n follows by differences of the table: whole numbers,
// so exact.
#pragma once

#include "tilewave/field/cuda/entropy_device.cuh"

namespace tilewave::field::device {

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
template <class Code, int kBits, bool kOwnSteps, class Sum>
__global__ void entropy_rolling_kernel(const Code* __restrict__ image, float* __restrict__ out,
                                       const __grid_constant__ Geometry g,
                                       const __grid_constant__ Tables t,
                                       const __grid_constant__ Shape shape, int num_steps,
                                       int rows_a_thread) {
  extern __shared__ __align__(16) char shared[];
  const int threads = blockDim.x;
  Sum* const own_steps = reinterpret_cast<Sum*>(shared);
  const Sum* const all_steps = steps_of<Sum>(t);
  for (int i = threadIdx.x; i < num_steps; i += threads) own_steps[i] = all_steps[i];
  const auto step = [&](int n) -> Sum { return kOwnSteps ? own_steps[n] : __ldg(all_steps + n); };
  using Histogram = OwnHistogram<kBits>;
  const Histogram counts{shared + sizeof(Sum) * num_steps + 4 * threadIdx.x,
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
  Sum sum = 0;  // of sums[n] over all classes, the invalid one included

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
    const Sum change = step(n) - step(m);
    sum += in == gone ? 0 : change;
  };
  for (std::int64_t y = y_first;; ++y) {
    const std::int32_t invalid = counts.count(levels);
    const std::int32_t count = g.border == kStudy
                                   ? study_population(x, shape.left, shape.right, g.width) *
                                         study_population(y, shape.top, shape.bottom, g.height)
                                   : t.max_count - invalid;
    float h = entropy(t, sum - sums_of<Sum>(t)[invalid], count);
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

}  // namespace tilewave::field::device
