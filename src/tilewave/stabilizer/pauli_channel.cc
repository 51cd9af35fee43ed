#include "tilewave/stabilizer/pauli_channel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace tilewave::stabilizer {
namespace {

double sign(int j, int k) { return std::popcount(static_cast<unsigned>(j & k)) % 2 ? -1.0 : 1.0; }

// 1 - L_k.
double drop_of(const double* p, int size, int k) {
  double drop = 0;
  for (int j = 1; j < size; ++j) drop += p[j] * (1 - sign(j, k));
  return drop;
}

// False when a rate is negative.
bool rates_of(const std::array<double, 16>& log_eigenvalue, int size, double* rates) {
  rates[0] = 0;
  for (int j = 1; j < size; ++j) {
    double sum = 0;
    for (int k = 0; k < size; ++k) sum += sign(j, k) * log_eigenvalue[static_cast<std::size_t>(k)];
    rates[j] = sum / size;
    if (rates[j] < -1e-12) return false;
    if (rates[j] < 1e-14) rates[j] = 0;
  }
  return true;
}

}  // namespace

bool poisson_rates(const double* p, int size, double* rates) {
  std::array<double, 16> log_eigenvalue{};
  for (int k = 0; k < size; ++k) {
    const double drop = drop_of(p, size, k);
    if (drop >= 1 - 1e-9) return false;
    log_eigenvalue[static_cast<std::size_t>(k)] = std::log1p(-drop);
  }
  return rates_of(log_eigenvalue, size, rates);
}

bool independent_errors(const double* p, int size, double* errors) {
  constexpr double kZero = 1e-12;
  std::array<double, 16> eigenvalue{};
  int zeros = 0;
  for (int k = 0; k < size; ++k) {
    double& l = eigenvalue[static_cast<std::size_t>(k)];
    l = 1 - drop_of(p, size, k);
    if (std::abs(l) < kZero) l = 0, ++zeros;
  }
  std::fill(errors, errors + size, 0.0);
  if (zeros == size - 1) {  // the completely mixing channel
    std::fill(errors + 1, errors + size, 0.5);
    return true;
  }
  if (zeros > 0) {
    // One qubit: only L_k is not zero, so the Pauli j with j.k even happens with probability one
    // half. Another one makes L_k.
    if (size != 4 || zeros != 2) return false;
    const int k = eigenvalue[1] != 0 ? 1 : eigenvalue[2] != 0 ? 2 : 3;
    int half = 1;
    while (sign(half, k) < 0) ++half;
    errors[half] = 0.5;
    errors[half == 1 ? 2 : 1] = (1 - eigenvalue[static_cast<std::size_t>(k)]) / 2;
    return true;
  }
  int certain = 0;  // the Pauli whose signs the eigenvalues have
  for (; certain < size; ++certain) {
    bool fits = true;
    for (int k = 1; k < size && fits; ++k)
      fits = (eigenvalue[static_cast<std::size_t>(k)] < 0) == (sign(certain, k) < 0);
    if (fits) break;
  }
  if (certain == size) return false;
  std::array<double, 16> log_eigenvalue{}, rates{};
  for (int k = 0; k < size; ++k) {
    const double drop = drop_of(p, size, k);
    log_eigenvalue[static_cast<std::size_t>(k)] = drop < 1 ? std::log1p(-drop) : std::log(drop - 1);
  }
  if (!rates_of(log_eigenvalue, size, rates.data())) return false;
  for (int j = 1; j < size; ++j)
    errors[j] = -std::expm1(-2 * rates[static_cast<std::size_t>(j)]) / 2;
  // A certain Z (index 2) or Y (3) is written as a certain X and a certain other one, as Stim does.
  if (certain > 0) errors[1] = 1 - errors[1];
  if (certain > 1) errors[certain ^ 1] = 1 - errors[certain ^ 1];
  return true;
}

}  // namespace tilewave::stabilizer
