// The kernels behind the lists of ones (shots/lists.h), picked for the machine at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tilewave/base/cpu_dispatch.h"

#if defined(__x86_64__)
#define TW_TARGET_VBMI2 \
  __attribute__((       \
      target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt")))
#endif

namespace tilewave::formats {

inline bool has_vbmi2() {
#if defined(__x86_64__)
  return cpu_level() == CpuLevel::kAvx512 && __builtin_cpu_supports("avx512vbmi2");
#else
  return false;
#endif
}

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

/// Moves the numbers from `first` on to the front of their rows, which end with `end` (not below
/// `first`); numbers[-1] is one, and 32 numbers in front may be read.
using BringForward = void (*)(std::uint16_t* numbers, std::size_t count, std::uint16_t first,
                              std::uint16_t end);
BringForward pick_bring_forward();

/// Numbers whose texts are wanted, less `first`, row ends (`end`, when there are any) among them.
struct LabelJob {
  const std::uint16_t* numbers;  ///< 33 behind the last may be read
  std::size_t count;
  std::uint16_t first;
  bool ends;
  std::uint16_t end;
  std::uint16_t detectors, observables;  ///< the first bits of these, for dets
};
/// Bits up to here have kernels for their labels.
constexpr std::uint64_t kMostLabelBits = 65535;
/// Returns the end of what it wrote; up to 64 bytes behind it are touched.
using LabelKernel = char* (*)(const LabelJob& job, char* to);
/// dets when `typed`, else hits; null on machines where a table is used.
LabelKernel pick_labels(bool typed);

/// A run of zeros. Eight times 255 are always stored; longer runs are rare.
[[gnu::always_inline]] inline char* run_of(std::uint32_t zeros, char* to) {
  for (; __builtin_expect(zeros >= 8 * 255, 0); zeros -= 255) *to++ = static_cast<char>(255);
  const std::uint32_t full = (zeros + 1) * 257 >> 16;  // zeros / 255
  std::memset(to, 255, 8);
  to[full] = static_cast<char>(zeros - full * 255);
  return to + full + 1;
}

}  // namespace tilewave::formats
