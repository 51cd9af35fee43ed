// The layouts of shots in the memory of a GPU, against rows that the CPU made.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "stabilizer/shot_rows.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {

// Every layout of parts in device memory, of shots whose rows are known.
inline void expect_layouts(ShotSource& gpu, const ShotRange& range,
                           const std::vector<BitRange>& parts, const Mask& mask,
                           const std::vector<std::uint8_t>& rows, const std::string& what) {
  const std::uint64_t bytes = gpu.row_bytes(), shots = rows.size() / bytes;
  for (DeviceLayout layout : {DeviceLayout::kPacked, DeviceLayout::kBytes, DeviceLayout::kBitRows,
                              DeviceLayout::kLists}) {
    const auto made = gpu.keep_on_device(range, parts, layout, mask);
    ASSERT_EQ(made.size(), parts.size());
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const DeviceShots& d = made[k];
      const BitRange part = parts[k];
      EXPECT_EQ(d.shots, shots) << what;
      const auto set = [&](std::uint64_t s, std::uint64_t b) {
        return bit(rows.data() + s * bytes, part.first + b);
      };
      std::uint64_t wrong = 0;
      if (layout == DeviceLayout::kLists) {
        const auto offsets = to_host<std::int64_t>(d.offsets, shots + 1);
        const auto ones = to_host<std::uint32_t>(d.memory, d.rows);
        std::vector<std::int64_t> want_offsets{0};
        std::vector<std::uint32_t> want;
        for (std::uint64_t s = 0; s < shots; ++s) {
          for (std::uint64_t b = 0; b < part.count; ++b)
            if (set(s, b)) want.push_back(static_cast<std::uint32_t>(b));
          want_offsets.push_back(static_cast<std::int64_t>(want.size()));
        }
        EXPECT_TRUE(offsets == want_offsets) << what << " part " << k;
        EXPECT_TRUE(ones == want) << what << " part " << k;
        continue;
      }
      const auto data = to_host<std::uint8_t>(d.memory, d.rows * d.row_bytes);
      if (layout == DeviceLayout::kBitRows) {
        ASSERT_EQ(d.rows, part.count);
        for (std::uint64_t b = 0; b < part.count; ++b) {
          for (std::uint64_t s = 0; s < 8 * d.row_bytes; ++s)
            wrong += bit(data.data() + b * d.row_bytes, s) != (s < shots && set(s, b));
        }
      } else {
        const bool packed = layout == DeviceLayout::kPacked;
        ASSERT_EQ(d.rows, shots);
        ASSERT_EQ(d.row_bytes, packed ? (part.count + 7) / 8 : part.count);
        for (std::uint64_t s = 0; s < shots; ++s) {
          const std::uint8_t* row = data.data() + s * d.row_bytes;
          for (std::uint64_t b = 0; b < (packed ? 8 * d.row_bytes : d.row_bytes); ++b)
            wrong += (packed ? bit(row, b) : row[b] != 0) != (b < part.count && set(s, b));
        }
      }
      EXPECT_EQ(wrong, 0u) << what << " layout " << static_cast<int>(layout) << " part " << k;
    }
  }
}

// The same of all bits, of all but the last ones and these, and of parts that no way has been made for.
inline void expect_layouts(ShotSource& gpu, const ShotRange& range, const Mask& mask,
                           const std::vector<std::uint8_t>& rows, const std::string& what) {
  const std::uint64_t bits = gpu.num_bits();
  if (bits == 0) return;
  using Parts = std::vector<BitRange>;
  std::vector<Parts> all{{{0, bits}},
                         {{0, bits}, {bits / 3, bits - bits / 3}, {bits - 1, 1}},
                         {{0, bits - 1}, {bits - 1, 1}}};
  if (bits > 3) all.push_back({{0, bits - 3}, {bits - 3, 3}});
  for (const Parts& parts : all)
    expect_layouts(gpu, range, parts, mask, rows,
                   what + ", " + std::to_string(parts.size()) + " parts");
}

}  // namespace tilewave::stabilizer
