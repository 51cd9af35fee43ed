// What every detector checks at a moment. The circuit behind the moment is cut off and walked from
// its end to its start: an X error there flips the detectors of x(q), a Z error those of z(q), so a
// detector that only X flips checks Z of that qubit, and so on. Records from before the moment are
// padded: what they hold plays no part.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/stabilizer/diagram/diagram.h"
#include "tilewave/stabilizer/diagram/svg.h"
#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {
namespace {

using circuit::StabilizerCircuit;

constexpr std::uint64_t kMostWork = 400'000'000, kMostSlices = 64, kMostQubits = 20'000;
constexpr double kUnit = 60, kMargin = 44, kPageWidth = 1500;
constexpr std::string_view kPauliColours[] = {"#bbbbbb", "#e05252", "#3fa34d", "#4f7fe0"};
constexpr std::string_view kMixed = "#9a8fb0";

struct Checked {
  std::uint32_t qubit;
  circuit::Pauli pauli;
};
using Slice = std::map<Symptom, std::vector<Checked>>;  // of detectors, then observables

Slice slice_at(const StabilizerCircuit& circuit, std::uint64_t tick) {
  const CircuitTicks cut = cut_ticks(circuit, {tick});
  StabilizerCircuit behind;
  const std::uint64_t pads = std::min<std::uint64_t>(cut.records, circuit.counts().max_lookback);
  const std::vector<circuit::StabTarget> zeros(pads);
  if (pads > 0) behind.append(circuit::StabKind::kMpad, circuit::GateId::kId, zeros, {});
  const auto append_all = [](const StabilizerCircuit& from, StabilizerCircuit& to) {
    for (const circuit::StabInstruction& op : from.instructions()) {
      if (op.kind == circuit::StabKind::kRepeat) {
        to.append_repeat(op.repeat, from.block(op), from.tag(op), op.line);
      } else {
        to.append(op.kind, op.gate, from.targets(op), from.args(op), from.tag(op), op.line);
      }
    }
  };
  append_all(cut.part, behind);
  const StabProgram program = lower(behind);
  SensitivityVisitor visitor;
  SensitivityWalk walk(program, SymptomKind::kDetectors, visitor);
  walk.limit_work(kMostWork);
  try {
    walk.block(0);
  } catch (const TooMuchWork&) {
    fail(ExitCode::kResources, "the circuit behind tick ", tick,
         " is too long for a detector slice: shorten its REPEAT blocks");
  }
  Slice slice;
  for (std::uint32_t q = 0; q < program.counts.qubits; ++q) {
    std::map<Symptom, int> flips;  // 1: by X, 2: by Z
    for (Symptom s : walk.x(q)) flips[s] |= 1;
    for (Symptom s : walk.z(q)) flips[s] |= 2;
    for (const auto& [s, by] : flips) {
      const circuit::Pauli pauli = by == 1   ? circuit::Pauli::kZ
                                   : by == 2 ? circuit::Pauli::kX
                                             : circuit::Pauli::kY;
      slice[s & kObservableBit ? s : s + cut.detectors].push_back({q, pauli});
    }
  }
  return slice;
}

// Leaves what the filter names.
void keep_shown(const StabilizerCircuit& circuit, const SliceFilter& filter, Slice& slice) {
  std::set<std::uint64_t> detectors;
  for (const auto& [s, checked] : slice)
    if (!(s & kObservableBit)) detectors.insert(s);
  const auto places = detector_coordinates(circuit, detectors);
  std::erase_if(slice, [&](const auto& entry) {
    const Symptom s = entry.first;
    if (s & kObservableBit) return !filter.observables.contains(s & ~kObservableBit);
    const std::vector<double>& at = places.at(s);
    return !filter.detectors.contains(s) &&
           std::none_of(filter.points.begin(), filter.points.end(), [&](const auto& point) {
             return point.size() <= at.size() && std::equal(point.begin(), point.end(), at.begin());
           });
  });
}

// Two dimensions of what is given: more are laid askew, qubits without any in a line.
Point place_of(const QubitCoordinates& coords, std::uint32_t qubit) {
  const auto it = coords.find(qubit);
  if (it == coords.end() || it->second.empty()) return {static_cast<double>(qubit), 0};
  const std::vector<double>& c = it->second;
  Point p{c[0], c.size() > 1 ? c[1] : 0};
  for (std::size_t k = 2; k < c.size(); ++k) {
    p.x += 0.37 * c[k] / static_cast<double>(k - 1);
    p.y += 0.23 * c[k] / static_cast<double>(k - 1);
  }
  return p;
}

std::string_view colour_of(const std::vector<Checked>& checked) {
  for (const Checked& c : checked)
    if (c.pauli != checked[0].pauli) return kMixed;
  return kPauliColours[static_cast<int>(checked[0].pauli)];
}

Point middle_of(const std::vector<Point>& points) {
  Point m;
  for (const Point& p : points) {
    m.x += p.x / static_cast<double>(points.size());
    m.y += p.y / static_cast<double>(points.size());
  }
  return m;
}

// The corners of the convex hull, in order; two for points in a line.
std::vector<Point> hull_of(std::vector<Point> points) {
  const auto less = [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; };
  std::sort(points.begin(), points.end(), less);
  points.erase(std::unique(points.begin(), points.end(),
                           [](Point a, Point b) { return a.x == b.x && a.y == b.y; }),
               points.end());
  if (points.size() < 3) return points;
  std::vector<Point> hull;
  for (int side = 0; side < 2; ++side) {  // there, and on the other side back
    const std::size_t begin = hull.size();
    for (const Point& p : points) {
      while (hull.size() >= begin + 2) {
        const Point a = hull[hull.size() - 2], b = hull.back();
        if ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x) > 1e-6) break;
        hull.pop_back();
      }
      hull.push_back(p);
    }
    hull.pop_back();
    std::reverse(points.begin(), points.end());
  }
  return hull;
}

