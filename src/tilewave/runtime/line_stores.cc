#include "tilewave/runtime/line_stores.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tilewave/base/cpu_dispatch.h"

namespace tilewave::runtime {
namespace {

#if defined(__x86_64__)
TW_TARGET_AVX512 void write_lines_avx512(const std::uint8_t* from, std::size_t num_bytes,
                                         std::uint8_t* to) {
  for (std::size_t k = 0; k < num_bytes; k += kLine) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + k), _mm512_load_si512(from + k));
  }
}

TW_TARGET_AVX512 void pack_rows_avx512(const std::uint8_t* rows, std::size_t stride,
                                       std::size_t num_rows, std::size_t bytes, std::uint8_t* to) {
  for (std::size_t s = 0; s < num_rows; ++s, rows += stride, to += bytes) {
    for (std::size_t k = 0; k < bytes; k += kLine) {
      _mm512_storeu_si512(to + k, _mm512_loadu_si512(rows + k));
    }
  }
}
#endif

}  // namespace

void write_lines(const std::uint8_t* from, std::size_t num_bytes, std::uint8_t* to) {
#if defined(__x86_64__)
  if (cpu_level() == CpuLevel::kAvx512) return write_lines_avx512(from, num_bytes, to);
  for (std::size_t k = 0; k < num_bytes; k += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + k),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(from + k)));
  }
#else
  std::memcpy(to, from, num_bytes);
#endif
}

void finish_lines() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

void pack_rows(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
               std::size_t bytes, std::uint8_t* to) {
#if defined(__x86_64__)
  if (cpu_level() == CpuLevel::kAvx512) return pack_rows_avx512(rows, stride, num_rows, bytes, to);
#endif
  for (std::size_t s = 0; s < num_rows; ++s, rows += stride, to += bytes) {
    for (std::size_t k = 0; k < bytes; k += kLine) std::memcpy(to + k, rows + k, kLine);
  }
}

}  // namespace tilewave::runtime
