// The match graph: what is flipped together. Parts of decomposed errors are drawn one by one.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/diagram/diagram.h"
#include "tilewave/stabilizer/diagram/svg.h"
#include "tilewave/stabilizer/error_analysis.h"

namespace tilewave::stabilizer {
namespace {

constexpr std::uint64_t kMostDrawn = 100'000;
constexpr double kLength = 56, kEdge = 50;

[[noreturn]] void fail_too_large() {
  throw Error(ExitCode::kResources, "a match graph of more than " + std::to_string(kMostDrawn) +
                                        " errors is not drawn: use fewer rounds");
}

struct Flips {
  std::vector<std::uint64_t> detectors, observables;
  auto operator<=>(const Flips&) const = default;
};

// A model unrolled: its parts with the probability that an odd number of them happens, and where
// detectors lie.
class Unrolled {
 public:
  explicit Unrolled(const circuit::ErrorModel& model) { walk(model.instructions); }
  std::map<Flips, double> parts;
  std::map<std::uint64_t, std::vector<double>> places;

 private:
  void walk(const std::vector<circuit::DemInstruction>& list) {
    for (const circuit::DemInstruction& op : list) {
      if (++num_walked_ > 10 * kMostDrawn) fail_too_large();
      switch (op.kind) {
        case circuit::DemKind::kRepeat:
          for (std::uint64_t k = 0; k < op.count; ++k) walk(op.body);
          break;
        case circuit::DemKind::kShiftDetectors:
          offset_ += op.count;
          shift_.resize(std::max(shift_.size(), op.args.size()));
          for (std::size_t k = 0; k < op.args.size(); ++k) shift_[k] += op.args[k];
          break;
        case circuit::DemKind::kDetector: {
          std::vector<double> at = op.args;
          for (std::size_t k = 0; k < std::min(at.size(), shift_.size()); ++k) at[k] += shift_[k];
          for (const circuit::DemTarget& t : op.targets) places[offset_ + t.index] = at;
          break;
        }
        case circuit::DemKind::kError:
          error(op);
          break;
        case circuit::DemKind::kLogicalObservable:
          break;
      }
    }
  }

  void error(const circuit::DemInstruction& op) {
    Flips part;
    const auto add = [&] {
      circuit::keep_odd(part.detectors);
      circuit::keep_odd(part.observables);
      for (std::uint64_t d : part.detectors) places.try_emplace(d);
      double& p = parts[part];
      p = p * (1 - op.args[0]) + (1 - p) * op.args[0];
      part = {};
    };
    for (const circuit::DemTarget& t : op.targets) {
      if (t.kind == circuit::DemTarget::Kind::kDetector)
        part.detectors.push_back(offset_ + t.index);
      if (t.kind == circuit::DemTarget::Kind::kObservable) part.observables.push_back(t.index);
      if (t.kind == circuit::DemTarget::Kind::kSeparator) add();
    }
    add();
  }

