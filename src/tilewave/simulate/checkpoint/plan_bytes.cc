#include "tilewave/simulate/checkpoint/plan_bytes.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tilewave/base/bits.h"

namespace tilewave::simulate {

using statevec::CostModel;
using statevec::Exchange;
using statevec::Pass;
using statevec::Plan;

namespace {

// Whether every position, mask and place in a list is one: what runs a plan does not look again.
bool is_sound(const Plan& plan) {
  const int n = plan.num_qubits;
  if (n < 1 || n > statevec::kMaxQubits || plan.shard_bits < 0 || plan.shard_bits >= n ||
      plan.precision > statevec::Precision::kDouble || plan.effort > Effort::kBest)
    return false;
  const int local = n - plan.shard_bits;
  const auto inside = [&](std::uint64_t mask) { return (mask & ~low_mask(n)) == 0; };
  for (const statevec::Layout* layout : {&plan.layout_before, &plan.layout_after}) {
    std::uint64_t seen = 0;
    for (int q = 0; q < n; ++q) seen |= layout->position[q] < n ? bit(layout->position[q]) : 0;
    if (seen != low_mask(n) || !inside(layout->flips)) return false;
  }
  const auto are_inside = [&](const statevec::PhaseTerm& term) { return inside(term.mask); };
  bool sound = std::all_of(plan.terms.begin(), plan.terms.end(), are_inside);
  for (const Pass& pass : plan.passes) {
    std::uint64_t active = 0, dest = 0;
    for (const auto& [list, mask] :
         {std::pair{&pass.active, &active}, std::pair{&pass.dest, &dest}}) {
      for (const std::uint8_t p : *list) {
        if (p >= local) return false;
        *mask |= bit(p);
      }
    }
    sound &= active == dest && pass.active.size() == pass.dest.size() &&
             pass.active.size() == static_cast<std::size_t>(std::popcount(active)) &&
             inside(pass.store_flips | pass.known_zero_before | pass.known_zero_after);
    for (const statevec::Action& a : pass.actions) {
      if (a.kind > statevec::ActionKind::kPhase || a.num_targets > statevec::kMaxTargets)
        return false;
      for (int k = 0; k < a.num_targets; ++k) sound &= a.targets[k] < local;
      const bool is_matrix = a.kind == statevec::ActionKind::kMatrix;
      const std::size_t end = a.first + (is_matrix ? std::size_t{1} << 2 * a.num_targets : a.count);
      if (is_matrix) sound &= end <= plan.matrices.size();
      if (a.kind == statevec::ActionKind::kPhase) sound &= end <= plan.terms.size();
      sound &= inside(a.control_mask) && (a.control_value & ~a.control_mask) == 0;
    }
  }
  for (const Exchange& e : plan.exchanges) {
    sound &= e.before_pass <= plan.passes.size() &&
             inside(e.flips | e.known_zero_before | e.known_zero_after);
    for (const auto* pairs : {&e.relabels, &e.swaps}) {
      for (const auto& [a, b] : *pairs) sound &= a < n && b >= local && b < n;
    }
  }
  return sound;
}

// Of a Plan, or a const one that is written.
template <class Bytes, class SomePlan>
void plan_fields(Bytes& bytes, SomePlan& plan) {
  bytes.fields(plan.num_qubits, plan.precision, plan.tile_qubits, plan.row_bits, plan.from_zeros,
               plan.shard_bits, plan.layout_before, plan.layout_after, plan.known_zero_after,
               plan.num_circuit_gates, plan.predicted_s, plan.effort, plan.terms, plan.matrices);
  bytes.count(plan.passes, sizeof(std::uint64_t));
  for (auto& pass : plan.passes) {
    bytes.fields(pass.active, pass.dest, pass.store_flips, pass.known_zero_before,
                 pass.known_zero_after, pass.actions, pass.scale, pass.num_gates, pass.bytes,
                 pass.flops, pass.predicted_s);
  }
  bytes.count(plan.exchanges, sizeof(std::uint64_t));
  for (auto& e : plan.exchanges) {
    bytes.fields(e.before_pass);
    for (auto* pairs : {&e.relabels, &e.swaps}) {
      bytes.count(*pairs, 2);
      for (auto& [a, b] : *pairs) bytes.fields(a, b);
    }
    bytes.fields(e.flips, e.known_zero_before, e.known_zero_after, e.bytes, e.predicted_s);
  }
}

}  // namespace

void put_plan(ByteWriter& out, const Plan& plan) { plan_fields(out, plan); }

Plan get_plan(ByteReader& in) {
  Plan plan;
  plan_fields(in, plan);
  if (!is_sound(plan)) in.fail();
  return plan;
}

// The numbers are written as they lie in memory, so that another layout of them is another format.
static_assert(sizeof(CostModel) == 352, "count the format of checkpoints up (kMagic in folder.cc)");

void put_cost(ByteWriter& out, const CostModel& cost) {
  CostModel numbers = cost;
  numbers.price = nullptr;
  numbers.writer = nullptr;
  out.put(numbers);
  out.put(cost.mixed_tiles);
  out.put(cost.late_phases);
}

CostModel get_cost(ByteReader& in) {
  auto cost = in.get<CostModel>();
  cost.price = nullptr;
  cost.writer = nullptr;
  cost.mixed_tiles = in.get_flag();
  cost.late_phases = in.get_flag();
  return cost;
}

}  // namespace tilewave::simulate
