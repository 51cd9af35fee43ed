// Random draws of the stabilizer engines, written once for host and device. A draw is a pure
// function of (seed, unit of 32 shots, tick, index): the tick numbers the random steps a shot
// executes, so the bits do not depend on SIMD width, threads, batch or device.
//
// Rare events by geometric gaps: the number of trials until the next event of probability p is
//   floor(log(U) / log(1 - p)),  U uniform in (0, 1] with 40 bits,
// so the cost is one draw an event, not one a trial. The logarithm uses only correctly rounded
// operations (no fused multiply-add), which every IEEE machine computes to the same bits.
//
// Sites of unequal probabilities by their hazards h = -log(1 - p): trials lie one behind the other
// on a line, each as long as its hazard, 32 (the shots of a unit) a site. From the end of a trial
// the next event is -log(U) away: none of the trials in between happens with probability exp(-sum
// of their h) = product of their 1 - p. Nothing is drawn in vain, however much the p differ.
#pragma once

#include <cstdint>
#include <cstring>

#include "tilewave/base/host_device.h"
#include "tilewave/base/philox.h"
#include "tilewave/base/rounded.h"

namespace tilewave::stabilizer {

/// Natural logarithm of (k + 1) / 2^40 for k < 2^40; relative error below 1e-13.
[[gnu::always_inline]] TW_HD double log_unit(std::uint64_t k) {
  const auto value = static_cast<double>(k + 1);
  std::uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  int exponent = static_cast<int>(bits >> 52) - 1023 - 40;
  bits = (bits & 0xFFFFFFFFFFFFFull) | (std::uint64_t{1023} << 52);
  double m;
  memcpy(&m, &bits, sizeof m);
  if (m > 1.4142135623730951) m = mul_rn(m, 0.5), ++exponent;
  // log m = 2 atanh s = 2 (s + s^3/3 + ...), |s| <= 0.1716
  const double s = div_rn(add_rn(m, -1.0), add_rn(m, 1.0)), s2 = mul_rn(s, s);
  double sum = 1.0 / 17;
  sum = add_rn(mul_rn(sum, s2), 1.0 / 15);
  sum = add_rn(mul_rn(sum, s2), 1.0 / 13);
  sum = add_rn(mul_rn(sum, s2), 1.0 / 11);
  sum = add_rn(mul_rn(sum, s2), 1.0 / 9);
  sum = add_rn(mul_rn(sum, s2), 1.0 / 7);
  sum = add_rn(mul_rn(sum, s2), 1.0 / 5);
  sum = add_rn(mul_rn(sum, s2), 1.0 / 3);
  sum = add_rn(mul_rn(sum, s2), 1.0);
  return add_rn(mul_rn(mul_rn(2.0, s), sum),
                mul_rn(0.6931471805599453, static_cast<double>(exponent)));
}

/// The stream of one unit at one tick.
struct UnitStream {
  std::uint32_t key0, key1;  ///< seed
  std::uint64_t unit;        ///< below 2^48
  std::uint64_t tick;        ///< below 2^48

  TW_HD Philox4x32 block(std::uint32_t index) const {
    return philox4x32(
        {{index, static_cast<std::uint32_t>(tick), static_cast<std::uint32_t>(unit),
          static_cast<std::uint32_t>(unit >> 32) | (static_cast<std::uint32_t>(tick >> 32) << 16)}},
        key0, key1);
  }
};

/// The gap of one draw: 40 of its 64 bits.
[[gnu::always_inline]] TW_HD double event_gap(std::uint32_t lo, std::uint32_t hi, double inv_log) {
  return mul_rn(log_unit((static_cast<std::uint64_t>(hi) << 8) | (lo >> 24)), inv_log);
}

/// One draw: moves `trial` on by its gap; false when that leads to `num_trials` or beyond. The
/// lowest 24 bits of `lo` are left for the choice of a branch.
[[gnu::always_inline]] TW_HD bool draw_event(std::uint32_t lo, std::uint32_t hi, double inv_log,
                                             std::uint64_t num_trials, std::uint64_t& trial) {
  const double gap = event_gap(lo, hi, inv_log);
  if (!(gap < static_cast<double>(num_trials - trial))) return false;
  trial += static_cast<std::uint64_t>(gap);
  return true;
}

/// Walks the events among `num_trials` trials of probability p; inv_log = 1 / log(1 - p).
struct RareEvents {
  UnitStream stream;
  double inv_log;
  std::uint64_t num_trials;
  std::uint64_t next_trial = 0;
  std::uint32_t num_draws = 0;
  Philox4x32 words{};

