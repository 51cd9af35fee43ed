#include "tilewave/circuit/circuit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/circuit/density.h"
#include "tilewave/circuit/listing.h"

namespace tilewave::circuit {
namespace {

void check_finite(GateId gate, std::span<const double> params) {
  for (const double p : params) {
    if (!std::isfinite(p)) {
      fail(ExitCode::kInput, "gate ", gate_info(gate).name, ": a parameter is not a finite number");
    }
  }
}

}  // namespace

std::span<const double> Circuit::params(const Op& op) const {
  if (op.kind != OpKind::kGate) return {};
  return {param_pool_.data() + op.first_param,
          static_cast<std::size_t>(gate_info(op.gate).num_params)};
}

std::vector<cplx> Circuit::matrix(const Op& op) const {
  TW_CHECK(op.kind == OpKind::kGate || op.kind == OpKind::kMatrix, "operation has no matrix");
  return op.kind == OpKind::kGate ? gate_matrix(op.gate, params(op)) : matrices_[op.first_param];
}

std::vector<cplx> Circuit::whole_matrix(const Op& op) const {
  const std::size_t c = op.num_controls, n = c + op.num_targets, size = std::size_t{1} << n;
  const std::vector<cplx> inner = matrix(op);
  const std::size_t inner_size = std::size_t{1} << op.num_targets;
  std::vector<cplx> out(size * size);
  const std::uint64_t on = op.control_values & low_mask(static_cast<int>(c));
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t col = 0; col < size; ++col) {
      const std::size_t controls = row & ((std::size_t{1} << c) - 1);
      if (controls != (col & ((std::size_t{1} << c) - 1))) continue;
      out[row * size + col] = controls == on ? inner[(row >> c) * inner_size + (col >> c)]
                                             : cplx(row == col ? 1.0 : 0.0);
    }
  }
  return out;
}

std::uint32_t Circuit::add_qreg(std::string name, std::uint32_t size) {
  const std::uint32_t first = num_qubits_;
  qregs_.push_back({std::move(name), first, size});
  num_qubits_ += size;
  return first;
}

std::uint32_t Circuit::add_creg(std::string name, std::uint32_t size) {
  const std::uint32_t first = num_clbits_;
  cregs_.push_back({std::move(name), first, size});
  num_clbits_ += size;
  return first;
}

void Circuit::check_reads(const ClassicalExpr& expr) const {
  circuit::for_each_read(expr, [&](Clbit first, std::uint32_t count) {
    if (std::uint64_t{first} + count > num_clbits_) {
      fail(ExitCode::kInput, "a classical expression reads bit ", std::uint64_t{first} + count - 1,
           ": there are ", num_clbits_);
    }
  });
}

std::int32_t Circuit::add_condition(Condition condition) {
  check_reads(condition.expr);
  conditions_.push_back(std::move(condition));
  return static_cast<std::int32_t>(conditions_.size()) - 1;
}

void Circuit::check_qubits(std::span<const Qubit> a, std::span<const Qubit> b,
                           const char* what) const {
  const auto at = [&](std::size_t k) { return k < a.size() ? a[k] : b[k - a.size()]; };
  const std::size_t count = a.size() + b.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (at(i) >= num_qubits_) {
      fail(ExitCode::kInput, what, ": qubit ", at(i), " is out of range: the circuit has ",
           num_qubits_, " qubits");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (at(i) == at(j)) {
        fail(ExitCode::kInput, what, ": qubit ", at(i), " is named twice: use distinct qubits");
      }
    }
  }
}

Op& Circuit::append(Op op, std::span<const Qubit> controls, std::span<const Qubit> targets) {
  check_interrupt_once_in<4096>();  // long circuits come from parsers, loops and generators
  op.num_controls = static_cast<std::uint16_t>(controls.size());
  op.num_targets = static_cast<std::uint16_t>(targets.size());
  op.first_qubit = static_cast<std::uint32_t>(qubit_pool_.size());
  qubit_pool_.insert(qubit_pool_.end(), controls.begin(), controls.end());
  qubit_pool_.insert(qubit_pool_.end(), targets.begin(), targets.end());
  ops_.push_back(op);
  return ops_.back();
}

Op& Circuit::add_gate(GateId gate, std::span<const Qubit> qubits, std::span<const double> params) {
  return add_controlled_gate(gate, {}, ~std::uint64_t{0}, qubits, params);
}

Op& Circuit::add_controlled_gate(GateId gate, std::span<const Qubit> controls,
                                 std::uint64_t control_values, std::span<const Qubit> qubits,
                                 std::span<const double> params) {
  check_finite(gate, params);
  Op op;
  op.kind = OpKind::kGate;
  op.gate = gate;
  op.first_param = static_cast<std::uint32_t>(param_pool_.size());
  Op& added = append_gate(op, controls, control_values, qubits, params.size());
  param_pool_.insert(param_pool_.end(), params.begin(), params.end());
  return added;
}

