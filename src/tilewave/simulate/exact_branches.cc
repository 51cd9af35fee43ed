// See exact_branches.h.
#include "tilewave/simulate/exact_branches.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/base/units.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/simulate/classical_bits.h"
#include "tilewave/simulate/clifford_run.h"
#include "tilewave/simulate/density_program.h"
#include "tilewave/simulate/initial_state.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/simulate/noisy_engine.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/questions.h"
#include "tilewave/statevec/density.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::simulate {
namespace {

using circuit::Circuit;
using circuit::Op;
using circuit::OpKind;
using circuit::Qubit;
using statevec::State;

constexpr std::uint32_t kMostExactQubits = 12;

// A history of outcomes and its probability.
struct Path {
  std::unique_ptr<State> state;
  std::size_t op = 0;
  Bits bits;
  double weight = 1;
};

using OnEnd = std::function<void(State&, double)>;

class Walker {
 public:
  Walker(const Program& program, std::span<const circuit::ReadoutError> readout,
         const Options& options, const OnEnd& on_end, Result* result)
      : program_(program),
        circuit_(*program.circuit),
        readout_(readout),
        options_(options),
        on_end_(on_end),
        result_(result),
        work_(circuit_) {
    work_.take_ops();
    if (!readout.empty()) read_ = bits_read(program);
  }

  // How many ends there were.
  std::uint64_t run(std::unique_ptr<State> state) {
    const std::uint64_t bytes = std::max<std::uint64_t>(state->memory_bytes(), 1);
    most_waiting_ = options_.distribution.agreed(runtime::available_host_bytes()) / 5 * 4 / bytes;
    paths_.push_back({std::move(state), 0, Bits((circuit_.num_clbits() + 63) / 64), 1});
    while (!paths_.empty()) {
      Path path = std::move(paths_.back());
      paths_.pop_back();
      walk(path);
    }
    return num_ends_;
  }

 private:
  void walk(Path& path) {
    std::uint64_t jumps = 0;
    while (path.op < program_.ops.size()) {
      check_interrupt();
      const Op& op = program_.ops[path.op++];
      if (!holds(circuit_, op, path.bits)) continue;
      switch (op.kind) {
        case OpKind::kMeasure:
        case OpKind::kReset:
          run_gates(*path.state);
          if (!part(op, path)) return;
          jumps = 0;
          break;
        case OpKind::kJump:
          count_jump(jumps);
          path.op = op.first_param;
          break;
        case OpKind::kAssign:
          assign(circuit_, op, path.bits);
          break;
        case OpKind::kRuntimeGate:
          circuit_.append_with_angles(op, angles_at(circuit_, op, path.bits), work_);
          break;
        default:
          work_.put_op(op);
          work_.finish_from(work_.ops().size() - 1, op.line, -1);
      }
    }
    run_gates(*path.state);
    end();
    on_end_(*path.state, path.weight);
  }

  // Counts an outcome, one that is given up as well.
  void end() {
    if (++num_ends_ > kMostOutcomes) fail_outcomes();
  }

  void run_gates(State& state) {
    if (work_.ops().empty()) return;
    if (result_) {
      statevec::PlanOptions plan_options = state.plan_options();
      plan_options.effort = options_.effort;
      const PlanPtr plan = options_.used_session().look_at_plan(work_, work_.ops(), plan_options);
      result_->plan.add(plan->plan);
      if (options_.explain && num_ends_ == 0) result_->plan.text += statevec::explain(plan->plan);
    }
    options_.used_session().run(state, work_, work_.ops(), options_.effort);
    if (program_.has_runtime_gates) work_ = circuit_;  // their angles were written into it
    work_.take_ops();
  }

