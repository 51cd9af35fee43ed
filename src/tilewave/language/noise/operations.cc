#include "tilewave/language/noise/operations.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tilewave/base/units.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language {
namespace {

int arity(circuit::GateId id) {
  return circuit::gate_info(id).num_controls + circuit::gate_info(id).num_targets;
}

}  // namespace

const circuit::GateInfo* find_noise_gate(const std::string& name) {
  const auto* gate = circuit::find_gate(circuit::Language::kQasm, name);
  return gate ? gate : circuit::find_gate(circuit::Language::kTilewave, name);
}

std::string add_operation(const std::string& word, circuit::NoiseRule& rule) {
  if (word == "all") {
    rule.all_gates = true;
  } else if (word == "measure") {
    rule.on_measure = true;
  } else if (word == "reset") {
    rule.on_reset = true;
  } else if (word == "unitary") {
    rule.on_matrices = true;
  } else if (word == "delay") {
    rule.on_delay = true;
  } else if (word == "idle") {
    if (rule.before) return "idle noise has no before: use \"after\"";
    if (rule.channel->num_qubits != 1) return "idle noise takes a channel on one qubit";
    rule.on_idle = true;
  } else if (const auto* gate = find_noise_gate(word)) {
    const int needed =
        rule.acts_on.empty() ? rule.channel->num_qubits : static_cast<int>(rule.acts_on.size());
    const bool fits =
        rule.acts_on.empty()
            ? needed == 1 || needed == arity(gate->id)
            : *std::max_element(rule.acts_on.begin(), rule.acts_on.end()) < arity(gate->id);
    if (!fits || arity(gate->id) == 0) {
      return ("gate '" + word + "' has " +
              counted(static_cast<std::uint64_t>(arity(gate->id)), "qubit") + ", channel '" +
              rule.channel->name + "' acts on " + std::to_string(needed));
    }
    rule.gates.push_back(gate->id);
  } else {
    std::vector<std::string_view> names = {"all", "measure", "reset", "unitary", "delay", "idle"};
    for (const circuit::GateInfo& g : circuit::gate_table()) names.push_back(g.name);
    return ("there is no gate '" + word + "'" + did_you_mean(word, names) +
            " (or one of: all, measure, reset, unitary, delay, idle)");
  }
  return "";
}

}  // namespace tilewave::language
