#include "tilewave/stabilizer/bit_transpose.h"

#include <algorithm>
#include <cstring>

#include "tilewave/base/cpu_dispatch.h"

namespace tilewave::stabilizer {
namespace {

[[gnu::always_inline]] inline void transpose_body(const std::uint64_t* rows, std::size_t num_bits,
                                                  std::size_t row_words, std::size_t num_shots,
                                                  std::uint8_t* out, std::size_t out_stride) {
  alignas(64) std::uint64_t block[64];
  const std::size_t out_bytes = (num_bits + 7) / 8;
  for (std::size_t word = 0; word * 64 < num_shots; ++word) {
    const std::size_t shots = std::min<std::size_t>(64, num_shots - word * 64);
    for (std::size_t first = 0; first < num_bits; first += 64) {
      const std::size_t bits = std::min<std::size_t>(64, num_bits - first);
      for (std::size_t i = 0; i < bits; ++i) block[i] = rows[(first + i) * row_words + word];
      for (std::size_t i = bits; i < 64; ++i) block[i] = 0;
      transpose64(block);
      std::uint8_t* to = out + word * 64 * out_stride + first / 8;
      const std::size_t bytes = std::min<std::size_t>(8, out_bytes - first / 8);
      if (bytes == 8) {
        for (std::size_t s = 0; s < shots; ++s) std::memcpy(to + s * out_stride, &block[s], 8);
      } else {
        for (std::size_t s = 0; s < shots; ++s) std::memcpy(to + s * out_stride, &block[s], bytes);
      }
    }
  }
}

TW_TARGET_AVX512 void transpose_avx512(const std::uint64_t* rows, std::size_t num_bits,
                                       std::size_t row_words, std::size_t num_shots,
                                       std::uint8_t* out, std::size_t out_stride) {
  transpose_body(rows, num_bits, row_words, num_shots, out, out_stride);
}
TW_TARGET_AVX2 void transpose_avx2(const std::uint64_t* rows, std::size_t num_bits,
                                   std::size_t row_words, std::size_t num_shots, std::uint8_t* out,
                                   std::size_t out_stride) {
  transpose_body(rows, num_bits, row_words, num_shots, out, out_stride);
}

}  // namespace

void transpose_rows(const std::uint64_t* rows, std::size_t num_bits, std::size_t row_words,
                    std::size_t num_shots, std::uint8_t* out, std::size_t out_stride) {
  switch (cpu_level()) {
    case CpuLevel::kAvx512:
      return transpose_avx512(rows, num_bits, row_words, num_shots, out, out_stride);
    case CpuLevel::kAvx2:
      return transpose_avx2(rows, num_bits, row_words, num_shots, out, out_stride);
    case CpuLevel::kBase:
      return transpose_body(rows, num_bits, row_words, num_shots, out, out_stride);
  }
}

}  // namespace tilewave::stabilizer
