#include "tilewave/simulate/dry_run.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/simulate/topology.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {
namespace {

using statevec::State;

// Of a measurement in the middle, beside its memory traffic.
constexpr double kMeasurement_s = 5e-6;

// The steps of a plan in order, as they are predicted.
void add_steps(const statevec::Plan& plan, Result& result) {
  const auto add = [&](const char* name, double predicted_s, double bytes) {
    if (result.steps.size() < kMaxSteps) result.steps.push_back({name, predicted_s, 0, bytes});
  };
  std::size_t next = 0;
  for (std::size_t p = 0; p <= plan.passes.size(); ++p) {
    for (; next < plan.exchanges.size() && plan.exchanges[next].before_pass == p; ++next) {
      add("exchange", plan.exchanges[next].predicted_s, plan.exchanges[next].bytes);
    }
    if (p < plan.passes.size()) add("pass", plan.passes[p].predicted_s, plan.passes[p].bytes);
  }
}

// Gates from one measurement to the next, planned as `--dry-run` prints them:
// every gate applied, the first stretch from |0...0>, later ones from an arbitrary state.
void plan_only(const Program& given, const Options& options, const statevec::CostModel& cost,
               Result& result, const Topology* topology = nullptr) {
  runtime::Timer timer;
  circuit::Circuit typical;
  const Program program = given.has_runtime_gates ? with_typical_angles(given, typical) : given;
  bool first = true;
  for (std::size_t at = 0; at < program.ops.size();) {
    std::vector<circuit::Op> gates;
    const auto is_event = [&](std::size_t k) {
      const auto kind = program.ops[k].kind;
      return kind != circuit::OpKind::kGate && kind != circuit::OpKind::kMatrix &&
             kind != circuit::OpKind::kChannel;
    };
    std::size_t channels = 0;
    for (; at < program.ops.size() && !is_event(at); ++at) {
      if (program.ops[at].kind == circuit::OpKind::kChannel) {
        ++channels;
      } else {
        gates.push_back(program.ops[at]);
      }
    }
    if (channels) {
      result.plan.text += std::to_string(channels) +
                          " noise channels: below is a trajectory without errors, shots with other "
                          "operators go their own way from where they part\n";
    }
    if (!gates.empty()) {
      statevec::PlanOptions plan_options;
      plan_options.precision = options.precision;
      plan_options.from_zeros = first && options.from_zeros();
      plan_options.cost = cost;
      plan_options.effort = options.effort;
      statevec::Plan plan =
          options.used_session().look_at_plan(*program.circuit, gates, plan_options)->plan;
      std::vector<double> sent;
      if (topology) sent = price_exchanges(plan, *topology);
      result.plan.add(plan);
      if (options.record_steps) add_steps(plan, result);
      result.plan.text += statevec::explain(plan);
      for (std::size_t l = 0; l < sent.size(); ++l) {
        char line[160];
        std::snprintf(line, sizeof line, "level %s: %.4g GB out of each rank\n",
                      topology->levels[l].name.c_str(), 1e-9 * sent[l]);
        result.plan.text += line;
      }
    }
    std::size_t events = 0, jumps = 0;
    for (; at < program.ops.size() && is_event(at); ++at) {
      const auto kind = program.ops[at].kind;
      ++(kind == circuit::OpKind::kJump || kind == circuit::OpKind::kAssign ? jumps : events);
    }
    if (events) {
      // probabilities are read, then half of the state takes the place of the other
      const double state_bytes =
          std::ldexp(static_cast<double>(statevec::amplitude_bytes(options.precision)),
                     static_cast<int>(program.circuit->num_qubits()));
      const double events_s =
          static_cast<double>(events) * (2 * state_bytes / cost.bandwidth + kMeasurement_s);
      result.plan.predicted_s += events_s;
      result.plan.text += std::to_string(events) + " measurements or resets, at most " +
                          in_time(events_s) +
                          ": shots part by outcome, each branch goes on; qubits whose value is "
                          "known halve what follows\n";
    }
    if (jumps) {
      result.plan.text += std::to_string(jumps) + " jumps or assignments: what follows may run " +
                          "never, once or often\n";
    }
    first = false;
  }
  result.plan.predicted_for = program.has_channels ? "one shot without errors"
                              : program.dynamic    ? "one shot"
                                                   : "the run";
  if (program.dynamic && options.shots > 1) {
    result.plan.text += "one shot: at most " + in_time(result.plan.predicted_s) + "; " +
                        std::to_string(options.shots) + " shots: at most " +
                        in_time(static_cast<double>(options.shots) * result.plan.predicted_s) +
                        ", less the more of them share their outcomes\n";
  }
  if (!program.deferred.empty()) {
    result.plan.text += std::to_string(program.deferred.size()) +
                        (program.deferred.size() == 1 ? " measurement" : " measurements") +
                        " read off the final state\n";
  }
  result.timings.plan_s = timer.elapsed_s();
}

// The same for a state that streams from host memory: each exchange is a further stretch, in which
// all chunks visit.
void plan_streamed(const Program& program, const Options& options, const State& small,
                   const statevec::StreamLayout& stream, Result& result) {
  statevec::CostModel cost = small.cost_model();
  const std::uint64_t chunk_bytes = stream.amplitude_bytes << stream.chunk_qubits;
  cost.shard_bits = stream.num_qubits - stream.chunk_qubits;
  cost.overlap = {};
  cost.exchange_bandwidth = static_cast<double>(chunk_bytes) / stream.stretch_s();
  result.device = std::to_string(stream.num_chunks()) + " chunks streamed from host memory on " +
                  small.device();
  result.transport = stream.text();
  plan_only(program, options, cost, result);
  const double stretches = static_cast<double>(result.plan.exchanges + 1);
  char line[160];
  std::snprintf(line, sizeof line,
                "host link: %.0f times %.4g GiB in and out, %.3g ms at 45 GB/s a device\n",
                stretches, std::ldexp(static_cast<double>(stream.host_bytes()), -30),
                1e3 * stretches * stream.stretch_s());
  result.plan.text += line;
  result.plan.predicted_s = std::max(result.plan.predicted_s, stretches * stream.stretch_s());
  result.memory_bytes = (stream.amplitude_bytes << stream.num_qubits) +
                        static_cast<std::uint64_t>(stream.num_devices) * stream.worker_bytes();
}

}  // namespace

