// The words of precisions.
#pragma once

#include <string_view>

#include "tilewave/settings/precision.h"

namespace tilewave {

/// "double" or "single".
std::string_view name_of(Precision p);
/// Reads one of these words. Throws Error(kUsage) with the list of them.
Precision parse_precision(std::string_view text);

}  // namespace tilewave
