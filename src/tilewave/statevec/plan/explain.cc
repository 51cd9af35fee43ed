// Prints a plan as a table.
#include <cstdio>

#include "tilewave/base/units.h"
#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec {

namespace {

// "0-3 7 9-11"
std::string ranges(const std::vector<std::uint8_t>& values) {
  std::string out;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t j = i;
    while (j + 1 < values.size() && values[j + 1] == values[j] + 1) ++j;
    if (!out.empty()) out += ' ';
    out += std::to_string(values[i]);
    if (j > i) out += '-' + std::to_string(values[j]);
    i = j + 1;
  }
  return out;
}

// "11<->30 12<->31 flip 30"
std::string pairs(const Exchange& step) {
  std::string out;
  for (const auto* list : {&step.relabels, &step.swaps}) {
    for (const auto& [a, b] : *list) out += std::to_string(a) + "<->" + std::to_string(b) + ' ';
  }
  for (int p = 0; p < 64; ++p) {
    if (step.flips >> p & 1) out += "flip " + std::to_string(p) + ' ';
  }
  if (!out.empty()) out.pop_back();
  return out;
}

}  // namespace

std::string explain(const Plan& plan) {
  const char* kNames[] = {"lift", "flip", "rotate", "matrix", "phase"};
  std::string out;
  char line[512];
  double bytes = 0, flops = 0;
  std::snprintf(line, sizeof line,
                "%d qubits, %s precision, %llu gates, tile of %d qubits, input %s\n",
                plan.num_qubits, plan.precision == Precision::kDouble ? "double" : "single",
                static_cast<unsigned long long>(plan.num_circuit_gates), plan.tile_qubits,
                plan.from_zeros ? "|0...0>" : "arbitrary");
  out += line;
  std::snprintf(line, sizeof line, "%4s %6s %-44s %10s %10s %10s  %s\n", "pass", "gates", "actions",
                "bytes", "flops", "predicted", "active positions");
  out += line;
  int index = 0;
  auto exchange = plan.exchanges.begin();
  const auto add_exchanges = [&] {
    for (; exchange != plan.exchanges.end() &&
           exchange->before_pass == static_cast<std::uint32_t>(index);
         ++exchange) {
      std::snprintf(line, sizeof line, "%4s %6s %-44s %10s %10s %10s  %s\n", "x", "",
                    "exchange between ranks", in_units(exchange->bytes, "B").c_str(), "",
                    in_time(exchange->predicted_s).c_str(), pairs(*exchange).c_str());
      out += line;
    }
  };
  for (const Pass& pass : plan.passes) {
    add_exchanges();
    int counts[5] = {};
    std::uint64_t terms = 0;
    for (const Action& a : pass.actions) {
      ++counts[static_cast<int>(a.kind)];
      if (a.kind == ActionKind::kPhase) terms += a.count;
    }
    std::string actions;
    for (int k = 0; k < 5; ++k) {
      if (!counts[k]) continue;
      if (!actions.empty()) actions += ", ";
      actions += std::to_string(counts[k]) + ' ' + kNames[k];
      if (k == 4) actions += " (" + std::to_string(terms) + " terms)";
    }
    std::snprintf(line, sizeof line, "%4d %6u %-44s %10s %10s %10s  %s\n", ++index, pass.num_gates,
                  actions.c_str(), in_units(pass.bytes, "B").c_str(),
                  in_units(pass.flops, "").c_str(), in_time(pass.predicted_s).c_str(),
                  ranges(pass.active).c_str());
    out += line;
    bytes += pass.bytes;
    flops += pass.flops;
  }
  add_exchanges();
  std::snprintf(line, sizeof line, "total: %zu pass%s, %s, %s flops, %s predicted\n",
                plan.passes.size(), plan.passes.size() == 1 ? "" : "es",
                in_units(bytes, "B").c_str(), in_units(flops, "").c_str(),
                in_time(plan.predicted_s).c_str());
  out += line;
  if (!plan.rewrites.empty()) out += "rewrites: " + plan.rewrites.text() + '\n';
  for (const PlanCandidate& c : plan.candidates) {
    out += &c == plan.candidates.data() ? "chosen by predicted time: " : "; ";
    out += (c.way.empty() ? "greedy" : c.way.text()) + " (" + std::to_string(c.num_passes) +
           (c.num_passes == 1 ? " pass, " : " passes, ") + in_time(c.predicted_s) + ')';
  }
  if (!plan.candidates.empty()) out += '\n';
  if (plan.shard_bits) {
    double sent = 0;
    std::size_t moving = 0;
    double apart_s = 0;
    for (const Exchange& step : plan.exchanges) {
      sent += step.bytes, moving += step.bytes > 0;
      apart_s += step.predicted_s;
    }
    for (const Pass& pass : plan.passes) apart_s += pass.predicted_s;
    std::snprintf(line, sizeof line, "%llu ranks of %d qubits: %zu exchange%s, %s sent",
                  1ull << plan.shard_bits, plan.num_qubits - plan.shard_bits, moving,
                  moving == 1 ? "" : "s", in_units(sent, "B").c_str());
    out += line;
    const double hidden_s = apart_s - plan.predicted_s;
    if (hidden_s > 1e-9 * apart_s) out += ", " + in_time(hidden_s) + " hidden beside passes";
    out += '\n';
  }
  return out;
}

}  // namespace tilewave::statevec
