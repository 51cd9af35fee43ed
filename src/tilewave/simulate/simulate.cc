// A run from start to end: prepare the circuit, choose the engine, take a state, walk the branches,
// collect the answers.
#include "tilewave/simulate/simulate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/base/random_seed.h"
#include "tilewave/base/units.h"
#include "tilewave/base/whole_file.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/simulate/agreement.h"
#include "tilewave/simulate/branches.h"
#include "tilewave/simulate/checkpoint/record_kind.h"
#include "tilewave/simulate/clifford_run.h"
#include "tilewave/simulate/collect.h"
#include "tilewave/simulate/dry_run.h"
#include "tilewave/simulate/exact_branches.h"
#include "tilewave/simulate/initial_state.h"
#include "tilewave/simulate/noisy_engine.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/questions.h"
#include "tilewave/simulate/run_checks.h"
#include "tilewave/simulate/saved_walk.h"
#include "tilewave/stabilizer/near_clifford/program.h"
#include "tilewave/statevec/density.h"
#include "tilewave/statevec/device_costs.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::simulate {
namespace {

using statevec::Precision;
using statevec::State;

// About what a state vector takes on a core, against which gates beyond Clifford are weighed.
constexpr double kAmplitudePass_s = 1e-9, kGatesOfPass = 10;
constexpr std::uint32_t kLeastLocalQubits = 10;  // of a rank, where the register has as many

// The circuit for the stabilizer engine, where that engine is wanted and can answer; why it cannot,
// where measurements steer the circuit, as such a circuit is written for that engine or for few qubits.
std::optional<CliffordProgram> choose_stabilizer(const Program& program, const Options& options,
                                                 std::span<const circuit::ReadoutError> readout,
                                                 std::string& why_not) {
  const std::uint32_t n = program.circuit->num_qubits();
  const bool forced = options.engine == Engine::kStabilizer;
  const bool has_ranks = options.distribution.num_ranks() != 1 || !options.topology_path.empty();
  if (!forced && (options.engine != Engine::kAuto ||
                  (n <= kMostSmallQubits && !program.has_channels) || has_ranks)) {
    return std::nullopt;
  }
  if (!asks_only_shots(options, n)) {
    if (forced) {
      fail(ExitCode::kUsage,
           "the stabilizer engine answers with counts, shots and expectation values only: ask for "
           "--shots or --expect and nothing else, or use --engine statevector");
    }
    if (is_steered(program)) why_not = "it answers with counts, shots and expectation values only";
    return std::nullopt;
  }
  if (has_ranks) {
    fail(ExitCode::kUsage,
         "the stabilizer engine holds no state to spread over ranks: run it in one process, whose "
         "threads or --device share the shots");
  }
  const MagicLimits all{stabilizer::kMostActive, ~std::uint64_t{0}};
  auto clifford = to_clifford(program, readout, &why_not, forced ? all : MagicLimits{});
  if (clifford && clifford->steered) {
    if (!options.device.cuda().empty()) {
      why_not = "it runs circuits that measurements steer on CPUs (--device cpu)";
      clifford.reset();
    } else if (n <= kMostSmallQubits && !forced) {
      clifford.reset();
    }
  }
  if (clifford && clifford->amplitude_steps > 0 && !forced) {
    // Shots may share no amplitudes, and on a GPU they do not: there a state vector is taken. It holds
    // only qubits that gates touch.
    const bool on_gpu = !options.device.cuda().empty();
    const auto touched = static_cast<std::uint32_t>(touched_qubits(program, 1).size());
    const double of_state_s =
        touched > statevec::kMaxQubits
            ? HUGE_VAL
            : std::ldexp(kAmplitudePass_s, static_cast<int>(touched)) *
                  (1 + static_cast<double>(program.ops.size()) / kGatesOfPass);
    const bool is_slower =
        !program.has_channels &&
        (touched <= kMostSmallQubits || predict_clifford(*clifford, options.shots) > of_state_s);
    if (on_gpu || is_slower || (options.dry_run && options.shots == 0)) clifford.reset();
  }
  if (!clifford && !forced && !is_steered(program)) why_not.clear();
  if (!clifford && forced) {
    fail(ExitCode::kUsage, "the stabilizer engine cannot run this circuit: ", why_not,
         "; use --engine ", program.has_channels ? "trajectories" : "statevector");
  }
  return clifford;
}

// The qubits the state holds. A state that is written is of the whole register, and every rank of
// several needs some qubits of its own.
std::vector<circuit::Qubit> find_touched(const Program& program, const Options& options) {
  const std::uint32_t n = program.circuit->num_qubits();
  const int ranks = count_ranks(n, options.precision, options.device, options.distribution);
  std::uint32_t least = 1;
  if (ranks > 1) least = kLeastLocalQubits + std::bit_width(static_cast<unsigned>(ranks)) - 1;
  if (!options.state_path.empty() || !options.from_zeros()) least = n;
  return touched_qubits(program, least);
}

}  // namespace