Op& Circuit::append_gate(Op op, std::span<const Qubit> controls, std::uint64_t control_values,
                         std::span<const Qubit> qubits, std::size_t num_params) {
  const GateInfo& info = gate_info(op.gate);
  const int arity = info.num_controls + info.num_targets;
  if (static_cast<int>(qubits.size()) != arity) {
    fail(ExitCode::kInput, "gate ", info.name, " takes ", arity, " qubits, not ", qubits.size());
  }
  if (static_cast<int>(num_params) != info.num_params) {
    fail(ExitCode::kInput, "gate ", info.name, " takes ", info.num_params, " parameters, not ",
         num_params);
  }
  const std::size_t num_controls = controls.size() + static_cast<std::size_t>(info.num_controls);
  if (num_controls > 64) fail(ExitCode::kInput, "a gate can have at most 64 controls");
  check_qubits(controls, qubits, info.name.data());
  op.control_values = control_values | ~low_mask(static_cast<int>(controls.size()));
  Op& added = append(op, controls, qubits);
  added.num_controls = static_cast<std::uint16_t>(num_controls);
  added.num_targets = static_cast<std::uint16_t>(info.num_targets);
  return added;
}

Op& Circuit::add_runtime_gate(GateId gate, std::span<const Qubit> controls,
                              std::uint64_t control_values, std::span<const Qubit> qubits,
                              std::vector<ClassicalExpr> angles, bool conjugate) {
  for (const ClassicalExpr& angle : angles) {
    check_reads(angle);
    TW_CHECK(!angle.empty() && angle.nodes.back().type == ClassicalType::kFloat,
             "an angle is a floating-point number");
  }
  Op op;
  op.kind = OpKind::kRuntimeGate;
  op.gate = gate;
  op.conjugate = conjugate;
  op.first_param = static_cast<std::uint32_t>(angles_.size());
  Op& added = append_gate(op, controls, control_values, qubits, angles.size());
  angles_.insert(angles_.end(), std::make_move_iterator(angles.begin()),
                 std::make_move_iterator(angles.end()));
  return added;
}

std::span<const ClassicalExpr> Circuit::angles(const Op& op) const {
  if (op.kind != OpKind::kRuntimeGate) return {};
  return {angles_.data() + op.first_param, static_cast<std::size_t>(gate_info(op.gate).num_params)};
}

void Circuit::append_with_angles(const Op& op, std::span<const double> angles, Circuit& to) const {
  const std::vector<Qubit> all(qubits(op).begin(), qubits(op).end());  // `to` may be this circuit
  const auto controls = std::span(all).first(num_extra_controls(op)),
             own = std::span(all).subspan(controls.size());
  const std::size_t first = to.ops().size();
  if (op.conjugate) {
    add_column_gate(to, 0, op.gate, controls, op.control_values, own, angles);
  } else {
    to.add_controlled_gate(op.gate, controls, op.control_values, own, angles);
  }
  to.finish_from(first, op.line, -1);
}

void Circuit::for_each_read(const Op& op,
                            const std::function<void(std::uint32_t, std::uint32_t)>& f) const {
  if (op.condition >= 0) {
    const Condition& c = conditions_[static_cast<std::size_t>(op.condition)];
    if (c.expr.empty()) {
      f(c.first, c.size);
    } else {
      circuit::for_each_read(c.expr, f);
    }
  }
  for (const ClassicalExpr& angle : angles(op)) circuit::for_each_read(angle, f);
}

Op& Circuit::add_matrix(std::span<const Qubit> controls, std::uint64_t control_values,
                        std::span<const Qubit> targets, std::vector<cplx> matrix) {
  if (targets.size() > 12 || matrix.size() != std::size_t{1} << (2 * targets.size())) {
    fail(ExitCode::kInput, "matrix on ", targets.size(), " qubits needs 4^targets entries, got ",
         matrix.size());
  }
  for (const cplx& x : matrix) {
    if (!std::isfinite(x.real()) || !std::isfinite(x.imag())) {
      fail(ExitCode::kInput, "matrix has an entry that is not a finite number");
    }
  }
  if (controls.size() > 64) fail(ExitCode::kInput, "a matrix can have at most 64 controls");
  check_qubits(controls, targets, "matrix");
  Op op;
  op.kind = OpKind::kMatrix;
  op.first_param = static_cast<std::uint32_t>(matrices_.size());
  op.control_values = control_values | ~low_mask(static_cast<int>(controls.size()));
  matrices_.push_back(std::move(matrix));
  return append(op, controls, targets);
}

Op& Circuit::add_measure(Qubit qubit, Clbit clbit) {
  check_qubits({&qubit, 1}, {}, "measure");
  if (clbit >= num_clbits_) {
    fail(ExitCode::kInput, "measure: classical bit ", clbit, " is out of range: there are ",
         num_clbits_);
  }
  Op op;
  op.kind = OpKind::kMeasure;
  op.clbit = clbit;
  return append(op, {}, {&qubit, 1});
}

Op& Circuit::add_reset(Qubit qubit) {
  check_qubits({&qubit, 1}, {}, "reset");
  Op op;
  op.kind = OpKind::kReset;
  return append(op, {}, {&qubit, 1});
}

