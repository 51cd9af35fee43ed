#include "tilewave/statevec/cpu/stages.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace tilewave::statevec::cpu {

namespace {

constexpr std::uint32_t kLowMask = (1u << kLowBits) - 1;

// Moves the terms that satisfy `which` out of `from`, in order.
template <class Which>
SplitTerms extract(SplitTerms& from, Which which) {
  const auto rest = std::stable_partition(from.begin(), from.end(),
                                          [&](const SplitTerm& t) { return !which(t); });
  SplitTerms out(rest, from.end());
  from.erase(rest, from.end());
  return out;
}

void append(SplitTerms& to, const SplitTerms& terms) {
  to.insert(to.end(), terms.begin(), terms.end());
}

std::uint32_t bits_of(const SplitTerms& terms) {
  std::uint32_t mask = 0;
  for (const SplitTerm& t : terms) mask |= t.inside();
  return mask;
}

// Layers with more lifts on rows are stages of their own: lifts four at a time, one phase block for
// all of them.
bool is_thin(const LayerStep<double>& lifts) {
  return std::popcount(lifts.mask >> kLowBits) <= kSweepBits;
}

// But for the rounding of the matrix it comes from.
bool is_unit(double t) { return std::abs(std::abs(t) - 1) < 1e-15; }

LayerStep<double> low_part(LayerStep<double> lifts) {
  lifts.mask &= kLowMask;
  lifts.reflected &= kLowMask;
  return lifts;
}

}  // namespace

std::uint32_t StageSweep::mask() const {
  std::uint32_t mask = 0;
  for (int k = 0; k < num_bits; ++k) mask |= 1u << bits[k];
  return mask;
}

bool StageSweep::is_plain() const {
  return before.empty() && std::all_of(after.begin(), after.end(),
                                       [](const SplitTerms& terms) { return terms.empty(); });
}

LayerStep<double> StageSweep::lifts() const {
  LayerStep<double> lifts;
  for (int k = 0; k < num_bits; ++k) {
    lifts.mask |= 1u << (kLowBits + bits[k]);
    lifts.reflected |= (reflected >> k & 1) << (kLowBits + bits[k]);
    lifts.t[kLowBits + bits[k]] = t[k];
  }
  return lifts;
}

bool Stage::has_inside() const {
  return !terms.empty() || (lifts.mask & kLowMask) || !links.empty();
}

std::uint32_t Stage::lifted() const {
  std::uint32_t mask = lifts.mask;
  for (const StageLink& link : links) mask |= link.lifts.mask;
  for (const StageSweep& sweep : sweeps) mask |= sweep.mask() << kLowBits;
  return mask;
}

std::uint32_t Stage::phased() const {
  std::uint32_t mask = bits_of(terms);
  for (const StageLink& link : links) mask |= bits_of(link.terms);
  for (const StageSweep& sweep : sweeps) {
    mask |= bits_of(sweep.before);
    for (const SplitTerms& after : sweep.after) mask |= bits_of(after);
  }
  return mask;
}

void Stages::add(const SplitTerms& terms) {
  if (bits_of(terms) & lifts_.mask) close_layer();
  append(waiting_, terms);
}

void Stages::add_lift(int place, double t) {
  if (lifts_.mask >> place & 1) close_layer();
  lifts_.mask |= 1u << place;
  lifts_.t[place] = is_unit(t) ? std::copysign(1, t) : t;
}

void Stages::close_layer() {
  LayerStep<double> lifts = std::exchange(lifts_, {});
  if (!lifts.mask) return;
  reflect(lifts);
  SplitTerms due =
      extract(waiting_, [&](const SplitTerm& t) { return (t.inside() & lifts.mask) != 0; });
  if (!stages_.empty() && joins(due, lifts)) {
    join(due, lifts);
  } else {
    open(std::move(due), lifts);
  }
}

