#include "tilewave/language/qasm2/gates.h"

#include <algorithm>
#include <cmath>

namespace tilewave::language::qasm2 {

bool is_keyword(std::string_view name) { return contains(keywords(), name); }

std::span<const std::string_view> keywords() {
  static constexpr std::string_view kKeywords[] = {
      "OPENQASM", "include", "qreg", "creg", "gate", "opaque", "measure", "reset", "barrier", "if"};
  return kKeywords;
}

bool is_free_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !letter(name[0]) || is_keyword(name)) return false;
  for (const char c : name) {
    if (!letter(c) && (c < '0' || c > '9')) return false;
  }
  return !is_reserved_in_expressions(name);
}

const Callable* GateScope::find(std::string_view name) {
  const auto it = entries_.find(name);
  if (it != entries_.end()) return it->second.callable;
  const circuit::GateInfo* info = circuit::find_gate(circuit::Language::kQasm, name);
  if (!info) return nullptr;
  callables_.push_back({info, nullptr, static_cast<std::uint32_t>(info->num_params),
                        static_cast<std::uint32_t>(info->num_controls + info->num_targets)});
  entries_.emplace(name, Entry{&callables_.back(), false});
  return &callables_.back();
}

bool GateScope::is_own(std::string_view name) const {
  const auto it = entries_.find(name);
  return it != entries_.end() && it->second.own;
}

void GateScope::define(std::string_view name, std::uint32_t num_params, std::uint32_t num_qubits,
                       Definition definition) {
  definitions_.push_back(std::move(definition));
  callables_.push_back({nullptr, &definitions_.back(), num_params, num_qubits});
  entries_.insert_or_assign(name, Entry{&callables_.back(), true});
}

void GateScope::declare_opaque(std::string_view name, std::uint32_t num_params,
                               std::uint32_t num_qubits) {
  callables_.push_back({nullptr, nullptr, num_params, num_qubits});
  entries_.insert_or_assign(name, Entry{&callables_.back(), true});
}

std::vector<std::string_view> GateScope::names() const {
  std::vector<std::string_view> names;
  for (const circuit::GateInfo& g : circuit::gate_table()) {
    std::string_view rest = g.qasm;
    while (!rest.empty()) {
      const std::size_t space = std::min(rest.find(' '), rest.size());
      names.push_back(rest.substr(0, space));
      rest.remove_prefix(std::min(space + 1, rest.size()));
    }
  }
  for (const auto& [name, entry] : entries_) {
    if (entry.own) names.push_back(name);
  }
  return names;
}

const std::string_view* Expander::apply(const Callable& gate,
                                        std::span<const circuit::Qubit> qubits,
                                        std::span<const double> params) {
  if (gate.table) {
    append(circuit_.add_gate(gate.table->id, qubits, params));
    return nullptr;
  }
  qubits_.assign(qubits.begin(), qubits.end());
  params_.assign(params.begin(), params.end());
  return expand(*gate.definition, 0, 0);
}

void Expander::append(circuit::Op& op) {
  op.line = line;
  op.condition = condition;
}

// The arguments of this call start at the given places of the two stacks; those of an inner call
// are pushed above and popped after it.
const std::string_view* Expander::expand(const Definition& definition, std::size_t first_qubit,
                                         std::size_t first_param) {
  for (const BodyCall& call : definition.body) {
    if (!call.gate) {
      circuit_.add_barrier();
      continue;
    }
    const std::size_t qubit = qubits_.size(), param = params_.size();
    for (const std::uint32_t slot : call.slots) qubits_.push_back(qubits_[first_qubit + slot]);
    for (const Expression& e : call.params) {
      const double value = evaluate(e, std::span(params_).subspan(first_param));
      if (!std::isfinite(value)) return &definition.name;
      params_.push_back(value);
    }
    if (call.gate->table) {
      append(circuit_.add_gate(call.gate->table->id, std::span(qubits_).subspan(qubit),
                               std::span(params_).subspan(param)));
    } else if (const auto* failed = expand(*call.gate->definition, qubit, param)) {
      return failed;
    }
    qubits_.resize(qubit);
    params_.resize(param);
  }
  return nullptr;
}

}  // namespace tilewave::language::qasm2
