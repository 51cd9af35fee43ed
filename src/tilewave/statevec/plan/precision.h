// The two precisions of amplitudes, and what else plans and device code both know.
#pragma once

#include <cstdint>

namespace tilewave::statevec {

enum class Precision : std::uint8_t { kSingle, kDouble };

/// Bytes of one amplitude.
constexpr std::uint64_t amplitude_bytes(Precision p) { return p == Precision::kDouble ? 16 : 8; }

constexpr int kMaxTargets = 8;  ///< of one matrix

}  // namespace tilewave::statevec
