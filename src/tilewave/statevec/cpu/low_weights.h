// Lifts inside rows with half of the multiply-adds.
//
// With w = t y a lift x - t y, t x + y is x - w and w + t^2 x: an addition and a multiply-add for
// two amplitudes, where other lifts are two multiply-adds. A bit is *weighted* by t while
// amplitudes with it are held times t: from a phase block before its lifts to one after the last by
// that t, whose tables take the factors t and 1 / t with the phases, for nothing.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tilewave/statevec/cpu/outline.h"

namespace tilewave::statevec::cpu {

/// What becomes of terms and lifts inside rows that follow each other: those of a stage, or of a
/// link.
struct LowWeights {
  std::array<double, kLowBits> factors = {1, 1, 1, 1, 1, 1};  ///< of amplitudes with the bit
  std::uint32_t weighted = 0;  ///< bits that are during the lifts, among those lifted

  bool has_factors() const;
};

/// Of each step (empty for actions): of its stage, then of its links.
std::vector<std::vector<LowWeights>> choose_low_weights(const std::vector<OutlineStep>& steps);

}  // namespace tilewave::statevec::cpu