  // Goes on with one outcome; the other, where there is one, waits. False where none is likely.
  bool part(const Op& op, Path& path) {
    const Qubit qubit = circuit_.targets(op)[0];
    const std::vector<double> p = path.state->joint_probabilities({&qubit, 1});
    const double total = p[0] + p[1];
    if (!(total > 0) || !std::isfinite(total)) {
      fail(ExitCode::kVerification, "the state has norm ", std::to_string(total),
           " before a measurement");
    }
    const bool likely[2] = {path.weight * p[0] >= kLeastOutcome * total,
                            path.weight * p[1] >= kLeastOutcome * total};
    if (!likely[0] && !likely[1]) {
      end();
      return false;
    }
    const auto take = [&](Path& it, int outcome) {
      const double share = p[static_cast<std::size_t>(outcome)] / total;
      it.weight *= share;
      it.state->collapse(qubit, outcome, 1 / std::sqrt(share));
      if (op.kind == OpKind::kMeasure) {
        set_bit(it.bits, op.clbit, outcome);
      } else if (outcome) {
        flip(*it.state, qubit);
      }
    };
    if (likely[0] && likely[1]) {
      Path other = copy_of(path);
      take(other, 1);
      misread(op, other);
      paths_.push_back(std::move(other));
    }
    take(path, likely[0] ? 0 : 1);
    misread(op, path);
    return true;
  }

  Path copy_of(const Path& path) {
    if (paths_.size() >= most_waiting_) {
      fail_memory("the states of ", paths_.size() + 2,
                  " outcomes do not fit memory together: ask for shots, or for a precision");
    }
    return {path.state->clone(), path.op, path.bits, path.weight};
  }

  // Where later operations read the bit that was measured, those go on as well that have it wrong.
  void misread(const Op& op, Path& path) {
    if (op.kind != OpKind::kMeasure || readout_.empty() || !read_[op.clbit]) return;
    const circuit::ReadoutError& error = readout_[circuit_.targets(op)[0]];
    const bool one = get_bit(path.bits, op.clbit);
    const double p = one ? error.p0_given_1 : error.p1_given_0;
    if (path.weight * (1 - p) < kLeastOutcome) {
      set_bit(path.bits, op.clbit, !one);
    } else if (path.weight * p >= kLeastOutcome) {
      Path wrong = copy_of(path);
      set_bit(wrong.bits, op.clbit, !one);
      wrong.weight *= p;
      path.weight *= 1 - p;
      paths_.push_back(std::move(wrong));
    }
  }

  // A density matrix has superoperators for resets.
  void flip(State& state, Qubit qubit) const {
    Circuit x(circuit_.num_qubits());
    x.add_gate(circuit::GateId::kX, {qubit});
    options_.used_session().run(state, x, x.ops());
  }

  const Program& program_;
  const Circuit& circuit_;
  const std::span<const circuit::ReadoutError> readout_;
  const Options& options_;
  const OnEnd& on_end_;
  Result* const result_;
  std::vector<bool> read_;  // bits, where some are misread
  Circuit work_;
  std::vector<Path> paths_;
  std::uint64_t num_ends_ = 0, most_waiting_ = 0;
};

// Measurements whose bit nothing reads take the coherence and leave it at that.
void measure_without_reading(Program& program, Circuit& storage) {
  const std::vector<bool> read = bits_read(program);
  const auto projection = std::make_shared<circuit::Channel>();
  projection->name = "measurement";
  projection->kraus = {{1, 0, 0, 0}, {0, 0, 0, 1}};
  storage = *program.circuit;
  storage.take_ops();
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::kMeasure || read[op.clbit]) {
      storage.put_op(op);
      continue;
    }
    const Qubit qubit = program.circuit->targets(op)[0];
    storage.add_channel({&qubit, 1}, projection);
    storage.finish_from(storage.ops().size() - 1, op.line, op.condition);
  }
  program.circuit = &storage;
  program.ops.assign(storage.ops().begin(), storage.ops().end());
}

}  // namespace

void fail_outcomes() {
  fail(ExitCode::kUsage, "exact means would walk through more than ", kMostOutcomes,
       " outcomes of measurements: ask for shots, or for a precision");
}