void dry_run(const Program& program, const Options& options, Result& result) {
  const std::uint32_t n = program.circuit->num_qubits();
  const int num_threads = runtime::resolve_num_threads(options.num_threads);
  if (!options.topology_path.empty()) {
    const Topology topology = read_topology(options.topology_path);
    if (n > statevec::kMaxQubits) {
      fail(ExitCode::kUsage, "plans are made for at most ", statevec::kMaxQubits, " qubits");
    }
    result.num_ranks = topology.num_ranks();
    result.device = std::to_string(result.num_ranks) + " ranks of " + options.topology_path;
    statevec::checked_shard_bits(result.num_ranks, static_cast<int>(n));
    plan_only(program, options, topology.cost, result, &topology);
    result.memory_bytes = statevec::amplitude_bytes(options.precision) << n;
    return;
  }
  if (n > statevec::kMaxQubits) {
    check_memory(n, options.precision, num_threads, runtime::available_host_bytes());
  }
  const std::unique_ptr<State> small = make_small_state(n, options.precision, options.num_threads,
                                                        options.device, options.distribution);
  result.device = small->device();
  result.transport = small->remark();
  if (const auto stream = find_stream(n, options.precision, options.device, options.distribution)) {
    plan_streamed(program, options, *small, *stream, result);
    return;
  }
  // a state on the CPU knows what one of its size costs, not what a larger one does
  const bool on_cpu = small->device() == "cpu" && small->cost_model().shard_bits == 0 &&
                      small->num_qubits() < static_cast<int>(n);
  plan_only(program, options,
            on_cpu ? statevec::cpu_cost_model(static_cast<int>(n), options.precision, num_threads)
                   : small->cost_model(),
            result);
  result.memory_bytes = statevec::needed_bytes(static_cast<int>(n), options.precision, num_threads);
  if (result.num_ranks > 1) {  // what a small distributed state holds beside its amplitudes
    result.memory_bytes += small->memory_bytes() -
                           (statevec::amplitude_bytes(options.precision) << small->num_qubits());
  }
}

}  // namespace tilewave::simulate
