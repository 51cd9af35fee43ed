#include "tilewave/circuit/noise_model.h"

#include <algorithm>

#include "tilewave/base/concat.h"
#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/circuit/listing.h"

namespace tilewave::circuit {

bool is_delay(const Circuit& circuit, const Op& op) {
  return op.kind == OpKind::kGate && op.gate == GateId::kId && op.label &&
         circuit.label(op) == kDelayLabel;
}

namespace {

bool goes_by(const std::string& name, GateId gate, const Circuit& circuit, const Op& op) {
  if (op.label) return circuit.label(op) == name;
  if (op.kind == OpKind::kMatrix) return name == "unitary";
  const bool is_gate = op.kind == OpKind::kGate || op.kind == OpKind::kRuntimeGate;
  return is_gate && gate != GateId::kCount && whole_gate(op) == gate;
}

bool matches(const NoiseRule& rule, const Circuit& circuit, const Op& op) {
  if (!rule.label.empty() && !goes_by(rule.label, rule.label_gate, circuit, op)) return false;
  if (is_delay(circuit, op)) return rule.on_delay;
  switch (op.kind) {
    case OpKind::kMeasure:
      return rule.on_measure;
    case OpKind::kReset:
      return rule.on_reset;
    case OpKind::kMatrix:
      return rule.all_gates || rule.on_matrices;
    case OpKind::kGate:
    case OpKind::kRuntimeGate:
      return rule.all_gates ||
             std::find(rule.gates.begin(), rule.gates.end(), whole_gate(op)) != rule.gates.end();
    default:
      return false;
  }
}

// Whether a rule means this operation by name: by its label or as one of those that have one qubit.
// Gates that it lists were compared with it when it was read.
bool is_named_by(const NoiseRule& rule, const Op& op) {
  return !rule.label.empty() || op.kind == OpKind::kMeasure || op.kind == OpKind::kReset ||
         rule.on_delay;
}

[[noreturn]] void fail_too_narrow(const NoiseRule& rule, std::size_t num_qubits) {
  const int last = *std::max_element(rule.acts_on.begin(), rule.acts_on.end());
  fail(ExitCode::kInput, rule.path, ": the channel takes ",
       counted(static_cast<std::uint64_t>(last) + 1, "qubit"), " of an operation, and one",
       rule.label.empty() ? std::string() : concat(" that goes by '", rule.label, "'"), " has ",
       counted(num_qubits, "qubit"),
       ": give a channel on fewer qubits, or say with \"qubits\" or \"except\" where it acts");
}

bool names_operation(const NoisePlaces& places, std::span<const Qubit> qubits) {
  return std::any_of(places.operations.begin(), places.operations.end(),
                     [&](const auto& list) { return std::ranges::equal(list, qubits); });
}
bool names_qubit(const NoisePlaces& places, Qubit q) {
  return std::find(places.qubits.begin(), places.qubits.end(), q) != places.qubits.end();
}
// Waiting is an operation on one qubit.
bool names_waiting(const NoisePlaces& places, Qubit q) {
  return names_qubit(places, q) || names_operation(places, {&q, 1});
}

void check_qubit(const NoiseModel& model, const std::string& path, Qubit qubit,
                 std::uint32_t num_qubits) {
  if (qubit < num_qubits || model.ignores_absent) return;
  fail(ExitCode::kInput, path, ": qubit ", qubit, " does not exist: the circuit has qubits 0 to ",
       num_qubits - 1);
}

class Writer {
 public:
  Writer(const Circuit& circuit, const NoiseModel& model)
      : out_(circuit), model_(model), num_added_(model.rules.size()) {
    for (const NoiseRule& rule : model.rules) {
      for (const auto* places : {&rule.places, &rule.except}) {
        for (const Qubit q : places->qubits) check_qubit(model, rule.path, q, circuit.num_qubits());
        for (const auto& list : places->operations) {
          for (const Qubit q : list) check_qubit(model, rule.path, q, circuit.num_qubits());
        }
      }
      has_idle_ |= rule.on_idle;
      if (rule.on_idle && circuit.has_control_flow()) {
        fail(ExitCode::kInput, rule.path,
             ": idle noise needs a circuit without loops and branches: put "
             "the noise on id gates instead");
      }
    }
  }

