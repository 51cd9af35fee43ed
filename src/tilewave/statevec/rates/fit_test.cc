#include "tilewave/statevec/rates/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tilewave/circuit/families.h"
#include "tilewave/statevec/cpu/cpu_numbers.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/cpu/pass_runner.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/rates/probes.h"
#include "tilewave/statevec/tile/device_numbers.h"
#include "tilewave/statevec/tile/emulator_test.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::rates {
namespace {

// The terms of probes and of families' passes on the CPU.
std::vector<Sample> cpu_samples(std::span<const std::string_view> families) {
  const int n = 22;
  const int rows = cpu::block_row_bits(true);
  std::vector<Sample> out;
  const auto add = [&](const Plan& plan) {
    for (const Pass& pass : plan.passes) {
      const cpu::Terms terms = cpu::terms_of(plan, pass, rows, 2);
      out.push_back({{terms.begin(), terms.end()}, 0, 0});
    }
  };
  for (int step = 0; step <= static_cast<int>(Step::kMoves); ++step)
    for (const int tile :
         {cpu::kSmallTileBits<double>, cpu::kTileBitsDouble, cpu::kTileBitsDouble + 1})
      for (const int layers : {1, 4, 8})
        for (const int side_by_side : {cpu::kStateRowBitsDouble, 7})
          add(probe_plan({n, Precision::kDouble, tile, side_by_side}, static_cast<Step>(step),
                         layers));
  for (const std::string_view family : families) {
    for (const bool from_zeros : {false, true}) {
      PlanOptions options;
      options.from_zeros = from_zeros;
      set_costs(options.cost, cpu::model_numbers(true), 0x1p26, 2);
      options.cost.tile_qubits = cpu::kTileBitsDouble;
      options.cost.row_bits = cpu::kStateRowBitsDouble;
      options.cost.block_bits = rows;
      options.cost.price = cpu::pass_seconds;
      add(make_plan(circuit::make_family(family, n), options));
    }
  }
  return out;
}

// Rates of another machine, each off by a factor of its own.
std::vector<double> planted(std::span<const double> start, std::mt19937_64& random) {
  std::vector<double> out(start.begin(), start.end());
  for (double& x : out) x *= std::exp2(std::uniform_real_distribution(-1.5, 1.5)(random));
  return out;
}

// The share of a sample's time that a rate has, in the sample where it has most.
double largest_share(std::span<const Sample> samples, std::span<const double> rates,
                     std::size_t rate) {
  double most = 0;
  for (const Sample& s : samples)
    most = std::max(most, std::abs(s.terms[rate]) * rates[rate] / predict(s, rates));
  return most;
}

TEST(Fit, recovers_planted_rates_of_cpu_passes) {
  const cpu::Terms start = cpu::model_numbers(true).rates;
  for (int seed = 0; seed < 5; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const std::vector<double> truth = planted(start, random);
    std::vector<Sample> samples = cpu_samples(circuit::family_names());
    for (Sample& s : samples) s.seconds = predict(s, truth);
    const std::vector<double> found = fit(samples, start, 1e-12);
    int recovered = 0;
    for (std::size_t k = 0; k < truth.size(); ++k) {
      if (largest_share(samples, truth, k) < 0.02) continue;  // no time tells of it
      EXPECT_NEAR(found[k] / truth[k], 1, 0.01)
          << "seed " << seed << ", " << cpu::cpu_number_list()[k].name;
      ++recovered;
    }
    EXPECT_GE(recovered, 14) << "seed " << seed;
    for (const Sample& s : samples) EXPECT_NEAR(predict(s, found) / s.seconds, 1, 0.01);
  }
}

TEST(Fit, predicts_what_it_has_not_seen_from_noisy_times) {
  const cpu::Terms start = cpu::model_numbers(true).rates;
  const std::string_view seen[] = {"qft", "random", "supremacy", "ising"};
  const std::string_view others[] = {"quantum_volume", "qaoa", "ghz_qft"};
  for (int seed = 0; seed < 5; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(100 + seed));
    const std::vector<double> truth = planted(start, random);
    std::vector<Sample> samples = cpu_samples(seen);
    std::normal_distribution<double> noise(0, 0.02);
    for (Sample& s : samples) {
      s.seconds = predict(s, truth) * (1 + noise(random));
      if (random() % 20 == 0) s.seconds *= 1.8;  // something else ran
    }
    const std::vector<double> found = fit(samples, start);
    for (const Sample& s : cpu_samples(others)) {
      if (s.terms[cpu::kTermPass] * truth[cpu::kTermPass] > 0.1 * predict(s, truth))
        continue;  // of which nothing larger tells; measured apart, see tune.h
      EXPECT_NEAR(predict(s, found) / predict(s, truth), 1, 0.05) << "seed " << seed;
    }
  }
}

