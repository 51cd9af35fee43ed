// The exact distribution of the records of a small circuit: every branch of every channel and
// measurement is followed with a dense state vector (the naive simulator's). Knows nothing of Paulis
// moving through gates, tableaux or frames.
#pragma once

#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "oracle/naive_simulator.h"
#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::stabilizer {

using circuit::GateId;
using circuit::Pauli;
using circuit::StabilizerCircuit;
using circuit::StabInstruction;
using circuit::StabKind;
using circuit::StabTarget;
using Factors = std::vector<std::pair<std::uint32_t, Pauli>>;

struct Branch {
  double probability = 1;
  std::string records;
  bool chain = false;  // an error of the current chain has happened
  oracle::State state;
};

class Enumerator {
 public:
  explicit Enumerator(const StabilizerCircuit& c)
      : num_qubits_(static_cast<std::uint32_t>(std::max<std::uint64_t>(1, c.counts().qubits))) {
    Branch start;
    start.state = oracle::zero_state(num_qubits_);
    branches_.push_back(std::move(start));
    block(c);
  }
  std::map<std::string, double> distribution() const {
    std::map<std::string, double> out;
    for (const Branch& b : branches_) out[b.records] += b.probability;
    return out;
  }

 private:
  void gate(oracle::State& state, GateId id, std::vector<std::uint32_t> qubits,
            std::vector<double> params = {}) const {
    circuit::Circuit one(num_qubits_);
    one.add_gate(id, qubits, params);
    oracle::apply(one, one.ops()[0], state);
  }
  void pauli(oracle::State& state, Pauli p, std::uint32_t q) const {
    if (p == Pauli::kX) gate(state, GateId::kX, {q});
    if (p == Pauli::kY) gate(state, GateId::kY, {q});
    if (p == Pauli::kZ) gate(state, GateId::kZ, {q});
  }
  // Each branch becomes what `split` makes of it.
  template <class F>
  void for_each(F split) {
    std::vector<Branch> out;
    for (Branch& b : branches_) {
      const double before = b.probability;
      split(std::move(b), [&](Branch next, double share) {
        next.probability = before * share;
        if (next.probability > 1e-13) out.push_back(std::move(next));
      });
    }
    branches_ = std::move(out);
  }
  // Both outcomes of a Hermitian product; factors act from the last to the first.
  template <class F>
  void measure(const Factors& factors, cplx phase, F then) {
    for_each([&](Branch b, auto emit) {
      oracle::State image = b.state;
      for (std::size_t k = factors.size(); k-- > 0;)
        pauli(image, factors[k].second, factors[k].first);
      for (int outcome = 0; outcome < 2; ++outcome) {
        Branch next = b;
        double norm = 0;
        for (std::size_t i = 0; i < image.size(); ++i) {
          next.state[i] = 0.5 * (b.state[i] + (outcome ? -1.0 : 1.0) * phase * image[i]);
          norm += std::norm(next.state[i]);
        }
        if (norm < 1e-12) continue;
        for (cplx& a : next.state) a /= std::sqrt(norm);
        then(next, outcome == 1);
        emit(std::move(next), norm);
      }
    });
  }
  void record(const Factors& factors, cplx phase, bool inverted, double flip) {
    measure(factors, phase, [&](Branch& b, bool one) { b.records += one != inverted ? '1' : '0'; });
    if (flip > 0) {
      for_each([&](Branch b, auto emit) {
        Branch flipped = b;
        flipped.records.back() = b.records.back() == '0' ? '1' : '0';
        emit(std::move(b), 1 - flip);
        emit(std::move(flipped), flip);
      });
    }
  }
  void reset(Pauli basis, std::uint32_t q) {
    measure({{q, basis}}, 1, [&](Branch& b, bool one) {
      if (one) pauli(b.state, basis == Pauli::kZ ? Pauli::kX : Pauli::kZ, q);
    });
  }
  // Pauli number k of each qubit in two bits, the first target highest; probabilities of all.
  void channel(const std::vector<std::uint32_t>& qubits, const std::vector<double>& p,
               bool herald) {
    for_each([&](Branch b, auto emit) {
      double none = 1;
      for (double x : p) none -= x;
      for (std::size_t k = 0; k < p.size(); ++k) {
        if (p[k] == 0) continue;
        Branch next = b;
        const std::size_t code = herald ? k : k + 1;
        for (std::size_t i = 0; i < qubits.size(); ++i)
          pauli(next.state, static_cast<Pauli>((code >> (2 * (qubits.size() - 1 - i))) & 3),
                qubits[i]);
        if (herald) next.records += '1';
        emit(std::move(next), p[k]);
      }
      if (herald) b.records += '0';
      emit(std::move(b), none);
    });
  }

