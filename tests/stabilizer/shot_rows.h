// Rows of shots as an engine gives them to the host, and what arrays of a device hold, to compare.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
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

}  // namespace tilewave::stabilizer
