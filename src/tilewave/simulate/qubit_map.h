// Qubits that no operation touches stay in |0>, so the state holds the touched ones only: qubit j
// of the state is qubit kept[j] of the circuit's register, in ascending order, and what is asked
// about the register is made of the state's answers. A circuit of 3 qubits that was written for a
// device of 127 takes 8 amplitudes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/pauli.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

/// Classical bits, or qubits, of one shot: bit k of word k / 64.
using Bits = std::vector<std::uint64_t>;

class QubitMap {
 public:
  static constexpr circuit::Qubit kNowhere = ~circuit::Qubit{0};

  /// Every qubit of the register is in the state.
  explicit QubitMap(std::uint32_t num_qubits = 0) : num_qubits_(num_qubits) {}
  /// Only these are, in ascending order.
  QubitMap(std::uint32_t num_qubits, std::vector<circuit::Qubit> kept);

  std::uint32_t num_qubits() const { return num_qubits_; }  ///< of the register
  std::uint32_t num_kept() const {
    return is_identity() ? num_qubits_ : static_cast<std::uint32_t>(kept_.size());
  }
  bool is_identity() const { return kept_.empty(); }
  std::span<const circuit::Qubit> kept() const { return kept_; }
  /// The state's qubit that is this one of the register; kNowhere where it is |0> for good.
  circuit::Qubit in_state(circuit::Qubit q) const { return is_identity() ? q : where_[q]; }

  /// The other way round.
  circuit::Qubit in_register(circuit::Qubit j) const { return is_identity() ? j : kept_[j]; }

  /// The register's bits in a basis state of the state's; `out` has a word for every 64 qubits.
  void spread(std::uint64_t basis_state, Bits& out) const;

  /// The questions of statevec::State, about the register; values are not divided by the norm.
  std::vector<double> marginals(statevec::State& state) const;
  std::vector<double> joint_probabilities(statevec::State& state,
                                          std::span<const circuit::Qubit> qubits) const;
  std::vector<cplx> amplitudes(statevec::State& state,
                               std::span<const std::uint64_t> indices) const;
  std::vector<double> expectations(statevec::State& state, const circuit::WidePauliSum& sum) const;

 private:
  std::uint32_t num_qubits_;
  std::vector<circuit::Qubit> kept_;   // empty: all
  std::vector<circuit::Qubit> where_;  // of every qubit of the register; empty: all as they are
};

}  // namespace tilewave::simulate
