// Post-selection: which detectors must be silent, and how many shots pass.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {

/// The mask that words mean: `all`, or numbers and ranges of detectors such as "0,D3 5-8", separated
/// by commas, blanks or line ends. Bit b at word b / 64. Throws Error(kUsage) saying what is wrong.
std::vector<std::uint64_t> post_selection_mask(std::string_view words, std::uint64_t num_detectors);

/// Adds to ones[k] in how many of the rows, `stride` bytes apart, bit first_bit + k is set. Up to
/// seven bytes behind the last row may be read.
void add_ones(const std::uint8_t* rows, std::uint64_t stride, std::uint64_t count,
              std::uint64_t first_bit, std::span<std::uint64_t> ones);

/// What a run with post-selection counts.
struct KeptShots {
  std::uint64_t attempted = 0, kept = 0;
  std::vector<std::uint64_t> ones;  ///< of every bit, over the shots that are kept
};

/// Makes the shots that options ask for, options.must_be_zero included, and counts; nothing is
/// written. `progress`, called by one thread at a time, gets how many shots are done and says
/// whether to go on: where not, `attempted` says how many were made.
KeptShots count_kept(ShotSource& source, const SampleOptions& options,
                     const std::function<bool(std::uint64_t)>& progress);

}  // namespace tilewave::stabilizer
