// The amplitudes of a near-Clifford shot: 2^k complex numbers, real parts then imaginary parts, and
// the three operations on them.
//
// A promotion waits until its coordinate is needed. Where what comes first is a measurement of
// +-Z^z with that coordinate as its pivot, the coordinate never exists: of [c phi, -i s phi] a
// projection leaves c phi_b or -i s phi_b, by the parity of b with the rest of z. These factors wait
// as well, for the next pass through the amplitudes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tilewave/stabilizer/cpu/dense_kernels.h"
#include "tilewave/stabilizer/near_clifford/program.h"

namespace tilewave::stabilizer {

class DenseState {
 public:
  DenseState() { reset(); }
  DenseState(const DenseState& other) { *this = other; }
  DenseState& operator=(const DenseState& other);
  DenseState(DenseState&&) = default;
  DenseState& operator=(DenseState&&) = default;
  /// One amplitude, 1.
  void reset();
  std::uint32_t k() const { return k_; }
  std::size_t num_bytes() const { return 2 * size() * sizeof(double); }  ///< of what is stored

  /// Promotions and rotations, one after the other; bit j of `signs` says whether the j-th rotation
  /// of them turns backwards.
  void run(std::span<const DenseOp> ops, const std::uint64_t* signs);
  /// One of them.
  void apply(const DenseOp& op, bool sign);
  /// The probability that a measurement of P tells 1 (P = -1); 0 and 1 where it is so near.
  double chance(const DenseOp& op);
  /// Projects on an outcome of chance above 0 and drops the pivot; the norm is not kept.
  void project(const DenseOp& op, bool outcome);

 private:
  using Weights = avx512::Weights;
  Weights weights(const DensePauli& p, std::uint32_t pivot) const;
  bool by_vectors(std::uint32_t pivot) const;
  bool ends_waiting(const DenseOp& op) const;
  void settle_factors();  // multiplies by the factors that wait
  void settle();          // and makes the promotion that waits
  void keep_in_range(double norm);
  double project_stored(const DenseOp& op, bool outcome);

  std::uint32_t stored_k() const { return k_ - waits_; }
  std::size_t size() const { return std::size_t{1} << stored_k(); }

  std::uint32_t k_ = 0;
  std::optional<avx512::ParityFactors> factors_;  // of what is stored
  bool waits_ = false;                            // a promotion by these, after the factors
  double waiting_c_ = 1, waiting_s_ = 0;
  double lost_bits_ = 0;         // of the norm since it was looked at, at most
  std::vector<double> re_, im_;  // size() numbers, and room for more
};

}  // namespace tilewave::stabilizer
