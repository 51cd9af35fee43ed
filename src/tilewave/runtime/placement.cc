// See placement.h.
#include "tilewave/runtime/placement.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tilewave::runtime {
namespace {

constexpr std::size_t kMostTried = 8;    // 8! orders take milliseconds
constexpr double kWorthChanging = 0.95;  // measurements differ by a few percent

std::vector<double> bit_rates(const std::vector<std::vector<double>>& rates,
                              const std::vector<int>& order) {
  std::vector<double> out;
  for (std::size_t step = 1; step < order.size(); step *= 2) {
    double slowest = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < order.size(); ++a) {
      const auto from = static_cast<std::size_t>(order[a]);
      const auto to = static_cast<std::size_t>(order[a ^ step]);
      slowest = std::min(slowest, rates[from][to]);
    }
    out.push_back(slowest);
  }
  return out;
}

double seconds(const std::vector<double>& bits) {
  double sum = 0;
  for (const double rate : bits) sum += 1 / std::max(rate, 1.0);
  return sum;
}

// The fastest bit lowest, as far as measurements tell.
bool is_sorted(const std::vector<double>& bits) {
  for (std::size_t k = 1; k < bits.size(); ++k) {
    if (bits[k - 1] < kWorthChanging * bits[k]) return false;
  }
  return true;
}

}  // namespace

Placement place_ranks(const std::vector<std::vector<double>>& rates) {
  Placement best;
  best.order.resize(rates.size());
  std::iota(best.order.begin(), best.order.end(), 0);
  best.bit_rates = bit_rates(rates, best.order);
  if (rates.size() > kMostTried) return best;
  std::vector<int> order = best.order;
  double least = (is_sorted(best.bit_rates) ? kWorthChanging : 1.001) * seconds(best.bit_rates);
  while (std::next_permutation(order.begin(), order.end())) {
    if (order[0] != 0) break;  // the rest differs by names only
    const std::vector<double> bits = bit_rates(rates, order);
    const double s = seconds(bits);
    if (s >= least || !is_sorted(bits)) continue;
    least = s;
    best = {order, bits};
  }
  return best;
}

}  // namespace tilewave::runtime
