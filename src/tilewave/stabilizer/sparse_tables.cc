#include "tilewave/stabilizer/sparse_tables.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tilewave::stabilizer {

PoissonTable poisson_table(double mu) {
  PoissonTable t;
  const double reach = 12 * std::sqrt(mu) + 40;
  t.first = static_cast<std::uint64_t>(std::max(0.0, std::floor(mu - reach)));
  const auto last = static_cast<std::uint64_t>(std::ceil(mu + reach));
  double sum = 0;
  for (std::uint64_t k = t.first; k <= last; ++k) {
    const auto n = static_cast<double>(k);
    sum += std::exp(n * std::log(mu) - mu - std::lgamma(n + 1));
    t.upto.push_back(sum);
  }
  for (double& u : t.upto) u /= sum;
  t.upto.back() = 2;
  return t;
}

std::vector<AliasEntry> alias_table(std::vector<double> share) {
  const auto n = static_cast<std::uint32_t>(share.size());
  std::vector<std::uint32_t> small, large;
  for (std::uint32_t k = 0; k < n; ++k) (share[k] < 1 ? small : large).push_back(k);
  std::vector<AliasEntry> alias(n);
  for (std::uint32_t k = 0; k < n; ++k) alias[k] = {~std::uint32_t{0}, k};
  while (!small.empty() && !large.empty()) {
    const std::uint32_t s = small.back(), l = large.back();
    small.pop_back();
    alias[s] = {static_cast<std::uint32_t>(std::min(4294967295.0, share[s] * 0x1p32)), l};
    share[l] -= 1 - share[s];
    if (share[l] < 1) {
      large.pop_back();
      small.push_back(l);
    }
  }
  return alias;
}

}  // namespace tilewave::stabilizer