  /// The next event's trial and 24 random bits that choose its branch; false at the end.
  [[gnu::always_inline]] TW_HD bool next(std::uint64_t* trial, std::uint32_t* branch) {
    if (next_trial >= num_trials) return false;
    if ((num_draws & 1) == 0) words = stream.block(num_draws >> 1);
    const std::uint32_t lo = words.v[(num_draws & 1) * 2], hi = words.v[(num_draws & 1) * 2 + 1];
    ++num_draws;
    if (!draw_event(lo, hi, inv_log, num_trials, next_trial)) {
      next_trial = num_trials;
      return false;
    }
    *trial = next_trial++;
    *branch = lo & 0xFFFFFFu;
    return true;
  }
};

/// The hazard of one trial of a site.
struct SiteRate {
  double hazard, inverse;
};

/// Sites that share a random stream: `ends` says where each ends on their line, the last at
/// `total`.
struct SiteStream {
  std::uint32_t first = 0, count = 0;
  double total = 0;
};

/// The first site that ends behind `at`, which lies before the end of the last one. Bisection
/// without a branch: which half it is cannot be foreseen.
[[gnu::always_inline]] TW_HD std::uint32_t find_site(const double* ends, std::uint32_t count,
                                                     double at) {
  std::uint32_t first = 0;
  while (count > 1) {
    const std::uint32_t half = count / 2;
    first += ends[first + half - 1] <= at ? half : 0;
    count -= half;
  }
  return first;
}

/// The gap of one draw on the line.
[[gnu::always_inline]] TW_HD double site_gap(std::uint32_t lo, std::uint32_t hi) {
  return -log_unit((static_cast<std::uint64_t>(hi) << 8) | (lo >> 24));
}

/// Goes `gap` on from `at`; false when that leads to the end of the line. Else the event's site and
/// shot, and `at` becomes the end of its trial.
[[gnu::always_inline]] TW_HD bool next_site(const double* ends, const SiteRate* rates,
                                            std::uint32_t count, double total, double gap,
                                            double& at, std::uint32_t& site, std::uint32_t& shot) {
  const double event = add_rn(at, gap);
  if (!(event < total)) return false;
  site = find_site(ends, count, event);
  const double begin = site > 0 ? ends[site - 1] : 0.0;
  const double trial = mul_rn(add_rn(event, -begin), rates[site].inverse);
  shot = trial < 31.0 ? static_cast<std::uint32_t>(trial) : 31u;
  at = add_rn(begin, mul_rn(rates[site].hazard, static_cast<double>(shot + 1)));
  return true;
}

/// Walks the events of a stream of sites in one unit.
struct RareSites {
  UnitStream stream;
  const double* ends;
  const SiteRate* rates;
  std::uint32_t count;
  double total;
  double at = 0;
  std::uint32_t num_draws = 0;
  Philox4x32 words{};

  /// The next event's site and shot, and 24 random bits that choose its branch; false at the end.
  [[gnu::always_inline]] TW_HD bool next(std::uint32_t* site, std::uint32_t* shot,
                                         std::uint32_t* branch) {
    if ((num_draws & 1) == 0) words = stream.block(num_draws >> 1);
    const std::uint32_t lo = words.v[(num_draws & 1) * 2], hi = words.v[(num_draws & 1) * 2 + 1];
    ++num_draws;
    if (!next_site(ends, rates, count, total, site_gap(lo, hi), at, *site, *shot)) return false;
    *branch = lo & 0xFFFFFFu;
    return true;
  }
};

}  // namespace tilewave::stabilizer
