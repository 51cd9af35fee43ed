// A circuit as a number: everything it does is added to a Fingerprint, in order.
#include "tilewave/base/fingerprint.h"

#include "tilewave/circuit/circuit.h"

namespace tilewave::circuit {

namespace {

void add(Fingerprint& f, const ClassicalExpr& expr) {
  for (const ClassicalNode& node : expr.nodes) {
    f.add(static_cast<std::uint64_t>(node.op) << 16 | static_cast<std::uint64_t>(node.type) << 8 |
          node.width);
    f.add(std::uint64_t{static_cast<std::uint32_t>(node.a)} << 32 |
          static_cast<std::uint32_t>(node.b));
    f.add(node.value);
  }
  for (const auto& table : expr.tables) {
    for (const std::uint64_t entry : table) f.add(entry);
    f.add(std::uint64_t{table.size()});
  }
  f.add(static_cast<std::uint64_t>(expr.nodes.size()));
}

void add(Fingerprint& f, const std::vector<cplx>& matrix) {
  for (const cplx& z : matrix) f.add(z.real()).add(z.imag());
  f.add(static_cast<std::uint64_t>(matrix.size()));
}

}  // namespace

std::uint64_t Circuit::fingerprint() const {
  Fingerprint f;
  f.add(std::uint64_t{num_qubits_}).add(std::uint64_t{num_clbits_});
  for (const Op& op : ops_) {
    f.add(static_cast<std::uint64_t>(op.kind) << 48 | static_cast<std::uint64_t>(op.gate) << 32 |
          std::uint64_t{op.num_controls} << 16 | op.num_targets);
    f.add(static_cast<std::uint64_t>(op.conjugate) << 32 | op.clbit).add(op.control_values);
    f.add(static_cast<std::uint64_t>(static_cast<std::int64_t>(op.condition)));
    for (const Qubit q : qubits(op)) f.add(std::uint64_t{q});
    switch (op.kind) {
      case OpKind::kGate:
        for (std::size_t k = 0; k < params(op).size(); ++k) {
          const AffineAngle* angle = affine(op, k);
          f.add(angle ? angle->constant : params(op)[k]);
          if (!angle) continue;
          for (const AffineTerm& t : angle->terms)
            f.add(parameters_[t.parameter]).add(t.coefficient);
        }
        break;
      case OpKind::kRuntimeGate:
        for (const ClassicalExpr& angle : angles(op)) add(f, angle);
        break;
      case OpKind::kMatrix:
        add(f, matrices_[op.first_param]);
        break;
      case OpKind::kChannel:
        for (const Matrix& kraus : channel(op).kraus) add(f, kraus);
        f.add(std::uint64_t{channel(op).kraus.size()});
        break;
      case OpKind::kJump:
        f.add(std::uint64_t{op.first_param});
        break;
      case OpKind::kAssign: {
        const Assignment& to = assignment(op);
        f.add(std::uint64_t{to.first} << 32 | to.size);
        add(f, to.value);
        break;
      }
      default:
        break;
    }
  }
  for (const Condition& c : conditions_) {
    f.add(std::uint64_t{c.first} << 32 | c.size);
    for (const std::uint64_t word : c.value) f.add(word);
    add(f, c.expr);
  }
  for (const std::string& name : parameters_) f.add(name);  // the order in which values are given
  for (const Register& r : cregs_) f.add(r.name).add(std::uint64_t{r.first} << 32 | r.size);
  return f.value();
}

}  // namespace tilewave::circuit
