// The state of a stabilizer circuit as an inverse tableau: for the circuit U so far, the Paulis
//   U^dagger X_q U and U^dagger Z_q U,
// each written i^phase X^x Z^z over the n qubits of the start. Appending a gate multiplies rows;
// a measurement of Z_q is determined when its row has no X part, and its sign is the outcome.
//
// Layout: rows 2q (X_q) and 2q + 1 (Z_q) of n bits for x and for z; gates run along rows. A random
// outcome needs operations on columns; the tableau is transposed for a run of collapses and back.
// Cost: a gate n / 512 vectors, a determined measurement the same, a collapse n columns of 2n bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tilewave/circuit/clifford.h"
#include "tilewave/runtime/memory.h"

namespace tilewave::stabilizer {

class Tableau {
 public:
  explicit Tableau(std::uint32_t num_qubits);

  std::uint32_t num_qubits() const { return n_; }

  void apply(const circuit::Clifford1& c, std::uint32_t q);
  /// C(a, b) with a on qubit qa and b on qubit qb.
  void apply_controlled(circuit::Pauli a, std::uint32_t qa, circuit::Pauli b, std::uint32_t qb);
  void swap(std::uint32_t a, std::uint32_t b);
  void apply_pauli(circuit::Pauli p, std::uint32_t q);

  /// Makes Z of each qubit determined; outcomes that were random become 0.
  void collapse_z(std::span<const std::uint32_t> qubits);
  bool is_determined_z(std::uint32_t q) const;
  /// The outcome of Z on a qubit whose outcome is determined.
  bool outcome_z(std::uint32_t q) const;

  /// A number that is equal for equal tableaux (up to accidental collisions).
  std::uint64_t hash() const;

 private:
  std::uint64_t* x(std::uint32_t row) const {
    return x_.as<std::uint64_t>() + std::size_t{row} * words_;
  }
  std::uint64_t* z(std::uint32_t row) const {
    return z_.as<std::uint64_t>() + std::size_t{row} * words_;
  }
  void multiply(std::uint32_t to, std::uint32_t by);  // row to = row to . row by

  std::uint32_t n_;
  std::size_t words_;  // u64 a row, a multiple of 8
  runtime::HostBuffer x_, z_;
  std::vector<std::uint8_t> phase_;  // of each row, mod 4
};

}  // namespace tilewave::stabilizer