std::string words_of(Symptom s, const std::vector<Checked>& checked) {
  std::string out =
      s & kObservableBit ? "L" + std::to_string(s & ~kObservableBit) : "D" + std::to_string(s);
  out += ":";
  for (const Checked& c : checked)
    out.append(" ").append(1, "IXYZ"[static_cast<int>(c.pauli)]).append(std::to_string(c.qubit));
  return out;
}

class Panel {
 public:
  Panel(const QubitCoordinates& coords, const std::vector<std::uint32_t>& qubits)
      : qubits_(qubits) {
    for (std::uint32_t q : qubits) places_[q] = place_of(coords, q);
    Point low{1e300, 1e300}, high{-1e300, -1e300};
    for (const auto& [q, p] : places_) {
      low = {std::min(low.x, p.x), std::min(low.y, p.y)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
    // the nearest two qubits are a unit apart
    double nearest = 1e300;
    std::vector<Point> sorted;
    for (const auto& [q, p] : places_) sorted.push_back(p);
    std::sort(sorted.begin(), sorted.end(), [](Point a, Point b) { return a.x < b.x; });
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      for (std::size_t k = i + 1; k < sorted.size() && sorted[k].x - sorted[i].x < nearest; ++k) {
        const double d = std::hypot(sorted[k].x - sorted[i].x, sorted[k].y - sorted[i].y);
        if (d > 0) nearest = std::min(nearest, d);
      }
    }
    scale_ = nearest < 1e300 ? kUnit / nearest : 1;
    for (auto& [q, p] : places_)
      p = {(p.x - low.x) * scale_ + kMargin, (p.y - low.y) * scale_ + kMargin};
    width = qubits.empty() ? 2 * kMargin : (high.x - low.x) * scale_ + 2 * kMargin;
    height = qubits.empty() ? 2 * kMargin : (high.y - low.y) * scale_ + 2 * kMargin;
  }

  void draw(const Slice& slice, std::uint64_t tick, double left, double top, Svg& svg) const {
    std::vector<std::pair<Symptom, std::vector<Checked>>> large_first(slice.begin(), slice.end());
    std::stable_sort(large_first.begin(), large_first.end(), [](const auto& a, const auto& b) {
      return a.second.size() > b.second.size();
    });
    const auto at = [&](std::uint32_t q) {
      const Point p = places_.at(q);
      return Point{p.x + left, p.y + top};
    };
    const auto points_of = [&](const std::vector<Checked>& checked) {
      std::vector<Point> points;
      for (const Checked& c : checked) points.push_back(at(c.qubit));
      return points;
    };
    for (const auto& [s, checked] : large_first) {
      if (s & kObservableBit) continue;
      const std::vector<Point> points = points_of(checked), hull = hull_of(points);
      const Paint paint{colour_of(checked), "#444444", 1, 0.45};
      const std::string words = words_of(s, checked);
      if (hull.size() == 1) {
        svg.circle(hull[0], 15, paint, words);
      } else if (hull.size() == 2) {
        svg.lens(hull[0], hull[1], 26, paint, words);
      } else {
        svg.polygon(hull, paint, words);
      }
    }
    for (const auto& [s, checked] : slice) {
      if (!(s & kObservableBit)) continue;
      const std::string words = words_of(s, checked);
      for (const Checked& c : checked) {
        svg.circle(at(c.qubit), 11,
                   {"none", kPauliColours[static_cast<int>(c.pauli)], 2.5, 1, "4 2"}, words);
      }
    }
    for (std::uint32_t q : qubits_) {
      svg.circle(at(q), 3, {"#222222"}, "qubit " + std::to_string(q));
      const Point p = at(q);
      svg.text({p.x + 6, p.y - 9}, std::to_string(q), 9, "#666666", TextAnchor::kStart);
    }
    for (const auto& [s, checked] : large_first) {
      if (s & kObservableBit) continue;
      const std::vector<Point> points = points_of(checked), hull = hull_of(points);
      for (std::size_t k = 0; k < checked.size() && checked.size() > 1; ++k) {
        const auto is_same = [&](Point p) { return p.x == points[k].x && p.y == points[k].y; };
        // where a shape's Paulis differ, and where a qubit is no corner of it
        if (colour_of(checked) != kMixed && std::any_of(hull.begin(), hull.end(), is_same))
          continue;
        svg.circle(points[k], 6, {kPauliColours[static_cast<int>(checked[k].pauli)], "white"});
      }
      Point m = middle_of(hull);
      if (checked.size() == 1) {
        m.y += 10;
      } else if (is_near_qubit({m.x - left, m.y - top})) {
        m.x -= 15, m.y -= 9;
      }
      svg.text(m, "D" + std::to_string(s), checked.size() == 1 ? 8 : 10, "black",
               TextAnchor::kMiddle, words_of(s, checked));
    }
    svg.text({left + width / 2, top + 14}, tick == 0 ? "start" : "tick " + std::to_string(tick), 12,
             "black");
  }

  double width = 0, height = 0;

 private:
  bool is_near_qubit(Point at) const {
    return std::any_of(places_.begin(), places_.end(), [&](const auto& place) {
      return std::hypot(place.second.x - at.x, place.second.y - at.y) < 14;
    });
  }

  std::vector<std::uint32_t> qubits_;
  std::map<std::uint32_t, Point> places_;
  double scale_ = 1;
};

}  // namespace

