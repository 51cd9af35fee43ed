// Tile programs against the meaning of their passes: every action kind, controls anywhere, known
// zeros, permutations on store, several shapes, chunk limits that force many chunks.
#include "tilewave/statevec/tile/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tilewave/base/error.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/tile/emulator_test.h"
#include "tilewave/statevec/tile/random_pass.h"

namespace tilewave::statevec::tile {
namespace {

struct Emulated {
  double error;
  std::vector<TilePass> programs;
};
Emulated emulate_random_pass(const RandomPassOptions& options, const Shape& shape,
                             const ChunkLimits& limits, std::uint64_t seed,
                             std::size_t max_bytes = ~std::size_t{0}) {
  std::mt19937_64 rng(seed);
  const Plan plan = random_pass(options, rng);
  std::vector<TilePass> programs =
      lower_within(plan, 0, shape, max_bytes, limits, 1 + static_cast<int>(seed % 3));
  for (const TilePass& program : programs)
    EXPECT_LE(program.code.size() + program.tables.size(), max_bytes);
  const double error = shape.precision == Precision::kDouble
                           ? emulated_error<double>(plan, 0, programs, rng)
                           : emulated_error<float>(plan, 0, programs, rng);
  return {error, std::move(programs)};
}

double allowed_error(const Shape& shape) {
  return shape.precision == Precision::kDouble ? 1e-12 : 1e-4;
}

class TileProgram : public ::testing::TestWithParam<int> {};

TEST_P(TileProgram, random_passes_agree_with_their_meaning) {
  const Shape shapes[] = {{12, 4, 3, Precision::kDouble},    {12, 5, 3, Precision::kDouble},
                          {13, 5, 3, Precision::kDouble},    {12, 5, 4, Precision::kSingle},
                          {13, 5, 4, Precision::kSingle},    {13, 5, 3, Precision::kDouble, 1},
                          {12, 4, 4, Precision::kSingle, 1}, {11, 5, 3, Precision::kDouble}};
  const Shape& shape = shapes[GetParam()];
  for (int n : {3, 9, 12, 15}) {
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
      RandomPassOptions options = pass_options(shape, n);
      options.num_actions = seed % 3 == 0 ? 8 : 40;
      options.max_targets = seed == 5 ? 8 : 4;
      options.max_degree = seed % 2 ? 2 : 4;
      options.known_zeros = seed % 4 == 3;
      options.quarter_turns = seed >= 12;
      ChunkLimits limits;
      if (seed % 3 == 2) limits = {2600, 3, 2};
      EXPECT_LT(emulate_random_pass(options, shape, limits, 1000 * seed + n).error,
                allowed_error(shape))
          << "n " << n << " seed " << seed;
    }
  }
}

// Blocks of threads have 64 KiB of shared memory (sm_75), 99 (sm_86, sm_120), 163 (sm_80) or 227.
TEST(TileProgramOfDevices, fits_the_blocks_of_every_device) {
  std::mt19937_64 rng(11);
  for (const Shape& shape : {Shape{11, 5, 3, Precision::kDouble, 0, 64 << 10},
                             Shape{12, 5, 4, Precision::kSingle, 0, 64 << 10},
                             Shape{12, 5, 3, Precision::kDouble, 0, 99 << 10},
                             Shape{13, 5, 3, Precision::kDouble, 1, 99 << 10},
                             Shape{13, 5, 4, Precision::kSingle, 0, 99 << 10},
                             Shape{13, 5, 4, Precision::kSingle, 0, 163 << 10},
                             Shape{13, 5, 4, Precision::kSingle, 0, 227 << 10}}) {
    std::size_t most = 0;
    int chunks = 0;
    for (int round = 0; round < 6; ++round) {
      RandomPassOptions options = pass_options(shape, 16);
      options.num_actions = 400;
      options.max_targets = 4;
      options.max_degree = round % 2 ? 2 : 4;
      const Plan plan = random_pass(options, rng);
      const TilePass pass = lower_pass(plan, 0, shape, chunk_limits(shape), 1 + round % 3);
      most = std::max(most, block_bytes(pass.frame, shape) + sum_bytes(shape));
      chunks = std::max(chunks, static_cast<int>(pass.frame.num_chunks));
    }
    EXPECT_LE(most, shape.shared_bytes) << shape.tile_qubits;
    EXPECT_GT(chunks, 1) << "no program is long enough to say something";
  }
  // on sm_90 nothing is shorter than multiprocessors want it
  EXPECT_EQ(chunk_limits({13, 5, 4, Precision::kSingle}).chunk_bytes, ChunkLimits{}.chunk_bytes);
  EXPECT_LT(chunk_limits({13, 5, 4, Precision::kSingle, 0, 99 << 10}).chunk_bytes,
            ChunkLimits{}.chunk_bytes);
  EXPECT_THROW(chunk_limits({12, 5, 3, Precision::kDouble, 0, 64 << 10}), Error);
}

// Rotations about Pauli strings: ladders of controlled X with a phase inside, some of which cancel
// as they move past the next ones.
TEST(TileProgramOfCircuits, ladders_with_phases_agree_with_their_meaning) {
  const Shape shape = {12, 5, 3, Precision::kDouble};
  std::mt19937_64 rng(7);
  for (int round = 0; round < 60; ++round) {
    const int n = 4 + round % 7;
    circuit::Circuit c(static_cast<std::uint32_t>(n));
    for (int t = 0; t < 12; ++t) {
      std::vector<circuit::Qubit> on;
      std::vector<bool> turned;
      for (int q = 0; q < n; ++q) {
        const auto code = rng() % 4;
        if (code == 0) continue;
        on.push_back(static_cast<circuit::Qubit>(q));
        turned.push_back(code != 3);
        if (code == 2) c.add_gate(circuit::GateId::kSdg, {on.back()});
      }
      if (on.empty()) continue;
      const auto turn = [&] {
        for (std::size_t k = 0; k < on.size(); ++k) {
          if (turned[k]) c.add_gate(circuit::GateId::kH, {on[k]});
        }
      };
      turn();
      const auto controlled_x = [&](std::size_t k) {
        c.add_controlled_gate(circuit::GateId::kX, {&on[k], 1}, 1, {&on[k + 1], 1});
      };
      for (std::size_t k = 0; k + 1 < on.size(); ++k) controlled_x(k);
      const double angle = 0.1 + 0.01 * static_cast<double>(rng() % 100);
      c.add_gate(circuit::GateId::kRz, {on.back()}, {angle});
      for (std::size_t k = on.size() - 1; k-- > 0;) controlled_x(k);
      turn();
    }
    const Plan plan = make_plan(c, plan_options(shape, false));
    for (std::size_t p = 0; p < plan.passes.size(); ++p)
      EXPECT_LT(emulated_error(plan, p, lower_pass(plan, p, shape), rng), 1e-12)
          << "round " << round << " pass " << p;
  }
}

// X under one control at the start of a pass, on slots and tile bits, with and without terms to
// move past: in some programs they are part of the arrival in shared memory.
TEST(TileProgramOfCircuits, first_maps_are_part_of_the_arrival) {
  const Shape shapes[] = {{12, 5, 3, Precision::kDouble},
                          {13, 5, 4, Precision::kSingle},
                          {13, 5, 3, Precision::kDouble, 1}};
  for (const Shape& shape : shapes) {
    int arrive = 0, move = 0, move_by_tile = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      RandomPassOptions options = pass_options(shape, 15);
      options.num_actions = 1 + static_cast<int>(seed % 12);
      options.num_first_maps = 1 + static_cast<int>(seed % 7);
      const Emulated ran = emulate_random_pass(options, shape, {}, seed);
      EXPECT_LT(ran.error, allowed_error(shape)) << "seed " << seed;
      const PassFrame& f = ran.programs[0].frame;
      arrive += f.through_shared;
      move += f.first_shift[0] != 0;
      move_by_tile += f.first_shift[1] != 0;
    }
    EXPECT_GT(arrive, 10);
    EXPECT_GT(move, 3);
    EXPECT_GT(move_by_tile, 3);
  }
}

// Programs larger than their memory become several passes.
TEST(TileProgramOfCircuits, long_programs_are_split) {
  std::size_t most_parts = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    RandomPassOptions options;
    options.num_qubits = 14;
    options.num_actions = 160;
    options.max_targets = 6;
    options.known_zeros = seed % 2;
    const Emulated ran = emulate_random_pass(options, {12, 5, 3, Precision::kDouble}, {}, seed,
                                             std::size_t{150} << 10);
    EXPECT_LT(ran.error, 1e-12) << "seed " << seed;
    most_parts = std::max(most_parts, ran.programs.size());
  }
  EXPECT_GT(most_parts, 2u);
}

INSTANTIATE_TEST_SUITE_P(Shapes, TileProgram, ::testing::Range(0, 8));

}  // namespace
}  // namespace tilewave::statevec::tile