  Circuit run() {
    const std::vector<Op> ops = out_.take_ops();
    std::vector<std::size_t> first(ops.size() + 1);  // where each operation, with its noise, begins
    std::vector<std::pair<std::size_t, std::size_t>> jumps;
    if (has_idle_) find_layers(ops);
    for (std::size_t k = 0; k < ops.size(); ++k) {
      first[k] = out_.ops().size();
      const Op& op = ops[k];
      if (has_idle_) add_idle(k, op);
      if (op.kind == OpKind::kJump) jumps.emplace_back(out_.ops().size(), op.first_param);
      overwrites_its_condition(op) ? add_branch(op) : add_with_channels(op);
    }
    first[ops.size()] = out_.ops().size();
    for (const auto& [jump, to] : jumps) out_.set_jump_target(jump, first[to]);
    check_replaced();
    note_idle_rules();
    return std::move(out_);
  }

 private:
  void add_channel(const NoiseRule& rule, std::span<const Qubit> targets, const Op& of,
                   std::int32_t condition) {
    const std::size_t at = out_.ops().size();
    out_.add_channel(targets, rule.channel);
    out_.finish_from(at, of.line, condition);
    ++num_added_[static_cast<std::size_t>(&rule - model_.rules.data())];
  }
  std::uint64_t count_of(const NoiseRule& rule) const {
    return num_added_[static_cast<std::size_t>(&rule - model_.rules.data())];
  }

  // Parts of an instruction may be gates that go by its name: by those of the table.
  void check_replaced() const {
    for (const NoiseRule& rule : model_.rules) {
      if (!std::ranges::binary_search(out_.replaced(), rule.label)) continue;
      if (rule.label_gate != GateId::kCount && count_of(rule) > 0) continue;
      fail(ExitCode::kInput, rule.path, ": the noise model has an error on '", rule.label,
           "', an instruction that is simulated as its parts: put the error on those");
    }
  }

  // A model is made for many circuits, so most rules may find nothing in one of them. But people are
  // told where nothing of a model acts, where a label, which may be any word, is that of no
  // operation, and where the circuit has a gate of its own by the name that a rule has.
  void note_idle_rules() {
    if (!model_.rules.empty() && std::ranges::all_of(num_added_, [](auto n) { return n == 0; })) {
      out_.add_note(
          "none of the noise model's channels acts in this circuit: its operations are "
          "none that the rules name");
      return;
    }
    for (const NoiseRule& rule : model_.rules) {
      if (count_of(rule) > 0) continue;
      if (!rule.label.empty() && !model_.ignores_absent) {
        out_.add_note(concat(rule.path,
                             ": acts on nothing: the circuit has no such operation that "
                             "goes by the label '",
                             rule.label, "'"));
      }
      for (const GateId gate : rule.gates) {
        const std::string name(gate_info(gate).name);
        if (std::ranges::binary_search(out_.replaced(), name)) {
          out_.add_note(concat(rule.path, ": acts on nothing: '", name,
                               "' is defined in the program, where its parts are the operations"));
        }
      }
    }
  }

  void add_with_channels(const Op& op) {
    add_channels(op, true);
    out_.put_op(op);
    add_channels(op, false);
  }

  // A measurement may change the bits that its condition reads, and its noise is not to ask them
  // again: the condition is asked once, by a jump to all that it decides about.
  bool overwrites_its_condition(const Op& op) const {
    if (op.kind != OpKind::kMeasure || op.condition < 0) return false;
    bool found = false;
    out_.for_each_read(op, [&](Clbit first, std::uint32_t count) {
      found |= op.clbit >= first && op.clbit < first + count;
    });
    return found && std::any_of(model_.rules.begin(), model_.rules.end(), [&](const NoiseRule& r) {
             return !r.before && matches(r, out_, op);
           });
  }
  void add_branch(Op op) {
    const std::size_t to_body = out_.add_jump(op.condition);
    out_.finish_from(to_body, op.line, op.condition);
    const std::size_t to_end = out_.add_jump();
    out_.finish_from(to_end, op.line, -1);
    op.condition = -1;
    out_.set_jump_target(to_body, out_.ops().size());
    add_with_channels(op);
    out_.set_jump_target(to_end, out_.ops().size());
  }