std::string detector_slice_svg(const StabilizerCircuit& circuit, TickRange ticks,
                               const std::optional<SliceFilter>& filter) {
  const auto [first, last] = existing_ticks(circuit, ticks);
  if (last - first >= kMostSlices) {
    fail(ExitCode::kUsage, last - first + 1,
         " detector slices are too many, at most 64 are drawn: choose ticks, such as 1:4");
  }
  const std::vector<std::uint32_t> qubits = touched_qubits(circuit);
  if (qubits.size() > kMostQubits) {
    fail(ExitCode::kResources, "detector slices of more than ", kMostQubits,
         " qubits are not drawn");
  }
  const Panel panel(qubit_coordinates(circuit), qubits);
  Svg svg;
  const std::uint64_t number = last - first + 1;
  const auto fitting = static_cast<std::uint64_t>(std::max(1.0, kPageWidth / panel.width));
  const std::uint64_t columns = std::min(number, fitting), rows = (number - 1) / columns + 1;
  for (std::uint64_t k = 0; k < number; ++k) {
    Slice slice = slice_at(circuit, first + k);
    if (filter) keep_shown(circuit, *filter, slice);
    panel.draw(slice, first + k, static_cast<double>(k % columns) * panel.width,
               static_cast<double>(k / columns) * panel.height, svg);
  }
  return svg.finish(static_cast<double>(columns) * panel.width,
                    static_cast<double>(rows) * panel.height);
}

}  // namespace tilewave::stabilizer
