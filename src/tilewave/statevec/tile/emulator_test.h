// Runs a tile program on the host, thread by thread, with the arithmetic of the device (ops.h): the
// reference that settles the correctness of lowering without a GPU. Slow; used by tests and
// debugging only.
#pragma once

#include <limits>
#include <random>
#include <span>
#include <vector>

#include "tilewave/statevec/testing/reference.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile {

/// Runs one pass on 2^max(n, K) amplitudes in place.
void emulate_pass(const TilePass& pass, std::span<Complex<double>> amplitudes);
void emulate_pass(const TilePass& pass, std::span<Complex<float>> amplitudes);

/// Of programs that one after the other stand for pass p of a plan, on random amplitudes: the largest
/// error, over the largest amplitude. What they may not read is not a number.
template <class T>
double emulated_error(const Plan& plan, std::size_t p, std::span<const TilePass> programs,
                      std::mt19937_64& random) {
  const Pass& pass = plan.passes[p];
  const T nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<Complex<T>> state(bit(std::max(plan.num_qubits, programs[0].shape.tile_qubits)),
                                {nan, nan});
  std::vector<cplx> reference(bit(plan.num_qubits));
  std::normal_distribution<double> normal;
  for (std::uint64_t x = 0; x < reference.size(); ++x) {
    if (x & pass.known_zero_before) continue;
    reference[x] = {normal(random), normal(random)};
    state[x] = {static_cast<T>(reference[x].real()), static_cast<T>(reference[x].imag())};
  }
  testing::run_pass(reference, plan, pass);
  for (const TilePass& program : programs) emulate_pass(program, std::span(state));
  double worst = 0, largest = 1e-3;
  for (std::uint64_t x = 0; x < reference.size(); ++x) {
    if (x & pass.known_zero_after) continue;
    const double error = std::abs(reference[x] - cplx(state[x].re, state[x].im));
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    largest = std::max(largest, std::abs(reference[x]));
  }
  return worst / largest;
}

/// The same in the precision of the program.
inline double emulated_error(const Plan& plan, std::size_t p, const TilePass& program,
                             std::mt19937_64& random) {
  const std::span one(&program, 1);
  return program.shape.precision == Precision::kDouble
             ? emulated_error<double>(plan, p, one, random)
             : emulated_error<float>(plan, p, one, random);
}

/// Options of plans for tiles of a shape, as devices plan.
inline PlanOptions plan_options(const Shape& shape, bool late_phases = true) {
  PlanOptions options = testing::tile_options(shape.tile_qubits, shape.row_bits);
  options.precision = shape.precision;
  options.cost.late_phases = late_phases;
  return options;
}

}  // namespace tilewave::statevec::tile
