// What computes an answer.
#pragma once

#include <string>
#include <string_view>

#include "tilewave/settings.h"

namespace tilewave {

std::string_view name_of(Engine engine);
/// Throws Error(kUsage) with the list of words.
Engine parse_engine(std::string_view text);
/// "auto, statevector, stabilizer, density or trajectories"
std::string engine_words();

std::string_view name_of(SamplingEngine engine);
SamplingEngine parse_sampling_engine(std::string_view text);
std::string sampling_engine_words();

}  // namespace tilewave
