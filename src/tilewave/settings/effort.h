// How much planning a run is worth.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewave {

enum class Effort : std::uint8_t {
  kAuto,      ///< once at first; repeated where that pays for itself within the run, or when the
              ///< circuit comes again
  kOnce,      ///< a greedy plan, in a few milliseconds
  kRepeated,  ///< a plan that was searched for, about as long as a few passes take
  kBest,      ///< the same, and seconds for what makes later runs faster (kernels of their own)
};

std::string_view name_of(Effort effort);
/// Throws Error(kUsage) with the list of words.
Effort parse_effort(std::string_view text);
std::string effort_words();

}  // namespace tilewave
