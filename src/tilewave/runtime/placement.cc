// See placement.h.
#include "tilewave/runtime/placement.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <set>

#include "tilewave/base/error.h"

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

DeviceOrder order_devices(const std::vector<int>& devices, std::size_t num_all,
                          const std::function<std::vector<double>()>& measure) {
  if (devices.size() < 4 || !std::has_single_bit(devices.size())) return {devices, {}};
  std::vector<double> links;
  try {
    links = measure();
  } catch (const Error& e) {
    return {devices, "devices in the order named, their links could not be measured: " +
                         std::string(e.what())};
  }
  TW_CHECK(links.size() == num_all * num_all, "a rate for every two devices");
  std::vector<std::vector<double>> rates;
  for (const int from : devices) {
    rates.emplace_back();
    for (const int to : devices)
      rates.back().push_back(
          links[static_cast<std::size_t>(from) * num_all + static_cast<std::size_t>(to)]);
  }
  DeviceOrder out;
  std::string text;
  for (const int k : place_ranks(rates).order) {
    out.devices.push_back(devices[static_cast<std::size_t>(k)]);
    text += (text.empty() ? "" : ", ") + std::to_string(out.devices.back());
  }
  if (out.devices != devices) out.remark = "devices in the order " + text + ", fast links first";
  return out;
}

std::string remark_on_hosts(std::span<const std::string> host_of_rank) {
  std::set<std::string> seen;
  for (std::size_t r = 0; r < host_of_rank.size(); ++r) {
    const std::string& host = host_of_rank[r];
    if (r > 0 && host == host_of_rank[r - 1]) continue;
    if (seen.insert(host).second) continue;
    return "the ranks of " + host +
           " are not numbered side by side, so that more travels between "
           "hosts: start them in blocks (mpirun --map-by slot, srun --distribution=block)";
  }
  return {};
}

}  // namespace tilewave::runtime
