// See bandwidth.h.
#include "tilewave/runtime/bandwidth.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::runtime {

double measure_scale_bandwidth(std::size_t num_bytes, int num_threads) {
  const HostBuffer buffer(num_bytes);
  double* x = buffer.as<double>();
  const auto size = static_cast<std::int64_t>(num_bytes / sizeof(double));
  const auto sweep = [&](double c) {
#pragma omp parallel for simd num_threads(num_threads) schedule(static)
    for (std::int64_t k = 0; k < size; ++k) x[k] = x[k] * c + 1e-3;
  };
  sweep(1);  // pages appear
  std::array<double, 7> times_s;
  for (double& time_s : times_s) {
    const Timer timer;
    sweep(0.999);
    time_s = timer.elapsed_s();
  }
  std::nth_element(times_s.begin(), times_s.begin() + 3, times_s.end());
  return 2 * static_cast<double>(num_bytes) / times_s[3];
}

}  // namespace tilewave::runtime
