// What the kernels of local entropy share: the piece of the image, the tables, the border. H is
// formed exactly as EntropyTables::entropy does.
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
  int constant;  // code
  int levels;
};

/// Tables in device memory: see EntropyTables.
struct Tables {
  const std::int32_t *sums, *steps;
  const std::int64_t *long_sums, *long_steps;  // instead, where the plan's sums are long
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

// The tables of one kind of sums, 32 bits or 64.
template <class Sum>
__device__ inline const Sum* sums_of(const Tables& t) {
  if constexpr (sizeof(Sum) == 8) {
    return t.long_sums;
  } else {
    return t.sums;
  }
}
template <class Sum>
__device__ inline const Sum* steps_of(const Tables& t) {
  if constexpr (sizeof(Sum) == 8) {
    return t.long_steps;
  } else {
    return t.steps;
  }
}

template <class Sum>
__device__ inline float entropy(const Tables& t, Sum sum, std::int32_t count) {
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

}  // namespace tilewave::field::device
