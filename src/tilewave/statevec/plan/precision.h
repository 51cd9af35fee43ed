// What plans and device code both know.
#pragma once

#include "tilewave/settings/precision.h"

namespace tilewave::statevec {

using tilewave::Precision;
using tilewave::amplitude_bytes;

constexpr int kMaxTargets = 8;  ///< of one matrix

}  // namespace tilewave::statevec
