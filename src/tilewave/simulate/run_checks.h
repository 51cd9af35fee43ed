// Checks of an answer at the end of a run, from numbers that are there anyway. A run that fails one
// gives no answer.
//
// The norm: gates keep it, so that it may leave 1 by rounding and by the user's own matrices only.
//
// The shots: how often each qubit was drawn as 1 is compared with its exact probability p. Of N
// draws the number k of ones obeys Bernstein's inequality,
//   P(|k - N p| >= d) <= 2 exp(-d^2 / (2 (N p (1 - p) + d / 3))),
// and a run fails where the exponent is below -50: once in 10^21 qubits of sound runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/simulate/checkpoint/bytes.h"
#include "tilewave/statevec/plan/precision.h"

namespace tilewave::simulate {

/// What to warn of, empty where all is well. Throws Error(kVerification) where the norm is no
/// finite number, or where `exact` (no channels act on the state) and it is further from 1 than the
/// operations explain.
std::string check_norm(double norm, const circuit::Circuit& circuit,
                       std::span<const circuit::Op> ops, statevec::Precision precision, bool exact);

class ShotCheck {
 public:
  /// Basis states that were drawn from a state with these P(qubit = 1).
  void add(std::span<const double> marginals, std::span<const std::uint64_t> drawn);
  /// The largest |k - N p| of a qubit in standard deviations of k, where that is at least one shot.
  double worst_deviation() const;
  /// Throws Error(kVerification), which names the qubit.
  void check() const;
  /// For checkpoints.
  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  struct Sums {
    double drawn = 0, expected = 0, variance = 0;
  };
  std::vector<Sums> qubits_;
  std::uint64_t num_shots_ = 0;
};

}  // namespace tilewave::simulate
