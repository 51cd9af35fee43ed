#include "tilewave/language/qasm3/parameters.h"

#include <bit>
#include <numeric>
#include <optional>
#include <utility>

#include "tilewave/base/concat.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/append_circuit.h"
#include "tilewave/circuit/parameters.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language::qasm3 {
namespace {

using circuit::AffineAngle;
using circuit::Circuit;
using circuit::ClassicalExpr;
using circuit::ClassicalNode;
using circuit::ClassicalOp;
using circuit::ClassicalType;
using circuit::Clbit;
using circuit::Op;
using circuit::OpKind;

class Parameters {
 public:
  Parameters(Circuit circuit, const std::vector<UnboundInput>& inputs, const std::string& file_name)
      : circuit_(std::move(circuit)), inputs_(inputs), file_name_(file_name) {}

  Circuit run() {
    for (const UnboundInput& input : inputs_) circuit_.add_parameter(input.name);
    replace_angles();
    refuse_other_uses();
    return without_bits();
  }

 private:
  bool is_input(Clbit first, std::uint32_t count) const {
    for (const UnboundInput& input : inputs_) {
      if (first < input.first + 64 && input.first < first + count) return true;
    }
    return false;
  }

  bool reads_input(const ClassicalExpr& e) const {
    bool found = false;
    circuit::for_each_read(
        e, [&](Clbit first, std::uint32_t count) { found |= is_input(first, count); });
    return found;
  }

  template <class... Parts>
  [[noreturn]] void fail(const Op& op, const Parts&... problem) const {
    // the jumps of loops have no line
    const std::string line = op.line ? concat(op.line, ":") : "";
    tilewave::fail(ExitCode::kInput, printable(concat(file_name_, ":", line, " ", problem...)));
  }

  // The value of a node where it is affine in the inputs.
  std::optional<AffineAngle> affine(const ClassicalExpr& e, std::int32_t index) const {
    const ClassicalNode& node = e.nodes[static_cast<std::size_t>(index)];
    const auto a = [&] { return affine(e, node.a); };
    const auto b = [&] { return affine(e, node.b); };
    const bool is_float = node.type == ClassicalType::kFloat;
    switch (node.op) {
      case ClassicalOp::kConst:
        if (is_float) return AffineAngle{std::bit_cast<double>(node.value)};
        if (node.type == ClassicalType::kInt)
          return AffineAngle{static_cast<double>(static_cast<std::int64_t>(node.value))};
        return AffineAngle{static_cast<double>(node.value)};
      case ClassicalOp::kBits:
        for (std::size_t k = 0; k < inputs_.size(); ++k) {
          if (is_float && node.value == inputs_[k].first)
            return AffineAngle{0, {{static_cast<std::uint32_t>(k), 1}}};
        }
        return std::nullopt;
      case ClassicalOp::kCast: {
        const auto x = a();
        if (!x || (!is_float && !x->terms.empty())) return std::nullopt;
        return x;
      }
      case ClassicalOp::kNegate:
      case ClassicalOp::kAdd:
      case ClassicalOp::kSub:
      case ClassicalOp::kMul:
      case ClassicalOp::kDiv:
        break;
      default:
        return std::nullopt;
    }
    if (!is_float) return std::nullopt;
    const auto x = a(), y = node.op == ClassicalOp::kNegate ? x : b();
    if (!x || !y) return std::nullopt;
    AffineAngle sum;
    if (node.op == ClassicalOp::kNegate) {
      circuit::add_scaled(sum, *x, -1);
    } else if (node.op == ClassicalOp::kAdd || node.op == ClassicalOp::kSub) {
      sum = *x;
      circuit::add_scaled(sum, *y, node.op == ClassicalOp::kAdd ? 1 : -1);
    } else if (node.op == ClassicalOp::kMul) {
      if (!x->terms.empty() && !y->terms.empty()) return std::nullopt;
      if (x->terms.empty()) {
        circuit::add_scaled(sum, *y, x->constant);
      } else {
        circuit::add_scaled(sum, *x, y->constant);
      }
    } else {
      if (!y->terms.empty() || y->constant == 0) return std::nullopt;
      circuit::add_scaled(sum, *x, 1 / y->constant);
    }
    return sum;
  }

  void replace_angles() {
    const std::vector<Op> ops = circuit_.take_ops();
    for (const Op& op : ops) {
      bool depends = false;
      for (const ClassicalExpr& angle : circuit_.angles(op)) depends |= reads_input(angle);
      if (!depends) {
        circuit_.put_op(op);
        continue;
      }
      std::vector<AffineAngle> angles;
      for (const ClassicalExpr& e : circuit_.angles(op)) {
        auto angle = affine(e, static_cast<std::int32_t>(e.nodes.size()) - 1);
        if (!angle) {
          fail(op,
               "an angle is not a sum of inputs without values with numbers as "
               "coefficients ('",
               inputs_[0].name, "'): give inputs values");
        }
        angles.push_back(std::move(*angle));
      }
      const std::size_t at = circuit_.ops().size();
      const std::vector<double> zeros(angles.size());
      circuit_.append_with_angles(op, zeros, circuit_);
      TW_CHECK(circuit_.ops().size() == at + 1, "a gate without its angles is one operation");
      circuit_.finish_from(at, op.line, op.condition);
      for (std::size_t k = 0; k < angles.size(); ++k)
        circuit_.set_affine(at, k, std::move(angles[k]));
    }
  }

  void refuse_other_uses() const {
    const auto refuse = [&](const Op& op) {
      fail(op, "what depends on an input without a value is not an angle: give the input a value");
    };
    for (const Op& op : circuit_.ops()) {
      if (op.kind == OpKind::kAssign && reads_input(circuit_.assignment(op).value)) refuse(op);
      circuit_.for_each_read(op, [&](std::uint32_t first, std::uint32_t count) {
        if (is_input(first, count)) refuse(op);
      });
    }
  }

  // The inputs' bits are in no register.
  Circuit without_bits() const {
    Circuit out;
    for (const circuit::Register& r : circuit_.qregs()) {
      out.add_qubits(r.first - out.num_qubits());
      out.add_qreg(r.name, r.size);
    }
    out.add_qubits(circuit_.num_qubits() - out.num_qubits());
    std::vector<Clbit> places(circuit_.num_clbits());
    auto next = circuit_.cregs().begin();
    for (Clbit k = 0; k < circuit_.num_clbits();) {
      if (next != circuit_.cregs().end() && next->first == k) {
        const Clbit first = out.add_creg(next->name, next->size);
        for (Clbit j = 0; j < next->size; ++j) places[k++] = first + j;
        ++next;
      } else if (is_input(k, 1)) {
        places[k++] = 0;  // nothing names it
      } else {
        places[k++] = out.num_clbits();
        out.add_clbits(1);
      }
    }
    std::vector<circuit::Qubit> qubits(circuit_.num_qubits());
    std::iota(qubits.begin(), qubits.end(), 0);
    circuit::append_circuit(out, circuit_, qubits, places);
    return out;
  }

  Circuit circuit_;
  const std::vector<UnboundInput>& inputs_;
  const std::string& file_name_;
};

}  // namespace

Circuit with_parameters(Circuit circuit, const std::vector<UnboundInput>& inputs,
                        const std::string& file_name) {
  return Parameters(std::move(circuit), inputs, file_name).run();
}

}  // namespace tilewave::language::qasm3
