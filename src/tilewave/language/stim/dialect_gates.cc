// Clifford gates for dialects that have few of them, and gates controlled by records.
#include <algorithm>

#include "tilewave/language/stim/dialect_rewriter.h"

namespace tilewave::language {

using circuit::Clifford1;
using circuit::GateId;
using circuit::Pauli;
using circuit::StabTarget;
using K = circuit::StabKind;

namespace {

struct Spelled {
  Clifford1 action;
  std::vector<GateId> gates;
};
// All 24, each by as few of the gates as there can be.
const std::vector<Spelled>& spelled_cliffords() {
  static const std::vector<Spelled> kAll = [] {
    std::vector<Spelled> all = {{Clifford1{}, {}}};
    for (std::size_t k = 0; k < all.size(); ++k) {
      for (GateId g : {GateId::kH, GateId::kS, GateId::kX, GateId::kY, GateId::kZ}) {
        const Clifford1 next = then(all[k].action, circuit::gate_clifford1(g));
        if (std::any_of(all.begin(), all.end(), [&](const Spelled& s) { return s.action == next; }))
          continue;
        std::vector<GateId> gates = all[k].gates;
        gates.push_back(g);
        all.push_back({next, std::move(gates)});
      }
    }
    return all;
  }();
  return kAll;
}

bool is_qubit(const StabTarget& t) { return t.kind == StabTarget::Kind::kQubit; }

// The gates (1 + P)/2 + (1 - P)/2 Q, P on the first qubit.
constexpr GateId kControlled[3][3] = {{GateId::kXcx, GateId::kXcy, GateId::kXcz},
                                      {GateId::kYcx, GateId::kYcy, GateId::kYcz},
                                      {GateId::kCx, GateId::kCy, GateId::kCz}};

}  // namespace

void DialectRewriter::gate(Targets targets, Args args) {
  const GateId id = op_->gate;
  if (circuit::gate_arity(id) == 1) {
    if (!to_.few_words || id == GateId::kId) return keep(targets, args);
    for (const StabTarget& t : targets) one_qubit(circuit::gate_clifford1(id), t.value);
    return;
  }
  // Pairs of qubits in a row are written together.
  for (std::size_t i = 0; i < targets.size();) {
    std::size_t end = i;
    while (end < targets.size() && is_qubit(targets[end]) && is_qubit(targets[end + 1])) end += 2;
    if (end > i) {
      gates_with_partners(targets.subspan(i, end - i), args);
    } else {
      feedback(targets.subspan(i, 2), args);
      end += 2;
    }
    i = end;
  }
}

// No leakage spreads by it: arguments of the gate say nothing of such pairs.
void DialectRewriter::feedback(Targets pair, Args args) {
  // On two bits a gate does nothing, but a sweep bit in it has a column in files of such bits.
  if (to_.feedback == Feedback::kStim)
    return keep(pair, to_.leakage == LeakageLanguage::kDeltakit ? args : Args{});
  if (!is_qubit(pair[0]) && !is_qubit(pair[1])) return;
  const circuit::Clifford2Form& form = circuit::gate_clifford2(op_->gate);
  const bool first = is_qubit(pair[0]);
  const Pauli p = first ? form.a : form.b;
  const StabTarget both[] = {pair[first ? 1 : 0], pair[first ? 0 : 1]};
  if (to_.feedback == Feedback::kNone)
    refuse("no gate is controlled by records or sweep bits there");
  if (both[0].kind == StabTarget::Kind::kSweep) refuse("it has no sweep bits");
  if (p != Pauli::kZ) write(K::kGate, GateId::kCx, both);  // Y is X and Z, up to a phase
  if (p != Pauli::kX) write(K::kGate, GateId::kCz, both);
}

void DialectRewriter::one_qubit(const Clifford1& c, std::uint32_t q) {
  const auto& all = spelled_cliffords();
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Spelled& s) { return s.action == c; });
  for (GateId g : at->gates) write(g, {q});
}

void DialectRewriter::pair(GateId gate, std::uint32_t a, std::uint32_t b) {
  const circuit::Clifford2Form& form = circuit::gate_clifford2(gate);
  if (form.a != Pauli::kI) controlled(form.a, a, form.b, b);
  if (form.swap) {
    write(GateId::kCx, {a, b});
    write(GateId::kCx, {b, a});
    write(GateId::kCx, {a, b});
    if (may_leak(a, b)) write(K::kLeakagePropagateMark, {a, b}, {0, 0, 1, 1});
  }
  one_qubit(form.post0, a);
  one_qubit(form.post1, b);
}

void DialectRewriter::controlled(Pauli p, std::uint32_t a, Pauli q, std::uint32_t b) {
  if (to_.few_words) return controlled_by_cx(p, a, q, b);
  if (!must_not_scramble_ || p != Pauli::kZ)
    return write(kControlled[static_cast<int>(p) - 1][static_cast<int>(q) - 1], {a, b});
  // deltakit's CX, CY and CZ depolarise partners of leaked qubits, XCZ and YCZ do not.
  if (q != Pauli::kZ) return controlled(q, b, p, a);
  write(GateId::kH, {b});
  write(GateId::kXcz, {b, a});
  write(GateId::kH, {b});
}

void DialectRewriter::controlled_by_cx(Pauli p, std::uint32_t a, Pauli q, std::uint32_t b) {
  if (q != Pauli::kX && p == Pauli::kX) {
    std::swap(p, q);
    std::swap(a, b);
  }
  // H exchanges X and Z, H_YZ Y and Z; both are their own inverses.
  const GateId turn_a = p == Pauli::kX ? GateId::kH : p == Pauli::kY ? GateId::kHyz : GateId::kId;
  const GateId turn_b = q == Pauli::kY ? GateId::kHyz : GateId::kId;
  const auto turn = [&] {
    one_qubit(circuit::gate_clifford1(turn_a), a);
    one_qubit(circuit::gate_clifford1(turn_b), b);
  };
  turn();
  write(q == Pauli::kX ? GateId::kCx : GateId::kCz, {a, b});
  turn();
}

// C(P_k, Q) on the other qubits maps P_0 to the product where Q anticommutes with P_0. Which Q is free
// but for a leaked qubit's partner, whose depolarisation hides it as well.
void DialectRewriter::fold(const Product& p, bool reverse, bool scrambles) {
  const auto [q0, p0] = p.factors[0];
  const Pauli other = p0 == Pauli::kX ? Pauli::kZ : Pauli::kX;
  const std::size_t n = p.factors.size();
  for (std::size_t i = 1; i < n; ++i) {
    const auto [q, pauli] = p.factors[reverse ? n - i : i];
    controlled(pauli, q, other, q0);
    if (scrambles && may_leak(q, q0)) write(K::kLeakageScramblePartner, {q, q0});
  }
}

}  // namespace tilewave::language
