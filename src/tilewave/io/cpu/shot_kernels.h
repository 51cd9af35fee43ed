// The kernels behind the lists of ones (shot_lists.h), picked for the machine at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tilewave::io {

/// Where to look for ones, and where to put them, less `first`. Rows that end here get `end` behind
/// their ones.
struct OnesJob {
  const std::uint8_t* rows;
  std::size_t stride, num_rows;
  std::uint32_t first, last;  // bits
  bool ends;
  std::uint16_t end;
  std::uint16_t* to;
};

/// Returns the end of what it wrote.
using OnesKernel = std::uint16_t* (*)(const OnesJob& job);
OnesKernel pick_ones();

/// r8 of whole rows: the runs before `count` ones, row ends (`end`) among them; ones[-1] is a row
/// end.
using RunsKernel = char* (*)(const std::uint16_t* ones, std::size_t count, std::uint32_t end,
                             char* to);
RunsKernel pick_runs();

/// A run of zeros. Eight times 255 are always stored; longer runs are rare.
[[gnu::always_inline]] inline char* run_of(std::uint32_t zeros, char* to) {
  for (; __builtin_expect(zeros >= 8 * 255, 0); zeros -= 255) *to++ = static_cast<char>(255);
  const std::uint32_t full = (zeros + 1) * 257 >> 16;  // zeros / 255
  std::memset(to, 255, 8);
  to[full] = static_cast<char>(zeros - full * 255);
  return to + full + 1;
}

}  // namespace tilewave::io
