// See strings.h. exp(-i angle/2 P): each X (Y) target is turned to Z by H (S^dagger, H), the parity
// of the targets is gathered on one of them by a ladder of CX, that one gets Rz(angle), and all is
// undone. Only Rz needs the controls.
#include "tilewave/quest/core/strings.h"

#include <bit>
#include <cmath>
#include <memory>

#include "tilewave/base/bits.h"
#include "tilewave/quest/core/checks.h"
#include "tilewave/statevec/sweep.h"

namespace tilewave::quest {
namespace {

std::vector<statevec::StringTerm> string_terms(const circuit::PauliSum& sum) {
  static const Complex<double> kPowers[4] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  std::vector<statevec::StringTerm> terms;
  for (const circuit::PauliTerm& term : sum) {
    const Complex<double> phase = kPowers[std::popcount(term.x & term.z) & 3];
    terms.push_back({term.x, term.z, {term.coefficient * phase.re, term.coefficient * phase.im}});
  }
  return terms;
}

void apply_order(Register& r, const circuit::PauliSum& sum, double time, int order) {
  if (order == 1) {
    for (const auto& term : sum) {
      if (term.x | term.z) rotate_string(r, {}, term, 2 * time * term.coefficient);
    }
  } else if (order == 2) {
    apply_order(r, sum, time / 2, 1);
    const circuit::PauliSum reversed(sum.rbegin(), sum.rend());
    apply_order(r, reversed, time / 2, 1);
  } else {
    const double p = 1 / (4 - std::pow(4.0, 1.0 / (order - 1)));
    for (double part : {p, p, 1 - 4 * p, p, p}) apply_order(r, sum, part * time, order - 2);
  }
}

}  // namespace

void check_pauli_code(int code) { check_range(code, 0, 3, "a Pauli code", Words::kPauliCode); }

circuit::PauliTerm pauli_term(const int* codes, std::span<const Qubit> targets) {
  circuit::PauliTerm term;
  for (std::size_t k = 0; k < targets.size(); ++k) {
    check_pauli_code(codes[k]);
    const std::uint64_t b = std::uint64_t{1} << targets[k];
    if (codes[k] == 1 || codes[k] == 2) term.x |= b;
    if (codes[k] == 2 || codes[k] == 3) term.z |= b;
  }
  return term;
}

circuit::PauliTerm pauli_term(const int* codes, int num_qubits, double coefficient) {
  std::vector<Qubit> all(static_cast<std::size_t>(num_qubits));
  for (int q = 0; q < num_qubits; ++q) all[q] = static_cast<Qubit>(q);
  circuit::PauliTerm term = pauli_term(codes, all);
  check_finite(coefficient, "a coefficient");
  term.coefficient = coefficient;
  return term;
}

void rotate_string(Register& r, std::span<const Qubit> controls, const circuit::PauliTerm& term,
                   double angle) {
  std::vector<Qubit> targets;
  for_each_bit(term.x | term.z, [&](int q) { targets.push_back(static_cast<Qubit>(q)); });
  const auto turn = [&](bool back) {
    for (const Qubit& t : targets) {
      if (!(term.x >> t & 1)) continue;
      const bool is_y = term.z >> t & 1;
      if (is_y && !back) r.gate(GateId::kSdg, {}, {&t, 1});
      r.gate(GateId::kH, {}, {&t, 1});
      if (is_y && back) r.gate(GateId::kS, {}, {&t, 1});
    }
  };
  turn(false);
  for (std::size_t k = 0; k + 1 < targets.size(); ++k) {
    r.gate(GateId::kX, {{&targets[k], 1}}, {&targets[k + 1], 1});
  }
  r.gate(GateId::kRz, {controls}, {&targets.back(), 1}, {&angle, 1});
  for (std::size_t k = targets.size() - 1; k-- > 0;) {
    r.gate(GateId::kX, {{&targets[k], 1}}, {&targets[k + 1], 1});
  }
  turn(true);
}

void apply_product_formula(Register& r, const circuit::PauliSum& sum, double time, int order,
                           int steps) {
  if (time == 0) return;
  for (int k = 0; k < steps; ++k) apply_order(r, sum, time / steps, order);
}

void apply_sum(Register& in, const circuit::PauliSum& sum, Register& out) {
  std::unique_ptr<statevec::State> copy;
  if (&in == &out) copy = in.settled().clone();
  statevec::State& source = copy ? *copy : in.settled();
  out.cleared_for_change().add_strings(source, string_terms(sum));
}

void set_to_sum(Register& r, const circuit::PauliSum& sum) {
  const std::vector<statevec::StringTerm> terms = string_terms(sum);
  statevec::Sweep s;
  s.kind = statevec::Sweep::Kind::kStrings;
  s.row_bits = r.num_qubits();
  s.strings = terms.data();
  s.num_strings = static_cast<std::uint32_t>(terms.size());
  r.cleared_for_change().sweep(s);
}

}  // namespace tilewave::quest