Op& Circuit::add_channel(std::span<const Qubit> targets, std::shared_ptr<const Channel> channel) {
  TW_CHECK(static_cast<int>(targets.size()) == channel->num_qubits,
           "a channel acts on as many qubits as its operators");
  check_qubits(targets, {}, channel->name.c_str());
  const auto known = std::find(channels_.begin(), channels_.end(), channel);
  Op op;
  op.kind = OpKind::kChannel;
  op.first_param = static_cast<std::uint32_t>(known - channels_.begin());
  if (known == channels_.end()) channels_.push_back(std::move(channel));
  return append(op, {}, targets);
}

std::vector<Op> Circuit::take_ops() {
  has_control_flow_ = false;
  return std::exchange(ops_, {});
}

void Circuit::put_op(const Op& op) {
  has_control_flow_ |= op.kind == OpKind::kJump || op.kind == OpKind::kAssign;
  ops_.push_back(op);
}

void Circuit::set_param(std::size_t op, std::size_t k, double value) {
  TW_CHECK(op < ops_.size() && k < params(ops_[op]).size(), "a gate has this angle");
  check_finite(ops_[op].gate, {&value, 1});
  const std::size_t place = ops_[op].first_param + k;
  param_pool_[place] = value;
  if (has_affine()) std::erase_if(affine_, [&](const auto& a) { return a.place == place; });
}

void Circuit::keep_only(std::span<const Qubit> kept) {
  std::vector<Qubit> to(num_qubits_);
  for (std::size_t j = 0; j < kept.size(); ++j) to[kept[j]] = static_cast<Qubit>(j);
  for (Qubit& q : qubit_pool_) q = to[q];
  num_qubits_ = static_cast<std::uint32_t>(kept.size());
  qregs_.clear();
}

std::uint16_t Circuit::add_label(const std::string& label) {
  if (label.empty()) return 0;
  if (const auto known = label_numbers_.find(label); known != label_numbers_.end())
    return known->second;
  if (labels_.size() == 0xffff) {
    fail(ExitCode::kInput,
         "a circuit has at most 65535 different labels, this is one more: give operations that "
         "noise does not tell apart the same label");
  }
  labels_.push_back(label);
  return label_numbers_[label] = static_cast<std::uint16_t>(labels_.size());
}

void Circuit::shrink_to(const Sizes& before) {
  num_clbits_ = before.num_clbits;
  has_control_flow_ = before.has_control_flow;
  std::size_t k = 0;
  for_each_list(*this, [&](auto& list) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(before.lists[k++]), list.end());
  });
  std::erase_if(label_numbers_, [&](const auto& label) { return label.second > labels_.size(); });
  std::erase_if(parameter_numbers_,
                [&](const auto& name) { return name.second >= parameters_.size(); });
}

void Circuit::add_replaced(std::string name) {
  const auto at = std::lower_bound(replaced_.begin(), replaced_.end(), name);
  if (at == replaced_.end() || *at != name) replaced_.insert(at, std::move(name));
}

const std::string& Circuit::label(const Op& op) const {
  static const std::string kNone;
  return op.label ? labels_[op.label - 1] : kNone;
}

void Circuit::finish_from(std::size_t first, std::uint32_t line, std::int32_t condition) {
  for (std::size_t k = first; k < ops_.size(); ++k) {
    ops_[k].line = line;
    ops_[k].condition = condition;
  }
}

void Circuit::add_barrier() {
  Op op;
  op.kind = OpKind::kBarrier;
  append(op, {}, {});
}

std::size_t Circuit::add_jump(std::int32_t condition) {
  Op op;
  op.kind = OpKind::kJump;
  op.condition = condition;
  op.first_param = static_cast<std::uint32_t>(ops_.size()) + 1;
  has_control_flow_ = true;
  append(op, {}, {});
  return ops_.size() - 1;
}

void Circuit::set_jump_target(std::size_t jump, std::size_t op) {
  TW_CHECK(jump < ops_.size() && ops_[jump].kind == OpKind::kJump && op <= ops_.size(),
           "a jump goes to an operation of its circuit");
  ops_[jump].first_param = static_cast<std::uint32_t>(op);
}

Op& Circuit::add_assign(Assignment assignment) {
  if (assignment.size > 64 || std::uint64_t{assignment.first} + assignment.size > num_clbits_) {
    fail(ExitCode::kInput, "an assignment writes 1 to 64 classical bits that exist");
  }
  if (assignment.value.empty()) fail(ExitCode::kInput, "an assignment has no value");
  check_reads(assignment.value);
  Op op;
  op.kind = OpKind::kAssign;
  op.first_param = static_cast<std::uint32_t>(assignments_.size());
  assignments_.push_back(std::move(assignment));
  has_control_flow_ = true;
  return append(op, {}, {});
}

bool Circuit::is_unitary() const {
  return std::all_of(ops_.begin(), ops_.end(), [](const Op& op) {
    return op.condition < 0 &&
           (op.kind == OpKind::kGate || op.kind == OpKind::kMatrix || op.kind == OpKind::kBarrier);
  });
}

}  // namespace tilewave::circuit
