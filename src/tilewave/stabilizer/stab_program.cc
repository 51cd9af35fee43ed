#include "tilewave/stabilizer/stab_program.h"

#include <algorithm>
#include <unordered_map>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/circuit/rotations.h"
#include "tilewave/stabilizer/lower_leakage.h"

namespace tilewave::stabilizer {
namespace {

using circuit::StabilizerCircuit;
using circuit::StabInstruction;
using circuit::StabKind;
using circuit::StabTarget;
using K = StabKind;
using P = PrimKind;

using Product = circuit::PauliProduct;
using circuit::for_each_product;

class Lowering {
 public:
  Lowering(StabProgram& out, Rotations rotations, Leakage leakage, bool gates_scramble)
      : out_(out), rotations_(rotations), leakage_(leakage), gates_scramble_(gates_scramble) {}

  std::uint32_t block(const StabilizerCircuit& c) {
    const auto index = static_cast<std::uint32_t>(out_.blocks.size());
    out_.blocks.emplace_back();
    std::vector<Prim> prims;
    for (const StabInstruction& op : c.instructions()) {
      check_interrupt_once_in<256>();
      prims_ = &prims;
      source_ = static_cast<std::uint32_t>(out_.sources.size());
      out_.sources.push_back({op.kind, op.line, tag(c.tag(op))});
      if (op.kind == K::kRepeat) {
        Prim p = prim(P::kRepeat);
        p.b = static_cast<std::uint32_t>(out_.repeats.size());
        out_.repeats.push_back(op.repeat);
        p.a = block(c.block(op));
        if (!out_.blocks[p.a].empty()) prims.push_back(p);  // else there is nothing to repeat
      } else {
        instruction(c, op);
      }
    }
    out_.blocks[index] = std::move(prims);
    return index;
  }

 private:
  Prim prim(PrimKind kind) const {
    Prim p{};
    p.kind = kind;
    p.source = source_;
    return p;
  }
  void emit(const Prim& p) { prims_->push_back(p); }
  std::uint32_t tag(const std::string& text) {
    if (text.empty()) return 0;
    const auto [it, fresh] = tags_.try_emplace(text, out_.tags.size());
    if (fresh) out_.tags.push_back(text);
    return it->second;
  }

