// Layout: a magic word, then registers, names of parameters, conditions, channels, operations, notes
// and names of replaced instructions, each a count and its items; numbers are 64 bits in the machine's order,
// texts a length and characters.
// Reading builds the circuit with the calls everybody uses, which check what they are given.
#include "tilewave/formats/circuit_bytes.h"

#include <bit>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tilewave/base/error.h"

namespace tilewave::formats {
namespace {

using circuit::Circuit;
using circuit::ClassicalExpr;
using circuit::Op;
using circuit::OpKind;
using circuit::Qubit;

constexpr std::string_view kFirstLine = "tilewave circuit 3\n";

class Writer {
 public:
  /// `has_lines`: of their source, with the operations.
  Writer(const Circuit& circuit, bool has_lines) : circuit_(circuit), has_lines_(has_lines) {
    out_ = kFirstLine;
  }

  std::string all() {
    out_ = operations();
    for (const auto& lines : {circuit_.notes(), circuit_.replaced()}) {
      number(lines.size());
      for (const std::string& line : lines) text(line);
    }
    return std::move(out_);
  }

  // Without what is said of them.
  std::string operations() {
    number(circuit_.num_qubits());
    number(circuit_.num_clbits());
    for (const auto& registers : {circuit_.qregs(), circuit_.cregs()}) {
      number(registers.size());
      for (const auto& r : registers) {
        text(r.name);
        number(r.first);
        number(r.size);
      }
    }
    number(circuit_.parameters().size());
    for (const std::string& name : circuit_.parameters()) text(name);
    number(circuit_.conditions().size());
    for (const auto& c : circuit_.conditions()) {
      number(c.first);
      number(c.size);
      numbers(c.value);
      expression(c.expr);
    }
    number(circuit_.channels().size());
    for (const auto& channel : circuit_.channels()) {
      text(channel->name);
      number(static_cast<std::uint64_t>(channel->num_qubits));
      number(channel->kraus.size());
      for (const auto& k : channel->kraus) matrix(k);
    }
    number(circuit_.ops().size());
    for (const Op& op : circuit_.ops()) operation(op);
    return std::move(out_);
  }

 private:
  void number(std::uint64_t x) { out_.append(reinterpret_cast<const char*>(&x), sizeof x); }
  void real(double x) { number(std::bit_cast<std::uint64_t>(x)); }
  void text(std::string_view t) {
    number(t.size());
    out_.append(t);
  }
  void numbers(std::span<const std::uint64_t> list) {
    number(list.size());
    for (const std::uint64_t x : list) number(x);
  }
  void matrix(std::span<const cplx> entries) {
    number(entries.size());
    for (const cplx& x : entries) {
      real(x.real());
      real(x.imag());
    }
  }
  void expression(const ClassicalExpr& e) {
    number(e.nodes.size());
    for (const auto& n : e.nodes) {
      number(static_cast<std::uint64_t>(n.op));
      number(static_cast<std::uint64_t>(n.type));
      number(n.width);
      number(static_cast<std::uint64_t>(std::int64_t{n.a}));
      number(static_cast<std::uint64_t>(std::int64_t{n.b}));
      number(n.value);
    }
    number(e.tables.size());
    for (const auto& table : e.tables) numbers(table);
  }

  void operation(const Op& op) {
    number(static_cast<std::uint64_t>(op.kind));
    number(static_cast<std::uint64_t>(std::int64_t{op.condition}));
    number(has_lines_ ? op.line : 0);
    text(circuit_.label(op));
    number(op.num_controls);
    number(op.num_targets);
    for (const Qubit q : circuit_.qubits(op)) number(q);
    switch (op.kind) {
      case OpKind::kGate:
        text(circuit::gate_info(op.gate).name);
        number(op.control_values);
        number(circuit_.params(op).size());
        for (std::size_t k = 0; k < circuit_.params(op).size(); ++k) angle(op, k);
        break;
      case OpKind::kRuntimeGate:
        text(circuit::gate_info(op.gate).name);
        number(op.control_values);
        number(op.conjugate);
        number(circuit_.angles(op).size());
        for (const auto& angle : circuit_.angles(op)) expression(angle);
        break;
      case OpKind::kMatrix:
        number(op.control_values);
        matrix(circuit_.matrix(op));
        break;
      case OpKind::kMeasure:
        number(op.clbit);
        break;
      case OpKind::kChannel:
      case OpKind::kJump:
        number(op.first_param);
        break;
      case OpKind::kAssign: {
        const auto& a = circuit_.assignment(op);
        number(a.first);
        number(a.size);
        expression(a.value);
        break;
      }
      case OpKind::kReset:
      case OpKind::kBarrier:
        break;
    }
  }

  // A number, and the terms of an expression.
  void angle(const Op& op, std::size_t k) {
    const circuit::AffineAngle* affine = circuit_.affine(op, k);
    real(affine ? affine->constant : circuit_.params(op)[k]);
    number(affine ? affine->terms.size() : 0);
    if (!affine) return;
    for (const circuit::AffineTerm& t : affine->terms) {
      number(t.parameter);
      real(t.coefficient);
    }
  }

