// What near_clifford/dense_state.h does, eight amplitudes at a time. `re` and `im` hold 2^k numbers, k at
// least 4; a measurement's pivot is at least 3. Sums run in another order than one by one, and
// products are fused with them, so results differ in their last bits from those of other machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tilewave/stabilizer/dense_pauli.h"

namespace tilewave::stabilizer::avx512 {

/// 2^k numbers become 2^(k + 1): [c phi, -i s phi].
void promote(double c, double s, std::uint32_t k, double* re, double* im);

/// c phi - i s P phi.
void rotate(const DensePauli& p, double c, double s, std::uint32_t k, double* re, double* im);

struct Rotation {
  DensePauli p;
  double c, s;  ///< c at least kSmallestCosine in size
};
constexpr double kSmallestCosine = 0x1p-10;
/// Factors of amplitudes: c where the parity of b with z is `flips`, -i s elsewhere.
struct ParityFactors {
  std::uint32_t z;
  bool flips;
  double c, s;
};
/// Multiplies by the factors, if there are some, and makes the first rotations of a list in one pass
/// through the amplitudes, as many as mix groups of eight vectors among themselves; returns how many.
/// k is at least 6.
std::size_t rotate(const std::optional<ParityFactors>& factors, const Rotation* rotations,
                   std::size_t count, std::uint32_t k, double* re, double* im);
/// Multiplies by the factors; returns the squared norm.
double multiply(const ParityFactors& factors, std::uint32_t k, double* re, double* im);

struct Weights {
  double zeros, ones;  ///< in one unit: the squared norms of both projections
};
Weights weights(const DensePauli& p, std::uint32_t pivot, std::uint32_t k, const double* re,
                const double* im);

/// The projection on an outcome without the pivot's coordinate, not normalised, becomes the first
/// 2^(k - 1) numbers; returns its squared norm. In place: the pivot is the highest bit of x, or any of
/// z where x is 0, so what is read never lies before what is written.
double project(const DensePauli& p, std::uint32_t pivot, bool outcome, std::uint32_t k, double* re,
               double* im);

}  // namespace tilewave::stabilizer::avx512
