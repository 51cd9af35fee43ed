// The state of a stabilizer circuit as an inverse tableau: for the circuit U so far, the Paulis
//   U^dagger X_q U and U^dagger Z_q U,
// each written i^phase X^x Z^z over the n qubits of the start. Appending a gate multiplies rows;
// a measurement of Z_q is determined when its row has no X part, and its sign is the outcome.
//
// Layout: row 2q is X_q, row 2q + 1 is Z_q. The rows are cut into panels of 256 columns: a panel
// has 64 bytes a row, x then z. Gates are only noted, as products of rows; a run of them goes
// through one panel after the other, each of which fits the second-level cache, and the signs
// follow at the end. Swaps of rows are changes of name. Cost: a product n / 256 vectors, read from
// cache. A random outcome needs operations on columns, for which the tableau is transposed
// (tableau_collapse.cc). Up to the first one the gates themselves are kept and no rows: these are
// then made in the transposed form, backwards through the gates (tableau_gates.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tilewave/circuit/clifford.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/stabilizer/tableau_gates.h"

namespace tilewave::stabilizer {

class Tableau {
 public:
  explicit Tableau(std::uint32_t num_qubits);
  Tableau(const Tableau& other);
  Tableau& operator=(const Tableau& other);  ///< into the same memory, where it has the size

  std::uint32_t num_qubits() const { return n_; }

  void apply(const circuit::Clifford1& c, std::uint32_t q);
  /// C(a, b) with a on qubit qa and b on qubit qb.
  void apply_controlled(circuit::Pauli a, std::uint32_t qa, circuit::Pauli b, std::uint32_t qb);
  void swap(std::uint32_t a, std::uint32_t b);
  void apply_pauli(circuit::Pauli p, std::uint32_t q);
  void apply(const TableauGate& gate) { add(gate); }

  /// Makes Z of each qubit determined; outcomes that were random become 0. With `last` nothing but
  /// outcome_z of these qubits (and Paulis on them) may follow: other rows are left behind.
  void collapse_z(std::span<const std::uint32_t> qubits, bool last = false);
  /// The outcome of Z on a qubit whose outcome is determined.
  bool outcome_z(std::uint32_t q);
  /// Whether the outcome of Z on a qubit is not determined: then it is 0 or 1 with probability 1/2.
  bool is_random_z(std::uint32_t q);
  /// Measures Z on one qubit and returns the outcome: `one` where it is random.
  bool measure_z(std::uint32_t q, bool one);

  /// A number that is equal for equal tableaux (up to accidental collisions).
  std::uint64_t hash();

  static constexpr std::size_t kPanelWords = 8;  ///< u64 of a row in a panel: four of x, four of z

 private:
  /// Row to = row to . row by.
  struct Product {
    std::uint32_t to, by;
  };
  /// i^by on a row, behind the first `after` products.
  struct Turn {
    std::uint32_t after, row, by;
  };

  std::uint64_t* panel(std::size_t p) const {
    return bits_.as<std::uint64_t>() + p * 2 * n_ * kPanelWords;
  }
  friend struct Row;  // a row as a word of frame_ops.h
  friend struct RowPhase;
  struct RowMachine;  // a gate as products of rows
  void add(const TableauGate& gate);
  void settle();     // makes the rows from the gates
  void make_rows();  // of zeros
  /// Pages are taken as they are written: more than there is would end the process without a word.
  /// Throws Error(kResources) instead.
  void need_memory(std::size_t bytes) const;
  void multiply(std::uint32_t to, std::uint32_t by);
  void turn(std::uint32_t row, std::uint32_t by);
  void flush();  // does what was noted

  std::uint32_t n_;
  std::size_t panels_;
  runtime::HostBuffer bits_;
  std::vector<std::uint32_t> place_;  // where a row lies in a panel
  std::vector<std::uint8_t> phase_;   // of each place, mod 4
  bool fresh_ = true;                 // there are no rows yet, but
  std::vector<TableauGate> gates_;    // what was done to |0...0>
  std::vector<Product> products_;
  std::vector<Turn> turns_;
  std::vector<std::uint8_t> signs_;
  std::vector<std::uint64_t> targets_;  // of one measurement
};

}  // namespace tilewave::stabilizer
