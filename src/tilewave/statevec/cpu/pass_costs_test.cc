#include "tilewave/statevec/cpu/pass_costs.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/circuit/families.h"
#include "tilewave/statevec/cpu/addressing.h"
#include "tilewave/statevec/cpu/cpu_state.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/cpu/row_moves.h"
#include "tilewave/statevec/cpu/tile_program.h"

namespace tilewave::statevec::cpu {
namespace {

constexpr int kQubits = 20, kTile = 14;

// One pass on the low 14 positions of 20, in double precision.
struct OnePass {
  Plan plan;

  OnePass() {
    plan.num_qubits = kQubits;
    plan.precision = Precision::kDouble;
    Pass& pass = plan.passes.emplace_back();
    for (std::uint8_t p = 0; p < kTile; ++p) pass.active.push_back(p);
    pass.dest = pass.active;
  }

  Action& add(ActionKind kind, int target) {
    Action& a = plan.passes[0].actions.emplace_back();
    a.kind = kind;
    if (target >= 0) a.targets[a.num_targets++] = static_cast<std::uint8_t>(target);
    return a;
  }
  void lift(int target, double t) { add(ActionKind::kLift, target).m[0] = t; }
  void flip(int target, int control) {
    Action& a = add(ActionKind::kFlip, target);
    a.control_mask = a.control_value = bit(control);
  }
  void phases(const std::vector<std::uint64_t>& masks) {
    Action& a = add(ActionKind::kPhase, -1);
    a.first = static_cast<std::uint32_t>(plan.terms.size());
    a.count = static_cast<std::uint32_t>(masks.size());
    for (const std::uint64_t mask : masks) plan.terms.push_back({mask, 12345});
  }
  PassWork work() const { return count_work(plan, plan.passes[0], kMaxRowBits); }
  double seconds(const CostModel& cost) const { return pass_seconds(plan, plan.passes[0], cost); }
};

// Everything for nothing.
CostModel free_of_charge() {
  CostModel cost;
  cost.block_bits = kMaxRowBits;
  cost.bandwidth = INFINITY;
  cost.pass_overhead_s = 0;
  return cost;
}

TEST(PassCosts, a_layer_is_a_sweep_inside_rows_and_one_for_four_lifts_on_them) {
  for (int low = 0; low <= 6; ++low) {
    for (int rows = 4; rows <= 8; ++rows) {
      OnePass p;
      for (int k = 0; k < low; ++k) p.lift(k, 0.1 + 0.01 * k);
      for (int k = 0; k < rows; ++k) p.lift(kLowBits + k, 0.3 + 0.01 * k);
      const PassWork work = p.work();
      const int row_sweeps = (rows + 3) / 4;
      EXPECT_EQ(work.sweeps, (low > 0) + row_sweeps) << low << " low, " << rows << " on rows";
      EXPECT_EQ(work.lifts, low + rows);
      EXPECT_EQ(work.phases + work.flips + work.rotations + work.matrix_rows, 0);
      EXPECT_FALSE(work.only_moves);
    }
  }
}

TEST(PassCosts, layers_of_few_lifts_share_sweeps) {
  OnePass p;  // of a QFT on rows: three levels are one sweep
  for (int k = 0; k < 3; ++k) {
    p.phases({bit(9) | bit(10 + k)});
    p.lift(10 + k, 1);
  }
  EXPECT_EQ(p.work().sweeps, 1);
  EXPECT_EQ(p.work().lifts, 3);
  EXPECT_EQ(p.work().sweep_phases, 1);  // all of them before the lifts
  EXPECT_EQ(p.work().phases, 0);
}

TEST(PassCosts, lifts_on_rows_by_one_number_are_half) {
  for (const double t : {0.25, -0.25, 1.0}) {
    OnePass p;
    for (int k = 0; k < 8; ++k) p.lift(kLowBits + k, t);
    EXPECT_EQ(p.work().light_lifts, 8) << t;
    EXPECT_EQ(p.work().lifts, 0) << t;
  }
}

TEST(PassCosts, flips_at_an_end_of_a_pass_are_part_of_its_movement) {
  OnePass p;
  p.flip(10, 9);
  EXPECT_TRUE(p.work().only_moves);
  EXPECT_EQ(p.work().flips, 0);
  for (int k = 0; k < kTile; ++k) p.lift(k, 0.1 + 0.01 * k);
  p.flip(8, 11);
  EXPECT_EQ(p.work().flips, 0);
  EXPECT_FALSE(p.work().only_moves);
  for (int k = 0; k < kTile; ++k) p.lift(k, 0.1 + 0.01 * k);
  EXPECT_EQ(p.work().flips, 0.5) << "between lifts it is a step for half of the amplitudes";
}

TEST(PassCosts, the_price_is_the_sum_of_its_pieces) {
  OnePass p;
  for (int k = 0; k < kTile; ++k) p.lift(k, 0.1 + 0.01 * k);
  p.phases({bit(0) | bit(1), bit(8) | bit(9), bit(3) | bit(12), bit(2) | bit(17)});
  p.flip(8, 11);
  p.plan.matrices.assign(16, cplx{0.25, 0.25});
  Action& matrix = p.add(ActionKind::kMatrix, 3);
  matrix.targets[matrix.num_targets++] = 9;
  Action& rotation = p.add(ActionKind::kRotate, 4);
  rotation.control_mask = rotation.control_value = bit(18);
  for (int k = 0; k < kTile; ++k) p.lift(k, 0.1 + 0.01 * k);
  const PassWork work = p.work();
  EXPECT_EQ(work.matrix_rows, 4);
  EXPECT_EQ(work.rotations, 0.5);
  EXPECT_EQ(work.flips, 0.5);
  const double amplitudes = std::ldexp(1, kQubits);

  CostModel all = free_of_charge();
  double sum = 0;
  const auto piece = [&](auto rate_of, double value, double expected) {
    CostModel cost = free_of_charge();
    rate_of(cost) = rate_of(all) = value;
    sum += expected;
    EXPECT_NEAR(p.seconds(cost), expected, 1e-12 * expected);
  };
  const auto step = [&](double StepRates::*rate, double value, double count) {
    piece([&](CostModel& cost) -> double& { return cost.steps.*rate; }, value,
          amplitudes* count* value);
  };
  step(&StepRates::sweep_s, 1e-10, work.sweeps);
  step(&StepRates::lift_s, 2e-10, work.lifts);
  step(&StepRates::phase_s, 3e-10, work.phases);
  step(&StepRates::light_lift_s, 1.5e-10, work.light_lifts);
  step(&StepRates::scalar_phase_s, 2.5e-10, work.scalar_phases);
  step(&StepRates::product_phase_s, 3.5e-10, work.products);
  step(&StepRates::flip_s, 4e-10, work.flips);
  step(&StepRates::rotate_s, 5e-10, work.rotations);
  step(&StepRates::multiply_s, 6e-10, work.matrix_rows);
  // its rows lie side by side, 2^10 of them
  const double bytes = amplitudes * 32, single_rows = std::ldexp(1, -10);
  piece([](CostModel& cost) -> double& { return cost.bandwidth; }, 20e9, single_rows* bytes / 20e9);
  piece([](CostModel& cost) -> double& { return cost.traffic.run_byte_s; }, 4e-11,
        (1 - single_rows) * bytes * 4e-11);
  piece([](CostModel& cost) -> double& { return cost.pass_overhead_s; }, 1e-3, 1e-3);
  EXPECT_NEAR(p.seconds(all), sum, 1e-12 * sum);
}

TEST(PassCosts, tiles_of_the_first_level_and_rows_in_place_are_moved_faster) {
  CostModel cost = free_of_charge();
  cost.bandwidth = 20e9;
  cost.wide_bandwidth = 16e9;
  const double far = 1 / 20e9, runs = 0.8 / 20e9, small = 0.7 / 20e9, small_runs = 0.5 / 20e9;
  cost.traffic = {runs,       small, small_runs, 0.3 / 20e9, kMoveShare / 20e9, kLoadShare / 20e9,
                  kCycleRow_s};
  const double bytes = std::ldexp(32.0, kQubits), full_s = bytes / cost.bandwidth;
  // the low `side_by_side` positions and the top ones
  const auto tile_of = [](int bits, int side_by_side) {
    OnePass p;
    p.lift(0, 1);
    Pass& pass = p.plan.passes[0];
    pass.active.clear();
    for (int k = 0; k < bits; ++k)
      pass.active.push_back(static_cast<std::uint8_t>(k < side_by_side ? k : kQubits - bits + k));
    pass.dest = pass.active;
    return p;
  };
  const auto expect = [&](int bits, int side_by_side, double byte_s) {
    EXPECT_NEAR(tile_of(bits, side_by_side).seconds(cost), bytes * byte_s, 1e-9 * full_s)
        << bits << " positions, the low " << side_by_side;
  };
  constexpr int kSmall = kSmallTileBits<double>;
  expect(kTileBitsDouble, kStateRowBitsDouble, far);
  expect(kTileBitsDouble, kStateRowBitsDouble + 2, far / 4 + 3 * runs / 4);
  expect(kSmall, kStateRowBitsDouble, small);
  expect(kSmall, kStateRowBitsDouble + 1, small / 2 + small_runs / 2);
  expect((kSmall + kTileBitsDouble) / 2, kStateRowBitsDouble, (small + far) / 2);
  expect(kTileBitsDouble + 1, kStateRowBitsDouble, far / 0.8);
  OnePass turned = tile_of(kTileBitsDouble, kStateRowBitsDouble);
  std::swap(turned.plan.passes[0].dest[0], turned.plan.passes[0].dest[9]);
  EXPECT_NEAR(turned.seconds(cost), bytes * (far + 0.3 / 20e9), 1e-9 * full_s);

  OnePass moves;  // half of the rows stay where they are
  moves.flip(10, 9);
  EXPECT_FALSE(moves.work().long_cycles);
  EXPECT_EQ(moves.work().listed_rows, 4);
  EXPECT_EQ(moves.work().moved_share, 0.5);
  EXPECT_NEAR(moves.seconds(cost), 0.5 * kMoveShare * full_s + 4 * kCycleRow_s, 1e-9 * full_s);
  moves.flip(12, 11);
  EXPECT_EQ(moves.work().moved_share, 0.75);
  moves.plan.passes[0].store_flips = bit(13);
  EXPECT_EQ(moves.work().moved_share, 1);
  OnePass shift;  // of 7 bits, with feedback: a cycle of 127 rows
  for (int k = 6; k > 0; --k)
    shift.flip(4 + k - 1, 4 + k), shift.flip(4 + k, 4 + k - 1), shift.flip(4 + k - 1, 4 + k);
  shift.flip(5, 4);
  EXPECT_TRUE(shift.work().long_cycles);
  EXPECT_EQ(shift.work().moved_share, 1 - 1.0 / 128) << "all but one of 128 rows";
  EXPECT_GT(shift.seconds(cost), 0.9 * full_s);
}

TEST(PassCosts, threads_without_a_tile_wait) {
  OnePass p;
  p.lift(0, 0.5);
  CostModel cost = free_of_charge();
  cost.steps.sweep_s = 1e-10;            // of all threads together
  const double one_s = p.seconds(cost);  // 64 tiles
  for (const auto& [threads, waits] :
       {std::pair{2, 1.0}, {5, 5.0 * 13 / 64}, {64, 1.0}, {96, 96.0 / 64}, {128, 2.0}}) {
    cost.threads = threads;
    EXPECT_NEAR(p.seconds(cost), waits * one_s, 1e-12 * one_s) << threads;
  }
}

TEST(PassCosts, amplitudes_known_to_be_zero_are_not_worked_on) {
  OnePass p;
  p.lift(0, 0.5);
  CostModel cost = free_of_charge();
  cost.steps.sweep_s = 1e-10;
  const double whole_s = p.seconds(cost);
  p.plan.passes[0].known_zero_before = bit(15) | bit(19);
  EXPECT_EQ(p.seconds(cost), whole_s / 4);
  p.plan.passes[0].known_zero_before = bit(3);  // comes alive in the tile
  EXPECT_EQ(p.seconds(cost), whole_s);
}

// Sweeps of a prepared pass.
template <class T>
double sweeps_of(const TileProgram<T>& program) {
  double sweeps = 0;
  for (const BlockPhase<T>& phase : program.phases) {
    for (const BlockStep<T>& s : phase.steps) {
      sweeps += std::holds_alternative<SweepProgram<T>>(s.step);
      const auto* layer = std::get_if<Layer<T>>(&s.step);
      if (!layer) continue;
      const std::uint32_t mask = layer->lifts.mask;
      const int rows = std::popcount(mask >> kLowBits);
      sweeps += layer->has_phase || (mask & low_mask(kLowBits)) || !layer->links.empty();
      sweeps += (rows + kMostRowLifts - 1) / kMostRowLifts;
    }
  }
  return sweeps;
}

template <class T>
void expect_counted_as_run() {
  constexpr bool kDouble = sizeof(T) == 8;
  for (const std::string_view family : circuit::family_names()) {
    PlanOptions options;
    options.precision = kDouble ? Precision::kDouble : Precision::kSingle;
    options.cost.tile_qubits = kDouble ? kTileBitsDouble : kTileBitsSingle;
    options.cost.row_bits = kDouble ? kStateRowBitsDouble : kStateRowBitsSingle;
    options.cost.block_bits = kMaxRowBits;
    options.cost.price = pass_seconds;
    const Plan plan = make_plan(circuit::make_family(family, kQubits), options);
    double predicted_s = 0;
    for (const Pass& pass : plan.passes) {
      const PassWork work = count_work(plan, pass, kMaxRowBits);
      Pass left = pass;
      const Movement movement = take_movement(left, plan.terms, kDouble);
      EXPECT_EQ(work.only_moves, row_map(plan, left, movement).has_value()) << family;
      const double sweeps =
          work.only_moves ? 0 : sweeps_of(make_tile_program<T>(plan, left, kMaxRowBits));
      EXPECT_EQ(work.sweeps, sweeps) << family;
      EXPECT_EQ(pass.predicted_s, pass_seconds(plan, pass, options.cost)) << family;
      predicted_s += pass.predicted_s;
    }
    EXPECT_NEAR(plan.predicted_s, predicted_s, 1e-12 * predicted_s) << family;
  }
}

TEST(PassCosts, families_are_counted_as_they_run) {
  expect_counted_as_run<double>();
  expect_counted_as_run<float>();
}

TEST(PassCosts, measured_rates_are_those_of_a_processor) {
  for (const CpuRates& rates : {cpu_rates<double>(), cpu_rates<float>()}) {
    EXPECT_GT(rates.bandwidth, 1e8);
    for (const double s : list_of(rates.steps)) {
      EXPECT_GT(s, 0);
      EXPECT_LT(s, 1e-7);
    }
  }
}

}  // namespace
}  // namespace tilewave::statevec::cpu
