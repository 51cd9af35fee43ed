// The exact distribution of the records of a small circuit: every branch of every channel and
// measurement is followed with a dense state vector. Knows nothing of Paulis moving through gates,
// tableaux or frames. Where branches are too many, shots are drawn instead: at every channel and
// measurement the shots of a branch are divided at random among those it splits into, which gives what
// trajectories one after the other would, while shots with the same history share a state.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "oracle/naive_simulator.h"
#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/clifford.h"
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
  bool chain = false;        // an error of the current chain has happened
  std::uint32_t leaked = 0;  // bit q: qubit q
  std::uint64_t shots = 0;   // where shots are drawn
  oracle::State state;
  std::uint64_t faults = 0;  // places of noise that fired
};

class Enumerator {
 public:
  /// `gates_scramble`: where one qubit of a CX, CY, CZ, SQRT_XX or its inverse is leaked the other
  /// is depolarised.
  explicit Enumerator(const StabilizerCircuit& c, bool gates_scramble = false)
      : gates_scramble_(gates_scramble),
        num_qubits_(static_cast<std::uint32_t>(std::max<std::uint64_t>(1, c.counts().qubits))) {
    start(0);
    block(c);
  }
  /// Draws `shots` shots instead, with random numbers of its own. Leakage is not known there.
  Enumerator(const StabilizerCircuit& c, std::uint64_t shots, std::uint64_t seed)
      : Enumerator(static_cast<std::uint32_t>(std::max<std::uint64_t>(1, c.counts().qubits))) {
    constexpr std::uint64_t kTogether = 512;  // of the most states at a time
    random_.seed(seed);
    std::vector<Branch> done;
    for (std::uint64_t first = 0; first < shots; first += kTogether) {
      draws_ = true;
      start(std::min(kTogether, shots - first));
      block(c);
      for (Branch& b : branches_) {
        b.state = {};
        done.push_back(std::move(b));
      }
    }
    branches_ = std::move(done);
  }
  /// Of a circuit without noise: the records of the shot in which every measurement and reset has the
  /// outcome that is more likely after those before it, or 0 where both are as likely.
  static std::string likeliest_records(const StabilizerCircuit& c) {
    Enumerator e(static_cast<std::uint32_t>(std::max<std::uint64_t>(1, c.counts().qubits)));
    e.likeliest_ = true;
    e.start(0);
    e.block(c);
    if (e.branches_.size() != 1) throw Error(ExitCode::kUsage, "the circuit has noise");
    return e.branches_[0].records;
  }
  std::map<std::string, double> distribution() const {
    std::map<std::string, double> out;
    for (const Branch& b : branches_) out[b.records] += b.probability;
    return out;
  }
  /// Of each number of faults: records and their probability with that number.
  std::map<std::uint64_t, std::map<std::string, double>> distribution_by_faults() const {
    std::map<std::uint64_t, std::map<std::string, double>> out;
    for (const Branch& b : branches_) out[b.faults][b.records] += b.probability;
    return out;
  }
  std::map<std::string, std::uint64_t> shots() const {
    std::map<std::string, std::uint64_t> out;
    for (const Branch& b : branches_) out[b.records] += b.shots;
    return out;
  }

 private:
  explicit Enumerator(std::uint32_t num_qubits) : gates_scramble_(false), num_qubits_(num_qubits) {}
  void start(std::uint64_t shots) {
    branches_.assign(1, {});
    branches_[0].shots = shots;
    branches_[0].state = oracle::zero_state(num_qubits_);
  }

