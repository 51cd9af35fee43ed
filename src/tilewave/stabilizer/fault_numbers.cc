#include "tilewave/stabilizer/fault_numbers.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <span>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/base/saturating.h"

namespace tilewave::stabilizer {
namespace {

// The expected number where odds are multiplied by `tilt`.
double expected(const std::vector<FaultClass>& classes, double tilt) {
  double sum = 0;
  for (const FaultClass& c : classes) {
    if (c.probability >= 1) continue;
    const double odds = tilt * c.probability / (1 - c.probability);
    sum += static_cast<double>(c.count) * odds / (1 + odds);
  }
  return sum;
}

// The factor that brings the expected number to `target`, which lies between 0 and all.
double tilt_to(const std::vector<FaultClass>& classes, double target) {
  double low = -690, high = 690;  // of its logarithm
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    (expected(classes, std::exp(middle)) < target ? low : high) = middle;
  }
  return std::exp((low + high) / 2);
}

constexpr double kNothing = 1e-305;                             // what is below is taken for 0
constexpr std::uint64_t kMostNumbers = std::uint64_t{1} << 28;  // kept for a tree
constexpr double kMostProducts = 2e10;                          // of all its convolutions

[[noreturn]] void throw_too_many(double mean) {
  char number[32];
  std::snprintf(number, sizeof number, "%.3g", mean);
  tilewave::fail(ExitCode::kResources,
                 "the distribution of the number of faults is too large to be made: ", number,
                 " are expected in a shot. Take a smaller number of faults, or a shorter circuit");
}

// P(j of `count` places fire), j <= most, from the likeliest number outwards: each is the one before
// times a ratio. What lies behind `most` counts for the sum, which is 1.
void binomial(double odds, std::uint64_t count, std::uint64_t most, std::vector<double>& out) {
  const auto n = static_cast<double>(count);
  const auto mode =
      static_cast<std::uint64_t>(std::min(n, std::floor((n + 1) * odds / (1 + odds))));
  const std::size_t first = out.size();
  const std::uint64_t last = std::min(count, most);
  out.resize(first + last + 1, 0.0);
  double sum = 0;
  const auto put = [&](std::uint64_t j, double value) {
    sum += value;
    if (j <= last) out[first + j] = value;
  };
  put(mode, 1);
  double value = 1;
  for (std::uint64_t j = mode; j > 0 && value > kNothing; --j) {
    value *= static_cast<double>(j) / (odds * static_cast<double>(count - j + 1));
    put(j - 1, value);
  }
  value = 1;
  for (std::uint64_t j = mode; j < count && value > kNothing; ++j) {
    value *= odds * static_cast<double>(count - j) / static_cast<double>(j + 1);
    put(j + 1, value);
  }
  for (std::size_t k = first; k < out.size(); ++k) out[k] /= sum;
}

// Adds the convolution of two distributions, each of a single peak, to `to` as far as that goes.
// Products that are nothing are left out: of a million faults some ten thousand numbers matter.
// Returns how many products there are; where that is more than `most_products`, nothing is done.
double convolve(std::span<const double> l, std::span<const double> r, double most_products,
                std::span<double> to) {
  const auto peak = std::max_element(r.begin(), r.end());
  const auto factors = [&](std::size_t i) {
    const double least = kNothing / l[i];
    const auto end = r.begin() + static_cast<std::ptrdiff_t>(std::min(r.size(), to.size() - i));
    const auto first =
        std::partition_point(r.begin(), std::min(peak, end), [&](double x) { return x < least; });
    const auto last =
        std::partition_point(std::min(peak, end), end, [&](double x) { return x >= least; });
    return std::pair(static_cast<std::size_t>(first - r.begin()),
                     static_cast<std::size_t>(std::max(first, last) - r.begin()));
  };
  const std::size_t size = std::min(l.size(), to.size());
  double products = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (l[i] == 0) continue;
    const auto [first, last] = factors(i);
    products += static_cast<double>(last - first);
  }
  if (products > most_products) return products;
  for (std::size_t i = 0; i < size; ++i) {
    check_interrupt_once_in<256>();
    if (l[i] == 0) continue;
    const auto [first, last] = factors(i);
    for (std::size_t j = first; j < last; ++j) to[i + j] += l[i] * r[j];
  }
  return products;
}

}  // namespace

FaultRange parse_fault_range(std::string_view words) {
  const auto fail = [&]() -> FaultRange {
    tilewave::fail(
        ExitCode::kUsage, "'", words,
        "' is no number of faults: write 3, a range such as 3-8, or 3+ for three or more");
  };
  FaultRange range;
  const char *at = words.data(), *end = at + words.size();
  const auto number = [&](std::uint64_t& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    if (error == std::errc::result_out_of_range || value == FaultRange::kNoLimit) {
      tilewave::fail(ExitCode::kUsage, "'", words, "': a number of faults is at most ",
                     FaultRange::kNoLimit - 1);
    }
    if (error != std::errc{}) fail();
    at = next;
  };
  number(range.first);
  range.last = range.first;
  if (at < end && *at == '-') {
    ++at;
    number(range.last);
  } else if (at < end && *at == '+') {
    ++at;
    range.last = FaultRange::kNoLimit;
  }
  return at == end && range.first <= range.last ? range : fail();
}

