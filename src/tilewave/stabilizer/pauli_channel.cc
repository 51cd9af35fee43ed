#include "tilewave/stabilizer/pauli_channel.h"

#include <array>
#include <bit>
#include <cmath>

namespace tilewave::stabilizer {

bool poisson_rates(const double* p, int size, double* rates) {
  std::array<double, 16> log_eigenvalue{};
  const auto sign = [](int j, int k) { return std::popcount(unsigned(j & k)) % 2 ? -1.0 : 1.0; };
  for (int k = 0; k < size; ++k) {
    double drop = 0;  // 1 - eigenvalue
    for (int j = 1; j < size; ++j) drop += p[j] * (1 - sign(j, k));
    if (drop >= 1 - 1e-9) return false;
    log_eigenvalue[k] = std::log1p(-drop);
  }
  rates[0] = 0;
  for (int j = 1; j < size; ++j) {
    double sum = 0;
    for (int k = 0; k < size; ++k) sum += sign(j, k) * log_eigenvalue[k];
    rates[j] = sum / size;
    if (rates[j] < -1e-12) return false;
    if (rates[j] < 1e-14) rates[j] = 0;
  }
  return true;
}

}  // namespace tilewave::stabilizer
