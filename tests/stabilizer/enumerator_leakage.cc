// Leakage on the branches of an enumeration: what the words say, branch by branch.
#include <cmath>

#include "stabilizer/enumerator.h"

namespace tilewave::stabilizer {

// q is replaced by the maximally mixed state where `when` holds.
template <class When>
void Enumerator::depolarise(std::uint32_t q, When when) {
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
void Enumerator::merge() {
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
void Enumerator::leak(const std::vector<std::pair<std::vector<std::uint32_t>, double>>& sets,
                      int scramble) {
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

void Enumerator::scramble_partner(std::uint32_t a, std::uint32_t b) {
  depolarise(b, [&](const Branch& branch) { return leaked(branch, a); });
  depolarise(a, [&](const Branch& branch) { return leaked(branch, b); });
}

// Exclusive: spreads, moves, or stays.
void Enumerator::spread(std::uint32_t a, std::uint32_t b, double s01, double s10, double m01,
                        double m10) {
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
void Enumerator::channel_by_status(const std::vector<std::uint32_t>& qubits,
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

void Enumerator::leakage(const StabInstruction& op, std::span<const StabTarget> targets,
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
void Enumerator::leakage_of_gate(const StabInstruction& op, std::span<const StabTarget> targets,
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

}  // namespace tilewave::stabilizer