  void block(const StabilizerCircuit& c) {
    for (const StabInstruction& op : c.instructions()) {
      if (op.kind == StabKind::kRepeat) {
        for (std::uint64_t k = 0; k < op.repeat; ++k) block(c.block(op));
      } else {
        instruction(c, op);
      }
    }
  }

  void collapse(std::span<const StabTarget> targets, Pauli basis, bool measured, bool resets,
                double flip) {
    for (const StabTarget& t : targets) {
      if (measured) record({{t.value, basis}}, 1, t.inverted, flip);
      if (resets) reset(basis, t.value);
    }
  }

  void instruction(const StabilizerCircuit& c, const StabInstruction& op) {
    using K = StabKind;
    const auto targets = c.targets(op);
    const std::vector<double> args(c.args(op).begin(), c.args(op).end());
    const double p = args.empty() ? 0 : args[0];
    const auto each = [&](std::vector<double> probabilities, bool herald = false) {
      for (const StabTarget& t : targets) channel({t.value}, probabilities, herald);
    };
    const auto pairs = [&](const std::vector<double>& probabilities) {
      for (std::size_t i = 0; i < targets.size(); i += 2)
        channel({targets[i].value, targets[i + 1].value}, probabilities, false);
    };
    const auto measure_pairs = [&](Pauli basis) {
      for (std::size_t i = 0; i < targets.size(); i += 2) {
        record({{targets[i].value, basis}, {targets[i + 1].value, basis}}, 1,
               targets[i].inverted != targets[i + 1].inverted, p);
      }
    };
    switch (op.kind) {
      case K::kGate:
        unitary(op, targets);
        break;
      case K::kXError:
        each({p, 0, 0});
        break;
      case K::kYError:
        each({0, p, 0});
        break;
      case K::kZError:
        each({0, 0, p});
        break;
      case K::kDepolarize1:
        each({p / 3, p / 3, p / 3});
        break;
      case K::kPauliChannel1:
        each(args);
        break;
      case K::kDepolarize2:
        pairs(std::vector<double>(15, p / 15));
        break;
      case K::kPauliChannel2:
        pairs(args);
        break;
      case K::kHeraldedErase:
        each({p / 4, p / 4, p / 4, p / 4}, true);
        break;
      case K::kHeraldedPauliChannel1:
        each(args, true);
        break;
      case K::kCorrelatedError:
      case K::kElseCorrelatedError:
        for_each([&](Branch b, auto emit) {
          if (op.kind == K::kCorrelatedError) b.chain = false;
          if (b.chain) return emit(std::move(b), 1.0);
          Branch hit = b;
          hit.chain = true;
          for (const StabTarget& t : targets) pauli(hit.state, t.pauli, t.value);
          emit(std::move(b), 1 - p);
          emit(std::move(hit), p);
        });
        break;
      case K::kM:
        collapse(targets, Pauli::kZ, true, false, p);
        break;
      case K::kMX:
        collapse(targets, Pauli::kX, true, false, p);
        break;
      case K::kMY:
        collapse(targets, Pauli::kY, true, false, p);
        break;
      case K::kMR:
        collapse(targets, Pauli::kZ, true, true, p);
        break;
      case K::kMRX:
        collapse(targets, Pauli::kX, true, true, p);
        break;
      case K::kMRY:
        collapse(targets, Pauli::kY, true, true, p);
        break;
      case K::kR:
        collapse(targets, Pauli::kZ, false, true, 0);
        break;
      case K::kRX:
        collapse(targets, Pauli::kX, false, true, 0);
        break;
      case K::kRY:
        collapse(targets, Pauli::kY, false, true, 0);
        break;
      case K::kMXX:
        measure_pairs(Pauli::kX);
        break;
      case K::kMYY:
        measure_pairs(Pauli::kY);
        break;
      case K::kMZZ:
        measure_pairs(Pauli::kZ);
        break;
      case K::kT:
      case K::kTDag:
        for (const StabTarget& t : targets)
          each_state(op.kind == K::kT ? GateId::kT : GateId::kTdg, {t.value}, {});
        break;
      case K::kRotX:
      case K::kRotY:
      case K::kRotZ:
        for (const StabTarget& t : targets) {
          each_state(op.kind == K::kRotX   ? GateId::kRx
                     : op.kind == K::kRotY ? GateId::kRy
                                           : GateId::kRz,
                     {t.value}, {p * std::numbers::pi});
        }
        break;
      case K::kRotXX:
      case K::kRotYY:
      case K::kRotZZ:
        for (std::size_t i = 0; i < targets.size(); i += 2) {
          each_state(op.kind == K::kRotXX   ? GateId::kRxx
                     : op.kind == K::kRotYY ? GateId::kRyy
                                            : GateId::kRzz,
                     {targets[i].value, targets[i + 1].value}, {p * std::numbers::pi});
        }
        break;
      case K::kU3:
        for (const StabTarget& t : targets) {
          each_state(
              GateId::kU3, {t.value},
              {args[0] * std::numbers::pi, args[1] * std::numbers::pi, args[2] * std::numbers::pi});
        }
        break;
      case K::kCCX:
      case K::kCCZ:
        for (std::size_t i = 0; i < targets.size(); i += 3) {
          each_state(op.kind == K::kCCX ? GateId::kCcx : GateId::kCcz,
                     {targets[i].value, targets[i + 1].value, targets[i + 2].value}, {});
        }
        break;
      case K::kCH:
        for (std::size_t i = 0; i < targets.size(); i += 2)
          each_state(GateId::kCh, {targets[i].value, targets[i + 1].value}, {});
        break;
      case K::kTPP:
      case K::kTPPDag:
      case K::kRotPauli:
      case K::kMPP:
      case K::kSPP:
      case K::kSPPDag:
        for (std::size_t i = 0; i < targets.size();) {
          Factors factors;
          bool inverted = false;
          do {
            factors.emplace_back(targets[i].value, targets[i].pauli);
            inverted ^= targets[i].inverted;
            ++i;
          } while (i < targets.size() && targets[i].kind == StabTarget::Kind::kCombiner && ++i);
          if (op.kind == K::kMPP) {
            record(factors, 1, inverted, p);
          } else if (op.kind == K::kSPP || op.kind == K::kSPPDag) {
            root(factors, inverted != (op.kind == K::kSPPDag));
          } else {  // eigenvalues e^(-+ i pi a/2), up to a phase 1 and e^(i pi a)
            const double half_turns = op.kind == K::kTPP ? 0.25 : op.kind == K::kTPPDag ? -0.25 : p;
            power(factors, inverted, half_turns);
          }
        }
        break;
      case K::kMpad:
        for (const StabTarget& t : targets) {
          for (Branch& b : branches_) b.records += t.value ? '1' : '0';
          if (p > 0) {
            for_each([&](Branch b, auto emit) {
              Branch flipped = b;
              flipped.records.back() = b.records.back() == '0' ? '1' : '0';
              emit(std::move(b), 1 - p);
              emit(std::move(flipped), p);
            });
          }
        }
        break;
      default:
        break;  // annotations
    }
  }

