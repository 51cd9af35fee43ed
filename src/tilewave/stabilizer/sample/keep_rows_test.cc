// Rows that stay, of every length, against one bit after the other.
#include "tilewave/stabilizer/sample/keep_rows.h"

#include <random>

#include <gtest/gtest.h>

namespace tilewave::stabilizer {
namespace {

TEST(KeepRowsTest, are_those_without_a_bit_of_the_mask) {
  std::mt19937 random(9);
  for (std::size_t bytes : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 64, 100}) {
    for (std::size_t gap : {0, 5}) {
      for (unsigned ones : {0, 1, 3}) {
        constexpr std::size_t kRows = 300;
        const std::size_t stride = bytes + gap;
        std::vector<std::uint8_t> rows(kRows * stride + 8), mask(bytes), expected;
        for (std::uint8_t& b : rows) b = static_cast<std::uint8_t>(random() & random());
        for (unsigned k = 0; k < ones; ++k)
          mask[random() % bytes] |= static_cast<std::uint8_t>(1u << (random() % 8));
        std::size_t kept = 0;
        for (std::size_t s = 0; s < kRows; ++s) {
          bool fired = false;
          for (std::size_t k = 0; k < bytes; ++k) fired |= (rows[s * stride + k] & mask[k]) != 0;
          if (fired) continue;
          ++kept;
          expected.insert(expected.end(), rows.data() + s * stride,
                          rows.data() + s * stride + bytes);
        }
        std::vector<std::uint8_t> out(kRows * bytes + 8);
        EXPECT_EQ(RowMask(mask).keep(rows.data(), stride, kRows, out.data()), kept);
        out.resize(expected.size());
        EXPECT_EQ(out, expected) << bytes << " bytes, " << ones << " ones";
        EXPECT_EQ(kept == kRows, ones == 0);
      }
    }
  }
}

}  // namespace
}  // namespace tilewave::stabilizer