  void clifford1(const Clifford1& c, std::uint32_t q) {
    if (c.is_identity()) return;
    auto it = std::find(out_.cliffords.begin(), out_.cliffords.end(), c);
    if (it == out_.cliffords.end()) it = out_.cliffords.insert(it, c);
    Prim p = prim(P::kClifford1);
    p.a = q;
    p.first = static_cast<std::uint32_t>(it - out_.cliffords.begin());
    emit(p);
  }
  void controlled(Pauli a, std::uint32_t qa, Pauli b, std::uint32_t qb) {
    Prim p = prim(P::kControlled);
    p.p = a, p.q = b, p.a = qa, p.b = qb;
    emit(p);
  }
  void measure(Pauli basis, std::uint32_t q, bool inverted) {
    Prim p = prim(P::kMeasure);
    p.p = basis, p.a = q, p.flag = inverted;
    emit(p);
  }
  void reset(Pauli basis, std::uint32_t q) {
    Prim p = prim(P::kReset);
    p.p = basis, p.a = q;
    emit(p);
  }
  void record_flips(std::span<const double> args, std::uint64_t count) {
    if (args.empty() || args[0] == 0 || count == 0) return;
    Prim p = prim(P::kRecordFlip);
    p.count = static_cast<std::uint32_t>(count);
    p.param = params(args);
    emit(p);
  }
  std::uint32_t params(std::span<const double> values) {
    const auto index = static_cast<std::uint32_t>(out_.params.size());
    out_.params.insert(out_.params.end(), values.begin(), values.end());
    return index;
  }
  void set_list(Prim& p, std::span<const std::uint32_t> values) {
    p.first = static_cast<std::uint32_t>(out_.lists.size());
    p.count = static_cast<std::uint32_t>(values.size());
    out_.lists.insert(out_.lists.end(), values.begin(), values.end());
  }
  void noise(PrimKind kind, std::span<const StabTarget> targets, std::span<const double> args,
             bool flag = false) {
    if (targets.empty() || std::all_of(args.begin(), args.end(), [](double a) { return a == 0; })) {
      if (kind != P::kHerald || targets.empty()) return;
    }
    Prim p = prim(kind);
    p.flag = flag;
    p.param = params(args);
    std::vector<std::uint32_t> qubits;
    for (const StabTarget& t : targets) qubits.push_back(t.value);
    set_list(p, qubits);
    emit(p);
  }
  void leakage(const StabInstruction& op, std::span<const std::uint32_t> qubits,
               std::span<const double> args) {
    for (const LeakageStep& step : leakage_steps(op.kind, args)) {
      Prim p = prim(step.kind);
      if (leakage_ == Leakage::kRefuse) {
        fail(ExitCode::kInput, out_.place(p), circuit::stabilizer_op(op.kind).name,
             " is leakage, no Pauli noise: sample, detect and m2d alone take it");
      }
      p.a = static_cast<std::uint32_t>(step.scramble);
      p.flag = step.flag;
      p.param = params(step.probabilities);
      set_list(p, qubits);
      emit(p);
      out_.has_leakage = true;
    }
  }
  void leakage(const StabInstruction& op, std::span<const StabTarget> targets,
               std::span<const double> args) {
    std::vector<std::uint32_t> qubits;
    for (const StabTarget& t : targets) qubits.push_back(t.value);
    // A pair comes behind the one before it, with which it may share a qubit.
    const std::size_t width = circuit::stabilizer_op(op.kind).targets == circuit::TargetRule::kPairs
                                  ? 2
                                  : std::max<std::size_t>(1, qubits.size());
    for (std::size_t i = 0; i < qubits.size(); i += width)
      leakage(op, std::span(qubits).subspan(i, width), args);
  }
  // Behind a gate on qubits of which one may be leaked.
  void scramble_partner(std::uint32_t a, std::uint32_t b) {
    Prim p = prim(P::kScramblePartner);
    set_list(p, std::array{a, b});
    emit(p);
  }
  void gate(const StabInstruction& op, std::span<const StabTarget> targets,
            std::span<const double> args) {
    if (circuit::gate_arity(op.gate) == 1) {
      const Clifford1& c = circuit::gate_clifford1(op.gate);
      for (const StabTarget& t : targets) clifford1(c, t.value);
      return;
    }
    const circuit::Clifford2Form& form = circuit::gate_clifford2(op.gate);
    for (std::size_t i = 0; i < targets.size(); i += 2) {
      const StabTarget &t0 = targets[i], &t1 = targets[i + 1];
      const bool c0 = t0.kind != StabTarget::Kind::kQubit, c1 = t1.kind != StabTarget::Kind::kQubit;
      if (c0 && c1) continue;  // CZ between classical bits is a phase
      if (c0 || c1) {
        const StabTarget& bit = c0 ? t0 : t1;
        Prim p = prim(bit.kind == StabTarget::Kind::kRecord ? P::kFeedback : P::kSweep);
        p.p = c0 ? form.b : form.a;
        p.a = c0 ? t1.value : t0.value;
        p.b = bit.value;
        emit(p);
        continue;
      }
      if (form.a != Pauli::kI) controlled(form.a, t0.value, form.b, t1.value);
      if (form.swap) {
        Prim p = prim(P::kSwap);
        p.a = t0.value, p.b = t1.value;
        emit(p);
      }
      clifford1(form.post0, t0.value);
      clifford1(form.post1, t1.value);
      if (!gates_scramble_ || !circuit::may_spread_leakage(op.gate)) continue;
      const bool spreads = std::any_of(args.begin(), args.end(), [](double a) { return a > 0; });
      if (!spreads) {
        scramble_partner(t0.value, t1.value);
        continue;
      }
      Prim p = prim(P::kSpread);  // moves where it does not spread
      p.flag = true;
      p.a = 1;
      p.param =
          params(std::array{args[0], args[1], (1 - args[0]) * args[2], (1 - args[1]) * args[3]});
      set_list(p, std::array{t0.value, t1.value});
      emit(p);
    }
  }