  // The naive simulator's, with loops of its own for one target, as nearly all gates have.
  void gate(oracle::State& state, GateId id, std::vector<std::uint32_t> qubits,
            std::vector<double> params = {}) const {
    circuit::Circuit one(num_qubits_);
    one.add_gate(id, qubits, params);
    const circuit::Op& op = one.ops()[0];
    if (one.targets(op).size() != 1) return oracle::apply(one, op, state);
    const std::vector<cplx> m = one.matrix(op);
    const std::uint64_t target = bit(static_cast<int>(one.targets(op)[0]));
    std::uint64_t controls = 0, values = 0;
    for (std::size_t k = 0; k < one.controls(op).size(); ++k) {
      const std::uint64_t control = bit(static_cast<int>(one.controls(op)[k]));
      controls |= control;
      if ((op.control_values >> k) & 1) values |= control;
    }
    const auto times = [](const cplx& a, const cplx& b, const cplx& c, const cplx& d) {
      return cplx(
          a.real() * b.real() - a.imag() * b.imag() + c.real() * d.real() - c.imag() * d.imag(),
          a.real() * b.imag() + a.imag() * b.real() + c.real() * d.imag() + c.imag() * d.real());
    };
    for (std::uint64_t block = 0; block < state.size(); block += 2 * target) {
      for (std::uint64_t i = block; i < block + target; ++i) {
        if ((i & controls) != values) continue;
        const cplx a = state[i], b = state[i | target];
        state[i] = times(m[0], a, m[1], b);
        state[i | target] = times(m[2], a, m[3], b);
      }
    }
  }
  void pauli(oracle::State& state, Pauli p, std::uint32_t q) const {
    const std::uint64_t at = bit(static_cast<int>(q));
    for (std::uint64_t block = 0; block < state.size(); block += 2 * at) {
      for (std::uint64_t x = block; x < block + at; ++x) {
        cplx &a = state[x], &b = state[x | at];
        if (p == Pauli::kX || p == Pauli::kY) std::swap(a, b);
        if (p == Pauli::kZ) b = -b;
        if (p == Pauli::kY) {
          a = {a.imag(), -a.real()};
          b = {-b.imag(), b.real()};
        }
      }
    }
  }
  static Branch without_state(const Branch& b) {
    return {b.probability, b.records, b.chain, b.leaked, b.shots, {}, b.faults};
  }
  // Takes what one branch splits into: the next branch and its share, or a share and what makes the
  // branch, which is asked only where it is needed.
  class Emit {
   public:
    Emit(Enumerator& all, const Branch& from, std::vector<Branch>& out)
        : all_(all), probability_(from.probability), shots_(from.shots), out_(out) {}
    void operator()(Branch next, double share) {
      when(share, [&] { return std::move(next); });
    }
    template <class Make>
    void when(double share, Make make) {
      const double probability = probability_ * share;
      std::uint64_t shots = 0;
      if (all_.draws_) {
        const double of_left = left_ > 0 ? share / left_ : 1;
        shots = of_left > 1 - 1e-9 ? shots_
                                   : std::binomial_distribution<std::uint64_t>(
                                         shots_, std::max(of_left, 0.0))(all_.random_);
        shots_ -= shots;
        left_ -= share;
        if (shots == 0) return;
      } else if (probability <= 1e-13) {
        return;
      }
      Branch next = make();
      next.probability = probability;
      next.shots = shots;
      out_.push_back(std::move(next));
    }

   private:
    Enumerator& all_;
    double probability_, left_ = 1;  // of the branch; of its shares
    std::uint64_t shots_;
    std::vector<Branch>& out_;
  };
  // Each branch becomes what `split` makes of it.
  template <class F>
  void for_each(F split) {
    std::vector<Branch> out;
    for (Branch& b : branches_) {
      Emit emit(*this, b, out);
      split(std::move(b), emit);
    }
    branches_ = std::move(out);
  }
  // Both outcomes of a Hermitian product; factors act from the last to the first.
  template <class F>
  void measure(const Factors& factors, cplx phase, F then) {
    // c (-1)^{x.z} takes |x> to |x ^ flips>
    std::uint64_t flips = 0, z = 0;
    cplx c = phase;
    for (std::size_t k = factors.size(); k-- > 0;) {
      const auto [q, p] = factors[k];
      const std::uint64_t at = bit(static_cast<int>(q));
      if (p == Pauli::kZ || p == Pauli::kY) {
        if (flips & at) c = -c;
        z ^= at;
      }
      if (p == Pauli::kX || p == Pauli::kY) flips ^= at;
      if (p == Pauli::kY) c *= cplx(0, 1);
    }
    for_each([&](Branch b, Emit& emit) {
      const oracle::State& state = b.state;
      const auto image = [&](std::uint64_t x) {
        const cplx& a = state[x ^ flips];
        const double sign = std::popcount((x ^ flips) & z) % 2 ? -1 : 1;
        return cplx(sign * (c.real() * a.real() - c.imag() * a.imag()),
                    sign * (c.real() * a.imag() + c.imag() * a.real()));
      };
      double norms[2] = {0, 0};
      for (std::uint64_t x = 0; x < state.size(); ++x) {
        const cplx of = image(x);
        norms[0] += 0.25 * std::norm(state[x] + of);
        norms[1] += 0.25 * std::norm(state[x] - of);
      }
      const int likelier = norms[1] > norms[0] + 2e-9 ? 1 : 0;
      for (int outcome = 0; outcome < 2; ++outcome) {
        if (norms[outcome] < 1e-12 || (likeliest_ && outcome != likelier)) continue;
        emit.when(likeliest_ ? 1 : norms[outcome], [&] {
          Branch next = without_state(b);
          next.state.resize(state.size());
          const double half = (outcome ? -0.5 : 0.5) / std::sqrt(norms[outcome]),
                       own = std::abs(half);
          for (std::uint64_t x = 0; x < state.size(); ++x) {
            const cplx of = image(x);
            next.state[x] = {own * state[x].real() + half * of.real(),
                             own * state[x].imag() + half * of.imag()};
          }
          then(next, outcome == 1);
          return next;
        });
      }
    });
  }
  void record(const Factors& factors, cplx phase, bool inverted, double flip) {
    measure(factors, phase, [&](Branch& b, bool one) { b.records += one != inverted ? '1' : '0'; });
    if (flip > 0) {
      for_each([&](Branch b, Emit& emit) {
        Branch flipped = b;
        flipped.records.back() = b.records.back() == '0' ? '1' : '0';
        ++flipped.faults;
        emit(std::move(b), 1 - flip);
        emit(std::move(flipped), flip);
      });
    }
  }
  void reset(Pauli basis, std::uint32_t q) {
    measure({{q, basis}}, 1, [&](Branch& b, bool one) {
      b.leaked &= ~(1u << q);
      if (one) pauli(b.state, basis == Pauli::kZ ? Pauli::kX : Pauli::kZ, q);
    });
  }
  // ---- leakage: what the words say, branch by branch

