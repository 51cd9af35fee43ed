// See strings.h. exp(-i angle/2 P): each X (Y) target is turned to Z by H (S^dagger, H), the parity
// of the targets is gathered on one of them by a ladder of CX, that one gets Rz(angle), and all is
// undone. Only Rz needs the controls.
#include "tilewave/quest/core/strings.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "tilewave/base/bits.h"
#include "tilewave/quest/core/checks.h"

namespace tilewave::quest {
namespace {

// <row|P|row ^ x> without the coefficient.
cplx element(const circuit::PauliTerm& term, std::uint64_t row) {
  static const cplx kPowers[4] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  const cplx phase = kPowers[std::popcount(term.x & term.z) & 3];
  return std::popcount((row ^ term.x) & term.z) & 1 ? -phase : phase;
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

circuit::PauliTerm pauli_term(const int* codes, std::span<const Qubit> targets) {
  circuit::PauliTerm term;
  for (std::size_t k = 0; k < targets.size(); ++k) {
    check_range(codes[k], 0, 3, "a Pauli code");
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

// A block of the result needs, for every flip mask, one block of the source: masks with the same
// high bits share it.
void apply_sum(Register& in, const circuit::PauliSum& sum, Register& out) {
  constexpr std::uint64_t kBlock = 4096;
  const std::uint64_t size = std::min(kBlock, in.num_amplitudes());
  std::map<std::uint64_t, std::vector<const circuit::PauliTerm*>> by_high;
  for (const auto& term : sum) by_high[term.x & ~(size - 1)].push_back(&term);
  std::unique_ptr<statevec::State> copy;
  if (&in == &out) copy = in.state().clone();
  statevec::State& source = copy ? *copy : in.state();
  source.restore_layout();
  out.update([&](std::uint64_t begin, std::span<cplx> all) {
    std::vector<std::uint64_t> indices(size);
    for (std::uint64_t at = 0; at < all.size(); at += size) {
      const std::uint64_t first = begin + at;
      const std::span<cplx> block = all.subspan(at, size);
      std::fill(block.begin(), block.end(), cplx(0));
      for (const auto& [high, terms] : by_high) {
        std::iota(indices.begin(), indices.end(), first ^ high);
        const std::vector<cplx> values = source.amplitudes(indices);
        for (const circuit::PauliTerm* term : terms) {
          const cplx c = term->coefficient * element(*term, first);
          const std::uint64_t low = term->x & (size - 1);
          for (std::uint64_t k = 0; k < size; ++k) {
            const cplx z = values[k ^ low];
            const double sign = std::popcount(k & term->z) & 1 ? -1 : 1;
            block[k] += sign * cplx(c.real() * z.real() - c.imag() * z.imag(),
                                    c.real() * z.imag() + c.imag() * z.real());
          }
        }
      }
    }
  });
}

void set_to_sum(Register& r, const circuit::PauliSum& sum) {
  const std::uint64_t rows = r.dimension() - 1;
  r.update([&](std::uint64_t first, std::span<cplx> block) {
    for (std::size_t k = 0; k < block.size(); ++k) {
      const std::uint64_t row = (first + k) & rows, column = (first + k) >> r.num_qubits();
      cplx total = 0;
      for (const auto& term : sum) {
        if ((row ^ column) == term.x) total += term.coefficient * element(term, row);
      }
      block[k] = total;
    }
  });
}

}  // namespace tilewave::quest
