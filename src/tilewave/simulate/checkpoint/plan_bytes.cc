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

}  // namespace

void put_plan(ByteWriter& out, const Plan& plan) {
  out.put(plan.num_qubits);
  out.put(plan.precision);
  out.put(plan.tile_qubits);
  out.put(plan.row_bits);
  out.put(plan.from_zeros);
  out.put(plan.shard_bits);
  out.put(plan.layout_before);
  out.put(plan.layout_after);
  out.put(plan.known_zero_after);
  out.put(plan.num_circuit_gates);
  out.put(plan.predicted_s);
  out.put(plan.effort);
  out.put_list(plan.terms);
  out.put_list(plan.matrices);
  out.put(std::uint64_t{plan.passes.size()});
  for (const Pass& pass : plan.passes) {
    out.put_list(pass.active);
    out.put_list(pass.dest);
    out.put(pass.store_flips);
    out.put(pass.known_zero_before);
    out.put(pass.known_zero_after);
    out.put_list(pass.actions);
    out.put(pass.scale);
    out.put(pass.num_gates);
    out.put(pass.bytes);
    out.put(pass.flops);
    out.put(pass.predicted_s);
  }
  out.put(std::uint64_t{plan.exchanges.size()});
  for (const Exchange& e : plan.exchanges) {
    out.put(e.before_pass);
    for (const auto* pairs : {&e.relabels, &e.swaps}) {
      out.put(std::uint64_t{pairs->size()});
      for (const auto& [a, b] : *pairs) out.put(a), out.put(b);
    }
    out.put(e.flips);
    out.put(e.known_zero_before);
    out.put(e.known_zero_after);
    out.put(e.bytes);
    out.put(e.predicted_s);
  }
}

Plan get_plan(ByteReader& in) {
  Plan plan;
  const auto get = [&](auto& value) { value = in.get<std::remove_reference_t<decltype(value)>>(); };
  const auto get_list = [&](auto& list) {
    list = in.get_list<typename std::remove_reference_t<decltype(list)>::value_type>();
  };
  get(plan.num_qubits);
  get(plan.precision);
  get(plan.tile_qubits);
  get(plan.row_bits);
  plan.from_zeros = in.get_flag();
  get(plan.shard_bits);
  get(plan.layout_before);
  get(plan.layout_after);
  get(plan.known_zero_after);
  get(plan.num_circuit_gates);
  get(plan.predicted_s);
  get(plan.effort);
  get_list(plan.terms);
  get_list(plan.matrices);
  plan.passes.resize(in.get_count(sizeof(std::uint64_t)));
  for (Pass& pass : plan.passes) {
    get_list(pass.active);
    get_list(pass.dest);
    get(pass.store_flips);
    get(pass.known_zero_before);
    get(pass.known_zero_after);
    get_list(pass.actions);
    get(pass.scale);
    get(pass.num_gates);
    get(pass.bytes);
    get(pass.flops);
    get(pass.predicted_s);
  }
  plan.exchanges.resize(in.get_count(sizeof(std::uint64_t)));
  for (Exchange& e : plan.exchanges) {
    get(e.before_pass);
    for (auto* pairs : {&e.relabels, &e.swaps}) {
      pairs->resize(in.get_count(2));
      for (auto& [a, b] : *pairs) get(a), get(b);
    }
    get(e.flips);
    get(e.known_zero_before);
    get(e.known_zero_after);
    get(e.bytes);
    get(e.predicted_s);
  }
  if (!is_sound(plan)) in.fail();
  return plan;
}

void put_cost(ByteWriter& out, const CostModel& cost) {
  CostModel numbers = cost;
  numbers.price = nullptr;
  numbers.programs = nullptr;
  out.put(numbers);
  out.put(cost.mixed_tiles);
  out.put(cost.late_phases);
}

CostModel get_cost(ByteReader& in) {
  auto cost = in.get<CostModel>();
  cost.price = nullptr;
  cost.programs = nullptr;
  cost.mixed_tiles = in.get_flag();
  cost.late_phases = in.get_flag();
  return cost;
}

}  // namespace tilewave::simulate