  static bool leaked(const Branch& b, std::uint32_t q) { return (b.leaked >> q) & 1; }
  static void set_leaked(Branch& b, std::uint32_t q, bool value) {
    b.leaked = (b.leaked & ~(1u << q)) | (std::uint32_t{value} << q);
  }
  // q is replaced by the maximally mixed state where `when` holds.
  template <class When>
  void depolarise(std::uint32_t q, When when) {
    for_each([&](Branch b, Emit& emit) {
      if (!when(b)) return emit(std::move(b), 1.0);
      for (Pauli p : {Pauli::kX, Pauli::kY, Pauli::kZ}) {
        Branch next = b;
        pauli(next.state, p, q);
        emit(std::move(next), 0.25);
      }
      emit(std::move(b), 0.25);
    });
  }
  // Branches with equal states, up to a phase, become one.
  void merge() {
    std::map<std::string, Branch> kept;
    for (Branch& b : branches_) {
      std::string key = b.records + "/" + std::to_string(b.leaked) + (b.chain ? "c" : "");
      cplx phase = 1;
      for (const cplx& a : b.state) {
        if (std::abs(a) < 1e-6) continue;
        phase = std::conj(a) / std::abs(a);
        break;
      }
      for (const cplx& a : b.state) {
        const cplx turned = a * phase;
        key += "," + std::to_string(std::lround(1e6 * turned.real())) + "+" +
               std::to_string(std::lround(1e6 * turned.imag()));
      }
      const auto [it, fresh] = kept.try_emplace(key, b);
      if (!fresh) it->second.probability += b.probability;
    }
    branches_.clear();
    for (auto& [key, b] : kept) branches_.push_back(std::move(b));
  }
  // Leaks some of the qubits with the probability of each set; `scramble`: 0 none, 1 those that were
  // not leaked, 2 all.
  void leak(const std::vector<std::pair<std::vector<std::uint32_t>, double>>& sets, int scramble) {
    std::vector<Branch> out;
    const std::vector<Branch> before = branches_;
    double none = 1;
    for (const auto& [qubits, p] : sets) {
      none -= p;
      branches_ = before;
      for (Branch& b : branches_) b.probability *= p;
      for (std::uint32_t q : qubits) {
        if (scramble > 0)
          depolarise(q, [&](const Branch& b) { return scramble == 2 || !leaked(b, q); });
        for (Branch& b : branches_) set_leaked(b, q, true);
      }
      for (Branch& b : branches_) {
        if (b.probability > 1e-13) out.push_back(std::move(b));
      }
    }
    for (const Branch& b : before) {
      out.push_back(b);
      out.back().probability *= none;
    }
    branches_ = std::move(out);
  }
  void scramble_partner(std::uint32_t a, std::uint32_t b) {
    depolarise(b, [&](const Branch& branch) { return leaked(branch, a); });
    depolarise(a, [&](const Branch& branch) { return leaked(branch, b); });
  }
  // Exclusive: spreads, moves, or stays.
  void spread(std::uint32_t a, std::uint32_t b, double s01, double s10, double m01, double m10) {
    for_each([&](Branch branch, Emit& emit) {
      if (leaked(branch, a) == leaked(branch, b)) return emit(std::move(branch), 1.0);
      const bool first = leaked(branch, a);
      const double s = first ? s01 : s10, m = first ? m01 : m10;
      Branch both = branch, moved = branch;
      both.leaked |= 1u << a | 1u << b;
      moved.leaked ^= 1u << a | 1u << b;
      emit(std::move(both), s);
      emit(std::move(moved), m);
      emit(std::move(branch), 1 - s - m);
    });
  }
  // A Pauli channel, one for each status of the qubits: bit k of the table's number is qubit k.
  void channel_by_status(const std::vector<std::uint32_t>& qubits,
                         const std::vector<std::vector<double>>& tables) {
    for_each([&](Branch b, Emit& emit) {
      std::size_t status = 0;
      for (std::size_t k = 0; k < qubits.size(); ++k)
        status |= std::size_t{leaked(b, qubits[k])} << k;
      const std::vector<double>& p = tables[status];
      double none = 1;
      for (std::size_t k = 0; k < p.size(); ++k) {
        Branch next = b;
        for (std::size_t i = 0; i < qubits.size(); ++i)
          pauli(next.state, static_cast<Pauli>(((k + 1) >> (2 * (qubits.size() - 1 - i))) & 3),
                qubits[i]);
        emit(std::move(next), p[k]);
        none -= p[k];
      }
      emit(std::move(b), none);
    });
  }
  void leakage(const StabInstruction& op, std::span<const StabTarget> targets,
               const std::vector<double>& a) {
    using K = StabKind;
    const std::size_t width =
        circuit::stabilizer_op(op.kind).targets == circuit::TargetRule::kPairs ? 2 : 1;
    for (std::size_t i = 0; i < targets.size(); i += width) {
      const std::uint32_t q = targets[i].value, r = targets[i + width - 1].value;
      const std::vector<std::uint32_t> both = {q, r};
      switch (op.kind) {
        case K::kLeakage:
          leak({{{q}, a[0]}}, 2);
          break;
        case K::kLeakageMark1:
        case K::kLeakage1:
          leak({{{q}, a[0]}}, op.kind == K::kLeakage1 ? 1 : 0);
          break;
        case K::kLeakageMark2:
        case K::kLeakage2:
          leak({{both, a[0]}, {{q}, a[1]}, {{r}, a[2]}}, op.kind == K::kLeakage2 ? 1 : 0);
          break;
        case K::kRelax:
        case K::kRL:
        case K::kLeakageReset:
        case K::kLeakageRelax:
          for_each([&](Branch b, Emit& emit) {
            const double p = a.empty() ? 1 : a[0];
            Branch sealed = b;
            set_leaked(sealed, q, false);
            emit(std::move(sealed), p);
            emit(std::move(b), 1 - p);
          });
          break;
        case K::kLeakageScramble:
          depolarise(q, [&](const Branch& b) { return leaked(b, q); });
          break;
        case K::kLeakageScramblePartner:
          scramble_partner(q, r);
          break;
        case K::kLeakagePropagate:
          scramble_partner(q, r);
          spread(q, r, a[0], a[1], a[2], a[3]);
          break;
        case K::kLeakagePropagateMark:
          spread(q, r, a[0], a[1], a[2], a[3]);
          break;
        case K::kLeakagePauli1:
          channel_by_status({q}, {{a.begin(), a.begin() + 3}, {a.begin() + 3, a.end()}});
          break;
        case K::kLeakagePauli2:  // in the order II, IL, LI, LL
          channel_by_status(both, {{a.begin(), a.begin() + 15},
                                   {a.begin() + 30, a.begin() + 45},
                                   {a.begin() + 15, a.begin() + 30},
                                   {a.begin() + 45, a.end()}});
          break;
        default:  // kHeraldLeakageEvent
          for_each([&](Branch b, Emit& emit) {
            const double missed = a.empty() ? 0 : a[0], false_one = a.size() < 2 ? 0 : a[1];
            const double one = leaked(b, q) ? 1 - missed : false_one;
            Branch zero = b;
            b.records += '1';
            zero.records += '0';
            emit(std::move(b), one);
            emit(std::move(zero), 1 - one);
          });
      }
      merge();
    }
  }
  // Behind a gate, where gates depolarise: what the first qubit does if it is leaked, then the second, leaked
  // by the first perhaps. Leakage spreads, or moves where it does not spread.
  void leakage_of_gate(const StabInstruction& op, std::span<const StabTarget> targets,
                       const std::vector<double>& a) {
    for (GateId swapping : {GateId::kSwap, GateId::kIswap, GateId::kIswapdg, GateId::kCxSwap,
                            GateId::kSwapCx, GateId::kCzSwap}) {
      if (op.gate != swapping) continue;
      for (Branch& b : branches_) {
        const bool first = leaked(b, targets[0].value);
        set_leaked(b, targets[0].value, leaked(b, targets[1].value));
        set_leaked(b, targets[1].value, first);
      }
    }
    if (!gates_scramble_ || !circuit::may_spread_leakage(op.gate)) return;
    for (std::size_t i = 0; i < targets.size(); i += 2) {
      if (targets[i].kind != StabTarget::Kind::kQubit) continue;
      const std::uint32_t q[] = {targets[i].value, targets[i + 1].value};
      for (std::size_t from = 0; from < 2; ++from) {
        const std::uint32_t of = q[from], to = q[1 - from];
        depolarise(to, [&](const Branch& b) { return leaked(b, of); });
        if (a.size() != 4) continue;
        const double s = a[from], m = (1 - s) * a[2 + from];
        for_each([&](Branch b, Emit& emit) {
          if (!leaked(b, of) || leaked(b, to)) return emit(std::move(b), 1.0);
          Branch both = b, moved = b;
          set_leaked(both, to, true);
          set_leaked(moved, to, true);
          set_leaked(moved, of, false);
          emit(std::move(both), s);
          emit(std::move(moved), m);
          emit(std::move(b), 1 - s - m);
        });
      }
      merge();
    }
  }