  // C(P_k, Q) on the other qubits maps P_0 to the product when Q anticommutes with P_0.
  void fold(const Product& pr, bool reverse, bool scrambles) {
    const auto [q0, p0] = pr.factors[0];
    const Pauli other = p0 == Pauli::kX ? Pauli::kZ : Pauli::kX;
    const std::size_t n = pr.factors.size();
    for (std::size_t i = 1; i < n; ++i) {
      const auto& f = pr.factors[reverse ? n - i : i];
      controlled(f.second, f.first, other, q0);
      if (scrambles) scramble_partner(f.first, q0);
    }
  }
  // With leakage, products of MPP and SPP are gates as Stim decomposes them: the same twice.
  void measure_product(const Product& pr, bool scrambles) {
    if (pr.factors.empty()) {
      Prim p = prim(P::kPad);
      p.flag = pr.negative;
      emit(p);
      return;
    }
    fold(pr, false, scrambles);
    measure(pr.factors[0].second, pr.factors[0].first, pr.negative);
    fold(pr, !scrambles, scrambles);
  }
  void phase_product(const Product& pr, bool dagger) {
    if (pr.factors.empty()) return;
    const auto [q0, p0] = pr.factors[0];
    const circuit::GateId root = circuit::root_gate(p0, dagger != pr.negative);
    fold(pr, false, gates_scramble_);
    clifford1(circuit::gate_clifford1(root), q0);
    fold(pr, !gates_scramble_, gates_scramble_);
  }
  void rotation(const StabInstruction& op, const circuit::PauliRotation& r) {
    const int quarters = circuit::quarter_turns(r.half_turns);
    if (quarters == 2) {
      for (const auto& [q, p] : r.factors)
        clifford1(circuit::gate_clifford1(circuit::pauli_gate(p)), q);
    } else if (quarters > 0) {
      phase_product({r.factors, false}, quarters == 3);
    }
    if (quarters >= 0) return;
    Prim p = prim(P::kRotation);
    if (rotations_ == Rotations::kRefuse) {
      fail(ExitCode::kInput, out_.place(p), circuit::stabilizer_op(op.kind).name,
           " is no Clifford gate: sample and detect alone take it");
    }
    p.param = params({&r.half_turns, 1});
    std::vector<std::uint32_t> list;
    for (const auto& [q, pauli] : r.factors) {
      list.push_back(q);
      list.push_back(static_cast<std::uint32_t>(pauli));
    }
    set_list(p, list);
    emit(p);
    ++out_.num_rotations;
  }

  void collapse(StabKind kind, std::span<const StabTarget> targets, std::span<const double> args) {
    const Pauli basis = circuit::basis_of(kind);
    const bool measured = circuit::is_measurement(kind), resets = kind >= K::kMR;
    for (const StabTarget& t : targets) {
      if (measured) measure(basis, t.value, t.inverted);
      if (resets) reset(basis, t.value);
    }
    if (measured) record_flips(args, targets.size());
  }
  void pairs(std::span<const StabTarget> targets, Pauli basis, std::span<const double> args) {
    for (std::size_t i = 0; i < targets.size(); i += 2) {
      Product pr;
      pr.factors = {{targets[i].value, basis}, {targets[i + 1].value, basis}};
      pr.negative = targets[i].inverted != targets[i + 1].inverted;
      measure_product(pr, false);
    }
    record_flips(args, targets.size() / 2);
  }
  void correlated(std::span<const StabTarget> targets, std::span<const double> args, bool chained) {
    Prim p = prim(P::kCorrelated);
    p.flag = chained;
    p.param = params(args);
    std::vector<std::uint32_t> list;
    for (const StabTarget& t : targets) {
      if (t.kind == StabTarget::Kind::kCombiner) continue;
      list.push_back(t.value);
      list.push_back(static_cast<std::uint32_t>(t.pauli));
    }
    set_list(p, list);
    emit(p);
  }
  void records(Prim p, std::span<const StabTarget> targets) {
    std::vector<std::uint32_t> list;
    for (const StabTarget& t : targets) {
      if (t.kind == StabTarget::Kind::kRecord) list.push_back(t.value);
    }
    set_list(p, list);
    emit(p);
  }

