// The shortest graphlike error against all subsets of the errors.
#include "tilewave/stabilizer/graphlike_error.h"

#include <bit>
#include <random>

#include <gtest/gtest.h>

#include "tilewave/base/error.h"
#include "tilewave/language/stim/dem_text.h"

namespace tilewave::stabilizer {
namespace {

// An error as bits: detectors, then observables.
std::uint64_t bits_of(const circuit::FlatError& e, std::uint64_t num_detectors) {
  std::uint64_t bits = 0;
  for (std::uint64_t d : e.detectors) bits |= std::uint64_t{1} << d;
  for (std::uint64_t l : e.observables) bits |= std::uint64_t{1} << (num_detectors + l);
  return bits;
}

// The size of the smallest subset that flips an observable and no detector; 0: there is none.
int smallest_subset(const std::vector<std::uint64_t>& errors, std::uint64_t num_detectors) {
  int best = 0;
  for (std::uint32_t subset = 1; subset < std::uint32_t{1} << errors.size(); ++subset) {
    const int size = std::popcount(subset);
    if (best && size >= best) continue;
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < errors.size(); ++k)
      if ((subset >> k) & 1) sum ^= errors[k];
    if (sum >> num_detectors && !(sum & ((std::uint64_t{1} << num_detectors) - 1))) best = size;
  }
  return best;
}

TEST(GraphlikeErrorTest, is_as_small_as_the_smallest_of_all_subsets) {
  constexpr std::uint64_t kDetectors = 7;
  std::mt19937 random(4);
  int lengths[8] = {};
  for (int round = 0; round < 400; ++round) {
    std::string text = "error(0.1) D6\n";  // so that all models have as many detectors
    for (unsigned n = 2 + random() % 12; n > 0; --n) {
      text += "error(0.1)";
      const unsigned a = random() % kDetectors, b = random() % kDetectors;
      const bool is_half = random() % 5 == 0;
      text += " D" + std::to_string(a);
      if (!is_half && a != b) text += " D" + std::to_string(b);
      if (random() % 5 == 0) text += " L" + std::to_string(random() % 2);
      text += "\n";
    }
    const circuit::ErrorModel model = language::parse_dem(text);
    const circuit::FlatModel flat = circuit::flatten(model);
    std::vector<std::uint64_t> errors;
    for (const circuit::FlatError& e : flat.errors) errors.push_back(bits_of(e, kDetectors));
    const int expected = smallest_subset(errors, kDetectors);
    ++lengths[std::min(expected, 7)];
    if (expected == 0) {
      EXPECT_THROW(shortest_graphlike_error(model, true), Error) << text;
      continue;
    }
    const auto found = shortest_graphlike_error(model, round % 2 == 0);
    EXPECT_EQ(found.size(), static_cast<std::size_t>(expected)) << text;
    std::uint64_t sum = 0;
    for (const GraphlikeError& e : found) {
      const std::uint64_t bits = bits_of({0, e.detectors, e.observables}, kDetectors);
      EXPECT_NE(std::find(errors.begin(), errors.end(), bits), errors.end()) << text;
      sum ^= bits;
    }
    EXPECT_EQ(sum & ((std::uint64_t{1} << kDetectors) - 1), 0u) << text;
    EXPECT_NE(sum >> kDetectors, 0u) << text;
  }
  for (int length : {0, 2, 3, 4, 5}) EXPECT_GT(lengths[length], 0) << length;
}

TEST(GraphlikeErrorTest, tells_what_it_cannot_use) {
  const circuit::ErrorModel wide = language::parse_dem("error(0.1) D0 D1 D2 L0\nerror(0.1) L1\n");
  EXPECT_EQ(shortest_graphlike_error(wide, true).size(), 1u);
  EXPECT_THROW(shortest_graphlike_error(wide, false), Error);
  const circuit::ErrorModel parts =
      language::parse_dem("error(0.1) D0 ^ D1 L0\nerror(0.1) D0 D1\n");
  EXPECT_THROW(shortest_graphlike_error(parts, true), Error);
  EXPECT_EQ(shortest_graphlike_error(parts, false).size(), 3u);
}

}  // namespace
}  // namespace tilewave::stabilizer
