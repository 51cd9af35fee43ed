// Signed Paulis on many qubits, i^phase X^x Z^z with bit q of x and z for qubit q (Y = i X Z), one a
// row, and what Clifford gates make of all of them. For the compiler of near-Clifford circuits: a
// few hundred rows at most, so a gate goes through the rows one by one.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tilewave/circuit/clifford.h"

namespace tilewave::stabilizer {

class PauliRows {
 public:
  explicit PauliRows(std::uint32_t num_qubits) : words_((num_qubits + 63) / 64) {}

  std::uint32_t size() const { return static_cast<std::uint32_t>(phase_.size()); }
  /// Appends the identity; returns its row.
  std::uint32_t add();
  /// Appends the Hermitian product.
  std::uint32_t add(std::span<const std::pair<std::uint32_t, circuit::Pauli>> factors);
  void assign(std::uint32_t row, std::span<const std::pair<std::uint32_t, circuit::Pauli>> factors);
  /// Takes the last row away.
  void pop();

  std::uint8_t phase(std::uint32_t row) const { return phase_[row]; }
  void copy(std::uint32_t to, std::uint32_t from);
  void clear(std::uint32_t row);
  void negate(std::uint32_t row) { phase_[row] ^= 2; }
  /// to = to . by, in this order.
  void multiply(std::uint32_t to, std::uint32_t by);
  bool anticommute(std::uint32_t a, std::uint32_t b) const;
  /// The same but for the sign.
  bool same_body(std::uint32_t a, std::uint32_t b) const;
  /// The factors of a row, signs left out.
  std::vector<std::pair<std::uint32_t, circuit::Pauli>> factors(std::uint32_t row) const;

  // Conjugation of every row by a gate.
  void apply(const circuit::Clifford1& c, std::uint32_t q);
  void apply_controlled(circuit::Pauli a, std::uint32_t qa, circuit::Pauli b, std::uint32_t qb);
  void apply_swap(std::uint32_t a, std::uint32_t b);
  void apply_pauli(circuit::Pauli p, std::uint32_t q);

 private:
  std::uint64_t* x(std::uint32_t row) { return bits_.data() + std::size_t{2} * words_ * row; }
  const std::uint64_t* x(std::uint32_t row) const {
    return bits_.data() + std::size_t{2} * words_ * row;
  }
  // x + 2 z of a qubit.
  unsigned at(std::uint32_t row, std::uint32_t q) const {
    const std::uint64_t* r = x(row);
    return static_cast<unsigned>(((r[q / 64] >> (q % 64)) & 1) |
                                 (((r[words_ + q / 64] >> (q % 64)) & 1) << 1));
  }
  void set(std::uint32_t row, std::uint32_t q, unsigned code);

  std::uint32_t words_;
  std::vector<std::uint64_t> bits_;  // words of x, then of z, row by row
  std::vector<std::uint8_t> phase_;
};

}  // namespace tilewave::stabilizer
