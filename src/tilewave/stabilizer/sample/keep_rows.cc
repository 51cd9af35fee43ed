#include "tilewave/stabilizer/sample/keep_rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tilewave::stabilizer {
namespace {

constexpr std::uint64_t kTogether = 64;

struct WordMask {
  std::uint64_t byte, mask;  // of the row's bytes from `byte` on
};

std::vector<WordMask> words_of(std::span<const std::uint64_t> must_be_zero, std::uint64_t bytes) {
  std::vector<WordMask> words;
  for (std::uint64_t w = 0; w < must_be_zero.size() && 8 * w < bytes; ++w) {
    std::uint64_t mask = must_be_zero[w];
    if (bytes - 8 * w < 8) mask &= (std::uint64_t{1} << (8 * (bytes - 8 * w))) - 1;
    if (mask) words.push_back({8 * w, mask});
  }
  return words;
}

template <class Word>
void flag(const std::uint8_t* rows, std::uint64_t stride, std::uint64_t num_rows, Word mask,
          std::uint8_t* failed) {
  for (std::uint64_t s = 0; s < num_rows; ++s) {
    Word word;
    std::memcpy(&word, rows + s * stride, sizeof word);
    failed[s] |= static_cast<std::uint8_t>((word & mask) != 0);
  }
}

void flag_rows(const std::uint8_t* rows, std::uint64_t stride, std::uint64_t num_rows,
               const std::vector<WordMask>& words, std::uint8_t* failed) {
  std::fill_n(failed, kTogether, std::uint8_t{0});
  for (const WordMask& w : words) {
    if (stride == 4) {
      flag(rows, 4, num_rows, static_cast<std::uint32_t>(w.mask), failed);
    } else if (stride == 8) {
      flag(rows, 8, num_rows, w.mask, failed);
    } else {
      flag(rows + w.byte, stride, num_rows, w.mask, failed);
    }
  }
}

// Bit s: flags[s], which is 0 or 1.
std::uint64_t bits_of(const std::uint8_t* flags) {
  std::uint64_t bits = 0;
  for (unsigned k = 0; k < 8; ++k) {
    std::uint64_t eight;
    std::memcpy(&eight, flags + 8 * k, 8);
    bits |= ((eight * 0x0102040810204080U) >> 56) << (8 * k);  // flag s of eight to bit 56 + s
  }
  return bits;
}

}  // namespace

std::uint64_t keep_rows(std::uint8_t* rows, std::uint64_t stride, std::uint64_t bytes,
                        std::uint64_t first, std::uint64_t end,
                        std::span<const std::uint64_t> must_be_zero) {
  const std::vector<WordMask> words = words_of(must_be_zero, bytes);
  std::uint64_t kept = 0;
  for (std::uint64_t begin = first; begin < end; begin += kTogether) {
    const std::uint64_t num_rows = std::min(kTogether, end - begin);
    std::uint8_t failed[kTogether];
    flag_rows(rows + begin * stride, stride, num_rows, words, failed);
    std::uint64_t left = ~bits_of(failed);  // rows that are kept, in runs
    if (num_rows < kTogether) left &= (std::uint64_t{1} << num_rows) - 1;
    while (left != 0) {
      const auto from = static_cast<std::uint64_t>(__builtin_ctzll(left));
      const std::uint64_t after = ~(left >> from);
      const std::uint64_t run =
          after == 0 ? kTogether : static_cast<std::uint64_t>(__builtin_ctzll(after));
      if (kept != begin + from)
        std::memmove(rows + kept * stride, rows + (begin + from) * stride, run * stride);
      kept += run;
      left = from + run >= kTogether ? 0 : left >> (from + run) << (from + run);
    }
  }
  return kept;
}

}  // namespace tilewave::stabilizer