  void add_channels(const Op& op, bool before) {
    for (const NoiseRule& rule : model_.rules) {
      if (rule.before != before || !matches(rule, out_, op)) continue;
      const auto span = out_.qubits(op);
      const std::vector<Qubit> qubits(span.begin(), span.end());  // the pool grows
      const auto one_by_one = rule.channel->num_qubits == 1;
      if (names_operation(rule.except, qubits)) continue;
      const bool whole = rule.places.empty() || names_operation(rule.places, qubits);
      if (!whole && rule.places.qubits.empty()) continue;
      std::vector<Qubit> targets;
      if (rule.acts_on.empty()) {
        targets = qubits;
      } else {
        for (const int j : rule.acts_on) {
          if (static_cast<std::size_t>(j) < qubits.size()) {
            targets.push_back(qubits[static_cast<std::size_t>(j)]);
          }
        }
        if (targets.size() != rule.acts_on.size()) {
          if (is_named_by(rule, op)) fail_too_narrow(rule, qubits.size());
          continue;
        }
      }
      if (!one_by_one) {
        const bool fits = static_cast<int>(targets.size()) == rule.channel->num_qubits;
        if (fits && whole) add_channel(rule, targets, op, op.condition);
        continue;
      }
      for (const Qubit q : targets) {
        if (!whole && !names_qubit(rule.places, q)) continue;
        if (names_qubit(rule.except, q)) continue;
        add_channel(rule, {&q, 1}, op, op.condition);
      }
    }
  }

  // As soon as possible: every operation but a delay takes one layer, barriers and classical bits
  // keep order.
  void find_layers(const std::vector<Op>& ops) {
    layer_.assign(ops.size(), 0);
    std::vector<std::size_t> qubit(out_.num_qubits()), clbit(out_.num_clbits());
    for (std::size_t k = 0; k < ops.size(); ++k) {
      const Op& op = ops[k];
      if (op.kind == OpKind::kBarrier) {
        std::fill(qubit.begin(), qubit.end(), *std::max_element(qubit.begin(), qubit.end()));
        continue;
      }
      if (is_delay(out_, op)) continue;
      std::size_t at = 0;
      for (const Qubit q : out_.qubits(op)) at = std::max(at, qubit[q]);
      out_.for_each_read(op, [&](Clbit b, std::uint32_t count) {
        for (std::uint32_t j = 0; j < count; ++j) at = std::max(at, clbit[b + j]);
      });
      layer_[k] = at;
      for (const Qubit q : out_.qubits(op)) qubit[q] = at + 1;
      if (op.kind == OpKind::kMeasure) clbit[op.clbit] = at + 1;
    }
  }

  // The layers an operation's qubits waited since their last one.
  void add_idle(std::size_t k, const Op& op) {
    if (is_delay(out_, op)) return;
    busy_until_.resize(out_.num_qubits());
    const auto span = out_.qubits(op);
    for (const Qubit q : std::vector<Qubit>(span.begin(), span.end())) {
      const std::size_t before = busy_until_[q];
      busy_until_[q] = layer_[k] + 1;
      if (before == 0) continue;  // nothing happened to it so far
      for (std::size_t layer = before; layer < layer_[k]; ++layer) {
        for (const NoiseRule& rule : model_.rules) {
          if (!rule.on_idle || (!rule.places.empty() && !names_waiting(rule.places, q)) ||
              names_waiting(rule.except, q)) {
            continue;
          }
          add_channel(rule, {&q, 1}, op, -1);
        }
      }
    }
  }

  Circuit out_;
  const NoiseModel& model_;
  std::vector<std::uint64_t> num_added_;  // channels, by each rule
  bool has_idle_ = false;
  std::vector<std::size_t> layer_, busy_until_;
};

}  // namespace

Circuit with_noise(const Circuit& circuit, const NoiseModel& model) {
  return Writer(circuit, model).run();
}

std::vector<ReadoutError> readout_errors(const NoiseModel& model, std::uint32_t num_qubits) {
  std::vector<ReadoutError> out(num_qubits);
  for (const ReadoutRule& rule : model.readout) {
    for (const Qubit q : rule.qubits) {
      check_qubit(model, rule.path, q, num_qubits);
      if (q < num_qubits) out[q] = rule.error;
    }
    if (rule.qubits.empty()) std::fill(out.begin(), out.end(), rule.error);
  }
  const bool none = std::all_of(out.begin(), out.end(), [](const auto& e) { return e.is_none(); });
  return none ? std::vector<ReadoutError>{} : out;
}

}  // namespace tilewave::circuit
