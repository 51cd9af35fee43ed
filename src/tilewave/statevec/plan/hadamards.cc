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
#include <span>

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

bool is_single(const Element& e) {
  if (e.matrix >= 0) return e.num_qubits == 1;
  const bool gate = e.op->kind == circuit::OpKind::kGate || e.op->kind == circuit::OpKind::kMatrix;
  return gate && e.op->num_controls == 0 && e.op->num_targets == 1;
}

std::span<const Qubit> qubits_of(const circuit::Circuit& circuit, const Element& e) {
  if (e.op) return circuit.qubits(*e.op);
  return {e.qubits, static_cast<std::size_t>(e.num_qubits)};
}

class Mover {
 public:
  Mover(Fused& fused, const circuit::Circuit& circuit)
      : fused_(fused), circuit_(circuit), waiting_(circuit.num_qubits()) {}

  void run() {
    find_next();
    for (std::size_t k = 0; k < fused_.elements.size(); ++k) take(k);
    for (Qubit q = 0; q < waiting_.size(); ++q) write(q);
    if (moved_) fused_.elements = std::move(out_);
  }

 private:
  // Gates on one qubit since the last on several, after an H that was moved here.
  struct Waiting {
    std::vector<Element> elements;
    bool moved = false;
  };

  // The next element on each of the first two qubits of an element; -1: none.
  void find_next() {
    next_.resize(fused_.elements.size());
    std::vector<std::int32_t> next(circuit_.num_qubits(), -1);
    for (std::size_t k = fused_.elements.size(); k-- > 0;) {
      const auto qubits = qubits_of(circuit_, fused_.elements[k]);
      for (std::size_t j = 0; j < qubits.size(); ++j) {
        if (j < 2) next_[k][j] = next[qubits[j]];
        next[qubits[j]] = static_cast<std::int32_t>(k);
      }
    }
  }

  void take(std::size_t k) {
    const Element& e = fused_.elements[k];
    const auto qubits = qubits_of(circuit_, e);
    if (is_single(e)) {
      waiting_[qubits[0]].elements.push_back(e);
      return;
    }
    if (is_cx(e) && move_behind(k, qubits[0], qubits[1])) return;
    for (Qubit q : qubits) write(q);
    out_.push_back(e);
  }

  bool move_behind(std::size_t k, Qubit control, Qubit target) {
    if (!has_hadamard_before(target)) return false;
    const bool after_target = has_hadamard_after(k, 1);
    if (has_hadamard_before(control) && (after_target || has_hadamard_after(k, 0))) {
      take_hadamard(control);
      take_hadamard(target);
      write_pair(target, control, kCx);
    } else if (after_target) {
      write(control);
      take_hadamard(target);
      write_pair(control, target, kCz);
    } else {
      return false;
    }
    moved_ = true;
    return true;
  }

  // Whether what waits on q is an H after phases and an X.
  bool has_hadamard_before(Qubit q) const {
    const Waiting& w = waiting_[q];
    return (w.moved || !w.elements.empty()) && is_monomial(kHadamardGate * product(w));
  }
  // Whether what follows element k on its qubit j, before a gate on several, is one before them.
  bool has_hadamard_after(std::size_t k, std::size_t j) const {
    Single product;
    std::int32_t at = next_[k][j];
    if (at < 0 || !is_single(fused_.elements[static_cast<std::size_t>(at)])) return false;
    for (; at >= 0 && is_single(fused_.elements[static_cast<std::size_t>(at)]);
         at = next_[static_cast<std::size_t>(at)][0]) {
      product = matrix_of(fused_.elements[static_cast<std::size_t>(at)]) * product;
    }
    return is_monomial(product * kHadamardGate);
  }
  Single product(const Waiting& w) const {
    Single product = w.moved ? kHadamardGate : Single{};
    for (const Element& e : w.elements) product = matrix_of(e) * product;
    return product;
  }

  // Writes what waits on q but for an H that goes on waiting.
  void take_hadamard(Qubit q) {
    write_product(q, kHadamardGate * product(waiting_[q]));
    waiting_[q].moved = true;
  }

  void write(Qubit q) {
    Waiting& w = waiting_[q];
    if (w.moved) return write_product(q, product(w));
    out_.insert(out_.end(), w.elements.begin(), w.elements.end());
    w.elements.clear();
  }

  void write_product(Qubit q, Single m) {
    if (is_monomial(m)) {  // exactly
      for (cplx& z : m.m) z = std::abs(z) < 0.5 ? cplx{} : z / std::abs(z);
    }
    out_.push_back({nullptr, {q, q}, 1, matrix({m.m.begin(), m.m.end()})});
    waiting_[q] = {};
  }

  void write_pair(Qubit control, Qubit target, const std::vector<cplx>& m) {
    out_.push_back({nullptr, {control, target}, 2, matrix(m)});
  }

  Single matrix_of(const Element& e) const {
    if (e.op && e.op->kind == circuit::OpKind::kGate && e.op->gate == circuit::GateId::kH)
      return kHadamardGate;
    Single out;
    if (e.matrix >= 0) {
      std::ranges::copy(fused_.matrices[static_cast<std::size_t>(e.matrix)], out.m.begin());
    } else {
      std::ranges::copy(circuit_.matrix(*e.op), out.m.begin());
    }
    return out;
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
  std::vector<std::array<std::int32_t, 2>> next_;
  std::vector<Element> out_;
  bool moved_ = false;
};

}  // namespace

void cancel_hadamards(Fused& fused, const circuit::Circuit& circuit) {
  Mover(fused, circuit).run();
}

}  // namespace tilewave::statevec::detail