void PlanSummary::add(const statevec::Plan& plan) {
  passes += plan.passes.size();
  gates += plan.num_circuit_gates;
  predicted_s += plan.predicted_s;
  for (const statevec::Pass& pass : plan.passes) {
    bytes += pass.bytes;
    flops += pass.flops;
  }
  for (const statevec::Exchange& exchange : plan.exchanges) {
    exchanges += exchange.bytes > 0;
    exchange_bytes += exchange.bytes;
  }
}

void StepProfile::add(double measured_s, double predicted, double num_bytes) {
  min_s = calls ? std::min(min_s, measured_s) : measured_s;
  max_s = std::max(max_s, measured_s);
  total_s += measured_s;
  predicted_s += predicted;
  bytes += num_bytes;
  ++calls;
}

namespace {

// As choose_stabilizer(); a run that goes on stays with its engine.
std::optional<CliffordProgram> choose_clifford(const Program& program, const Options& options,
                                               std::span<const circuit::ReadoutError> readout,
                                               const ResumedRun* resumed, std::string& why_not) {
  if (!options.from_zeros()) return std::nullopt;
  if (!resumed) return choose_stabilizer(program, options, readout, why_not);
  if (resumed->header.engine != "stabilizer") return std::nullopt;
  Options same = options;
  same.engine = Engine::kStabilizer;
  return choose_stabilizer(program, same, readout, why_not);
}

Result simulate_circuit(const circuit::Circuit& clean, const Options& options) {
  circuit::need_bound(clean);
  for (const std::string& folder : {options.checkpoint.folder, options.checkpoint.resume})
    need_no_checkpoint(folder, options.state_path);
  check_agreement(clean, options);
  const runtime::ThreadLimit limit(options.num_threads);
  const circuit::Circuit noisy =
      options.noise ? circuit::with_noise(clean, *options.noise) : circuit::Circuit();
  const circuit::Circuit& circuit = options.noise ? noisy : clean;
  Program asked = prepare(circuit, options.from_zeros());
  check_questions(asked, options);
  Result result;
  for (const std::string& note : circuit.notes().subspan(clean.notes().size()))
    result.warnings.push_back(note);
  result.num_qubits = circuit.num_qubits();
  result.precision = options.precision;
  result.shots = options.shots;
  result.seed = options.seed ? *options.seed : options.distribution.agreed(draw_seed());
  const std::unique_ptr<ResumedRun> resumed = open_resumed(clean, options);
  if (resumed) result.seed = resumed->header.seed;

  const std::vector<circuit::ReadoutError> readout =
      options.noise ? circuit::readout_errors(*options.noise, result.num_qubits)
                    : std::vector<circuit::ReadoutError>{};
  DensityProgram density;
  std::optional<NoisyChoice> choice;
  const bool keeps = !options.checkpoint.folder.empty();
  std::string why_no_clifford;
  if (!resumed && asks_only_means(options)) {
    if (const auto tableaux = choose_tableaux(asked, options, readout, &why_no_clifford)) {
      check_shots(asked, options);
      run_tableaux(asked, tableaux, readout, options, result);
      return result;
    }
    if (options.engine == Engine::kStabilizer) {
      throw Error(ExitCode::kUsage,
                  "the stabilizer engine cannot find expectation values of this circuit: " +
                      (why_no_clifford.empty() ? "it holds no state to spread over ranks"
                                               : why_no_clifford) +
                      "; use --engine statevector");
    }
  }
  const std::string why_no_means = std::exchange(why_no_clifford, {});
  // Rows of no shots need no run, nor do counts of no shots of a noisy circuit, which has no one state
  // whose norm and times could be meant.
  const bool needs_no_run = options.shots == 0 && !options.dry_run && !options.explain &&
                            (options.record_shots || asked.has_channels) &&
                            asks_only_shots(options, result.num_qubits);
  const auto clifford = choose_clifford(asked, options, readout, resumed.get(), why_no_clifford);
  if (!why_no_means.empty()) why_no_clifford = why_no_means;
  circuit::Circuit of_touched;
  const std::vector<circuit::Qubit> kept =
      resumed ? resumed->header.kept : find_touched(asked, options);
  keep_only(asked, kept, of_touched);
  const std::vector<circuit::ReadoutError> in_state = readout_in_state(asked, readout);
  if (clifford) {
    bool wins = true;
    if (resumed) {
      result.engine_choice = resumed->header.engine_choice;
    } else if (asked.has_channels) {
      // without shots, the engine that one would have
      const std::uint64_t shots = std::max<std::uint64_t>(options.shots, 1);
      const double predicted_s = predict_clifford(*clifford, shots);
      const std::string own = "the stabilizer engine (" + in_time(predicted_s) + " predicted)";
      if (options.engine == Engine::kStabilizer) {
        result.engine_choice = "stabilizer engine, as asked";
      } else if (asked.circuit->num_qubits() > statevec::kMaxQubits) {
        result.engine_choice = own + ": Clifford gates and Pauli errors";
      } else {
        choice = choose_noisy_engine(asked, options, shots, density);
        wins = predicted_s <= choice->predicted_s;
        result.engine_choice = own + " rather than " + choice->name;
        if (!wins) choice->reason += ", or " + own;
      }
    }
    if (wins) {
      if (!needs_no_run) check_shots(asked, options);
      RunHeader header{asked_of(clean, options), result.seed, options.shots, 0, "", "",
                       result.num_qubits,        kept};
      run_clifford(asked, *clifford, options, std::move(header), resumed.get(), result);
      return result;
    }
  }

  // the circuit as its engine runs it: of 2n qubits for a density matrix
  std::uint64_t num_shots = options.shots;
  if (asked.has_channels || options.engine == Engine::kDensity) {
    if (num_shots == 0) num_shots = needs_no_run ? 1 : kDefaultTrajectories;
    if (!choice) {
      Options wanted = options;
      if (resumed) wanted.engine = parse_engine(resumed->header.engine);
      choice = choose_noisy_engine(asked, wanted, num_shots, density, in_state);
    }
    result.engine_choice = resumed ? resumed->header.engine_choice : choice->reason;
    result.engine = choice->engine == NoisyEngine::kDensity ? "density" : "trajectories";
  }
  if (needs_no_run) {
    result.device = options.device.cuda().empty() ? "cpu" : "cuda";
    Collector(asked, options, 0, readout, Collector::Means::kExact, result).prepare_shots();
    return result;
  }
  const bool is_density = result.engine == "density";
  const Program& program = is_density ? density.program : asked;
  // means over measurements are exact where the density matrix of every outcome is made
  const bool walks = is_density && program.dynamic && options.asks_means() &&
                     (options.shots == 0 || walks_outcomes(asked, options, in_state));
  DensityProgram unread;
  if (walks) to_unread_density(asked, unread);
  if (is_density) {  // nothing of it is drawn but measurements
    asked.dynamic = program.dynamic;
    asked.has_channels = false;
  }
  if (asked.has_channels) {
    result.num_trajectories = num_shots;
  } else {
    num_shots = program.dynamic ? options.shots : std::max<std::uint64_t>(options.shots, 1);
  }
  if (!walks) check_shots(asked, options);
  const std::uint32_t n = program.circuit->num_qubits();
  result.num_ranks = count_ranks(n, options.precision, options.device, options.distribution);

  if (options.dry_run) {
    dry_run(program, options, result);
    return result;
  }

  InitialState initial(options, result.num_qubits);
  if (keeps) {
    result.keeper = std::make_shared<Keeper>(options.checkpoint, options.distribution.processes,
                                             resumed ? &resumed->saved : nullptr);
  }
  const bool parts = program.dynamic || program.has_channels;
  const std::uint64_t available =
      parts ? options.distribution.agreed(runtime::available_host_bytes()) : 0;
  const bool writes_state = !options.state_path.empty() && options.distribution.is_root();
  if (writes_state) check_writable(options.state_path, 1);  // now, not after the run
  runtime::Timer timer;
  std::unique_ptr<State> state;
  Session& session = options.used_session();
  try {
    state = session.take_state(n, options.precision, options.num_threads, options.device,
                               options.distribution);
  } catch (const Error& error) {
    if (error.code() == ExitCode::kResources && !why_no_clifford.empty() && !is_density) {
      fail_without_state(error, why_no_clifford);
    }
    if (!is_density) throw;
    fail_as(error, "a density matrix of ", result.num_qubits, " qubits is a state of ", n,
            " (--engine trajectories needs no more than a state vector): ", error.what());
  }
  if (options.keeps_device_memory) state->keep_shared_memory();
  state->set_reproducible(keeps || resumed);
  if (is_density) state = statevec::make_density_state(std::move(state));
  result.profile["allocate"].add(timer.elapsed_s(), 0, 0);
  result.device = state->device();
  result.transport = state->remark();
  result.memory_bytes = state->memory_bytes();
  if (writes_state)
    check_writable(options.state_path,
                   state->num_amplitudes() * amplitude_bytes(options.precision));
  const bool samples_means = asked.has_channels || (program.dynamic && !walks);
  std::optional<Options> of_shots;
  if (walks) {
    of_shots = options;
    of_shots->probabilities = false;
    of_shots->observables.clear();
  }
  Collector collect(asked, of_shots ? *of_shots : options, num_shots, readout,
                    samples_means ? Collector::Means::kOverShots : Collector::Means::kExact,
                    result);
  if (options.record_shots) collect.prepare_shots();
  statevec::RunObserver observer;
  observer.makes_norm = true;
  observer.makes_marginals = (options.probabilities || options.shots > 0) && !is_density;
  observer.on_step = [&](const statevec::StepTime& step) {
    result.profile[step.step].add(step.measured_s, step.predicted_s, step.bytes);
    if (options.record_steps && result.steps.size() < kMaxSteps) result.steps.push_back(step);
  };
  const runtime::Timer run_timer;
  if (options.on_progress) {
    observer.on_progress = [&](double done_s, double total_s) {
      if (!parts) {
        options.on_progress(total_s > 0 ? done_s / total_s : 1, total_s - done_s);
        return;
      }
      const double fraction = collect.fraction_done();
      const double elapsed_s = run_timer.elapsed_s();
      const double remaining_s =
          fraction > 0 ? elapsed_s * (1 - fraction) / fraction : total_s - done_s;
      options.on_progress(fraction, remaining_s);
    };
  }
  // Snapshots may take four fifths of the memory that is left.
  const std::uint64_t left = available > result.memory_bytes ? available - result.memory_bytes : 0;
  BranchOptions branch_options;
  branch_options.shots = num_shots;
  branch_options.readout = in_state;
  branch_options.seed = result.seed;
  branch_options.max_states =
      1 + left / 5 * 4 / std::max<std::uint64_t>(result.memory_bytes, std::uint64_t{1} << 21);
  branch_options.session = &session;
  branch_options.effort = options.effort;
  branch_options.explain = options.explain;
  RunHeader header;
  if (resumed) {
    header = resumed->header;
    branch_options.max_states = std::min(branch_options.max_states, header.max_states);
    if (header.num_qubits != n || header.shots != num_shots) resumed->rest.fail();
    collect.load(resumed->rest);
    branch_options.walk = get_walk(resumed->rest);
    branch_options.saved = &resumed->saved;
  }
  if (!options.from_zeros()) {
    branch_options.start = [&](State& s) { initial.put_into(s, is_density); };
    if (!resumed) branch_options.start(*state);
  }
  if (keeps) {
    if (!resumed) {
      header = {asked_of(clean, options),
                result.seed,
                num_shots,
                branch_options.max_states,
                result.engine,
                result.engine_choice,
                n,
                kept};
    }
    branch_options.keeper = result.keeper.get();
    branch_options.save = [&](ByteWriter& out) {
      put_kind(out, RecordKind::kRun);
      put_header(out, header);
      collect.save(out);
    };
  }
  if (num_shots > 0)
    run_branches(program, state, branch_options, observer, result, std::ref(collect));
  if (walks) {
    initial.put_into(*state, is_density);
    Collector means(asked, options, 0, readout, Collector::Means::kExact, result);
    walk_outcomes(
        unread.program, std::move(state), in_state, options,
        [&](State& s, double probability) { means.add_outcome(s, probability); }, &result);
  }
  collect.finish();
  if (keeps && !result.keeper->warning().empty())
    result.warnings.push_back(result.keeper->warning());
  if (options.explain && asked.has_channels) {
    const auto channels =
        std::count_if(program.ops.begin(), program.ops.end(),
                      [](const circuit::Op& op) { return op.kind == circuit::OpKind::kChannel; });
    result.plan.text.insert(0, std::to_string(channels) +
                                   " noise channels: below is what the first trajectory through "
                                   "each stretch ran\n");
  }
  if (!is_density && options.distribution.num_ranks() == 1)
    session.give_back(std::move(state), options.num_threads, options.device,
                      options.keeps_device_memory ? options.spare_device_share : 0);
  return result;
}

}  // namespace

Result simulate(const circuit::Circuit& circuit, const Options& options) {
  Result result = simulate_circuit(circuit, options);
  result.warnings.insert(result.warnings.begin(), circuit.notes().begin(), circuit.notes().end());
  const bool on_gpu = !options.dry_run && result.device.find("cuda") != std::string::npos;
  if (std::string refused = on_gpu ? statevec::refused_passes() : ""; !refused.empty())
    result.warnings.push_back(std::move(refused));
  return result;
}

}  // namespace tilewave::simulate