std::string words_of(const FaultRange& range) {
  const std::string first = std::to_string(range.first);
  if (range.last == FaultRange::kNoLimit) return first + "+";
  return range.last == range.first ? first : first + "-" + std::to_string(range.last);
}

FaultNumbers::FaultNumbers(std::vector<FaultClass> classes, FaultRange range)
    : asked_(range), range_(range), classes_(std::move(classes)) {
  std::uint64_t certain = 0, places = 0;
  std::vector<std::uint32_t> uncertain;
  for (std::uint32_t c = 0; c < classes_.size(); ++c) {
    if (classes_[c].probability >= 1) {
      certain += classes_[c].count;
      certain_.push_back(c);
    } else {
      places += classes_[c].count;
      uncertain.push_back(c);
    }
  }
  if (range_.last < certain || range_.first > certain + places) {
    tilewave::fail(ExitCode::kUsage, "no shot has ", words_of(range_), " faults: there are ",
                   certain + places, " places of noise",
                   certain > 0 ? ", " + std::to_string(certain) + " of which always fire" : "");
  }
  // From here on in numbers of faults beside the certain ones.
  range_.first = std::max(range_.first, certain);
  const std::uint64_t first = range_.first - certain;
  std::uint64_t last = range_.last == FaultRange::kNoLimit ? places : range_.last - certain;
  last = std::min(last, places);
  const double mean = expected(classes_, 1);
  double tilt = 1;
  if (places > 0 && (mean < static_cast<double>(first) || mean > static_cast<double>(last))) {
    const double target = std::clamp(
        mean < static_cast<double>(first) ? static_cast<double>(first) : static_cast<double>(last),
        0.5, static_cast<double>(places) - 0.5);
    tilt = tilt_to(classes_, target);
  }
  if (range_.last == FaultRange::kNoLimit) {
    const double middle = std::max(mean, static_cast<double>(first));
    const double reach = std::ceil(middle + 12 * std::sqrt(middle) + 40);
    if (reach < static_cast<double>(last)) last = static_cast<std::uint64_t>(reach);
  }
  range_.last = certain + last;
  double log_shift = 0;  // of prod (1 - p) / (1 - p(t))
  if (tilt != 1) {
    for (const std::uint32_t c : uncertain) {
      const double p = classes_[c].probability;
      log_shift += static_cast<double>(classes_[c].count) *
                   (std::log1p(-p) + std::log1p(tilt * p / (1 - p)));
    }
  }
  std::vector<double> tilted = {1};
  if (!uncertain.empty()) {
    double work = 0;
    const std::uint32_t top = add_nodes(uncertain, 0, uncertain.size(), tilt, last, work);
    const double* chances = chances_.data() + nodes_[top].first;
    tilted.assign(chances, chances + nodes_[top].size);
  }
  const double log_tilt = std::log(tilt);
  std::vector<double> logs;
  for (std::uint64_t k = first; k <= last; ++k)
    logs.push_back(std::log(tilted[k]) + log_shift - static_cast<double>(k) * log_tilt);
  // Shares of the largest one: draws do not underflow where weights do.
  const double scale = *std::max_element(logs.begin(), logs.end());
  if (!std::isfinite(scale)) {
    tilewave::fail(ExitCode::kUsage, "the probability of ", words_of(range),
                   " faults is too small to be drawn: take fewer, or a range");
  }
  double sum = 0;
  for (std::size_t j = 0; j < logs.size(); ++j) {
    probabilities_.push_back(tilt == 1 ? tilted[first + j] : std::exp(logs[j]));
    sum += std::exp(logs[j] - scale);
    upto_.push_back(sum);
  }
  for (double& u : upto_) u /= sum;
  weight_ = tilt == 1 ? std::accumulate(probabilities_.begin(), probabilities_.end(), 0.0)
                      : std::exp(scale) * sum;
  weight_ = std::min(weight_, 1.0);
}

std::uint32_t FaultNumbers::add_nodes(const std::vector<std::uint32_t>& classes, std::size_t first,
                                      std::size_t last, double tilt, std::uint64_t most,
                                      double& work) {
  Node node;
  if (last - first == 1) {
    const FaultClass& c = classes_[classes[first]];
    node = {chances_.size(), 0, classes[first], 0, true};
    if (saturating_add(node.first, std::min(c.count, most)) >= kMostNumbers)
      throw_too_many(expected(classes_, 1));
    binomial(tilt * c.probability / (1 - c.probability), c.count, most, chances_);
    node.size = chances_.size() - node.first;
  } else {
    const std::size_t middle = (first + last) / 2;
    node.left = add_nodes(classes, first, middle, tilt, most, work);
    node.right = add_nodes(classes, middle, last, tilt, most, work);
    const Node left = nodes_[node.left], right = nodes_[node.right];
    node.first = chances_.size();
    node.size = std::min(left.size + right.size - 1, saturating_add(most, 1));
    if (node.first + node.size > kMostNumbers) throw_too_many(expected(classes_, 1));
    chances_.resize(node.first + node.size, 0.0);
    const std::span chances(chances_);
    work +=
        convolve(chances.subspan(left.first, left.size), chances.subspan(right.first, right.size),
                 kMostProducts - work, chances.subspan(node.first, node.size));
    if (work > kMostProducts) throw_too_many(expected(classes_, 1));
  }
  nodes_.push_back(node);
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

}  // namespace tilewave::stabilizer