// Half a turn of a bit before its lift by 1 is a Hadamard gate. In thick layers all lifts on rows
// are, or none.
void Stages::reflect(LayerStep<double>& lifts) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  for (std::uint32_t left = lifts.mask; left; left &= left - 1) {
    const int place = std::countr_zero(left);
    if (lifts.t[place] != 1) continue;
    std::uint64_t turns = 0;
    for (const SplitTerm& t : waiting_) {
      if (t.inside() == 1u << place && !t.outside) turns += t.turns;
    }
    if (turns == kHalf) lifts.reflected |= 1u << place;
  }
  if (!is_thin(lifts) && (lifts.mask & ~lifts.reflected) >> kLowBits) lifts.reflected &= kLowMask;
  extract(waiting_, [&](const SplitTerm& t) {
    return std::has_single_bit(t.inside()) && !t.outside && (t.inside() & lifts.reflected);
  });
}

std::vector<Stage> Stages::take_before(std::uint32_t targets, std::uint32_t controls) {
  if (((targets | controls) & lifts_.mask) || (targets & bits_of(waiting_))) return take();
  std::uint32_t lifted = 0, phased = 0;
  for (const Stage& stage : stages_) {
    lifted |= stage.lifted();
    phased |= stage.phased();
  }
  if (((targets | controls) & lifted) || (targets & phased)) return take_stages();
  return {};
}

std::vector<Stage> Stages::take() {
  close_layer();
  if (!waiting_.empty() && !place_rest()) {
    stages_.emplace_back();
    stages_.back().terms = std::move(waiting_);
  }
  waiting_.clear();
  return take_stages();
}

// A sweep without phases right after the lifts inside rows is more lifts of the stage, unless some
// of its rows' lifts were Hadamard gates and others not.
std::vector<Stage> Stages::take_stages() {
  for (Stage& stage : stages_) {
    while (!stage.sweeps.empty() && stage.sweeps.front().is_plain()) {
      const LayerStep<double> lifts = stage.sweeps.front().lifts();
      if (stage.lifts.mask & lifts.mask) break;
      const std::uint32_t mask = (stage.lifts.mask | lifts.mask) >> kLowBits,
                          reflected = (stage.lifts.reflected | lifts.reflected) >> kLowBits;
      if (reflected && reflected != mask) break;
      stage.lifts.mask |= lifts.mask;
      stage.lifts.reflected |= lifts.reflected;
      for (int k = kLowBits; k < kLowBits + kMaxRowBits; ++k) {
        if (lifts.mask >> k & 1) stage.lifts.t[k] = lifts.t[k];
      }
      stage.sweeps.erase(stage.sweeps.begin());
    }
  }
  return std::exchange(stages_, {});
}

bool Stages::joins(const SplitTerms& due, const LayerStep<double>& lifts) const {
  const Stage& stage = stages_.back();
  if (!is_thin(lifts) || static_cast<int>(stage.links.size()) == kMaxLinks) return false;
  const std::uint32_t lifted = stage.lifted();
  return std::none_of(due.begin(), due.end(), [&](const SplitTerm& t) {
    return t.low && t.rows && ((t.inside() & lifted) || !stage.has_inside());
  });
}

void Stages::join(const SplitTerms& due, const LayerStep<double>& lifts) {
  Stage& stage = stages_.back();
  const std::uint32_t lifted = stage.lifted();
  StageLink link;
  SplitTerms of_rows;
  for (const SplitTerm& t : due) {
    if (t.low == 0) {
      of_rows.push_back(t);
    } else if (t.rows || (!(t.inside() & lifted) && !stage.terms.empty())) {
      stage.terms.push_back(t);
    } else {
      link.terms.push_back(t);
    }
  }
  link.lifts = low_part(lifts);
  if (link.lifts.mask) stage.links.push_back(std::move(link));
  add_sweeps(std::move(of_rows), lifts);
}

