// Predictions: the density matrix is one plan on 2n qubits. Of N trajectories with e events each,
// N (1 - exp(-e)) part from the run without errors, into at most as many states as there are errors
// to begin with; what is theirs is the fraction (1 - (1 - exp(-e)) / e) / (1 - exp(-e)) of the
// circuit. Those that share such a state part again at a second event. `bench/noise_choice.py`
// compares with what is measured.
#include "tilewave/simulate/noisy_engine.h"

#include <algorithm>
#include <cmath>

#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/simulate/channel_draw.h"
#include "tilewave/simulate/exact_branches.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::simulate {
namespace {

using circuit::Op;
using circuit::OpKind;

constexpr std::uint32_t kMostDensityQubits = statevec::kMaxQubits / 2;
constexpr std::uint32_t kMostComparedQubits = 16;  // beyond, trajectories without a look
// Planning a gate, and a matrix; counts for small states.
constexpr double kPlanGate_s = 2.2e-6, kPlanMatrix_s = 2e-5, kPlanChannel_s = 1.5e-5;
constexpr double kWideMatrix = 6;  // a multiplication of a matrix on 3 or 4 qubits, in others
constexpr double kEvent_s = 2e-5, kEventAmplitude_s = 6e-8;  // a state taken up again
constexpr double kStart_s = 8e-5, kShot_s = 1e-7;            // of a run, and drawing a shot
constexpr std::uint64_t kFewOutcomes = 1024;  // are followed, however few shots are asked for
constexpr double kAfterSecond = 0.4;          // of the circuit, behind the second event of a shot

// Every operation planned once, as if no jump or condition were there.
double predict(const Program& given, const Options& options) {
  circuit::Circuit typical;
  const Program program = given.has_runtime_gates ? with_typical_angles(given, typical) : given;
  statevec::PlanOptions plan;
  plan.precision = options.precision;
  plan.cost = make_small_state(program.circuit->num_qubits(), options.precision,
                               options.num_threads, options.device, options.distribution)
                  ->cost_model();
  std::vector<Op> gates;
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::kGate || op.kind == OpKind::kMatrix) gates.push_back(op);
  }
  double wide = 0, planning_s = 0;
  for (const Op& op : gates) {
    planning_s += op.kind == OpKind::kMatrix ? kPlanMatrix_s : kPlanGate_s;
    if (op.num_targets > 2) wide += static_cast<double>(1 << op.num_targets);
  }
  plan.effort = Effort::kOnce;
  return statevec::make_plan(*program.circuit, gates, plan).predicted_s +
         wide * (kWideMatrix - 1) * plan.cost.multiply_s *
             std::ldexp(1.0, static_cast<int>(program.circuit->num_qubits())) +
         planning_s;
}

struct Events {
  double expected = 0;  // in a shot
  double kinds = 0;     // different ones there can be
};

// On average over states: the probability of all operators but the first, which is the likeliest.
double event_probability(const circuit::Channel& channel) {
  double first = 0, all = 0;
  for (const circuit::Matrix& k : channel.kraus) {
    double weight = 0;
    for (const cplx& x : k) weight += std::norm(x);
    first = std::max(first, weight);
    all += weight;
  }
  return all > 0 ? 1 - first / all : 0;
}

Events expected_events(const Program& program) {
  std::vector<double> p;
  for (const auto& channel : program.circuit->channels()) p.push_back(event_probability(*channel));
  Events sum;
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::kChannel) {
      sum.expected += p[op.first_param];
      sum.kinds += static_cast<double>(program.circuit->channel(op).kraus.size()) - 1;
    }
    if (op.kind == OpKind::kMeasure || op.kind == OpKind::kReset) {
      sum.expected += 0.5;
      sum.kinds += 1;
    }
  }
  return sum;
}