  void instruction(const StabilizerCircuit& c, const StabInstruction& op) {
    const auto targets = c.targets(op);
    const auto args = c.args(op);
    switch (op.kind) {
      case K::kGate:
        gate(op, targets, args);
        break;
      case K::kXError:
      case K::kYError:
      case K::kZError: {
        std::array<double, 3> p{};
        p[static_cast<std::size_t>(circuit::basis_of(op.kind)) - 1] = args[0];
        noise(P::kPauli1, targets, p);
        break;
      }
      case K::kDepolarize1:
        noise(P::kPauli1, targets, std::vector<double>(3, args[0] / 3));
        break;
      case K::kPauliChannel1:
        noise(P::kPauli1, targets, args);
        break;
      case K::kDepolarize2:
        noise(P::kPauli2, targets, std::vector<double>(15, args[0] / 15), true);
        break;
      case K::kPauliChannel2:
        noise(P::kPauli2, targets, args);
        break;
      case K::kCorrelatedError:
        correlated(targets, args, false);
        break;
      case K::kElseCorrelatedError:
        correlated(targets, args, true);
        break;
      case K::kHeraldedErase:
        noise(P::kHerald, targets, std::vector<double>(4, args[0] / 4), true);
        break;
      case K::kHeraldedPauliChannel1:
        noise(P::kHerald, targets, args);
        break;
      case K::kM:
      case K::kMX:
      case K::kMY:
      case K::kMR:
      case K::kMRX:
      case K::kMRY:
      case K::kR:
      case K::kRX:
      case K::kRY:
        collapse(op.kind, targets, args);
        break;
      case K::kMXX:
      case K::kMYY:
      case K::kMZZ:
        pairs(targets, circuit::basis_of(op.kind), args);
        break;
      case K::kMPP: {
        std::uint64_t count = 0;
        for_each_product(targets,
                         [&](const Product& pr) { measure_product(pr, gates_scramble_), ++count; });
        record_flips(args, count);
        break;
      }
      case K::kSPP:
      case K::kSPPDag:
        for_each_product(targets,
                         [&](const Product& pr) { phase_product(pr, op.kind == K::kSPPDag); });
        break;
      case K::kT:
      case K::kTDag:
      case K::kTPP:
      case K::kTPPDag:
      case K::kRotX:
      case K::kRotY:
      case K::kRotZ:
      case K::kRotXX:
      case K::kRotYY:
      case K::kRotZZ:
      case K::kRotPauli:
      case K::kU3:
      case K::kCCX:
      case K::kCCZ:
      case K::kCH:
        for (const circuit::RotationStep& step : circuit::rotations_of(op.kind, targets, args)) {
          const auto& f = step.rotation.factors;
          if (step.is_cx) {
            controlled(f[0].second, f[0].first, f[1].second, f[1].first);
          } else {
            rotation(op, step.rotation);
          }
        }
        break;
      case K::kDetector: {
        Prim p = prim(P::kDetector);
        p.b = static_cast<std::uint32_t>(args.size());
        p.param = params(args);
        records(p, targets);
        break;
      }
      case K::kObservableInclude: {
        Prim p = prim(P::kObservable);
        p.a = static_cast<std::uint32_t>(args[0]);
        records(p, targets);
        for (const StabTarget& t : targets) {
          if (t.kind != StabTarget::Kind::kPauli) continue;
          Prim o = prim(P::kObservablePauli);
          o.a = p.a, o.p = t.pauli, o.b = t.value;
          emit(o);
        }
        break;
      }
      case K::kShiftCoords: {
        Prim p = prim(P::kShift);
        p.b = static_cast<std::uint32_t>(args.size());
        p.param = params(args);
        emit(p);
        break;
      }
      case K::kMpad:
        for (const StabTarget& t : targets) {
          Prim p = prim(P::kPad);
          p.flag = t.value == 1;
          emit(p);
        }
        record_flips(args, targets.size());
        break;
      default:  // annotations
        if (circuit::is_leakage(op.kind)) leakage(op, targets, args);
    }
  }

  StabProgram& out_;
  Rotations rotations_;
  Leakage leakage_;
  bool gates_scramble_;
  std::vector<Prim>* prims_ = nullptr;
  std::uint32_t source_ = 0;
  std::unordered_map<std::string, std::uint32_t> tags_;
};

}  // namespace

std::string StabProgram::place(const Prim& p) const {
  const std::uint32_t line = source(p).line;
  return line ? name + ":" + std::to_string(line) + ": " : "";
}

StabProgram lower(const StabilizerCircuit& circuit, std::string name, Rotations rotations,
                  Leakage leakage) {
  StabProgram out;
  out.name = std::move(name);
  out.counts = circuit.counts();
  Lowering(out, rotations, leakage, gates_scramble(circuit, out.name)).block(circuit);
  check_lookbacks(out);
  return out;
}

}  // namespace tilewave::stabilizer
