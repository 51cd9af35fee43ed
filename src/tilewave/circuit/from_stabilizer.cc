// Measurements in X and Y are measurements in Z between basis changes; a product of Paulis is
// brought onto its first qubit by CX, which then holds its parity.
#include "tilewave/circuit/from_stabilizer.h"

#include <algorithm>
#include <numbers>

#include "tilewave/base/error.h"
#include "tilewave/circuit/rotations.h"

namespace tilewave::circuit {
namespace {

using Kind = StabTarget::Kind;

constexpr std::uint64_t kMostOps = 1 << 24;

class Converter {
 public:
  explicit Converter(const StabilizerCircuit& source) : out_(0, 0) {
    const StabCounts counts = source.counts();
    if (counts.measurements > kMostOps || counts.qubits > kMostOps) {
      tilewave::fail(ExitCode::kResources, "the circuit has ", counts.measurements,
                     " measurements on ", counts.qubits, " qubits: too many for a state vector");
    }
    if (counts.qubits) out_.add_qreg("q", static_cast<std::uint32_t>(counts.qubits));
    if (counts.measurements) out_.add_creg("rec", static_cast<std::uint32_t>(counts.measurements));
  }

  Circuit run(const StabilizerCircuit& source) {
    block(source);
    // Records are there though no operation makes them, as those of MPAD 0: a circuit that writes
    // none would be one that measures nothing, whose shots are all its qubits.
    if (next_ > 0 && !writes_) assign(0, 0);
    return std::move(out_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... problem) const {
    tilewave::fail(ExitCode::kInput, line_ ? concat("line ", line_, ": ") : "", problem...);
  }

  void block(const StabilizerCircuit& source) {
    for (const StabInstruction& op : source.instructions()) {
      line_ = op.line;
      if (out_.ops().size() > kMostOps) {
        tilewave::fail(ExitCode::kResources, "unrolled, the circuit has more than ", kMostOps,
                       " operations: too many for a state vector");
      }
      if (op.kind == StabKind::kRepeat) {
        for (std::uint64_t k = 0; k < op.repeat; ++k) {
          block(source.block(op));
          if (source.block(op).empty()) break;
        }
      } else {
        instruction(source, op);
      }
    }
  }

  void instruction(const StabilizerCircuit& source, const StabInstruction& op) {
    const auto targets = source.targets(op);
    const auto args = source.args(op);
    if (is_rotation(op.kind)) {
      for (const RotationStep& step : rotations_of(op.kind, targets, args)) rotation(step);
      return;
    }
    if (is_leakage(op.kind) || (op.kind == StabKind::kGate && !args.empty())) {
      fail(source.name(op),
           " has to do with leakage, a state vector has none: sample the circuit with "
           "compile_sampler");
    }
    const bool is_noise =
        op.kind >= StabKind::kXError && op.kind <= StabKind::kHeraldedPauliChannel1;
    if ((is_noise || is_measurement(op.kind)) &&
        std::any_of(args.begin(), args.end(), [](double p) { return p != 0; })) {
      fail(source.name(op),
           " is noise, a state vector has none: sample the circuit with compile_sampler");
    }
    if (op.kind == StabKind::kHeraldedErase || op.kind == StabKind::kHeraldedPauliChannel1) {
      next_ += static_cast<Clbit>(targets.size());  // heralds that never fire
      return;
    }
    switch (op.kind) {
      case StabKind::kGate:
        return gate(op, targets);
      case StabKind::kM:
      case StabKind::kMX:
      case StabKind::kMY:
      case StabKind::kMR:
      case StabKind::kMRX:
      case StabKind::kMRY:
      case StabKind::kR:
      case StabKind::kRX:
      case StabKind::kRY:
        for (const StabTarget& t : targets) collapse(op.kind, t);
        return;
      case StabKind::kMXX:
      case StabKind::kMYY:
      case StabKind::kMZZ: {
        const Pauli p = basis_of(op.kind);
        for (std::size_t k = 0; k + 1 < targets.size(); k += 2) {
          product({pauli_target(p, targets[k].value, targets[k].inverted),
                   pauli_target(p, targets[k + 1].value, targets[k + 1].inverted)},
                  StabKind::kMPP);
        }
        return;
      }
      case StabKind::kMPP:
      case StabKind::kSPP:
      case StabKind::kSPPDag:
        for (std::size_t k = 0; k < targets.size();) {
          std::vector<StabTarget> factors = {targets[k++]};
          while (k + 1 < targets.size() && targets[k].kind == Kind::kCombiner) {
            factors.push_back(targets[k + 1]);
            k += 2;
          }
          product(factors, op.kind);
        }
        return;
      case StabKind::kMpad:
        for (const StabTarget& t : targets) {
          if (t.value) assign(next_, 1);
          ++next_;
        }
        return;
      default:
        return;  // channels that never fire, annotations
    }
  }

  void assign(Clbit record, std::uint64_t value) {
    ClassicalExpr constant;
    constant.constant(ClassicalType::kBool, 1, value);
    out_.add_assign({record, 1, std::move(constant)}).line = line_;
    writes_ = true;
  }

  // Controlled Paulis whose control is a record become conditional Paulis.
  bool feedback(GateId gate, const StabTarget& a, const StabTarget& b) {
    if (a.kind == Kind::kQubit && b.kind == Kind::kQubit) return false;
    if (a.kind == Kind::kSweep || b.kind == Kind::kSweep) {
      fail("sweep bits have no value here: replace them by gates");
    }
    const bool first = a.kind == Kind::kRecord;
    if (first && b.kind == Kind::kRecord) return true;  // a phase of no consequence
    const StabTarget& record = first ? a : b;
    const Qubit qubit = (first ? b : a).value;
    GateId pauli = GateId::kZ;
    if (gate == GateId::kCx || gate == GateId::kXcz) pauli = GateId::kX;
    if (gate == GateId::kCy || gate == GateId::kYcz) pauli = GateId::kY;
    if (record.value > next_) fail("rec[-", record.value, "] is before the start");
    Op& op = out_.add_gate(pauli, {qubit});
    op.condition = out_.add_condition({next_ - record.value, 1, {1}, {}});
    op.line = line_;
    return true;
  }

  void gate(const StabInstruction& op, std::span<const StabTarget> targets) {
    const GateInfo& info = gate_info(op.gate);
    const std::size_t arity = static_cast<std::size_t>(info.num_controls + info.num_targets);
    for (std::size_t k = 0; k + arity <= targets.size(); k += arity) {
      if (arity == 1) {
        add(op.gate, {targets[k].value});
      } else if (!feedback(op.gate, targets[k], targets[k + 1])) {
        add(op.gate, {targets[k].value, targets[k + 1].value});
      }
    }
  }

  void add(GateId gate, std::initializer_list<Qubit> qubits) {
    out_.add_gate(gate, qubits).line = line_;
  }

  // Exchanges the Pauli and Z; its own inverse.
  void to_z(Pauli p, Qubit qubit) {
    if (p == Pauli::kX) add(GateId::kH, {qubit});
    if (p == Pauli::kY) add(GateId::kHyz, {qubit});
  }

  void measure(Qubit qubit, bool inverted) {
    if (inverted) add(GateId::kX, {qubit});
    out_.add_measure(qubit, next_++).line = line_;
    writes_ = true;
    if (inverted) add(GateId::kX, {qubit});
  }

  void collapse(StabKind kind, const StabTarget& target) {
    const Qubit qubit = target.value;
    const Pauli basis = basis_of(kind);
    to_z(basis, qubit);
    if (kind < StabKind::kR) measure(qubit, target.inverted);
    if (kind >= StabKind::kMR) out_.add_reset(qubit).line = line_;
    to_z(basis, qubit);
  }

  // A rotation about a product of Paulis: R_Z on the parity of its qubits.
  void rotation(const RotationStep& step) {
    const auto& factors = step.rotation.factors;
    if (step.is_cx) return add(GateId::kCx, {factors[0].first, factors[1].first});
    const Qubit first = factors[0].first;
    for (const auto& [q, p] : factors) to_z(p, q);
    for (std::size_t k = 1; k < factors.size(); ++k) add(GateId::kCx, {factors[k].first, first});
    out_.add_gate(GateId::kRz, {first}, {std::numbers::pi * step.rotation.half_turns}).line = line_;
    for (std::size_t k = factors.size(); k-- > 1;) add(GateId::kCx, {factors[k].first, first});
    for (const auto& [q, p] : factors) to_z(p, q);
  }

  void product(const std::vector<StabTarget>& factors, StabKind kind) {
    bool inverted = false;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      inverted ^= factors[i].inverted;
      for (std::size_t j = 0; j < i; ++j) {
        if (factors[i].value == factors[j].value) {
          fail("a Pauli product names qubit ", factors[i].value,
               " twice: multiply its factors first");
        }
      }
    }
    const Qubit first = factors[0].value;
    for (const StabTarget& f : factors) to_z(f.pauli, f.value);
    for (std::size_t k = 1; k < factors.size(); ++k) add(GateId::kCx, {factors[k].value, first});
    if (kind == StabKind::kMPP) {
      measure(first, inverted);
    } else {
      add((kind == StabKind::kSPP) != inverted ? GateId::kS : GateId::kSdg, {first});
    }
    for (std::size_t k = factors.size(); k-- > 1;) add(GateId::kCx, {factors[k].value, first});
    for (const StabTarget& f : factors) to_z(f.pauli, f.value);
  }

  Circuit out_;
  Clbit next_ = 0;
  bool writes_ = false;  // a record
  std::uint32_t line_ = 0;
};

}  // namespace

Circuit from_stabilizer(const StabilizerCircuit& circuit) {
  return Converter(circuit).run(circuit);
}

}  // namespace tilewave::circuit
