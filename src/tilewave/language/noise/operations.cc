#include "tilewave/language/noise/operations.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "tilewave/base/units.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language {
namespace {

// The words that are no gates, and what of a rule they set.
constexpr struct {
  std::string_view name;
  bool circuit::NoiseRule::*applies;
} kWords[] = {
    {"all", &circuit::NoiseRule::all_gates},  {"measure", &circuit::NoiseRule::on_measure},
    {"reset", &circuit::NoiseRule::on_reset}, {"unitary", &circuit::NoiseRule::on_matrices},
    {"delay", &circuit::NoiseRule::on_delay}, {"idle", &circuit::NoiseRule::on_idle},
};

int arity(circuit::GateId id) {
  return circuit::gate_info(id).num_controls + circuit::gate_info(id).num_targets;
}

}  // namespace

const circuit::GateInfo* find_noise_gate(const std::string& name) {
  const auto* gate = circuit::find_gate(circuit::Language::kQasm, name);
  return gate ? gate : circuit::find_gate(circuit::Language::kTilewave, name);
}

std::string add_operation(const std::string& word, circuit::NoiseRule& rule) {
  const auto* const known = std::find_if(std::begin(kWords), std::end(kWords),
                                         [&](const auto& w) { return w.name == word; });
  if (known != std::end(kWords)) {
    if (known->applies == &circuit::NoiseRule::on_idle) {
      if (rule.before) return "idle noise has no before: use \"after\"";
      if (rule.channel->num_qubits != 1) return "idle noise takes a channel on one qubit";
    }
    rule.*known->applies = true;
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
    std::vector<std::string_view> names;
    for (const auto& w : kWords) names.push_back(w.name);
    const std::string words = comma_list(names);
    for (const circuit::GateInfo& g : circuit::gate_table()) names.push_back(g.name);
    return "there is no gate '" + word + "'" + did_you_mean(word, names) + " (or one of: " + words +
           ")";
  }
  return "";
}

}  // namespace tilewave::language
