// Shots counted by their bits, and compared with an exact distribution.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {

using Distribution = std::map<std::string, double>;
using Counts = std::map<std::string, std::uint64_t>;

inline std::string bits_of(const std::uint8_t* row, std::uint64_t num_bits) {
  std::string bits(num_bits, '0');
  for (std::size_t b = 0; b < bits.size(); ++b)
    bits[b] = static_cast<char>('0' + ((row[b / 8] >> (b % 8)) & 1));
  return bits;
}

// Rows of shots by their bits. They are counted as bytes: most repeat an earlier one, and the text of bits is
// made once for each.
class RowCounts {
 public:
  explicit RowCounts(std::uint64_t num_bits) : num_bits_(num_bits) {}
  void add(const std::uint8_t* row) {
    std::string bytes(reinterpret_cast<const char*>(row), (num_bits_ + 7) / 8);
    if (num_bits_ % 8) bytes.back() = static_cast<char>(bytes.back() & ((1 << num_bits_ % 8) - 1));
    ++seen_[std::move(bytes)];
  }
  Counts counts() const {
    Counts counts;
    for (const auto& [row, seen] : seen_)
      counts[bits_of(reinterpret_cast<const std::uint8_t*>(row.data()), num_bits_)] = seen;
    return counts;
  }

 private:
  std::uint64_t num_bits_;
  std::unordered_map<std::string, std::uint64_t> seen_;
};

inline Counts count(ShotSource& source, std::uint64_t seed, std::uint64_t shots) {
  RowCounts counts(source.num_bits());
  std::vector<std::uint8_t> rows(source.block_shots() * source.row_stride() + 64);
  std::uint64_t left = shots;
  for (std::uint64_t block = 0; left > 0; ++block) {
    source.fill(seed, block, 0, rows.data());
    const std::uint64_t n = std::min(left, source.block_shots());
    for (std::uint64_t s = 0; s < n; ++s) counts.add(rows.data() + s * source.row_stride());
    left -= n;
  }
  return counts.counts();
}

// How many standard deviations chi-square is above what it should be (Wilson and Hilferty). Cells
// with fewer than five expected shots are taken together.
inline double deviation(const Distribution& exact, const Counts& counts, std::uint64_t shots) {
  double chi = 0, rest = 0, rest_seen = 0;
  int cells = 0;
  std::uint64_t known = 0;
  const auto add = [&](double expected, double seen) {
    chi += (seen - expected) * (seen - expected) / expected;
    ++cells;
  };
  for (const auto& [bits, p] : exact) {
    const auto it = counts.find(bits);
    const double seen = it == counts.end() ? 0 : static_cast<double>(it->second);
    known += static_cast<std::uint64_t>(seen);
    const double expected = p * static_cast<double>(shots);
    if (expected >= 5) {
      add(expected, seen);
    } else {
      rest += expected, rest_seen += seen;
    }
  }
  if (known != shots) return 1e9;  // something impossible happened
  if (rest >= 5) add(rest, rest_seen);
  if (rest < 5 && rest_seen > 30) return 1e9;
  if (cells < 2) return 0;
  const double n = cells - 1;
  return (std::cbrt(chi / n) - (1 - 2 / (9 * n))) / std::sqrt(2 / (9 * n));
}

}  // namespace tilewave::stabilizer
