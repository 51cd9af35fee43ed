#include "tilewave/stabilizer/diagram/diagram.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tilewave/base/error.h"
#include "tilewave/circuit/without_noise.h"

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
        "'" + std::string(text) + "' is no range of ticks: write 3, or 3:7 for those from 3 to 6");
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
  } else if (colon + 1 < text.size()) {
    std::uint64_t end = 0;
    if (!read(text.substr(colon + 1), end) || end <= range.first) return fail();
    range.last = end - 1;
  }
  return range;
}

SliceFilter parse_slice_filter(std::string_view text) {
  const auto refuse = [&] {
    fail(
        ExitCode::kUsage, "'", text,
        "' does not say what a detector slice shows: write coordinates such as 2,3, detectors such "
        "as D5 and observables such as L0, with colons between them, as in 2,3:D5:L0");
  };
  const auto read = [&](std::string_view word, auto value) {
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (problem != std::errc() || end != word.data() + word.size()) refuse();
    return value;
  };
  const auto each_word = [](std::string_view words, char separator, const auto& take) {
    for (std::size_t from = 0; from <= words.size();) {
      const std::size_t to = std::min(words.find(separator, from), words.size());
      take(words.substr(from, to - from));
      from = to + 1;
    }
  };
  SliceFilter filter;
  each_word(text, ':', [&](std::string_view entry) {
    if (entry.starts_with('D') || entry.starts_with('L')) {
      (entry[0] == 'D' ? filter.detectors : filter.observables)
          .insert(read(entry.substr(1), std::uint64_t{0}));
      return;
    }
    std::vector<double>& point = filter.points.emplace_back();
    if (entry.empty()) return;
    each_word(entry, ',', [&](std::string_view word) {
      point.push_back(read(word, 0.0));
      if (!std::isfinite(point.back())) refuse();
    });
  });
  return filter;
}

namespace {

void check_filter(const DiagramOptions& options) {
  if (!options.shown || options.kind == DiagramKind::kDetectorSlice) return;
  throw Error(ExitCode::kUsage,
              "filter_coords chooses what a detector slice shows, other diagrams show everything: "
              "leave it out, or draw a detslice-svg");
}

void check_match_graph(const DiagramOptions& options) {
  check_filter(options);
  if (!options.ticks.empty())
    throw Error(ExitCode::kUsage, "a match graph has no ticks: leave the tick out");
  if (options.remove_noise) {
    throw Error(ExitCode::kUsage,
                "a match graph shows errors, without noise there are none: leave remove_noise out");
  }
}

}  // namespace

std::string circuit_svg(const circuit::StabilizerCircuit& given, const std::string& name,
                        const DiagramOptions& options) {
  if (options.kind == DiagramKind::kMatchGraph) {
    check_match_graph(options);
    return match_graph_svg(match_graph_model(lower(given, name)));
  }
  check_filter(options);
  const circuit::StabilizerCircuit quiet =
      options.remove_noise ? circuit::without_noise(given) : circuit::StabilizerCircuit();
  const circuit::StabilizerCircuit& circuit = options.remove_noise ? quiet : given;
  if (options.kind == DiagramKind::kTimeline) {
    return timeline_svg(circuit,
                        options.ticks.empty() ? TickRange{} : parse_tick_range(options.ticks));
  }
  if (options.ticks.empty()) {
    throw Error(ExitCode::kUsage,
                "a detector slice is one of a moment: say which with --tick, in Python tick=");
  }
  std::optional<SliceFilter> filter;
  if (options.shown) filter = parse_slice_filter(*options.shown);
  return detector_slice_svg(circuit, parse_tick_range(options.ticks), filter);
}

std::string model_svg(const circuit::ErrorModel& model, const DiagramOptions& options) {
  if (options.kind != DiagramKind::kMatchGraph)
    throw Error(ExitCode::kUsage, "an error model has a matchgraph-svg only");
  check_match_graph(options);
  return match_graph_svg(model);
}

}  // namespace tilewave::stabilizer
