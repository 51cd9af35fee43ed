#include "tilewave/statevec/tile/price.h"

#include <gtest/gtest.h>

#include "tilewave/circuit/families.h"

namespace tilewave::statevec::tile {
namespace {

// A device of half the speed takes twice the time, and no further try makes a program slower.
TEST(Price, follows_the_rates_of_the_device) {
  for (const Precision precision : {Precision::kSingle, Precision::kDouble}) {
    PlanOptions options;
    options.precision = precision;
    options.cost.tile_qubits = 13;
    options.cost.row_bits = precision == Precision::kSingle ? 4 : 3;  // 128 bytes
    options.cost.programs = &kProgramPrices;
    const Plan plan = make_plan(circuit::make_family("random", 24), options);
    ASSERT_GT(plan.passes.size(), 1u);
    CostModel half = options.cost;
    half.bandwidth /= 2;
    half.lift_s *= 2;
    half.pass_overhead_s *= 2;
    const double seconds = kProgramPrices.plan_s(plan, options.cost, 1);
    EXPECT_GT(seconds, 0);
    EXPECT_NEAR(kProgramPrices.plan_s(plan, half, 1), 2 * seconds, 1e-9 * seconds);
    EXPECT_LE(kProgramPrices.plan_s(plan, options.cost, 4), seconds);
    EXPECT_GT(kProgramPrices.try_s(plan.passes[0]), 0);
  }
}

}  // namespace
}  // namespace tilewave::statevec::tile
