#include "tilewave/statevec/cpu/low_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tilewave/statevec/cpu/cpu_tuning.h"

namespace tilewave::statevec::cpu {

namespace {

constexpr std::uint32_t kLowLifts = (1u << kLowBits) - 1;

// Terms, then lifts; they belong to a stage or a link.
struct Point {
  const SplitTerms* terms;
  const LayerStep<double>* lifts;
  LowWeights* weights;
  bool after_phases;  // the stage has some

  // A factor of all rows has a table anyway.
  bool has_table() const {
    return std::any_of(terms->begin(), terms->end(),
                       [](const SplitTerm& t) { return t.low && !t.rows; });
  }
  std::uint32_t lifted() const { return lifts->mask & kLowLifts; }
  bool lifts_bit(int b) const { return lifts->mask >> b & 1; }
};
using Points = std::vector<Point>;

// By which the lift on bit b of point k may be weighted from there on; 0: it may not. Tables must
// come after it, and no other lift on the bit before them.
double weight_of(const Points& points, std::size_t k, int b) {
  const LayerStep<double>& lifts = *points[k].lifts;
  const double t = lifts.t[b];
  if (!points[k].after_phases || !points[k].lifts_bit(b) || (lifts.reflected >> b & 1)) return 0;
  if (std::abs(t) < kLeastWeightedLift || std::abs(t) >= 1) return 0;
  for (std::size_t next = k + 1; next < points.size(); ++next) {
    if (points[next].has_table()) return t;
    if (points[next].lifts_bit(b)) return 0;
  }
  return 0;
}

void weigh(const Points& points, int b) {
  double held = 0;
  for (std::size_t k = 0; k < points.size(); ++k) {
    LowWeights& weights = *points[k].weights;
    if (points[k].has_table()) {
      const double next = weight_of(points, k, b);
      weights.factors[b] = (next == 0 ? 1 : next) / (held == 0 ? 1 : held);
      held = next;
    }
    if (held != 0 && points[k].lifts_bit(b)) weights.weighted |= 1u << b;
  }
}

}  // namespace

bool LowWeights::has_factors() const {
  return std::any_of(factors.begin(), factors.end(), [](double f) { return f != 1; });
}

std::vector<std::vector<LowWeights>> choose_low_weights(const std::vector<OutlineStep>& steps) {
  std::vector<std::vector<LowWeights>> out(steps.size());
  Points points;
  const auto finish = [&] {
    for (int b = 0; b < kLowBits; ++b) weigh(points, b);
    points.clear();
  };
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (steps[k].action) {
      finish();
      continue;
    }
    const Stage& stage = steps[k].stage;
    out[k].resize(1 + stage.links.size());
    const bool phased = !stage.terms.empty();
    points.push_back({&stage.terms, &stage.lifts, out[k].data(), phased});
    for (std::size_t l = 0; l < stage.links.size(); ++l)
      points.push_back({&stage.links[l].terms, &stage.links[l].lifts, &out[k][l + 1], phased});
  }
  finish();
  return out;
}

}  // namespace tilewave::statevec::cpu
