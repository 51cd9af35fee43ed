#include "tilewave/simulate/tune/device_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tilewave/circuit/families.h"
#include "tilewave/statevec/plan/pass_price.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/rates/probes.h"
#include "tilewave/statevec/tile/device_numbers.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::simulate {
namespace {

using namespace statevec;  // NOLINT: the engine that is measured
using tile::DeviceNumbers;

// The passes of a tuning as a device would report them, without their times.
std::vector<TimedPass> passes_of(std::span<const std::string_view> families, Precision precision) {
  const bool is_double = precision == Precision::kDouble;
  std::vector<TimedPass> out;
  const auto add = [&](const std::string& name, const Plan& plan, bool compiled) {
    for (std::size_t p = 0; p < plan.passes.size(); ++p) {
      const Pass& pass = plan.passes[p];
      const bool wide = pass.active.size() > 12;
      const tile::Shape shape{wide ? 13 : 12, 5, is_double ? 3 : 4, precision, wide};
      const tile::TilePass program =
          tile::lower_pass(plan, p, shape, chunk_limits(shape), 1, compiled);
      out.push_back({name, 0, 0,
                     tile::program_terms(program.paid, compiled, pass, plan.num_qubits, wide),
                     tile::action_terms(plan, pass, wide)});
    }
  };
  for (int step = 0; step < static_cast<int>(rates::Step::kTurned); ++step) {
    for (const int layers : {2, 12, 24}) {
      add(rates::kStepNames[step],
          rates::probe_plan({28, precision, 12, is_double ? 3 : 4}, static_cast<rates::Step>(step),
                            layers),
          false);
    }
  }
  for (const std::string_view family : families) {
    PlanOptions options;
    options.precision = precision;
    options.cost.tile_qubits = 12;
    options.cost.row_bits = is_double ? 3 : 4;
    options.cost.late_phases = true;
    const Plan plan = make_plan(circuit::make_family(family, 28), options);
    add(std::string(family), plan, false);
    add(std::string(family) + " compiled", plan, true);
  }
  return out;
}

// Another device: every number off by a factor of its own; what is moved and started is measured
// apart.
DeviceNumbers another(const DeviceNumbers& model, std::mt19937_64& random) {
  std::vector<double> numbers = rates::flat_of(model);
  for (std::size_t k = 5; k < numbers.size(); ++k)
    numbers[k] *= std::exp2(std::uniform_real_distribution(-0.8, 0.8)(random));
  DeviceNumbers out = rates::from_flat<DeviceNumbers>(numbers);
  out.byte_s *= 1.4;
  out.wide_byte_s *= 1.5;
  out.interpreted.unhidden = 0.4;
  out.compiled.unhidden = 0.7;
  return out;
}

TEST(DeviceFit, recovers_another_device_from_its_times) {
  for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
    runtime::CudaDevice device;
    device.num_multiprocessors = 108;
    DeviceNumbers known = tile::model_numbers(device, precision);
    std::mt19937_64 random(17);
    const DeviceNumbers truth = another(known, random);
    known.byte_s = truth.byte_s;
    known.wide_byte_s = truth.wide_byte_s;
    known.pass_s = truth.pass_s;
    const std::vector<std::string_view> seen = {"qft",  "random", "supremacy", "quantum_volume",
                                                "qaoa", "ghz_qft"};
    std::vector<TimedPass> passes = passes_of(seen, precision);
    for (TimedPass& pass : passes) pass.seconds = predict_device(rates::flat_of(truth), pass);
    const std::vector<double> found = fit_device(known, passes);
    double off_before = 0;
    for (const TimedPass& pass : passes) {
      EXPECT_NEAR(predict_device(found, pass) / pass.seconds, 1, 0.03) << pass.name;
      off_before = std::max(
          off_before, std::abs(predict_device(rates::flat_of(known), pass) / pass.seconds - 1));
    }
    EXPECT_GT(off_before, 0.15) << "there was something to find";
    // what it has not seen
    for (const TimedPass& pass :
         passes_of(std::vector<std::string_view>{"ising", "invqft"}, precision)) {
      EXPECT_NEAR(predict_device(found, pass) / predict_device(rates::flat_of(truth), pass), 1, 0.1)
          << pass.name;
    }
    // traffic and launches stay as they were measured, shares of traffic are shares
    const DeviceNumbers n = rates::from_flat<DeviceNumbers>(found);
    EXPECT_EQ(n.byte_s, truth.byte_s);
    EXPECT_EQ(n.pass_s, truth.pass_s);
    for (const double share :
         {n.exposed, n.wide_exposed, n.interpreted.unhidden, n.compiled.unhidden}) {
      EXPECT_GE(share, 0);
      EXPECT_LE(share, 1);
    }
  }
}

TEST(DeviceFit, passes_bound_by_memory_take_its_time) {
  runtime::CudaDevice device;
  device.num_multiprocessors = 132;
  const DeviceNumbers n = tile::model_numbers(device, Precision::kDouble);
  for (const TimedPass& pass : passes_of({}, Precision::kDouble)) {
    if (pass.name != rates::kStepNames[0]) continue;
    EXPECT_NEAR(predict_device(rates::flat_of(n), pass), std::ldexp(32, 28) * n.byte_s + n.pass_s,
                1e-9);
  }
}

// Terms times numbers are what the planner and a device's state add up on their own: by action, and by
// program.
TEST(DeviceFit, terms_are_those_of_the_planners_prices) {
  runtime::CudaDevice device;
  device.num_multiprocessors = 132;
  for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
    const DeviceNumbers n = tile::model_numbers(device, precision);
    const std::vector<double> numbers = rates::flat_of(n);
    PlanOptions options;
    options.precision = precision;
    options.cost.tile_qubits = 12;
    options.cost.row_bits = precision == Precision::kDouble ? 3 : 4;
    set_costs(options.cost, n, precision, true);
    const tile::Shape shape{12, 5, options.cost.row_bits, precision};
    for (const bool zeros : {true, false}) {
      options.from_zeros = zeros;
      for (const std::string_view family : circuit::family_names()) {
        const Plan plan = make_plan(circuit::make_family(family, 24), options);
        for (std::size_t p = 0; p < plan.passes.size(); ++p) {
          const Pass& pass = plan.passes[p];
          const std::vector<double> actions = tile::action_terms(plan, pass, false);
          double by_action_s = actions[3] * n.byte_s * n.exposed;
          for (std::size_t k = 5; k < tile::kNumActionTerms; ++k)
            by_action_s += actions[k] * numbers[k];
          by_action_s = std::max(by_action_s, pass.bytes * n.byte_s) + n.pass_s;
          EXPECT_NEAR(by_action_s, pass.predicted_s, 1e-9 * pass.predicted_s) << family << p;
          const tile::TilePass program = tile::lower_pass(plan, p, shape);
          const double seconds = predict_device(
              numbers, {"",
                        0,
                        0,
                        tile::program_terms(program.paid, false, pass, plan.num_qubits, false),
                        {}});
          const double state_s =
              tile::program_s(program.paid, n.interpreted, pass.bytes * n.byte_s,
                              statevec::detail::worked_amplitudes(pass, plan.num_qubits), 1) +
              n.pass_s;
          EXPECT_NEAR(seconds, state_s, 1e-9 * state_s) << family << p;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilewave::simulate