  // Pauli number k of each qubit in two bits, the first target highest; probabilities of all.
  void channel(const std::vector<std::uint32_t>& qubits, const std::vector<double>& p,
               bool herald) {
    for_each([&](Branch b, Emit& emit) {
      double none = 1;
      for (double x : p) none -= x;
      for (std::size_t k = 0; k < p.size(); ++k) {
        if (p[k] == 0) continue;
        const std::size_t code = herald ? k : k + 1;
        emit.when(p[k], [&] {
          Branch next = b;
          for (std::size_t i = 0; i < qubits.size(); ++i)
            pauli(next.state, static_cast<Pauli>((code >> (2 * (qubits.size() - 1 - i))) & 3),
                  qubits[i]);
          if (herald) next.records += '1';
          ++next.faults;
          return next;
        });
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
    if (circuit::is_leakage(op.kind)) {
      if (draws_) throw Error(ExitCode::kUsage, "leakage is enumerated, not drawn");
      return leakage(op, targets, args);
    }
    switch (op.kind) {
      case K::kGate:
        for (std::size_t i = 0; i < targets.size();) {  // one by one: leakage stands in between
          const std::size_t width = circuit::gate_arity(op.gate) == 1 ? 1 : 2;
          unitary(op, targets.subspan(i, width));
          leakage_of_gate(op, targets.subspan(i, width), args);
          i += width;
        }
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
        for_each([&](Branch b, Emit& emit) {
          if (op.kind == K::kCorrelatedError) b.chain = false;
          if (b.chain) return emit(std::move(b), 1.0);
          Branch hit = b;
          hit.chain = true;
          ++hit.faults;
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
            for_each([&](Branch b, Emit& emit) {
              Branch flipped = b;
              flipped.records.back() = b.records.back() == '0' ? '1' : '0';
              ++flipped.faults;
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
        const StabTarget &first = targets[i], &second = targets[i + arity - 1];
        const bool bit = first.kind == StabTarget::Kind::kRecord,
                   last_bit = arity == 2 && second.kind == StabTarget::Kind::kRecord;
        if (bit && last_bit) continue;  // a phase
        if (bit || last_bit) {          // CX, CY or CZ; CZ, XCZ or YCZ
          const GateId g = op.gate;
          const Pauli p = g == GateId::kCx || g == GateId::kXcz   ? Pauli::kX
                          : g == GateId::kCy || g == GateId::kYcz ? Pauli::kY
                                                                  : Pauli::kZ;
          const std::uint32_t back = (bit ? first : second).value;
          if (b.records[b.records.size() - back] == '1')
            pauli(b.state, p, (bit ? second : first).value);
          continue;
        }
        std::vector<std::uint32_t> qubits;
        for (std::size_t k = 0; k < arity; ++k) qubits.push_back(targets[i + k].value);
        gate(b.state, op.gate, qubits);
      }
    }
  }

  bool gates_scramble_;
  std::uint32_t num_qubits_;
  bool draws_ = false;
  bool likeliest_ = false;  // one branch is followed, that of the more likely outcomes
  std::mt19937_64 random_;
  std::vector<Branch> branches_;
};

}  // namespace tilewave::stabilizer
