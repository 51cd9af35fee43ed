// With H on both wires a cx turns round, and with H on its target it is a cz:
//   cx(c, t) h(c) h(t) = h(c) h(t) cx(t, c),   cx(c, t) h(t) = h(t) cz(c, t).
// So an H before a cx moves behind it, and where the gates behind it on that wire are an H again
// (phase kickback; cz written as h cx h) both are gone. The other way, a cz between two H as a cx,
// spares lifts too, but a cx needs its target in the tile where a cz needs nothing: Google-style
// random circuits of 24 qubits have a quarter fewer lifts then, a pass more, and take longer.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "tilewave/statevec/plan/fuse.h"

namespace tilewave::statevec::detail {

namespace {

using circuit::Qubit;

constexpr double kRoot = std::numbers::sqrt2 / 2;
constexpr double kRounding = 1e-15;  // of the sum of a matrix's entries: rounding

struct Single {
  std::array<cplx, 4> m = {1, 0, 0, 1};
};

constexpr Single kHadamardGate{{kRoot, kRoot, kRoot, -kRoot}};

Single operator*(const Single& a, const Single& b) {
  return {{a.m[0] * b.m[0] + a.m[1] * b.m[2], a.m[0] * b.m[1] + a.m[1] * b.m[3],
           a.m[2] * b.m[0] + a.m[3] * b.m[2], a.m[2] * b.m[1] + a.m[3] * b.m[3]}};
}

// A diagonal of phases, or X and such a diagonal: never a step of its own.
bool is_monomial(const Single& a) {
  const double size = std::abs(a.m[0]) + std::abs(a.m[1]) + std::abs(a.m[2]) + std::abs(a.m[3]);
  const auto is_phase = [](cplx z) { return std::abs(std::abs(z) - 1) < 1e-12; };
  const auto is_zero = [&](cplx z) { return std::abs(z) <= kRounding * size; };
  return (is_phase(a.m[0]) && is_phase(a.m[3]) && is_zero(a.m[1]) && is_zero(a.m[2])) ||
         (is_phase(a.m[1]) && is_phase(a.m[2]) && is_zero(a.m[0]) && is_zero(a.m[3]));
}

// The matrix of a gate on one qubit.
bool single_of(const circuit::Circuit& circuit, const Fused& fused, const Element& e, Single& out) {
  if (e.matrix >= 0) {
    if (e.num_qubits != 1) return false;
    std::ranges::copy(fused.matrices[e.matrix], out.m.begin());
    return true;
  }
  const bool gate = e.op->kind == circuit::OpKind::kGate || e.op->kind == circuit::OpKind::kMatrix;
  if (!gate || e.op->num_controls != 0 || e.op->num_targets != 1) return false;
  std::ranges::copy(circuit.matrix(*e.op), out.m.begin());
  return true;
}

std::vector<Qubit> qubits_of(const circuit::Circuit& circuit, const Element& e) {
  if (!e.op) return {e.qubits, e.qubits + e.num_qubits};
  const auto qubits = circuit.qubits(*e.op);
  return {qubits.begin(), qubits.end()};
}

class Mover {
 public:
  Mover(Fused& fused, const circuit::Circuit& circuit)
      : fused_(fused), circuit_(circuit), waiting_(circuit.num_qubits()) {}

  void run() {
    find_after();
    for (std::size_t k = 0; k < fused_.elements.size(); ++k) take(k);
    for (Qubit q = 0; q < waiting_.size(); ++q) write(q);
    if (moved_) fused_.elements = std::move(out_);
  }

 private:
  // Gates on one qubit since the last on several.
  struct Waiting {
    Single product;
    std::vector<Element> elements;
    bool rewritten = false;  // the product stands for them
  };

  // For each gate on two qubits, what follows on each of them before the next gate on several.
  void find_after() {
    after_.resize(fused_.elements.size());
    std::vector<Single> next(circuit_.num_qubits());
    for (std::size_t k = fused_.elements.size(); k-- > 0;) {
      const Element& e = fused_.elements[k];
      const std::vector<Qubit> qubits = qubits_of(circuit_, e);
      Single m;
      if (single_of(circuit_, fused_, e, m)) {
        next[qubits[0]] = next[qubits[0]] * m;
        continue;
      }
      if (qubits.size() == 2) after_[k] = {next[qubits[0]], next[qubits[1]]};
      for (Qubit q : qubits) next[q] = {};
    }
  }

  void take(std::size_t k) {
    const Element& e = fused_.elements[k];
    const std::vector<Qubit> qubits = qubits_of(circuit_, e);
    Single m;
    if (single_of(circuit_, fused_, e, m)) {
      Waiting& w = waiting_[qubits[0]];
      w.product = m * w.product;
      w.elements.push_back(e);
      return;
    }
    if (qubits.size() == 2 && move_behind(k, qubits[0], qubits[1])) return;
    for (Qubit q : qubits) write(q);
    out_.push_back(e);
  }

  bool move_behind(std::size_t k, Qubit a, Qubit b) {
    if (!is_cx(fused_.elements[k])) return false;
    const bool before_a = is_monomial(kHadamardGate * waiting_[a].product),
               before_b = is_monomial(kHadamardGate * waiting_[b].product),
               after_a = is_monomial(after_[k][0] * kHadamardGate),
               after_b = is_monomial(after_[k][1] * kHadamardGate);
    if (before_a && before_b && (after_a || after_b)) {
      take_hadamard(a);
      take_hadamard(b);
      write_pair(b, a, kCx);
    } else if (before_b && after_b) {
      write(a);
      take_hadamard(b);
      write_pair(a, b, kCz);
    } else {
      return false;
    }
    moved_ = true;
    return true;
  }

  // Writes what waits on q but for an H that goes on waiting.
  void take_hadamard(Qubit q) {
    Waiting& w = waiting_[q];
    w.product = kHadamardGate * w.product;
    w.rewritten = true;
    write(q);
    w.product = kHadamardGate;
    w.rewritten = true;
  }

  void write(Qubit q) {
    Waiting& w = waiting_[q];
    if (w.rewritten) {
      if (is_monomial(w.product)) {  // exactly
        for (cplx& z : w.product.m) z = std::abs(z) < 0.5 ? cplx{} : z / std::abs(z);
      }
      out_.push_back({nullptr, {q, q}, 1, matrix({w.product.m.begin(), w.product.m.end()})});
    } else {
      out_.insert(out_.end(), w.elements.begin(), w.elements.end());
    }
    w = {};
  }

  void write_pair(Qubit control, Qubit target, const std::vector<cplx>& m) {
    out_.push_back({nullptr, {control, target}, 2, matrix(m)});
  }

  std::int32_t matrix(std::vector<cplx> m) {
    fused_.matrices.push_back(std::move(m));
    return static_cast<std::int32_t>(fused_.matrices.size() - 1);
  }

  inline static const std::vector<cplx> kCx = {1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0},
                                        kCz = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1};

  Fused& fused_;
  const circuit::Circuit& circuit_;
  std::vector<Waiting> waiting_;
  std::vector<std::array<Single, 2>> after_;
  std::vector<Element> out_;
  bool moved_ = false;
};

}  // namespace

void cancel_hadamards(Fused& fused, const circuit::Circuit& circuit) {
  Mover(fused, circuit).run();
}

}  // namespace tilewave::statevec::detail
