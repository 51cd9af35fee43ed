// The layouts of shots in the memory of a GPU, against rows that the CPU made.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tilewave/runtime/cuda/device_memory.h"
#include "tilewave/stabilizer/sample/fill_shots.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {

using Mask = std::vector<std::uint64_t>;

// The rows of shots without gaps. Threads and blocks come in any order.
inline std::vector<std::uint8_t> rows_of(ShotSource& source, std::uint64_t seed,
                                         std::uint64_t first, std::uint64_t count) {
  const std::uint64_t bytes = source.row_bytes(), stride = source.row_stride();
  std::vector<std::uint8_t> out(count * bytes);
  fill_shots(source, seed, first, count, 4, [&](const FilledRows& part) {
    for (std::uint64_t s = 0; s < part.count; ++s)
      std::copy_n(part.rows + s * stride, bytes,
                  out.begin() + static_cast<std::ptrdiff_t>((part.first + s) * bytes));
  });
  return out;
}

inline bool bit(const std::uint8_t* row, std::uint64_t b) { return (row[b / 8] >> (b % 8)) & 1; }

// Those in which no bit of the mask is set.
inline std::vector<std::uint8_t> kept_of(const std::vector<std::uint8_t>& rows, std::uint64_t bytes,
                                         const Mask& mask) {
  std::vector<std::uint8_t> out;
  for (std::uint64_t s = 0; s * bytes < rows.size(); ++s) {
    const std::uint8_t* row = rows.data() + s * bytes;
    bool keep = true;
    for (std::uint64_t b = 0; b < 8 * bytes && b / 64 < mask.size(); ++b)
      keep = keep && !(((mask[b / 64] >> (b % 64)) & 1) && bit(row, b));
    if (keep) out.insert(out.end(), row, row + bytes);
  }
  return out;
}

template <class T>
std::vector<T> to_host(const std::shared_ptr<void>& memory, std::uint64_t count) {
  std::vector<T> out(count);
  if (count == 0) return out;
  runtime::cuda::copy_on_device(0, out.data(), memory.get(), count * sizeof(T));
  runtime::cuda::finish_on_device(0);
  return out;
}

// Every layout of device memory, of shots whose rows are known.
inline void expect_layouts(ShotSource& gpu, const ShotRange& range, const Mask& mask,
                           const std::vector<std::uint8_t>& rows, const std::string& what) {
  const std::uint64_t bits = gpu.num_bits(), bytes = gpu.row_bytes();
  if (bits == 0) return;
  const std::vector<BitRange> parts{{0, bits}, {bits / 3, bits - bits / 3}, {bits - 1, 1}};
  const std::uint64_t shots = rows.size() / bytes;
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

}  // namespace tilewave::stabilizer
