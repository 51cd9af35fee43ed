#include "tilewave/stabilizer/bit_transpose.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tilewave/base/cpu_dispatch.h"

namespace tilewave::stabilizer {
namespace {

typedef std::uint64_t Vec __attribute__((vector_size(64)));

// One stage of eight 64 x 64 transposes side by side: exchanges blocks of Width rows and columns.
template <int Width>
[[gnu::always_inline]] inline void exchange(Vec* rows) {
  constexpr std::uint64_t kMask = ~std::uint64_t{0} / ((std::uint64_t{1} << Width) + 1);
  for (int first = 0; first < 64; first += 2 * Width) {
    for (int i = first; i < first + Width; ++i) {
      const Vec swap = ((rows[i] >> Width) ^ rows[i + Width]) & kMask;
      rows[i] ^= swap << Width;
      rows[i + Width] ^= swap;
    }
  }
}

// 64 bits of 512 shots: lane w of block[i] is row i of the shots from 64 w on.
[[gnu::always_inline]] inline void transpose_lanes(Vec* block) {
  exchange<32>(block);
  exchange<16>(block);
  exchange<8>(block);
  exchange<4>(block);
  exchange<2>(block);
  exchange<1>(block);
}

// rows[i] lane j <-> rows[i + kWidth] lane j - kWidth, where i has not the bit kWidth and j has it.
template <int kWidth, int... kLane>
[[gnu::always_inline]] inline void exchange_words(Vec* r, std::integer_sequence<int, kLane...>) {
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    if (i & kWidth) continue;
    const Vec a = r[i], b = r[i + kWidth];  // lanes 0 to 7 and 8 to 15
    r[i] = __builtin_shufflevector(a, b, (kLane & kWidth ? kLane - kWidth + 8 : kLane)...);
    r[i + kWidth] = __builtin_shufflevector(a, b, (kLane & kWidth ? kLane + 8 : kLane + kWidth)...);
  }
}

// rows[i] lane j <-> rows[j] lane i.
[[gnu::always_inline]] inline void transpose_words(Vec* r) {
  constexpr std::make_integer_sequence<int, 8> kLanes;
  exchange_words<1>(r, kLanes);
  exchange_words<2>(r, kLanes);
  exchange_words<4>(r, kLanes);
}

// Copies n <= 64 bytes by two pieces that may overlap.
[[gnu::always_inline]] inline void copy_short(std::uint8_t* to, const std::uint8_t* from,
                                              std::size_t n) {
  const auto pieces = [&](auto size) {
    constexpr std::size_t kSize = decltype(size)::value;
    std::memcpy(to, from, kSize);
    std::memcpy(to + n - kSize, from + n - kSize, kSize);
  };
  if (n == 64) {
    std::memcpy(to, from, 64);
  } else if (n >= 32) {
    pieces(std::integral_constant<std::size_t, 32>{});
  } else if (n >= 16) {
    pieces(std::integral_constant<std::size_t, 16>{});
  } else if (n >= 8) {
    pieces(std::integral_constant<std::size_t, 8>{});
  } else if (n >= 4) {
    pieces(std::integral_constant<std::size_t, 4>{});
  } else if (n >= 2) {
    pieces(std::integral_constant<std::size_t, 2>{});
  } else if (n == 1) {
    *to = *from;
  }
}

// 512 bits of 512 shots at a time: eight transposes of 64 x 64 in lanes, then their words are
// gathered, so that a shot's 64 bytes leave together.
[[gnu::always_inline]] inline void transpose_body(const std::uint64_t* rows, std::size_t num_bits,
                                                  std::size_t row_words, std::size_t num_shots,
                                                  std::uint8_t* out, std::size_t out_stride) {
  alignas(64) Vec blocks[8][64];
  const std::size_t out_bytes = (num_bits + 7) / 8;
  const std::size_t words = (num_shots + 63) / 64;
  for (std::size_t word = 0; word < words; word += 8) {
    const std::size_t lanes = std::min<std::size_t>(8, words - word);
    for (std::size_t first = 0; first < num_bits; first += 512) {
      const std::size_t used = std::min<std::size_t>(8, (num_bits - first + 63) / 64);
      for (std::size_t k = 0; k < used; ++k) {
        const std::size_t at = first + 64 * k, bits = std::min<std::size_t>(64, num_bits - at);
        const std::uint64_t* from = rows + at * row_words + word;
        if (lanes == 8) {
          for (std::size_t i = 0; i < bits; ++i)
            std::memcpy(&blocks[k][i], from + i * row_words, 64);
        } else {
          for (std::size_t i = 0; i < bits; ++i)
            std::memcpy(&blocks[k][i], from + i * row_words, lanes * 8);
        }
        std::memset(blocks[k] + bits, 0, (64 - bits) * sizeof(Vec));
        transpose_lanes(blocks[k]);
      }
      const std::size_t bytes = std::min<std::size_t>(64, out_bytes - first / 8);
      for (std::size_t s = 0; s < 64; ++s) {
        alignas(64) Vec shot[8] = {};
        for (std::size_t k = 0; k < used; ++k) shot[k] = blocks[k][s];
        transpose_words(shot);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          const std::size_t number = (word + lane) * 64 + s;
          if (number >= num_shots) break;
          copy_short(out + number * out_stride + first / 8,
                     reinterpret_cast<const std::uint8_t*>(&shot[lane]), bytes);
        }
      }
    }
  }
}

}  // namespace

void transpose_rows(const std::uint64_t* rows, std::size_t num_bits, std::size_t row_words,
                    std::size_t num_shots, std::uint8_t* out, std::size_t out_stride) {
  ForThisCpu<transpose_body>::call(rows, num_bits, row_words, num_shots, out, out_stride);
}

}  // namespace tilewave::stabilizer