std::uint64_t count_outcomes(const Program& program,
                             std::span<const circuit::ReadoutError> readout) {
  const std::vector<bool> read = bits_read(program);
  std::uint64_t count = 1;
  for (std::size_t k = 0; k < program.ops.size() && count <= kMostOutcomes; ++k) {
    const Op& op = program.ops[k];
    if (op.kind == OpKind::kJump && op.first_param <= k) return kMostOutcomes + 1;
    if (op.kind != OpKind::kMeasure || !read[op.clbit]) continue;
    const Qubit qubit = program.circuit->targets(op)[0];
    count *= readout.empty() || readout[qubit].is_none() ? 2 : 4;
  }
  return std::min(count, kMostOutcomes + 1);
}

void to_unread_density(const Program& program, DensityProgram& out) {
  Program own = program;
  Circuit unread;
  measure_without_reading(own, unread);
  to_density(own, out);
}

void walk_outcomes(const Program& program, std::unique_ptr<State> state,
                   std::span<const circuit::ReadoutError> readout, const Options& options,
                   const OnEnd& on_end, Result* result) {
  const runtime::Timer timer;
  const double observed_s = result ? result->timings.observe_s : 0;  // what on_end() takes
  const std::uint64_t count =
      Walker(program, readout, options, on_end, result).run(std::move(state));
  if (!result) return;
  if (options.shots == 0) result->num_branches = count;
  const double elapsed_s = timer.elapsed_s() - (result->timings.observe_s - observed_s);
  result->timings.execute_s += elapsed_s;
  result->profile["outcomes"].add(elapsed_s, 0, 0);
  if (options.explain)
    result->plan.text +=
        counted(count, "outcome") + " of measurements, each with its probability\n";
}

std::vector<double> exact_expectations(const Circuit& clean, const Options& options) {
  const runtime::ThreadLimit limit(options.num_threads);
  circuit::need_bound(clean);
  const Circuit noisy = options.noise ? circuit::with_noise(clean, *options.noise) : Circuit();
  Program program = prepare(options.noise ? noisy : clean, options.from_zeros());
  check_has_qubits(*program.circuit);
  const std::vector<circuit::ReadoutError> readout =
      options.noise ? circuit::readout_errors(*options.noise, program.circuit->num_qubits())
                    : std::vector<circuit::ReadoutError>{};
  std::string why_not;
  if (!program.has_channels) {
    if (const auto tableaux = choose_tableaux(program, options, readout, &why_not))
      return tableaux->exact_means(options.observables);
  }
  Circuit of_touched, unread;
  if (options.from_zeros()) keep_only(program, touched_qubits(program), of_touched);
  const std::uint32_t n = program.circuit->num_qubits();
  const auto events = std::count_if(program.ops.begin(), program.ops.end(), [](const Op& op) {
    return op.kind == OpKind::kMeasure || op.kind == OpKind::kReset;
  });
  const bool is_density =
      program.has_channels || (n <= kMostExactQubits && static_cast<std::uint32_t>(events) > n);
  InitialState initial(options, program.qubits.num_qubits());
  const std::vector<circuit::ReadoutError> in_state = readout_in_state(program, readout);
  std::vector<double> sums(options.observables.size());
  const auto add = [&](State& state, double weight) {
    const std::vector<double> values = program.qubits.expectations(state, options.observables);
    const double norm = state.norm();
    for (std::size_t k = 0; k < values.size(); ++k) sums[k] += weight * values[k] / norm;
  };
  if (!is_density) {
    std::unique_ptr<State> state;
    try {
      state = make_state(n, options.precision, options.num_threads, options.device);
    } catch (const Error& error) {
      if (error.code() != ExitCode::kResources || why_not.empty()) throw;
      fail_without_state(error, why_not);
    }
    initial.put_into(*state, false);
    walk_outcomes(program, std::move(state), in_state, options, add);
    return sums;
  }
  measure_without_reading(program, unread);
  DensityProgram density;
  Options exact = options;
  exact.engine = Engine::kDensity;
  choose_noisy_engine(program, exact, 1, density);
  std::unique_ptr<State> state = statevec::make_density_state(make_state(
      density.circuit.num_qubits(), options.precision, options.num_threads, options.device));
  initial.put_into(*state, true);
  walk_outcomes(density.program, std::move(state), in_state, options, add);
  return sums;
}

}  // namespace tilewave::simulate
