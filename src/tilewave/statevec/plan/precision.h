// The precision of amplitudes and the largest matrix, for plans and device code.
#pragma once

#include "tilewave/settings/precision.h"

namespace tilewave::statevec {

using tilewave::amplitude_bytes;
using tilewave::Precision;

constexpr int kMaxTargets = 8;  ///< of one matrix

}  // namespace tilewave::statevec
