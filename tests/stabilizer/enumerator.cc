// Instructions of Stim's language on the branches of an enumeration: gates, measurements and noise.
#include "stabilizer/enumerator.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"

namespace tilewave::stabilizer {

Enumerator::Enumerator(const StabilizerCircuit& c, std::uint64_t shots, std::uint64_t seed)
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

std::string Enumerator::likeliest_records(const StabilizerCircuit& c) {
  Enumerator e(static_cast<std::uint32_t>(std::max<std::uint64_t>(1, c.counts().qubits)));
  e.likeliest_ = true;
  e.start(0);
  e.block(c);
  if (e.branches_.size() != 1) throw Error(ExitCode::kUsage, "the circuit has noise");
  return e.branches_[0].records;
}

// The naive simulator's, with loops of its own for one target, as nearly all gates have.
void Enumerator::gate(oracle::State& state, GateId id, std::vector<std::uint32_t> qubits,
                      std::vector<double> params) const {
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

void Enumerator::pauli(oracle::State& state, Pauli p, std::uint32_t q) const {
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

// Both outcomes of a Hermitian product; factors act from the last to the first.
template <class F>
void Enumerator::measure(const Factors& factors, cplx phase, F then) {
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

void Enumerator::record(const Factors& factors, cplx phase, bool inverted, double flip) {
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

void Enumerator::reset(Pauli basis, std::uint32_t q) {
  measure({{q, basis}}, 1, [&](Branch& b, bool one) {
    b.leaked &= ~(1u << q);
    if (one) pauli(b.state, basis == Pauli::kZ ? Pauli::kX : Pauli::kZ, q);
  });
}

// Pauli number k of each qubit in two bits, the first target highest; probabilities of all.
void Enumerator::channel(const std::vector<std::uint32_t>& qubits, const std::vector<double>& p,
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

void Enumerator::block(const StabilizerCircuit& c) {
  for (const StabInstruction& op : c.instructions()) {
    if (op.kind == StabKind::kRepeat) {
      for (std::uint64_t k = 0; k < op.repeat; ++k) block(c.block(op));
    } else {
      instruction(c, op);
    }
  }
}

void Enumerator::collapse(std::span<const StabTarget> targets, Pauli basis, bool measured,
                          bool resets, double flip) {
  for (const StabTarget& t : targets) {
    if (measured) record({{t.value, basis}}, 1, t.inverted, flip);
    if (resets) reset(basis, t.value);
  }
}

void Enumerator::instruction(const StabilizerCircuit& c, const StabInstruction& op) {
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
void Enumerator::root(const Factors& factors, bool dagger) {
  const cplx i(0, dagger ? -1 : 1);
  for (Branch& b : branches_) {
    oracle::State image = b.state;
    for (std::size_t k = factors.size(); k-- > 0;)
      pauli(image, factors[k].second, factors[k].first);
    for (std::size_t k = 0; k < image.size(); ++k)
      b.state[k] = 0.5 * ((1.0 + i) * b.state[k] + (1.0 - i) * image[k]);
  }
}

void Enumerator::each_state(GateId id, std::vector<std::uint32_t> qubits,
                            std::vector<double> params) {
  for (Branch& b : branches_) gate(b.state, id, qubits, params);
}

// (1 + P)/2 + e^(i pi a) (1 - P)/2.
void Enumerator::power(const Factors& factors, bool inverted, double half_turns) {
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

void Enumerator::unitary(const StabInstruction& op, std::span<const StabTarget> targets) {
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

}  // namespace tilewave::stabilizer
