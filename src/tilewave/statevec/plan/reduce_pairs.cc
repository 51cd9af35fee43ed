#include <algorithm>
#include <array>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "tilewave/base/interrupt.h"
#include "tilewave/statevec/plan/fuse.h"
#include "tilewave/statevec/plan/pair_factors.h"

namespace tilewave::statevec::detail {

namespace {

using circuit::Qubit;
using Single = std::array<cplx, 4>;

bool is_pair_matrix(const Element& e) { return e.matrix >= 0 && e.num_qubits == 2; }

Matrix4 matrix_of(const Fused& fused, const Element& e) {
  Matrix4 m;
  std::ranges::copy(fused.matrices[e.matrix], m.begin());
  return m;
}

// A real matrix takes half of the multiply-adds of a complex one, as its factors do; of a permutation
// or a diagonal matrix little else is left.
bool has_structure(const Matrix4& m) {
  const auto is_zero = [](const cplx& z) { return z == cplx{}; };
  return std::ranges::all_of(m, [](const cplx& z) { return z.imag() == 0; }) ||
         std::ranges::count_if(m, is_zero) >= 8;
}

// (b (x) a) m
void apply_after(Matrix4& m, const Single& a, const Single& b) {
  Matrix4 out{};
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 4; ++k) {
      const cplx factor = a[(i & 1) * 2 + (k & 1)] * b[(i >> 1) * 2 + (k >> 1)];
      for (int j = 0; j < 4; ++j) out[i * 4 + j] += factor * m[k * 4 + j];
    }
  }
  m = out;
}

Single adjoint(const Single& m) {
  return {std::conj(m[0]), std::conj(m[2]), std::conj(m[1]), std::conj(m[3])};
}

}  // namespace

// From the last matrix to the first, so that each has what those behind it need when it is reduced
// itself.
void reduce_pairs(Fused& fused, const circuit::Circuit& circuit) {
  InterruptCounter now_and_then(1024);
  std::vector<std::int32_t> last(circuit.num_qubits(), -1);  // the matrix that a qubit comes from
  std::vector<std::array<std::int32_t, 2>> before(fused.elements.size());
  for (std::size_t k = 0; k < fused.elements.size(); ++k) {
    const Element& e = fused.elements[k];
    if (is_pair_matrix(e)) {
      for (int b = 0; b < 2; ++b)
        before[k][b] = std::exchange(last[e.qubits[b]], static_cast<std::int32_t>(k));
    } else {
      const auto qubits = e.op ? circuit.qubits(*e.op) : std::span<const Qubit>{e.qubits, 1};
      for (const Qubit q : qubits) last[q] = -1;
    }
  }
  constexpr Single kOne{1, 0, 0, 1};
  // what comes after an element on its qubits
  std::vector<std::array<Single, 2>> after(fused.elements.size(), {kOne, kOne});
  for (std::size_t k = fused.elements.size(); k-- > 0;) {
    const Element& e = fused.elements[k];
    if (!is_pair_matrix(e)) continue;
    now_and_then.step();
    Matrix4 m = matrix_of(fused, e);
    if (after[k] != std::array{kOne, kOne}) apply_after(m, after[k][0], after[k][1]);
    if (before[k][0] >= 0 && before[k][1] >= 0 && !has_structure(m)) {
      if (const auto reduced = reduce_pair(m)) {
        m = reduced->reduced;
        for (int b = 0; b < 2; ++b) {
          const std::int32_t other = before[k][b];
          const bool second = fused.elements[other].qubits[1] == e.qubits[b];
          after[other][second] = adjoint(reduced->bit[b]);
        }
      }
    }
    fused.matrices[e.matrix].assign(m.begin(), m.end());
  }
}

}  // namespace tilewave::statevec::detail
