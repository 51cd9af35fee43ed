// The two precisions of amplitudes, for host and device code.
#pragma once

#include <cstdint>

#include "tilewave/settings.h"

namespace tilewave {

/// Bytes of one amplitude.
constexpr std::uint64_t amplitude_bytes(Precision p) { return p == Precision::kDouble ? 16 : 8; }

}  // namespace tilewave
