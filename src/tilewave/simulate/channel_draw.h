// Drawing the Kraus operator of a noise channel in a trajectory.
//
// Operators stand in an order; a uniform number u picks the first k with u < C_k, where
// C_k = <psi| A_k |psi>, A_k = sum_{j <= k} K_j^dagger K_j. Whatever the state is, C_k lies between
// the smallest and the largest eigenvalue of A_k, so most numbers pick without a look at it: all of
// them for mixtures of unitaries, all below 1 - gamma for damping. For the others the state is
// asked for the expectations of the Pauli strings the A_k are made of.
#pragma once

#include <span>
#include <vector>

#include "tilewave/circuit/channel.h"
#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/pauli.h"

namespace tilewave::simulate {

class ChannelDraw {
 public:
  explicit ChannelDraw(const circuit::Channel& channel);

  static constexpr int kOpen = -1;
  /// The outcome u picks in every state, or kOpen.
  int fixed_outcome(double u) const;
  bool is_mixture() const { return is_mixture_; }

  /// What is to be asked of the state about these qubits, and the outcomes' probabilities from the
  /// answers.
  circuit::PauliSum questions(std::span<const circuit::Qubit> targets) const;
  std::vector<double> probabilities(std::span<const double> answers) const;

  /// Appends an outcome's operator, scaled to be near 1, as operations on `targets`.
  void append(int outcome, std::span<const circuit::Qubit> targets, double scale,
              circuit::Circuit& to) const;

 private:
  struct Operator {
    std::vector<int> letters;  // of a Pauli string up to a phase; empty: none
    circuit::Matrix matrix;
  };
  int num_qubits_ = 0;
  bool is_mixture_ = true;
  std::vector<Operator> operators_;
  std::vector<double> low_, high_;               // bounds of C_k
  std::vector<std::vector<int>> asked_;          // Pauli strings
  std::vector<std::vector<double>> components_;  // of K_k^dagger K_k, one a string
};

}  // namespace tilewave::simulate