  const Circuit& circuit_;
  bool has_lines_;
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {
    if (!bytes_.starts_with(kFirstLine)) fail();
    at_ = kFirstLine.size();
  }

  Circuit run() {
    const auto num_qubits = small(), num_clbits = small();
    registers([&](std::string name, std::uint32_t size) { out_.add_qreg(std::move(name), size); },
              [&](std::uint32_t count) { out_.add_qubits(count); }, num_qubits);
    registers([&](std::string name, std::uint32_t size) { out_.add_creg(std::move(name), size); },
              [&](std::uint32_t count) { out_.add_clbits(count); }, num_clbits);
    for (std::uint64_t k = count(); k > 0; --k) out_.add_parameter(text());
    const std::uint64_t num_conditions = count();
    for (std::uint64_t k = 0; k < num_conditions; ++k) {
      circuit::Condition c;
      c.first = small();
      c.size = small();
      if (c.first > num_clbits || c.size > num_clbits - c.first) fail();
      c.value = numbers();
      c.expr = expression();
      out_.add_condition(std::move(c));
    }
    std::vector<std::shared_ptr<const circuit::Channel>> channels(count());
    for (auto& channel : channels) {
      circuit::Channel c;
      c.name = text();
      const std::uint32_t qubits = small();
      if (qubits < 1 || qubits > circuit::kMaxChannelQubits) fail();
      c.num_qubits = static_cast<int>(qubits);
      c.kraus.resize(count());
      for (auto& k : c.kraus) {
        k = matrix();
        if (k.size() != std::size_t{1} << (2 * qubits)) fail();
      }
      channel = std::make_shared<const circuit::Channel>(std::move(c));
    }
    std::vector<std::pair<std::size_t, std::size_t>> jumps;
    const std::uint64_t num_ops = count();
    for (std::uint64_t k = 0; k < num_ops; ++k) operation(channels, jumps);
    for (const auto& [jump, to] : jumps) {
      if (to > num_ops) fail();
      out_.set_jump_target(jump, to);
    }
    for (std::uint64_t k = count(); k > 0; --k) out_.add_note(text());
    for (std::uint64_t k = count(); k > 0; --k) out_.add_replaced(text());
    if (at_ != bytes_.size()) fail();
    return std::move(out_);
  }

 private:
  [[noreturn]] static void fail() {
    throw Error(ExitCode::kInput,
                "these bytes are no circuit of this version: write them again, or use to_qasm()");
  }

  std::uint64_t number() {
    std::uint64_t x = 0;
    if (bytes_.size() - at_ < sizeof x) fail();
    std::memcpy(&x, bytes_.data() + at_, sizeof x);
    at_ += sizeof x;
    return x;
  }
  double real() { return std::bit_cast<double>(number()); }
  std::uint32_t small() {
    const std::uint64_t x = number();
    if (x > 0xffffffff) fail();
    return static_cast<std::uint32_t>(x);
  }
  std::int32_t signed_index() { return static_cast<std::int32_t>(number()); }
  // Of items that take at least eight bytes each.
  std::uint64_t count() {
    const std::uint64_t x = number();
    if (x > (bytes_.size() - at_) / 8) fail();
    return x;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > bytes_.size() - at_) fail();
    at_ += size;
    return std::string(bytes_.substr(at_ - size, size));
  }
  std::vector<std::uint64_t> numbers() {
    std::vector<std::uint64_t> list(count());
    for (auto& x : list) x = number();
    return list;
  }
  std::vector<cplx> matrix() {
    std::vector<cplx> entries(count());
    for (auto& x : entries) {
      const double re = real();
      x = {re, real()};
    }
    return entries;
  }
  ClassicalExpr expression() {
    ClassicalExpr e;
    const std::uint64_t size = count();
    for (std::uint64_t k = 0; k < size; ++k) {
      circuit::ClassicalNode n;
      const std::uint64_t op = number(), type = number(), width = number();
      if (op > static_cast<std::uint64_t>(circuit::ClassicalOp::kCall) ||
          type > static_cast<std::uint64_t>(circuit::ClassicalType::kFloat) || width > 64) {
        fail();
      }
      n.op = static_cast<circuit::ClassicalOp>(op);
      n.type = static_cast<circuit::ClassicalType>(type);
      n.width = static_cast<std::uint8_t>(width);
      n.a = signed_index();
      n.b = signed_index();
      n.value = number();
      e.add(n);
    }
    e.tables.resize(count());
    for (auto& table : e.tables) table = numbers();
    return e;
  }

