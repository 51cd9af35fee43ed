// How much planning a run is worth: the words. What each means is said in include/tilewave/settings.h.
#pragma once

#include <string>
#include <string_view>

#include "tilewave/settings.h"

namespace tilewave {

std::string_view name_of(Effort effort);
/// Throws Error(kUsage) with the list of words.
Effort parse_effort(std::string_view text);
std::string effort_words();

}  // namespace tilewave
