// See finite_copy.h.
#include "tilewave/runtime/finite_copy.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tilewave/runtime/threads.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tilewave::runtime {
namespace {

// Whether all numbers times `scale` are finite.
bool copy_one_by_one(double* to, const double* from, std::size_t count, double scale) {
  bool finite = true;
  for (std::size_t k = 0; k < count; ++k) {
    finite &= std::isfinite(from[k] * scale);
    to[k] = from[k];
  }
  return finite;
}

// Past the caches, which the device does not read from: writing to them would read every line first.
bool copy_piece(double* to, const double* from, std::size_t count, double scale) {
#if defined(__SSE2__)
  constexpr std::size_t kStep = 8, kAlignment = 16;
  const std::size_t head =
      std::min(count, reinterpret_cast<std::uintptr_t>(to) % kAlignment / sizeof(double));
  bool finite = copy_one_by_one(to, from, head, scale);
  const __m128d zero = _mm_setzero_pd(), scales = _mm_set1_pd(scale);
  __m128d odd[4] = {zero, zero, zero, zero};  // 0 as long as all are finite
  std::size_t k = head;
  for (; k + kStep <= count; k += kStep) {
    for (std::size_t i = 0; i < 4; ++i) {
      const __m128d v = _mm_loadu_pd(from + k + 2 * i);
      odd[i] = _mm_add_pd(odd[i], _mm_mul_pd(_mm_mul_pd(v, scales), zero));
      _mm_stream_pd(to + k + 2 * i, v);
    }
  }
  _mm_sfence();
  const __m128d all = _mm_add_pd(_mm_add_pd(odd[0], odd[1]), _mm_add_pd(odd[2], odd[3]));
  finite &= _mm_movemask_pd(_mm_cmpeq_pd(all, zero)) == 3;
  return copy_one_by_one(to + k, from + k, count - k, scale) && finite;
#else
  return copy_one_by_one(to, from, count, scale);
#endif
}

}  // namespace

bool copy_on_threads(double* to, const double* from, std::size_t count, double most) {
  // a number larger than `most`, times this, is infinite
  const double scale = std::max(std::numeric_limits<double>::max() / most, 1.0);
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  const auto pieces = static_cast<std::int64_t>((count + kPiece - 1) / kPiece);
  const int threads =
      pieces > 1 ? static_cast<int>(std::min<std::int64_t>(resolve_num_threads(0), pieces)) : 1;
  bool finite = true;
#pragma omp parallel for schedule(static) reduction(&& : finite) num_threads(threads) \
    if (threads > 1)
  for (std::int64_t k = 0; k < pieces; ++k) {
    const std::size_t first = static_cast<std::size_t>(k) * kPiece;
    finite = copy_piece(to + first, from + first, std::min(kPiece, count - first), scale) && finite;
  }
  return finite;
}

}  // namespace tilewave::runtime
