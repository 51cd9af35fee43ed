// Predictions: the density matrix is one plan on 2n qubits. A trajectory costs a plan on n qubits;
// with e events expected in a circuit a shot shares its way up to the first of them, on average the
// fraction (1 - (1 - exp(-e)) / e) of the circuit is its own, and exp(-e) of the shots have none.
#include "tilewave/simulate/noisy_engine.h"

#include <algorithm>
#include <cmath>

#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/simulate/channel_draw.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::simulate {
namespace {

using circuit::Op;
using circuit::OpKind;

constexpr std::uint32_t kMostDensityQubits = statevec::kMaxQubits / 2;
constexpr std::uint32_t kMostComparedQubits = 16;  // beyond, trajectories without a look
constexpr double kPlanGate_s = 1.5e-6;             // planning a gate; counts for small states
constexpr double kWideMatrix = 6;  // a multiplication of a matrix on 3 or 4 qubits, in others
constexpr double kEvent_s = 2e-5;  // a state taken up again

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
  double wide = 0;
  for (const Op& op : gates) {
    if (op.num_targets > 2) wide += static_cast<double>(1 << op.num_targets);
  }
  return statevec::make_plan(*program.circuit, gates, plan).predicted_s +
         wide * (kWideMatrix - 1) * plan.cost.multiply_s *
             std::ldexp(1.0, static_cast<int>(program.circuit->num_qubits())) +
         kPlanGate_s * static_cast<double>(gates.size());
}

double expected_events(const Program& program) {
  std::vector<double> p;
  for (const auto& channel : program.circuit->channels()) {
    p.push_back(ChannelDraw(*channel).event_probability());
  }
  double sum = 0;
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::kChannel) sum += p[op.first_param];
    if (op.kind == OpKind::kMeasure || op.kind == OpKind::kReset) sum += 0.5;
  }
  return sum;
}

}  // namespace

NoisyChoice choose_noisy_engine(const Program& program, const Options& options,
                                std::uint64_t num_trajectories, DensityProgram& density) {
  const std::uint32_t n = program.circuit->num_qubits();
  NoisyChoice choice;
  if (options.engine == "density") {
    if (n > kMostDensityQubits) {
      throw Error(ExitCode::kResources, "a density matrix of " + std::to_string(n) +
                                            " qubits has 4^" + std::to_string(n) +
                                            " elements: use --engine trajectories, or at most " +
                                            std::to_string(kMostDensityQubits) + " qubits");
    }
    to_density(program, density);
    return {NoisyEngine::kDensity, "density matrix, as asked"};
  }
  if (options.engine == "trajectories") {
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
  to_density(program, density);
  const double exact_s = predict(density.program, options);
  const double events = expected_events(program);
  const double own = events > 0 ? 1 - (1 - std::exp(-events)) / events : 0;
  const auto count = static_cast<double>(num_trajectories);
  const double parted = std::min(count, 1 + count * (1 - std::exp(-events)));
  const double sampled_s =
      predict(program, options) * (1 + parted * std::max(own, 0.1)) + parted * kEvent_s;
  const bool exact = exact_s <= sampled_s;
  choice.engine = exact ? NoisyEngine::kDensity : NoisyEngine::kTrajectories;
  const std::string a = "a density matrix (" + in_time(exact_s) + " predicted)";
  const std::string b =
      std::to_string(num_trajectories) + " trajectories (" + in_time(sampled_s) + " predicted)";
  choice.reason = exact ? a + " rather than " + b : b + " rather than " + a;
  return choice;
}

}  // namespace tilewave::simulate
