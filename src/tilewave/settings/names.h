// The words of precisions, engines and efforts. What each means is said in include/tilewave/settings.h.
#pragma once

#include <string_view>

#include "tilewave/settings.h"

namespace tilewave {

std::string_view name_of(Precision precision);
std::string_view name_of(Effort effort);
std::string_view name_of(Engine engine);
std::string_view name_of(SamplingEngine engine);

/// Each reads one of its words. Throws Error(kUsage) with the list of them.
Precision parse_precision(std::string_view text);
Effort parse_effort(std::string_view text);
Engine parse_engine(std::string_view text);
SamplingEngine parse_sampling_engine(std::string_view text);

}  // namespace tilewave
