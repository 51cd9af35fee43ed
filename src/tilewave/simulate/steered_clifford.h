// Clifford circuits that are steered by what they measure: jumps, assignments, and conditions of any
// kind on Clifford gates, Pauli errors, measurements and resets. The frames of clifford_program.h have no
// word for a gate that only some shots see, so that here every shot has a tableau of its own, copied
// from the one behind the gates that all shots begin with. Cost: a gate 20 ns, a measurement of n qubits
// 2 n rows of n / 256 vectors (2 us at 70 qubits, 26 us at 1,000); no state of 2^n amplitudes is needed.
// The mean of a Pauli string in the state of a tableau is 1, -1 or 0: gates that make it a Z of one qubit
// say which, and are taken back.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewave/circuit/noise_model.h"
#include "tilewave/circuit/pauli.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::simulate {

struct Program;

/// Means of values over shots, of their squares, and of the square of their weighted sum.
struct ShotMeans {
  std::vector<double> values, squares;
  double sum_squares = 0;
};

/// A prepared circuit as steps of a tableau. Bits of its shots: the classical bits, or all qubits where
/// nothing is measured. It reads the circuit of the program as long as it lives.
class SteeredClifford {
 public:
  virtual ~SteeredClifford() = default;
  /// Null with the reason in `why_not` for a gate that is not Clifford or acts on more than two qubits,
  /// angles that are computed, and a channel that is no mixture of Pauli errors. `readout`: one a qubit,
  /// or none; a bit that is misread steers as it was read.
  static std::shared_ptr<const SteeredClifford> make(const Program& program,
                                                     std::span<const circuit::ReadoutError> readout,
                                                     std::string* why_not);
  virtual std::uint64_t num_bits() const = 0;
  virtual std::size_t num_steps() const = 0;
  /// What a shot takes on one core where no loop goes round.
  virtual double shot_s() const = 0;
  /// Shots of it; a shot that does not end throws Error(kInput).
  virtual std::unique_ptr<stabilizer::ShotSource> source() const = 0;
  /// <P> of every term, without coefficients, in the states that the circuit ends in before its last
  /// measurements: over all outcomes of the others, each of two that are as likely. Throws Error(kUsage)
  /// for channels, and for more ends than kMostOutcomes of exact_branches.h.
  virtual std::vector<double> exact_means(const circuit::WidePauliSum& terms) const = 0;
  /// The same with coefficients, over shots, which channels may be drawn in.
  virtual ShotMeans means(const circuit::WidePauliSum& terms, std::uint64_t seed,
                          std::uint64_t shots, int num_threads) const = 0;
};

/// Whether operations depend on classical values in a way that only this engine follows on tableaux:
/// there are jumps, assignments or conditions.
bool is_steered(const Program& program);

}  // namespace tilewave::simulate
