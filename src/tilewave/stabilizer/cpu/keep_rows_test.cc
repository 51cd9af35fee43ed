#include "tilewave/stabilizer/cpu/keep_rows.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tilewave::stabilizer {
namespace {

TEST(KeepRows, KeepsWhatALoopOverBitsKeeps) {
  std::mt19937_64 random(7);
  for (const std::uint64_t bytes : {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 21, 40, 63, 64, 65, 90}) {
    for (const std::uint64_t stride : {bytes, (bytes + 7) / 8 * 8}) {
      for (const int density : {0, 1, 3, 40}) {  // ones of a row, about
        const std::uint64_t num_rows = 1 + random() % 300, first = random() % num_rows;
        std::vector<std::uint8_t> rows(num_rows * stride + 64);
        for (std::uint64_t k = 0; k < num_rows * static_cast<std::uint64_t>(density); ++k) {
          const std::uint64_t bit = random() % (8 * bytes);
          rows[random() % num_rows * stride + bit / 8] |=
              static_cast<std::uint8_t>(1U << (bit % 8));
        }
        std::vector<std::uint64_t> mask((bytes + 7) / 8);
        for (std::uint64_t& word : mask) word = random() & random();
        std::vector<std::uint8_t> expected;
        for (std::uint64_t s = first; s < num_rows; ++s) {
          bool keep = true;
          for (std::uint64_t b = 0; b < 8 * bytes; ++b) {
            const bool is_set = (rows[s * stride + b / 8] >> (b % 8)) & 1;
            keep &= !(is_set && ((mask[b / 64] >> (b % 64)) & 1));
          }
          for (std::uint64_t k = 0; keep && k < bytes; ++k)
            expected.push_back(rows[s * stride + k]);
        }
        const std::uint64_t kept = keep_rows(rows.data(), stride, bytes, first, num_rows, mask);
        std::vector<std::uint8_t> got;
        for (std::uint64_t s = 0; s < kept; ++s)
          for (std::uint64_t k = 0; k < bytes; ++k) got.push_back(rows[s * stride + k]);
        ASSERT_EQ(got, expected) << bytes << " bytes, stride " << stride << ", " << num_rows
                                 << " rows from " << first;
      }
    }
  }
}

}  // namespace
}  // namespace tilewave::stabilizer