void Stages::open(SplitTerms due, const LayerStep<double>& lifts) {
  Stage& stage = stages_.emplace_back();
  const auto has_low = [](const SplitTerm& t) { return t.low != 0; };
  const auto of_rows_only = [](const SplitTerm& t) { return !t.low && t.rows; };
  SplitTerms of_rows;
  if (std::any_of(due.begin(), due.end(), has_low)) {
    append(due, extract(waiting_, has_low));
  } else if (is_thin(lifts)) {
    of_rows = extract(due, of_rows_only);
  }
  // Terms of rows need one more factor a row, once for all; those of a single bit join its table.
  std::uint32_t with_table = 0;
  for (const SplitTerm& t : due) {
    if (t.low && std::has_single_bit(t.rows)) with_table |= t.rows;
  }
  const auto in_table = [&](const SplitTerm& t) {
    return std::has_single_bit(t.rows) && (t.rows & with_table);
  };
  const bool scaled = std::any_of(
      due.begin(), due.end(), [&](const SplitTerm& t) { return of_rows_only(t) && !in_table(t); });
  append(due, extract(waiting_, [&](const SplitTerm& t) {
           return of_rows_only(t) && (scaled || in_table(t));
         }));
  stage.terms = std::move(due);
  stage.lifts = is_thin(lifts) ? low_part(lifts) : lifts;
  if (is_thin(lifts)) add_sweeps(std::move(of_rows), lifts);
}

// The lifts on rows, each after those of the terms that have its bit.
void Stages::add_sweeps(SplitTerms terms, const LayerStep<double>& lifts) {
  std::vector<StageSweep>& sweeps = stages_.back().sweeps;
  for (std::uint32_t left = lifts.mask >> kLowBits; left; left &= left - 1) {
    const int b = std::countr_zero(left);
    const SplitTerms due = extract(terms, [&](const SplitTerm& t) { return t.rows >> b & 1; });
    const auto fits = [&](const StageSweep& sweep) {
      const std::uint32_t mask = sweep.mask();
      return sweep.num_bits < kSweepBits && !(mask >> b & 1) &&
             std::all_of(due.begin(), due.end(), [&](const SplitTerm& t) {
               return !(t.rows & mask) || !(t.rows & ~(mask | 1u << b));
             });
    };
    if (sweeps.empty() || !fits(sweeps.back())) sweeps.emplace_back();
    StageSweep& sweep = sweeps.back();
    for (const SplitTerm& t : due)
      (t.rows & sweep.mask() ? sweep.after[sweep.num_bits - 1] : sweep.before).push_back(t);
    sweep.bits[sweep.num_bits] = b;
    sweep.reflected |= (lifts.reflected >> (kLowBits + b) & 1) << sweep.num_bits;
    sweep.t[sweep.num_bits++] = lifts.t[kLowBits + b];
  }
}

// Terms that no lift waits for: without another sweep if they fit the last stage.
bool Stages::place_rest() {
  if (stages_.empty()) return false;
  Stage& stage = stages_.back();
  const std::uint32_t lifted = stage.lifted();
  const bool at_start = stage.has_inside();
  StageSweep* last = stage.sweeps.empty() ? nullptr : &stage.sweeps.back();
  std::vector<SplitTerms*> places;
  StageLink end;
  for (const SplitTerm& t : waiting_) {
    SplitTerms* place = nullptr;
    if (at_start && !(t.inside() & lifted)) {
      place = &stage.terms;
    } else if (at_start && !t.rows && static_cast<int>(stage.links.size()) < kMaxLinks) {
      place = &end.terms;
    } else if (last && !t.low && !(t.rows & last->mask())) {
      place = &last->before;
    } else if (last && !t.low && !(t.rows & ~last->mask())) {
      place = &last->after[last->num_bits - 1];
    }
    if (!place) return false;
    places.push_back(place);
  }
  for (std::size_t k = 0; k < waiting_.size(); ++k) places[k]->push_back(waiting_[k]);
  if (!end.terms.empty()) stage.links.push_back(std::move(end));
  return true;
}

}  // namespace tilewave::statevec::cpu
