// See benchmark.h.
#include "tilewave/simulate/benchmark.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/session.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::simulate {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct FloorRow {
  std::string_view name;
  int passes;
  double double_arithmetic_ms;
};
constexpr FloorRow kFloors[] = {{"qft_30", 3, 0},
                                {"ghz_30", 3, 0},
                                {"ghz_qft_30", 5, 0},
                                {"random_30", 7, 65},
                                {"supremacy_30", 10, 0},
                                {"quantum_volume_30", 13, 149},
                                {"ising_30", 6, 56},
                                {"qaoa_30", 6, 0},
                                {"bv_30", 3, 0},
                                {"contest_random_30", 8, 80},
                                {"contest_ghz_30", 3, 0},
                                {"contest_ghz_qft_29", 3, 0},
                                {"contest_invqft_30", 5, 0}};
constexpr double kSingleShare = 33.0 / 61.0;

}  // namespace

std::vector<cplx> random_product_state(std::uint32_t num_qubits) {
  std::vector<cplx> a;
  for (std::uint32_t q = 0; q < num_qubits; ++q) {
    const double theta = 0.3 + 0.9 * random_uniform(1, q, 0);
    const double phi = 2 * std::numbers::pi * random_uniform(1, q, 1);
    a.emplace_back(std::cos(theta));
    a.push_back(std::polar(std::sin(theta), phi));
  }
  return a;
}

std::vector<BenchResult> benchmark(const circuit::Circuit& circuit,
                                   const std::vector<BenchInput>& inputs,
                                   const BenchOptions& options) {
  circuit::need_bound(circuit);
  const Program program = prepare(circuit);
  if (program.dynamic || program.has_control_flow) {
    fail(ExitCode::kUsage,
         "a circuit that measures, resets or branches in the middle has no one time");
  }
  const std::unique_ptr<statevec::State> state =
      make_state(circuit.num_qubits(), options.precision, options.num_threads, options.device,
                 options.distribution);
  const std::vector<cplx> product = random_product_state(circuit.num_qubits());
  std::vector<BenchResult> results;
  const auto plan_of = [&](const statevec::State& of) {
    statevec::PlanOptions plan_options = of.plan_options();
    plan_options.effort = options.effort;
    return Session::of_process()->plan(circuit, program.ops, plan_options);
  };
  for (const BenchInput input : inputs) {
    BenchResult result;
    result.input = input;
    result.device = state->device();
    std::vector<double> plan_times_s;
    const auto prepare_input = [&] {
      if (input == BenchInput::kZeros) {
        state->set_zero_state();
      } else {
        state->set_product_state(product);
      }
    };
    // The first run, the warm-up, and those that count; before the last of the warm-up, all that
    // later runs use and is otherwise made beside them.
    for (int k = -options.warmup - 1; k < options.repeats; ++k) {
      prepare_input();
      if (k == -1 && options.effort != Effort::kOnce && options.warmup > 0)
        state->prepare(plan_of(*state)->plan);
      runtime::Timer timer;
      const PlanPtr stored = plan_of(*state);
      const statevec::Plan& plan = stored->plan;
      const double plan_s = timer.elapsed_s();
      statevec::RunObserver kept;
      kept.tables = stored->tables.get();
      state->run(plan, kept);
      const double whole_s = timer.elapsed_s();
      if (k < -options.warmup) result.first_s = whole_s;
      if (k < 0) continue;
      plan_times_s.push_back(plan_s);
      result.times_s.push_back(whole_s);
      if (k > 0) continue;
      result.gates = plan.num_circuit_gates;
      result.passes = plan.passes.size();
      result.predicted_s = state->predicted_s(plan);
      for (const auto& pass : plan.passes) {
        result.bytes += pass.bytes;
        result.flops += pass.flops;
      }
      for (const auto& step : plan.exchanges) {
        result.exchanges += step.bytes > 0;
        result.exchange_bytes += step.bytes;
      }
    }
    prepare_input();
    statevec::RunObserver observer;
    observer.on_step = [&](const statevec::StepTime& step) {
      if (step.step == "pass" && step.measured_s > 0) result.pass_times.push_back(step);
    };
    state->run(plan_of(*state)->plan, observer);
    result.plan_s = median(plan_times_s);
    result.median_s = median(result.times_s);
    result.norm = state->norm();
    const double allowed = options.precision == statevec::Precision::kDouble ? 1e-9 : 1e-2;
    if (!(std::abs(result.norm - 1) < allowed)) {
      fail(ExitCode::kVerification, "the state's norm is ", std::to_string(result.norm),
           " after the run, not 1");
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::optional<CircuitFloor> circuit_floor(std::string_view name, statevec::Precision precision) {
  for (const FloorRow& row : kFloors) {
    if (row.name != name) continue;
    const double share = precision == statevec::Precision::kDouble ? 1 : kSingleShare;
    return CircuitFloor{row.passes, 1e-3 * row.double_arithmetic_ms * share};
  }
  return std::nullopt;
}

}  // namespace tilewave::simulate
