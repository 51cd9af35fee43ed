#include "tilewave/simulate/checkpoint/plan_bytes.h"

namespace tilewave::simulate {

using statevec::CostModel;
using statevec::Exchange;
using statevec::Pass;
using statevec::Plan;

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
  get(plan.from_zeros);
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
  return plan;
}

void put_cost(ByteWriter& out, const CostModel& cost) {
  CostModel numbers = cost;
  numbers.price = nullptr;
  numbers.programs = nullptr;
  out.put(numbers);
}

CostModel get_cost(ByteReader& in) {
  auto cost = in.get<CostModel>();
  cost.price = nullptr;
  cost.programs = nullptr;
  return cost;
}

}  // namespace tilewave::simulate