  // exp of the product: (1 + P)/2 + i (1 - P)/2, or its inverse.
  void root(const Factors& factors, bool dagger) {
    const cplx i(0, dagger ? -1 : 1);
    for (Branch& b : branches_) {
      oracle::State image = b.state;
      for (std::size_t k = factors.size(); k-- > 0;)
        pauli(image, factors[k].second, factors[k].first);
      for (std::size_t k = 0; k < image.size(); ++k)
        b.state[k] = 0.5 * ((1.0 + i) * b.state[k] + (1.0 - i) * image[k]);
    }
  }

  void each_state(GateId id, std::vector<std::uint32_t> qubits, std::vector<double> params) {
    for (Branch& b : branches_) gate(b.state, id, qubits, params);
  }
  // (1 + P)/2 + e^(i pi a) (1 - P)/2.
  void power(const Factors& factors, bool inverted, double half_turns) {
    const cplx turn = std::polar(1.0, std::numbers::pi * half_turns);
    for (Branch& b : branches_) {
      oracle::State image = b.state;
      for (std::size_t k = factors.size(); k-- > 0;)
        pauli(image, factors[k].second, factors[k].first);
      for (std::size_t k = 0; k < image.size(); ++k) {
        const cplx of = inverted ? -image[k] : image[k];
        b.state[k] = 0.5 * ((b.state[k] + of) + turn * (b.state[k] - of));
      }
    }
  }

  void unitary(const StabInstruction& op, std::span<const StabTarget> targets) {
    const std::size_t arity = static_cast<std::size_t>(circuit::gate_info(op.gate).num_controls +
                                                       circuit::gate_info(op.gate).num_targets);
    for (std::size_t i = 0; i < targets.size(); i += arity) {
      for (Branch& b : branches_) {
        if (targets[i].kind == StabTarget::Kind::kRecord) {  // CX, CY or CZ
          const Pauli p = op.gate == GateId::kCx   ? Pauli::kX
                          : op.gate == GateId::kCy ? Pauli::kY
                                                   : Pauli::kZ;
          if (b.records[b.records.size() - targets[i].value] == '1')
            pauli(b.state, p, targets[i + 1].value);
          continue;
        }
        std::vector<std::uint32_t> qubits;
        for (std::size_t k = 0; k < arity; ++k) qubits.push_back(targets[i + k].value);
        gate(b.state, op.gate, qubits);
      }
    }
  }

  std::uint32_t num_qubits_;
  std::vector<Branch> branches_;
};

}  // namespace tilewave::stabilizer
