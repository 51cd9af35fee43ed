// The random streams of the sparse engine: the tick's upper bits keep them apart from each other
// and from those of the frame engine.
#pragma once

#include <cstdint>

namespace tilewave::stabilizer {

constexpr std::uint64_t kEventStream = std::uint64_t{1} << 40;
constexpr std::uint64_t kCountStream = std::uint64_t{2} << 40;
constexpr std::uint64_t kSiteStream = std::uint64_t{3} << 40;
constexpr std::uint64_t kCoinStream = std::uint64_t{4} << 40;
constexpr std::uint64_t kBornStream = std::uint64_t{5} << 40;   ///< near_clifford/
constexpr std::uint64_t kFaultStream = std::uint64_t{6} << 40;  ///< fault_rows.h

}  // namespace tilewave::stabilizer