double predict_trajectories(const Program& program, const Options& options, double count) {
  const Events events = expected_events(program);
  const double e = events.expected, parts = 1 - std::exp(-e);  // of the shots
  const double run_s = predict(program, options);
  double own = 0, states = 0, further = 0;
  if (e > 0 && events.kinds > 0) {
    own = (1 - parts / e) / parts;
    states = events.kinds * -std::expm1(-count * parts / events.kinds);
    further = count * (1 - (1 - parts) * (1 + e)) * (1 - states / (count * parts));
  }
  std::vector<bool> is_mixture;
  for (const auto& channel : program.circuit->channels()) {
    is_mixture.push_back(ChannelDraw(*channel).is_mixture());
  }
  const double taking_up_s =
      kEvent_s +
      kEventAmplitude_s * std::ldexp(1.0, static_cast<int>(program.circuit->num_qubits()));
  double matrices_s = 0;  // of channels whose first operator is one
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::kChannel && !is_mixture[op.first_param]) matrices_s += kPlanChannel_s;
  }
  return kStart_s + kShot_s * count + matrices_s +
         run_s * (1 + states * own + further * kAfterSecond) + (states + further) * taking_up_s;
}

}  // namespace

bool walks_outcomes(const Program& program, const Options& options,
                    std::span<const circuit::ReadoutError> readout) {
  const std::uint64_t most = options.shots ? std::max(options.shots, kFewOutcomes) : kMostOutcomes;
  return count_outcomes(program, readout) <= std::min(most, kMostOutcomes);
}

NoisyChoice choose_noisy_engine(const Program& program, const Options& options,
                                std::uint64_t num_trajectories, DensityProgram& density,
                                std::span<const circuit::ReadoutError> readout) {
  const std::uint32_t n = program.circuit->num_qubits();
  NoisyChoice choice;
  if (options.engine == Engine::kDensity) {
    if (n > kMostDensityQubits) {
      fail(ExitCode::kResources, "a density matrix of ", n, " qubits has 4^", n,
           " elements: use --engine trajectories, or at most ", kMostDensityQubits, " qubits");
    }
    to_density(program, density);
    return {NoisyEngine::kDensity, "density matrix, as asked"};
  }
  if (options.engine == Engine::kTrajectories) {
    return {NoisyEngine::kTrajectories, "trajectories, as asked"};
  }
  if (n > kMostComparedQubits) {
    return {NoisyEngine::kTrajectories, "trajectories: a density matrix of " + std::to_string(n) +
                                            " qubits would have 4^" + std::to_string(n) +
                                            " elements"};
  }
  const int threads = runtime::resolve_num_threads(options.num_threads);
  const std::uint64_t needed =
      statevec::needed_bytes(static_cast<int>(2 * n), options.precision, threads);
  const std::uint64_t available = options.distribution.agreed(runtime::available_host_bytes());
  if (needed > available) {
    return {NoisyEngine::kTrajectories,
            "trajectories: a density matrix of " + in_bytes(needed) + " does not fit"};
  }
  const bool walks = options.asks_means() && walks_outcomes(program, options, readout);
  if (options.shots == 0 && options.asks_means() && !walks) {
    return {NoisyEngine::kTrajectories, "trajectories: a density matrix would follow more than " +
                                            std::to_string(kMostOutcomes) +
                                            " outcomes of measurements"};
  }
  to_density(program, density);
  const auto count = static_cast<double>(num_trajectories);
  const double run_s = predict(density.program, options);
  double exact_s = kStart_s;
  if (options.shots > 0 || !options.asks_means() || !density.program.dynamic)
    exact_s += run_s + kShot_s * count;
  if (walks && density.program.dynamic)
    exact_s += run_s * static_cast<double>(count_outcomes(program, readout));
  const double sampled_s = predict_trajectories(program, options, count);
  const bool exact = exact_s <= sampled_s;
  choice.engine = exact ? NoisyEngine::kDensity : NoisyEngine::kTrajectories;
  const std::string a = "a density matrix (" + in_time(exact_s) + " predicted)";
  const std::string b =
      std::to_string(num_trajectories) + " trajectories (" + in_time(sampled_s) + " predicted)";
  choice.name = exact ? a : b;
  choice.predicted_s = std::min(exact_s, sampled_s);
  choice.reason = choice.name + " rather than " + (exact ? b : a);
  return choice;
}

}  // namespace tilewave::simulate
