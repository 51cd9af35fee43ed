#include "tilewave/simulate/tune/device_fit.h"

#include <algorithm>

#include "tilewave/statevec/rates/fit.h"

namespace tilewave::simulate {

namespace rates = statevec::rates;
namespace tile = statevec::tile;
using tile::DeviceNumbers;

namespace {

constexpr double kArithmeticDecides = 1.15;  // times what the traffic alone takes
constexpr double kTooLong = 1.03;
constexpr std::ptrdiff_t kEnoughCompiled = 20;

double traffic_s(const DeviceNumbers& n, const TimedPass& pass) {
  return pass.terms[0] * n.byte_s + pass.terms[1] * n.wide_byte_s;
}

bool is_hidden(const DeviceNumbers& n, const TimedPass& pass) {
  return pass.seconds < kArithmeticDecides * traffic_s(n, pass);
}

// Sets `numbers` from passes that arithmetic decides. A pass whose arithmetic the traffic hides says
// only that it takes no longer than that: it counts where it was said to take longer.
void fit_beside_traffic(std::vector<rates::Sample>& samples, std::vector<rates::Sample>& hidden,
                        std::span<double> numbers) {
  constexpr int kRounds = 8;
  std::vector<double> found = rates::fit(samples, numbers);
  for (int round = 0; round < kRounds; ++round) {
    const auto broken = std::partition(hidden.begin(), hidden.end(), [&](const auto& s) {
      return rates::predict(s, found) <= kTooLong * s.seconds;
    });
    if (broken == hidden.end()) break;
    samples.insert(samples.end(), broken, hidden.end());
    hidden.erase(broken, hidden.end());
    found = rates::fit(samples, numbers);
  }
  std::copy(found.begin(), found.end(), numbers.begin());
}

}  // namespace

std::vector<double> fit_device(const DeviceNumbers& known, std::span<const TimedPass> passes) {
  std::vector<double> numbers = statevec::rates::flat_of(known);
  // what operations cost, of each way to run a program
  for (const std::size_t first : {tile::kFirstInterpreted, tile::kFirstCompiled}) {
    std::vector<rates::Sample> samples, hidden;
    for (const TimedPass& pass : passes) {
      if (!(pass.terms[first] > 0)) continue;  // it ran the other way
      rates::Sample& s = (is_hidden(known, pass) ? hidden : samples).emplace_back();
      s.seconds = pass.seconds;
      s.known_s = pass.terms[2] * known.pass_s;
      const auto at = pass.terms.begin() + static_cast<std::ptrdiff_t>(first);
      s.terms.assign(at, at + tile::kNumOpCosts);
      s.terms[0] = traffic_s(known, pass);  // the share of it that is added
    }
    if (samples.empty()) continue;
    fit_beside_traffic(samples, hidden, std::span(numbers).subspan(first, tile::kNumOpCosts));
    // no more of the traffic is added than there is
    numbers[first] = std::min(numbers[first], 1.0);
  }
  // what actions cost, by which plans are compared before anything is written as a program: of compiled
  // passes where there are enough, since large states run those
  const auto runs_compiled = [](const TimedPass& pass) {
    return pass.terms[tile::kFirstCompiled] > 0;
  };
  const bool compiled =
      std::count_if(passes.begin(), passes.end(), runs_compiled) >= kEnoughCompiled;
  std::vector<rates::Sample> samples, hidden;
  for (const TimedPass& pass : passes) {
    if (runs_compiled(pass) != compiled) continue;
    rates::Sample& s = (is_hidden(known, pass) ? hidden : samples).emplace_back();
    s.seconds = pass.seconds;
    s.known_s = known.pass_s;
    s.terms.assign(pass.actions.begin() + 3, pass.actions.begin() + tile::kNumActionTerms);
    s.terms[0] *= known.byte_s;
    s.terms[1] *= known.wide_byte_s;
  }
  if (!samples.empty()) {
    const auto start = std::span(numbers).subspan(3, tile::kNumActionTerms - 3);
    fit_beside_traffic(samples, hidden, start);
    for (std::size_t k = 0; k < 2; ++k) start[k] = std::min(start[k], 1.0);
  }
  return numbers;
}

double predict_device(std::span<const double> numbers, const TimedPass& pass) {
  const DeviceNumbers n = statevec::rates::from_flat<DeviceNumbers>(numbers);
  const double memory_s = traffic_s(n, pass);
  double seconds = 0;
  for (const std::size_t first : {tile::kFirstInterpreted, tile::kFirstCompiled}) {
    if (pass.terms[first] > 0) seconds += numbers[first] * memory_s;  // it ran this way
    for (std::size_t k = 1; k < tile::kNumOpCosts; ++k)
      seconds += numbers[first + k] * pass.terms[first + k];
  }
  return std::max(memory_s, seconds) + pass.terms[2] * n.pass_s;
}

}  // namespace tilewave::simulate
