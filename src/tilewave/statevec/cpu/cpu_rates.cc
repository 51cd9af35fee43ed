// The machine's rates: memory bandwidth by an in-place scale, arithmetic by the lift kernel on a
// block in the first-level cache. What other kernels cost relative to a lift is a tuning value, so
// that plans do not depend on the noise of a measurement.
#include <omp.h>

#include <algorithm>

#include "tilewave/runtime/multiversion.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/statevec/cpu/block.h"
#include "tilewave/statevec/cpu/cpu_state.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"

namespace tilewave::statevec::cpu {

namespace {

TW_MULTIVERSION void scale(float* data, std::size_t count, float factor) {
  for (std::size_t k = 0; k < count; ++k) data[k] *= factor;
}

double measure_bandwidth() {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const runtime::HostBuffer buffer(kBytes);
  float* data = buffer.as<float>();
  const std::size_t count = kBytes / sizeof(float), parts = 64, each = count / parts;
  double best_s = 1;
  for (int round = 0; round < 4; ++round) {  // the first touches the pages
    const runtime::Timer timer;
#pragma omp parallel for schedule(static)
    for (std::size_t p = 0; p < parts; ++p) scale(data + p * each, each, 1.0001f);
    if (round) best_s = std::min(best_s, timer.elapsed_s());
  }
  return 2.0 * static_cast<double>(kBytes) / best_s;
}

// Seconds an amplitude of a lift on one thread, FP64, without the traffic of the tile.
double measure_lift() {
  constexpr int kBits = 5;
  const runtime::HostBuffer buffer(sizeof(double) * 2 * kRowLength << kBits);
  std::uint32_t rows[1 << kBits];
  for (std::uint32_t r = 0; r < 1u << kBits; ++r) rows[r] = r;
  LayerStep<double> step;  // two lifts, by 0
  step.mask = 3u << kLowBits;
  const BlockKernels<double>& kernels = block_kernels(double{});
  constexpr int kRepeats = 200;
  double best_s = 1;
  for (int round = 0; round < 5; ++round) {
    const runtime::Timer timer;
    for (int k = 0; k < kRepeats; ++k)
      kernels.layer(buffer.as<double>(), {rows, kBits, 0}, step, nullptr, {});
    best_s = std::min(best_s, timer.elapsed_s());
  }
  return best_s / (kRepeats * 2.0 * (kRowLength << kBits));
}

}  // namespace

const CpuRates& cpu_rates() {
  static const CpuRates rates = [] {
    const CpuRates ratios;
    CpuRates measured;
    measured.bandwidth = 0.8 * measure_bandwidth();  // gathering rows costs a fifth
    const double speed = std::max(measure_lift() * kLiftTraffic, 1e-12) / ratios.lift_s;
    measured.lift_s = ratios.lift_s * speed;
    measured.flip_s = ratios.flip_s * speed;
    measured.rotate_s = ratios.rotate_s * speed;
    measured.phase_s = ratios.phase_s * speed;
    measured.multiply_s = ratios.multiply_s * speed;
    return measured;
  }();
  return rates;
}

}  // namespace tilewave::statevec::cpu
