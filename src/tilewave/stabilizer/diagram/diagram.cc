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
    if (problem == std::errc::result_out_of_range) {
      throw Error(ExitCode::kUsage, concat("'", text, "': a tick is at most ", ~std::uint64_t{0}));
    }
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

namespace {

void check_match_graph_ticks(std::string_view ticks) {
  if (ticks.empty()) return;
  throw Error(ExitCode::kUsage, "a match graph has no ticks: leave the tick out");
}

}  // namespace

std::string circuit_svg(const circuit::StabilizerCircuit& circuit, const std::string& name,
                        DiagramKind kind, std::string_view ticks) {
  switch (kind) {
    case DiagramKind::kTimeline:
      return timeline_svg(circuit, ticks.empty() ? TickRange{} : parse_tick_range(ticks));
    case DiagramKind::kDetectorSlice:
      if (ticks.empty()) {
        throw Error(ExitCode::kUsage,
                    "a detector slice is one of a moment: say which with --tick, in Python tick=");
      }
      return detector_slice_svg(circuit, parse_tick_range(ticks));
    case DiagramKind::kMatchGraph:
      break;
  }
  check_match_graph_ticks(ticks);
  return match_graph_svg(match_graph_model(lower(circuit, name)));
}

std::string model_svg(const circuit::ErrorModel& model, DiagramKind kind, std::string_view ticks) {
  if (kind != DiagramKind::kMatchGraph)
    throw Error(ExitCode::kUsage, "an error model has a matchgraph-svg only");
  check_match_graph_ticks(ticks);
  return match_graph_svg(model);
}

}  // namespace tilewave::stabilizer