TEST(Fit, keeps_what_no_time_tells_of_at_the_level_of_the_others) {
  const double start[] = {1, 2, 3, 0};
  std::vector<Sample> samples;
  for (int k = 1; k < 6; ++k)
    samples.push_back({{1.0 * k, 1, 0, 1}, 3.0 * k + 6 + 5, 5});  // three times the start
  const std::vector<double> found = fit(samples, start);
  EXPECT_NEAR(found[0], 3, 1e-3);
  EXPECT_NEAR(found[1], 6, 1e-3);
  EXPECT_NEAR(found[2], 9, 1e-3);
  EXPECT_EQ(found[3], 0) << "what starts at 0 stays there";
}

// A plan for a device with tiles of this shape.
Plan family_plan(std::string_view family, std::uint32_t num_qubits, const tile::Shape& shape) {
  return make_plan(circuit::make_family(family, num_qubits), tile::plan_options(shape));
}

// Operations of programs as a device runs them, with costs of another device.
TEST(Fit, recovers_what_operations_of_programs_cost) {
  for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
    tile::Shape shape{12, 5, precision == Precision::kDouble ? 3 : 4, precision};
    std::vector<Sample> samples;
    const auto add = [&](const Plan& plan) {
      for (std::size_t p = 0; p < plan.passes.size(); ++p) {
        const tile::TilePass program = tile::lower_pass(plan, p, shape, chunk_limits(shape), 2);
        const std::vector<double> terms =
            tile::program_terms(program.paid, false, plan.passes[p], plan.num_qubits, false);
        const auto at = terms.begin() + tile::kFirstInterpreted;
        samples.push_back({{at, at + tile::kNumOpCosts}, 0, 0});
        samples.back().terms[0] *= 1 / 3e12;  // of the traffic's time
      }
    };
    for (int step = 1; step < static_cast<int>(Step::kMoves); ++step)
      for (const int layers : {2, 5, 9})
        add(probe_plan({24, precision, shape.tile_qubits, shape.row_bits}, static_cast<Step>(step),
                       layers));
    for (const std::string_view family : circuit::family_names())
      add(family_plan(family, 24, shape));
    const auto list = std::bit_cast<tile::OpCostList>(tile::shipped_costs(precision).interpreted);
    std::mt19937_64 random(5);
    const std::vector<double> truth = planted(list, random);
    for (Sample& s : samples) s.seconds = predict(s, truth);
    const std::vector<double> found = fit(samples, list, 1e-10);
    for (const Sample& s : samples) EXPECT_NEAR(predict(s, found) / s.seconds, 1, 0.01);
    for (const std::string_view name : {"unhidden", "exchange", "lift", "phase_table", "matrix2"}) {
      const auto k = static_cast<std::size_t>(
          std::find(tile::kOpCostNames.begin(), tile::kOpCostNames.end(), name) -
          tile::kOpCostNames.begin());
      if (largest_share(samples, truth, k) < 0.02) continue;
      EXPECT_NEAR(found[k] / truth[k], 1, 0.01) << name;
    }
  }
}

// What a program is said to be made of is what its cost is.
TEST(Fit, programs_count_what_they_cost) {
  for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
    const tile::Shape shape{12, 5, precision == Precision::kDouble ? 3 : 4, precision};
    for (const std::string_view family : circuit::family_names()) {
      const Plan plan = family_plan(family, 20, shape);
      for (std::size_t p = 0; p < plan.passes.size(); ++p) {
        for (const bool compiled : {false, true}) {
          const tile::TilePass program =
              tile::lower_pass(plan, p, shape, chunk_limits(shape), 3, compiled);
          const tile::WriterCosts& costs = tile::shipped_costs(precision);
          tile::OpCosts paid = program.paid;
          paid.code_step = 0;  // decided after its cost was
          const double ms = sum_of(paid, compiled ? costs.compiled : costs.interpreted);
          // beside a margin for layers with signs, and what decides between equal ways
          EXPECT_GE(program.cost_ms, ms - 1e-9) << family << ", pass " << p;
          EXPECT_LE(program.cost_ms, 1.03 * ms + 0.05) << family << ", pass " << p;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilewave::statevec::rates