  std::uint64_t offset_ = 0, num_walked_ = 0;
  std::vector<double> shift_;
};

// Detectors with three coordinates are seen from the side, time downwards; those without stand in
// rows of sixteen.
Point project(std::uint64_t detector, const std::vector<double>& c) {
  if (c.empty()) return {static_cast<double>(detector % 16), static_cast<double>(detector / 16)};
  if (c.size() == 1) return {c[0], 0};
  if (c.size() == 2) return {c[0], c[1]};
  return {0.9 * c[0] - 0.45 * c[1], 0.25 * c[0] + 0.38 * c[1] + 1.6 * c[2]};
}

std::string words_of(const Flips& f, double p) {
  std::string out = "error(" + language::shortest_number(p) + ")";
  for (std::uint64_t d : f.detectors) out += " D" + std::to_string(d);
  for (std::uint64_t l : f.observables) out += " L" + std::to_string(l);
  return out;
}

}  // namespace

circuit::ErrorModel match_graph_model(const StabProgram& program) {
  AnalysisOptions options;
  options.decompose_errors = true;
  options.ignore_decomposition_failures = true;
  options.fold_loops = true;
  options.allow_gauge_detectors = true;
  options.approximate_disjoint_errors = 1;
  return analyze_errors(program, options);
}

std::string match_graph_svg(const circuit::ErrorModel& model) {
  if (circuit::size_of(model).errors > kMostDrawn) fail_too_large();
  const Unrolled all(model);
  std::map<std::uint64_t, Point> at;
  for (const auto& [d, c] : all.places) at[d] = project(d, c);
  Point low{1e300, 1e300}, high{-1e300, -1e300};
  for (const auto& [d, p] : at) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
  // so that an error of two detectors is of middling length
  std::vector<double> lengths;
  for (const auto& [f, p] : all.parts) {
    if (f.detectors.size() != 2) continue;
    const Point a = at[f.detectors[0]], b = at[f.detectors[1]];
    lengths.push_back(std::hypot(a.x - b.x, a.y - b.y));
  }
  double scale = kLength;
  if (!lengths.empty()) {
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    if (*middle > 0) scale = kLength / *middle;
  }
  for (auto& [d, p] : at) p = {(p.x - low.x) * scale + kEdge, (p.y - low.y) * scale + kEdge};
  const double width = at.empty() ? 2 * kEdge : (high.x - low.x) * scale + 2 * kEdge;
  const double height = at.empty() ? 2 * kEdge : (high.y - low.y) * scale + 2 * kEdge;
  const Point centre{width / 2, height / 2};

  Svg svg;
  const auto draw = [&](const Flips& f, double p) {
    const bool flips = !f.observables.empty();
    const std::string words = words_of(f, p);
    const std::string_view colour = flips ? "#d03030" : "#7088a8";
    const double line_width = flips ? 2.2 : 1.3;
    if (f.detectors.size() == 2) {
      svg.lens(at[f.detectors[0]], at[f.detectors[1]], 0, {"none", colour, line_width}, words);
    } else if (f.detectors.size() == 1) {  // a stub away from the middle, to the boundary
      const Point a = at[f.detectors[0]];
      double dx = a.x - centre.x, dy = a.y - centre.y;
      const double length = std::hypot(dx, dy);
      if (length < 1e-9) dx = 1, dy = 0;
      const double unit = length < 1e-9 ? 1 : length;
      const double turn = flips ? 0.35 : 0;  // so that stubs of both kinds are seen
      const Point d{dx / unit, dy / unit};
      const Point b{a.x + 24 * (d.x - turn * d.y), a.y + 24 * (d.y + turn * d.x)};
      svg.lens(a, b, 0, {"none", colour, line_width, 1, "3 2"}, words);
    } else if (f.detectors.size() > 2) {  // a star
      Point m;
      for (std::uint64_t d : f.detectors) m.x += at[d].x, m.y += at[d].y;
      const auto n = static_cast<double>(f.detectors.size());
      m = {m.x / n, m.y / n};
      for (std::uint64_t d : f.detectors)
        svg.lens(m, at[d], 0, {"none", flips ? "#e09090" : "#c9c0d8", 1}, words);
      svg.circle(m, 2, {flips ? "#e09090" : "#c9c0d8"}, words);
    }
  };
  for (const bool flips : {false, true}) {
    for (const auto& [f, p] : all.parts)
      if (f.detectors.size() > 2 && f.observables.empty() != flips) draw(f, p);
  }
  for (const bool flips : {false, true}) {
    for (const auto& [f, p] : all.parts)
      if (f.detectors.size() <= 2 && f.observables.empty() != flips) draw(f, p);
  }
  for (const auto& [d, p] : at) {
    const std::string name = "D" + std::to_string(d);
    const std::vector<double>& c = all.places.at(d);
    svg.circle(p, 4, {"#202020"}, c.empty() ? name : name + " " + language::in_parentheses(c));
    if (at.size() <= 2000) svg.text({p.x + 6, p.y - 7}, name, 9, "#404040", TextAnchor::kStart);
  }
  return svg.finish(width, height);
}

}  // namespace tilewave::stabilizer
