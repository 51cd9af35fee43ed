// The amplitudes of a near-Clifford shot: 2^k complex numbers, real parts then imaginary parts, and
// the three operations on them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
  std::size_t num_bytes() const { return 2 * size() * sizeof(double); }

  /// Promotions and rotations, one after the other; bit j of `signs` says whether the j-th rotation
  /// of them turns backwards.
  void run(std::span<const DenseOp> ops, const std::uint64_t* signs);
  /// One of them.
  void apply(const DenseOp& op, bool sign);
  /// The probability that a measurement of P tells 1 (P = -1); 0 and 1 where it is so near.
  double chance(const DenseOp& op) const;
  /// Projects on an outcome of chance above 0 and drops the pivot; the norm is not kept.
  void project(const DenseOp& op, bool outcome);

 private:
  bool by_vectors(const DenseOp& op) const;

  std::size_t size() const { return std::size_t{1} << k_; }

  std::uint32_t k_ = 0;
  std::vector<double> re_, im_;  // size() numbers, and room for more
};

}  // namespace tilewave::stabilizer
