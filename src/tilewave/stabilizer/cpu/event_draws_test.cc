// Events drawn side by side in vectors are those drawn one after the other.
#include "tilewave/stabilizer/cpu/event_draws.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace tilewave::stabilizer {
namespace {

using Event = std::array<std::uint32_t, 4>;  // target or site, unit, bit, branch bits

constexpr std::uint64_t kSeed = 0x123456789ABCDEFull, kFirstUnit = (std::uint64_t{1} << 33) + 5,
                        kTick = (std::uint64_t{1} << 34) + 3;
constexpr auto kKey0 = static_cast<std::uint32_t>(kSeed),
               kKey1 = static_cast<std::uint32_t>(kSeed >> 32);

template <class Draws>
std::vector<Event> all_of(Draws& draws, std::uint32_t (Draws::*target)(std::size_t) const) {
  std::vector<Event> out;
  while (draws.next()) {
    for (std::size_t k = 0; k < draws.size(); ++k)
      out.push_back({(draws.*target)(k), draws.unit(k), draws.bit(k), draws.bits(k)});
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(EventDraws, are_those_of_one_unit_after_the_other) {
  for (const auto& [count, segment, p] :
       {std::tuple{1u, 1u, 0.3}, {7u, 3u, 0.02}, {100u, 40u, 0.001}, {5u, 5u, 0.9}}) {
    for (std::uint32_t units : {1u, 16u, 100u}) {
      const double inv_log = 1 / std::log1p(-p);
      std::vector<Event> want;
      for (std::uint32_t stream = 0; stream * segment < count; ++stream) {
        const std::uint32_t first = stream * segment;
        for (std::uint32_t u = 0; u < units; ++u) {
          RareEvents events{{kKey0, kKey1, kFirstUnit + u, kTick + stream},
                            inv_log,
                            std::uint64_t{std::min(segment, count - first)} * 32};
          std::uint64_t trial;
          std::uint32_t bits;
          while (events.next(&trial, &bits)) {
            want.push_back(
                {first + static_cast<std::uint32_t>(trial / 32), u, 1u << (trial % 32), bits});
          }
        }
      }
      std::sort(want.begin(), want.end());
      EventDraws draws({kKey0, kKey1, kFirstUnit, kTick, units, segment, count, inv_log});
      EXPECT_EQ(all_of(draws, &EventDraws::target), want) << count << ' ' << p << ' ' << units;
    }
  }
}

// Lists of one and of many sites, hazards that are equal, that grow by a factor of a million, and
// that vanish.
TEST(SiteDraws, are_those_of_one_unit_after_the_other) {
  const auto equal = [](std::size_t) { return 1e-3; };
  const auto grow = [](std::size_t k) { return 1e-8 * std::pow(10, 6.0 * double(k) / 300); };
  const auto sparse = [](std::size_t k) { return k % 50 == 49 ? 0.015 : 1e-12; };
  for (double (*hazard)(std::size_t) : {+equal, +grow, +sparse}) {
    std::vector<double> ends;
    std::vector<SiteRate> rates;
    std::vector<SiteStream> streams;
    for (std::uint32_t count : {1u, 2u, 63u, 234u}) {
      SiteStream s{static_cast<std::uint32_t>(ends.size()), count, 0};
      for (std::uint32_t k = 0; k < count; ++k) {
        const double h = hazard(ends.size());
        s.total += 32 * h;
        ends.push_back(s.total);
        rates.push_back({h, 1 / h});
      }
      streams.push_back(s);
    }
    for (std::uint32_t units : {3u, 128u}) {
      std::vector<Event> want;
      for (std::uint32_t k = 0; k < streams.size(); ++k) {
        for (std::uint32_t u = 0; u < units; ++u) {
          const SiteStream& s = streams[k];
          RareSites events{{kKey0, kKey1, kFirstUnit + u, kTick + k},
                           ends.data() + s.first,
                           rates.data() + s.first,
                           s.count,
                           s.total};
          std::uint32_t site, shot, bits;
          while (events.next(&site, &shot, &bits))
            want.push_back({s.first + site, u, 1u << shot, bits});
        }
      }
      std::sort(want.begin(), want.end());
      SiteDraws draws({kKey0, kKey1, kFirstUnit, kTick, units, streams, ends.data(), rates.data()});
      EXPECT_EQ(all_of(draws, &SiteDraws::site), want) << units;
      EXPECT_FALSE(want.empty());
    }
  }
}

// Every site of a list happens as often as it should, in every one of the 32 shots: within 5 sigma.
TEST(SiteDraws, happen_as_often_as_they_should) {
  const double probabilities[] = {0.01, 1e-4, 0.015, 0.002, 1e-9, 0.008, 0.014};
  std::vector<double> ends;
  std::vector<SiteRate> rates;
  double end = 0;
  for (double p : probabilities) {
    const double h = -std::log1p(-p);
    ends.push_back(end += 32 * h);
    rates.push_back({h, 1 / h});
  }
  const std::vector<SiteStream> streams{{0, static_cast<std::uint32_t>(ends.size()), end}};
  constexpr std::uint32_t kUnits = 1 << 17;
  SiteDraws draws({kKey0, kKey1, 0, 0, kUnits, streams, ends.data(), rates.data()});
  std::vector<std::array<double, 32>> counts(ends.size());
  for (auto& c : counts) c.fill(0);
  while (draws.next()) {
    for (std::size_t k = 0; k < draws.size(); ++k)
      ++counts[draws.site(k)][static_cast<std::size_t>(__builtin_ctz(draws.bit(k)))];
  }
  for (std::size_t k = 0; k < ends.size(); ++k) {
    const double want = kUnits * probabilities[k];
    for (double count : counts[k])
      EXPECT_LE(std::abs(count - want), 5 * std::sqrt(want) + 1) << probabilities[k];
  }
}

}  // namespace
}  // namespace tilewave::stabilizer
