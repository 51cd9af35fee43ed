#include "tilewave/stabilizer/diagram/diagram.h"

#include <charconv>

#include "tilewave/base/error.h"

namespace tilewave::stabilizer {

DiagramKind parse_diagram_kind(std::string_view name) {
  if (name == "timeline-svg") return DiagramKind::kTimeline;
  if (name == "detslice-svg" || name == "detector-slice-svg") return DiagramKind::kDetectorSlice;
  if (name == "matchgraph-svg" || name == "match-graph-svg") return DiagramKind::kMatchGraph;
  throw Error(ExitCode::kUsage, "unknown diagram '" + std::string(name) +
                                    "': use timeline-svg, detslice-svg or matchgraph-svg");
}

TickRange parse_tick_range(std::string_view text) {
  const auto fail = [&]() -> TickRange {
    throw Error(
        ExitCode::kUsage,
        "'" + std::string(text) + "' is no range of ticks: write 3, or 3:7 for those from 3 to 7");
  };
  const auto read = [&](std::string_view word, std::uint64_t& value) {
    if (word.empty()) return true;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    return problem == std::errc() && end == word.data() + word.size();
  };
  TickRange range;
  const std::size_t colon = text.find(':');
  if (text.empty() || text == ":") return fail();
  if (!read(text.substr(0, colon), range.first)) return fail();
  if (colon == std::string_view::npos) {
    range.last = range.first;
  } else if (!read(text.substr(colon + 1), range.last)) {
    return fail();
  }
  if (range.last < range.first) return fail();
  return range;
}

}  // namespace tilewave::stabilizer
