// Plans in pieces, and what is left of them on other machines, against the gates one by one.
#include "tilewave/statevec/plan/pieces.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/circuit/families.h"
#include "tilewave/statevec/state.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::statevec {
namespace {

using testing::Amplitudes;

constexpr int kQubits = 9;

// Plans that are not searched.
PlanOptions options_of(int tile_qubits, int row_bits, int shard_bits) {
  PlanOptions options = testing::tile_options(tile_qubits, row_bits, shard_bits);
  options.effort = Effort::kOnce;
  return options;
}

TEST(Pieces, one_after_the_other_they_are_the_plan) {
  std::mt19937_64 random(11);
  std::size_t most_pieces = 0;
  for (int k = 0; k < 40; ++k) {
    const circuit::Circuit c = testing::random_circuit(kQubits, 60, random);
    const Plan plan = make_plan(c, options_of(6, 2, k % 3));
    Amplitudes whole = testing::random_state(kQubits, random), parts = whole;
    testing::run_plan(whole, plan);
    std::size_t first = 0;
    const std::vector<std::size_t> cuts = cuts_of(plan, k % 2 ? 0 : plan.predicted_s / 3);
    for (const std::size_t cut : cuts) {
      testing::run_plan(parts, piece_of(plan, first, cut));
      first = cut;
    }
    EXPECT_EQ(first, plan.passes.size());
    EXPECT_EQ(testing::max_difference(whole, parts), 0) << "circuit " << k;
    most_pieces = std::max(most_pieces, cuts.size());
  }
  EXPECT_GT(most_pieces, 5u);
}

TEST(Pieces, the_rest_runs_on_another_machine) {
  std::mt19937_64 random(12);
  int tried = 0;
  for (int k = 0; k < 60; ++k) {
    const circuit::Circuit c = testing::random_circuit(kQubits, 50, random);
    PlanOptions before = options_of(6, 2, k % 3);
    before.from_zeros = k % 2;
    const Plan plan = make_plan(c, before);
    Amplitudes start = testing::random_state(kQubits, random);
    if (before.from_zeros) {
      std::fill(start.begin(), start.end(), cplx{});
      start[0] = 1;
    }
    Amplitudes expected = start;
    testing::apply_circuit(expected, c);
    for (std::size_t cut = 0; cut < plan.passes.size(); ++cut) {
      Amplitudes physical = start;
      std::uint64_t known_zero = before.from_zeros ? low_mask(kQubits) : 0;
      if (cut > 0) {
        testing::run_plan(physical, piece_of(plan, 0, cut));
        known_zero = plan.passes[cut - 1].known_zero_after;
      }
      const RestOfPlan rest = rest_of(plan, cut);
      PlanOptions after = options_of(5 + k % 3, 1 + k % 2, (k + static_cast<int>(cut)) % 3);
      after.known_zero = known_zero;
      const Plan anew = make_plan(rest.circuit, after);
      for (std::uint64_t p = 0; p < physical.size(); ++p) {
        if (p & known_zero) physical[p] = NAN;
      }
      testing::run_plan(physical, anew);
      const Layout layout = layout_of_rest(plan, rest, anew.layout_after);
      for (cplx& x : physical) x = std::isnan(x.real()) ? 0 : x;
      EXPECT_LT(testing::max_difference(testing::in_order(physical, layout, kQubits), expected),
                1e-12)
          << "circuit " << k << " cut before pass " << cut;
      ++tried;
    }
  }
  EXPECT_GT(tried, 200);
}

// What one state saves, another of other ranks loads.
TEST(Pieces, physical_amplitudes_move_between_numbers_of_ranks) {
  constexpr int kMore = 9;
  std::mt19937_64 random(13);
  const auto make = [](int ranks, Precision precision) {
    return ranks == 1 ? make_cpu_state(kMore, precision, 1)
                      : make_logical_state(kMore, precision, 1, ranks);
  };
  int with_zeros = 0;
  for (int k = 0; k < 48; ++k) {
    const auto precision = k % 2 ? Precision::kDouble : Precision::kSingle;
    const std::size_t each = amplitude_bytes(precision);
    const int from_ranks = 1 << k % 4, to_ranks = 1 << k / 4 % 4;
    const auto from = make(from_ranks, precision);
    circuit::Circuit c = testing::random_circuit(kMore - k % 5, 30, random);
    c.add_qubits(static_cast<std::uint32_t>(k % 5));
    from->apply(c, c.ops());
    with_zeros += from->known_zero() != 0;
    std::map<std::uint64_t, std::vector<std::byte>> saved;
    from->save_physical(3 + k % 5, [&](std::uint64_t first, std::span<const std::byte> bytes) {
      for (std::size_t at = 0; at < bytes.size(); at += each) {
        const auto one = bytes.subspan(at, each);
        saved[first + at / each].assign(one.begin(), one.end());
      }
    });
    const auto to = make(to_ranks, precision);
    circuit::Circuit other = testing::random_circuit(kMore, 20, random);
    to->apply(other, other.ops());  // what was there before is gone
    to->load_physical(from->layout(), from->known_zero(), 4,
                      [&](std::uint64_t first, std::span<std::byte> bytes) {
                        for (std::size_t at = 0; at < bytes.size(); at += each) {
                          const auto one = saved.find(first + at / each);
                          ASSERT_TRUE(one != saved.end());
                          std::copy(one->second.begin(), one->second.end(), bytes.begin() + at);
                        }
                      });
    EXPECT_EQ(testing::read_all(*from), testing::read_all(*to)) << from_ranks << " to " << to_ranks;
    EXPECT_NEAR(from->norm(), to->norm(), 1e-6);
    const circuit::Circuit more = testing::random_circuit(kMore, 20, random);
    from->apply(more, more.ops());
    to->apply(more, more.ops());
    EXPECT_LT(testing::max_difference(testing::read_all(*from), testing::read_all(*to)),
              precision == Precision::kDouble ? 1e-12 : 1e-4);
  }
  EXPECT_GT(with_zeros, 5);
}

}  // namespace
}  // namespace tilewave::statevec
