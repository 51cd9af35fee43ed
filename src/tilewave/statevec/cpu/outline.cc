#include "tilewave/statevec/cpu/outline.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/plan/schedule.h"

namespace tilewave::statevec::cpu {

BlockSlots::BlockSlots(const Pass& pass) : num_slots_(static_cast<int>(pass.active.size())) {
  slot_of_.fill(-1);
  row_of_.fill(-1);
  for (int s = 0; s < num_slots_; ++s) slot_of_[pass.active[s]] = s;
}

void BlockSlots::enter(std::uint64_t row_slots) {
  row_of_.fill(-1);
  num_row_bits_ = 0;
  for_each_bit(row_slots, [&](int s) { row_of_[s] = num_row_bits_++; });
}

std::uint64_t BlockSlots::slots(std::uint64_t positions) const {
  std::uint64_t mask = 0;
  for_each_bit(positions, [&](int p) {
    if (slot_of_[p] >= 0) mask |= bit(slot_of_[p]);
  });
  return mask;
}

BlockSlots::Split BlockSlots::split(std::uint64_t positions) const {
  Split s;
  for_each_bit(positions, [&](int p) {
    const int slot = slot_of_[p];
    if (slot >= 0 && slot < kLowBits) {
      s.low |= 1u << slot;
    } else if (slot >= 0 && row_of_[slot] >= 0) {
      s.rows |= 1u << row_of_[slot];
    } else {
      s.outside |= bit(p);
    }
  });
  return s;
}

namespace {

class Outliner {
 public:
  Outliner(const Plan& plan, const Pass& pass) : plan_(plan), pass_(pass), slots_(pass) {}

  std::vector<OutlinePhase> run(int row_bits) {
    for (const detail::WirePass& wires : phases(row_bits)) {
      OutlinePhase phase;
      phase.row_slots = wires.active >> kLowBits << kLowBits;
      slots_.enter(phase.row_slots);
      steps_ = &phase.steps;
      for (const std::uint32_t a : wires.actions) add_action(pass_.actions[a]);
      add_stages(stages_.take());
      outline_.push_back(std::move(phase));
    }
    return std::move(outline_);
  }

 private:
  std::vector<detail::WirePass> phases(int row_bits) const {
    const int k = slots_.num_slots();
    row_bits = std::min({row_bits, k - kLowBits, kMaxRowBits});
    std::vector<detail::Need> needs;
    int widest = row_bits;
    for (const Action& a : pass_.actions) {
      detail::Need need;
      if (a.kind == ActionKind::kPhase) {
        for (const PhaseTerm& t : terms(a)) need.z |= slots_.slots(t.mask);
        need.weight = 0.2f;
      } else {
        need.x = slots_.slots(a.target_mask());
        need.z = slots_.slots(a.control_mask);
        widest = std::max(widest, std::popcount(need.x >> kLowBits));
      }
      needs.push_back(need);
    }
    detail::ScheduleOptions limits;
    limits.num_wires = k;
    limits.tile = kLowBits + std::min(widest, k - kLowBits);
    limits.fixed = low_mask(kLowBits);
    limits.beam = k - kLowBits <= row_bits ? 1 : 3;
    return detail::schedule(needs, limits);
  }

  std::span<const PhaseTerm> terms(const Action& a) const {
    return {plan_.terms.data() + a.first, a.count};
  }

  void add_action(const Action& a) {
    if (a.kind == ActionKind::kLift) {
      const PhaseTerm pre{bit(a.targets[0]), a.pre_turns};
      if (a.pre_turns) add_terms({&pre, 1});
      stages_.add_lift(slots_.place(a.targets[0]), a.m[0]);
    } else if (a.kind == ActionKind::kPhase) {
      add_terms(terms(a));
    } else {
      add_stages(stages_.take_before(slots_.split(a.target_mask()).inside(),
                                     slots_.split(a.control_mask).inside()));
      steps_->push_back({&a, {}});
    }
  }

  void add_terms(std::span<const PhaseTerm> terms) {
    SplitTerms split_terms;
    for (const PhaseTerm& t : terms) {
      const BlockSlots::Split s = slots_.split(t.mask);
      split_terms.push_back({s.low, s.rows, s.outside, t.turns});
    }
    stages_.add(split_terms);
  }

  void add_stages(std::vector<Stage> stages) {
    for (Stage& stage : stages) steps_->push_back({nullptr, std::move(stage)});
  }

  const Plan& plan_;
  const Pass& pass_;
  BlockSlots slots_;
  std::vector<OutlinePhase> outline_;
  std::vector<OutlineStep>* steps_ = nullptr;
  Stages stages_;
};

}  // namespace

std::vector<OutlinePhase> make_outline(const Plan& plan, const Pass& pass, int row_bits) {
  return Outliner(plan, pass).run(row_bits);
}

}  // namespace tilewave::statevec::cpu