  // Registers stand in order; bits between them belong to none.
  template <class AddRegister, class AddBits>
  void registers(AddRegister add_register, AddBits add_bits, std::uint32_t total) {
    const std::uint64_t num = count();
    std::uint32_t next = 0;
    for (std::uint64_t k = 0; k < num; ++k) {
      std::string name = text();
      const std::uint32_t first = small(), size = small();
      if (first < next || first > total || size > total - first) fail();
      add_bits(first - next);
      add_register(std::move(name), size);
      next = first + size;
    }
    add_bits(total - next);
  }

  circuit::GateId gate() {
    const circuit::GateInfo* info = circuit::find_gate(circuit::Language::kTilewave, text());
    if (!info) fail();
    return info->id;
  }

  void operation(std::span<const std::shared_ptr<const circuit::Channel>> channels,
                 std::vector<std::pair<std::size_t, std::size_t>>& jumps) {
    const std::uint64_t kind = number();
    const std::int32_t condition = signed_index();
    const std::uint32_t line = small();
    const std::string label = text();
    const std::uint64_t num_controls = number(), num_targets = number();
    if (num_controls > 64 || num_targets > 64) fail();
    std::vector<Qubit> qubits(num_controls + num_targets);
    for (Qubit& q : qubits) q = small();
    if (condition < -1 || condition >= static_cast<std::int64_t>(out_.conditions().size())) fail();
    const std::size_t at = out_.ops().size();
    add(static_cast<OpKind>(kind), qubits, num_controls, condition, channels, jumps);
    out_.finish_from(at, line, condition);
    if (!label.empty()) out_.set_label(at, out_.add_label(label));
  }

  void add(OpKind kind, std::span<const Qubit> qubits, std::size_t num_controls,
           std::int32_t condition,
           std::span<const std::shared_ptr<const circuit::Channel>> channels,
           std::vector<std::pair<std::size_t, std::size_t>>& jumps) {
    const auto extra_controls = [&](circuit::GateId id) {
      const auto own = static_cast<std::size_t>(circuit::gate_info(id).num_controls);
      if (num_controls < own) fail();
      return num_controls - own;
    };
    switch (kind) {
      case OpKind::kGate: {
        const circuit::GateId id = gate();
        const std::size_t extra = extra_controls(id);
        const std::uint64_t values = number();
        std::vector<double> params(count());
        std::vector<circuit::AffineAngle> angles(params.size());
        for (std::size_t k = 0; k < params.size(); ++k) {
          params[k] = angles[k].constant = real();
          angles[k].terms.resize(count());
          for (circuit::AffineTerm& t : angles[k].terms) {
            t.parameter = small();
            t.coefficient = real();
            if (t.parameter >= out_.parameters().size()) fail();
          }
        }
        out_.add_controlled_gate(id, qubits.first(extra), values, qubits.subspan(extra), params);
        for (std::size_t k = 0; k < params.size(); ++k) {
          if (!angles[k].terms.empty())
            out_.set_affine(out_.ops().size() - 1, k, std::move(angles[k]));
        }
        return;
      }
      case OpKind::kRuntimeGate: {
        const circuit::GateId id = gate();
        const std::size_t extra = extra_controls(id);
        const std::uint64_t values = number();
        const bool conjugate = number() != 0;
        std::vector<ClassicalExpr> angles(count());
        for (auto& angle : angles) {
          angle = expression();
          if (angle.empty() || angle.nodes.back().type != circuit::ClassicalType::kFloat) fail();
        }
        out_.add_runtime_gate(id, qubits.first(extra), values, qubits.subspan(extra),
                              std::move(angles), conjugate);
        return;
      }
      case OpKind::kMatrix: {
        const std::uint64_t values = number();
        out_.add_matrix(qubits.first(num_controls), values, qubits.subspan(num_controls), matrix());
        return;
      }
      case OpKind::kMeasure:
        if (qubits.size() != 1) fail();
        out_.add_measure(qubits[0], small());
        return;
      case OpKind::kReset:
        if (qubits.size() != 1) fail();
        out_.add_reset(qubits[0]);
        return;
      case OpKind::kChannel: {
        const std::uint64_t index = number();
        if (index >= channels.size() ||
            static_cast<std::size_t>(channels[index]->num_qubits) != qubits.size()) {
          fail();
        }
        out_.add_channel(qubits, channels[index]);
        return;
      }
      case OpKind::kJump:
        jumps.emplace_back(out_.add_jump(condition), number());
        return;
      case OpKind::kAssign: {
        const std::uint32_t first = small(), size = small();
        out_.add_assign({first, size, expression()});
        return;
      }
      case OpKind::kBarrier:
        out_.add_barrier();
        return;
    }
    fail();
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  Circuit out_;
};

}  // namespace

std::string circuit_to_bytes(const Circuit& circuit) { return Writer(circuit, true).all(); }

bool has_same_operations(const Circuit& a, const Circuit& b) {
  return Writer(a, false).operations() == Writer(b, false).operations();
}

Circuit circuit_from_bytes(std::string_view bytes) { return Reader(bytes).run(); }

}  // namespace tilewave::formats
