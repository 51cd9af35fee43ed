// The spine of a run: prepare -> check memory -> state -> branches -> observe.
#include "tilewave/simulate/simulate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>
#include <random>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/base/whole_file.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/simulate/agreement.h"
#include "tilewave/simulate/branches.h"
#include "tilewave/simulate/clifford_run.h"
#include "tilewave/simulate/collect.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/simulate/noisy_engine.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/run_checks.h"
#include "tilewave/simulate/topology.h"
#include "tilewave/simulate/touched.h"
#include "tilewave/statevec/density.h"
#include "tilewave/statevec/device_costs.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {
namespace {

using statevec::Precision;
using statevec::State;

Session& session_of(const Options& options) {
  return options.session ? *options.session : *Session::of_process();
}

constexpr std::uint64_t kMaxShots = 100'000'000;
constexpr double kEvent_s = 5e-6;  // of a measurement in the middle, beside its memory traffic
// Up to here a state vector answers as fast, with the same shots on every device.
constexpr std::uint32_t kMostSmallQubits = 20;
constexpr std::uint32_t kLeastLocalQubits = 10;  // of a rank, where the register has as many

void check_has_qubits(const circuit::Circuit& circuit) {
  if (circuit.num_qubits() == 0) {
    throw Error(ExitCode::kInput, "the circuit has no qubits: declare a qreg");
  }
}

void check_questions(const Program& program, const Options& options) {
  const std::uint32_t n = program.circuit->num_qubits();
  const auto fail = [](const std::string& message) { throw Error(ExitCode::kUsage, message); };
  check_has_qubits(*program.circuit);
  if (options.shots > kMaxShots) fail("at most 100000000 shots in one run: split them by seed");
  for (const auto& range : options.amplitudes) {
    const std::uint64_t size = n >= 64 ? ~std::uint64_t{0} : bit(static_cast<int>(n));
    if (range.first >= size || range.count > size - range.first) {
      fail("amplitude " + std::to_string(std::max(range.first, range.first + range.count - 1)) +
           " does not exist: a state of " + std::to_string(n) + " qubits has indices 0 to " +
           std::to_string(size - 1));
    }
  }
  for (const auto q : options.probability_qubits) {
    if (q >= n) {
      fail("qubit " + std::to_string(q) + " does not exist: the circuit has qubits 0 to " +
           std::to_string(n - 1));
    }
    if (std::count(options.probability_qubits.begin(), options.probability_qubits.end(), q) > 1) {
      fail("qubit " + std::to_string(q) + " is asked for twice");
    }
  }
  double total = 0;
  for (const circuit::WidePauliTerm& term : options.observables) {
    total += std::abs(term.coefficient);
    for (const auto* words : {&term.x, &term.z}) {
      for (std::size_t k = n / 64; k < words->size(); ++k) {
        if ((*words)[k] >> (k == n / 64 ? n % 64 : 0)) {
          fail("an observable acts on qubits the circuit does not have: it has 0 to " +
               std::to_string(n - 1));
        }
      }
    }
  }
  if (!std::isfinite(total)) {
    fail("the coefficients of the observable must be finite, and so must their sum");
  }
  if (options.engine == Engine::kStatevector && program.has_channels) {
    fail("a state vector holds no noise: use --engine density, trajectories or auto");
  }
  if (options.engine == Engine::kTrajectories && !program.has_channels) {
    fail(
        "--engine trajectories is for circuits with noise channels: give a --noise file with some");
  }
  if ((program.has_channels || options.engine == Engine::kDensity) &&
      (!options.amplitudes.empty() || !options.state_path.empty())) {
    fail(
        "a noisy circuit ends in no single state, so it has no amplitudes: ask for counts, "
        "probabilities or expectations");
  }
}

// `program` as its engine runs it: resets of a density matrix part no shots.
void check_shots(const Program& program, const Options& options) {
  const auto fail = [](const std::string& message) { throw Error(ExitCode::kUsage, message); };
  if (!program.dynamic) return;
  if ((!options.amplitudes.empty() || !options.state_path.empty()) && options.shots != 1) {
    fail(
        "amplitudes and the state are not defined over several shots of a circuit that measures "
        "or resets in the middle: ask for --shots 1, or for counts, probabilities or expectations");
  }
  if (options.shots == 0 && !options.dry_run) {
    fail("a circuit that measures or resets in the middle needs shots: ask for --shots N");
  }
}

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

// Gates from one measurement to the next, planned as `--explain` and `--dry-run` print them:
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
      plan_options.from_zeros = first;
      plan_options.cost = cost;
      plan_options.effort = options.effort;
      statevec::Plan plan =
          session_of(options).look_at_plan(*program.circuit, gates, plan_options)->plan;
      std::vector<double> sent;
      if (topology) sent = price_exchanges(plan, *topology);
      result.plan.passes += plan.passes.size();
      result.plan.gates += plan.num_circuit_gates;
      result.plan.predicted_s += plan.predicted_s;
      if (options.record_steps) add_steps(plan, result);
      for (const auto& pass : plan.passes) {
        result.plan.bytes += pass.bytes;
        result.plan.flops += pass.flops;
      }
      for (const auto& step : plan.exchanges) {
        result.plan.exchanges += step.bytes > 0;
        result.plan.exchange_bytes += step.bytes;
      }
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
          static_cast<double>(events) * (2 * state_bytes / cost.bandwidth + kEvent_s);
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

// The circuit for the stabilizer engine, where that engine is wanted and can answer.
std::optional<CliffordProgram> choose_stabilizer(const Program& program, const Options& options,
                                                 std::span<const circuit::ReadoutError> readout) {
  const std::uint32_t n = program.circuit->num_qubits();
  const bool forced = options.engine == Engine::kStabilizer;
  if (!forced &&
      (options.engine != Engine::kAuto || (n <= kMostSmallQubits && !program.has_channels) ||
       options.distribution.num_ranks() != 1)) {
    return std::nullopt;
  }
  if (!asks_only_shots(options)) {
    if (forced) {
      throw Error(
          ExitCode::kUsage,
          "the stabilizer engine answers with counts and shots only: ask for --shots and nothing "
          "else, or use --engine statevector");
    }
    return std::nullopt;
  }
  if (options.distribution.num_ranks() != 1) {
    throw Error(ExitCode::kUsage,
                "the stabilizer engine holds no state to spread over ranks: run it in one process, "
                "whose threads or --device share the shots");
  }
  std::string why_not;
  auto clifford = to_clifford(program, readout, &why_not);
  if (!clifford && forced) {
    throw Error(ExitCode::kUsage, "the stabilizer engine cannot run this circuit: " + why_not +
                                      "; use --engine " +
                                      (program.has_channels ? "trajectories" : "statevector"));
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
  if (!options.state_path.empty()) least = n;
  return touched_qubits(program, least);
}

std::uint64_t draw_seed() {
  std::random_device entropy;
  return (std::uint64_t{entropy()} << 32) | entropy();
}

}  // namespace

void StepProfile::add(double measured_s, double predicted, double num_bytes) {
  min_s = calls ? std::min(min_s, measured_s) : measured_s;
  max_s = std::max(max_s, measured_s);
  total_s += measured_s;
  predicted_s += predicted;
  bytes += num_bytes;
  ++calls;
}

namespace {

Result simulate_circuit(const circuit::Circuit& clean, const Options& options) {
  check_agreement(clean, options);
  const runtime::ThreadLimit limit(options.num_threads);
  const circuit::Circuit noisy =
      options.noise ? circuit::with_noise(clean, *options.noise) : circuit::Circuit();
  const circuit::Circuit& circuit = options.noise ? noisy : clean;
  Program asked = prepare(circuit);
  check_questions(asked, options);
  const int num_threads = runtime::resolve_num_threads(options.num_threads);
  Result result;
  result.num_qubits = circuit.num_qubits();
  result.precision = options.precision;
  result.shots = options.shots;
  result.seed = options.seed ? *options.seed : options.distribution.agreed(draw_seed());

  const std::vector<circuit::ReadoutError> readout =
      options.noise ? circuit::readout_errors(*options.noise, result.num_qubits)
                    : std::vector<circuit::ReadoutError>{};
  DensityProgram density;
  std::optional<NoisyChoice> choice;
  const auto clifford = choose_stabilizer(asked, options, readout);
  circuit::Circuit of_touched;
  keep_only(asked, find_touched(asked, options), of_touched);
  if (clifford) {
    bool wins = true;
    if (asked.has_channels) {
      const double predicted_s = predict_clifford(*clifford, options.shots);
      const std::string own = "the stabilizer engine (" + in_time(predicted_s) + " predicted)";
      if (options.engine == Engine::kStabilizer) {
        result.engine_choice = "stabilizer engine, as asked";
      } else if (asked.circuit->num_qubits() > statevec::kMaxQubits) {
        result.engine_choice = own + ": Clifford gates and Pauli errors";
      } else {
        choice = choose_noisy_engine(asked, options, options.shots, density);
        wins = predicted_s <= choice->predicted_s;
        result.engine_choice = own + " rather than " + choice->name;
        if (!wins) choice->reason += ", or " + own;
      }
    }
    if (wins) {
      runs_on_cpu(result.num_qubits, options.precision, options.device);  // checks the word
      run_clifford(asked, *clifford, options, result);
      return result;
    }
  }

  // the circuit as its engine runs it: of 2n qubits for a density matrix
  std::uint64_t num_shots = options.shots;
  if (asked.has_channels || options.engine == Engine::kDensity) {
    if (num_shots == 0 && !asked.dynamic) num_shots = kDefaultTrajectories;
    if (!choice) {
      choice = choose_noisy_engine(asked, options, std::max<std::uint64_t>(num_shots, 1), density);
    }
    result.engine_choice = choice->reason;
    result.engine = choice->engine == NoisyEngine::kDensity ? "density" : "trajectories";
  }
  const bool is_density = result.engine == "density";
  const Program& program = is_density ? density.program : asked;
  if (is_density) {  // nothing of it is drawn but measurements
    asked.dynamic = program.dynamic;
    asked.has_channels = false;
  }
  if (asked.has_channels) {
    result.num_trajectories = num_shots;
  } else {
    num_shots = program.dynamic ? options.shots : std::max<std::uint64_t>(options.shots, 1);
  }
  check_shots(asked, options);
  const std::uint32_t n = program.circuit->num_qubits();
  result.num_ranks = count_ranks(n, options.precision, options.device, options.distribution);

  if (!options.topology_path.empty()) {
    if (!options.dry_run) {
      throw Error(ExitCode::kUsage,
                  "--topology describes a machine that is not here: add --dry-run");
    }
    const Topology topology = read_topology(options.topology_path);
    if (n > statevec::kMaxQubits) {
      throw Error(ExitCode::kUsage,
                  "plans are made for at most " + std::to_string(statevec::kMaxQubits) + " qubits");
    }
    result.num_ranks = topology.num_ranks();
    result.device = std::to_string(result.num_ranks) + " ranks of " + options.topology_path;
    statevec::checked_shard_bits(result.num_ranks, static_cast<int>(n));
    plan_only(program, options, topology.cost, result, &topology);
    result.memory_bytes = statevec::amplitude_bytes(options.precision) << n;
    return result;
  }
  if (options.dry_run) {
    if (n > statevec::kMaxQubits) {
      check_memory(n, options.precision, num_threads, runtime::available_host_bytes());
    }
    const std::unique_ptr<State> small = make_small_state(n, options.precision, options.num_threads,
                                                          options.device, options.distribution);
    result.device = small->device();
    result.transport = small->remark();
    if (const auto stream =
            find_stream(n, options.precision, options.device, options.distribution)) {
      plan_streamed(program, options, *small, *stream, result);
      return result;
    }
    plan_only(program, options, small->cost_model(), result);
    result.memory_bytes =
        statevec::needed_bytes(static_cast<int>(n), options.precision, num_threads);
    if (result.num_ranks > 1) {  // what a small distributed state holds beside its amplitudes
      result.memory_bytes += small->memory_bytes() -
                             (statevec::amplitude_bytes(options.precision) << small->num_qubits());
    }
    return result;
  }

  const bool parts = program.dynamic || program.has_channels;
  const std::uint64_t available =
      parts ? options.distribution.agreed(runtime::available_host_bytes()) : 0;
  const bool writes_state = !options.state_path.empty() && options.distribution.is_root();
  if (writes_state) check_writable(options.state_path, 1);  // now, not after the run
  runtime::Timer timer;
  std::unique_ptr<State> state;
  Session& session = session_of(options);
  try {
    state = session.take_state(n, options.precision, options.num_threads, options.device,
                               options.distribution);
  } catch (const Error& error) {
    if (!is_density) throw;
    throw Error(error.code(),
                "a density matrix of " + std::to_string(result.num_qubits) +
                    " qubits is a state of " + std::to_string(n) +
                    " (--engine trajectories needs no more than a state vector): " + error.what());
  }
  if (options.keeps_device_memory) state->keep_shared_memory();
  if (is_density) state = statevec::make_density_state(std::move(state));
  result.profile["allocate"].add(timer.elapsed_s(), 0, 0);
  result.device = state->device();
  result.transport = state->remark();
  result.memory_bytes = state->memory_bytes();
  if (writes_state)
    check_writable(options.state_path,
                   state->num_amplitudes() * amplitude_bytes(options.precision));
  Collector collect(asked, options, num_shots, readout, result);
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
  std::vector<circuit::ReadoutError> readout_in_state;
  for (std::uint32_t j = 0; j < asked.circuit->num_qubits() && !readout.empty(); ++j) {
    readout_in_state.push_back(readout[asked.qubits.in_register(j)]);
  }
  BranchOptions branch_options;
  branch_options.shots = num_shots;
  branch_options.readout = readout_in_state;
  branch_options.seed = result.seed;
  branch_options.max_states =
      1 + left / 5 * 4 / std::max<std::uint64_t>(result.memory_bytes, std::uint64_t{1} << 21);
  branch_options.session = options.session.get();
  branch_options.effort = options.effort;
  branch_options.explain = options.explain;
  run_branches(program, state, branch_options, observer, result, std::ref(collect));
  collect.finish();
  if (options.explain && asked.has_channels) {
    result.plan.text.insert(0, std::to_string(program.circuit->channels().size()) +
                                   " noise channels: below is what the first trajectory through "
                                   "each stretch ran\n");
  }
  if (!is_density && options.distribution.num_ranks() == 1)
    session.give_back(std::move(state), options.num_threads);
  return result;
}

}  // namespace

Result simulate(const circuit::Circuit& circuit, const Options& options) {
  Result result = simulate_circuit(circuit, options);
  result.warnings.insert(result.warnings.begin(), circuit.notes().begin(), circuit.notes().end());
  if (std::string refused = statevec::refused_passes(); !refused.empty())
    result.warnings.push_back(std::move(refused));
  return result;
}

namespace {

// Progress over the passes of one plan.
statevec::RunObserver progress_of(const Options& options) {
  statevec::RunObserver observer;
  if (options.on_progress) {
    observer.on_progress = [&options](double done_s, double total_s) {
      options.on_progress(total_s > 0 ? done_s / total_s : 1, total_s - done_s);
    };
  }
  return observer;
}

}  // namespace

FinalState final_state(const circuit::Circuit& circuit, const Options& options, bool whole) {
  const runtime::ThreadLimit limit(options.num_threads);
  Program program = prepare(circuit);
  check_has_qubits(circuit);
  if (program.has_channels) {
    throw Error(
        ExitCode::kUsage,
        "a circuit with noise channels ends in no single state: ask for its density matrix, "
        "or for counts or expectations");
  }
  circuit::Circuit of_touched;
  if (!whole) keep_only(program, touched_qubits(program), of_touched);
  const std::uint32_t n = program.circuit->num_qubits();
  std::unique_ptr<State> state =
      make_state(n, options.precision, options.num_threads, options.device);
  if (options.keeps_device_memory) state->keep_shared_memory();
  BranchOptions branch_options;
  if (program.dynamic) branch_options.seed = options.seed ? *options.seed : draw_seed();
  branch_options.session = options.session.get();
  branch_options.effort = options.effort;
  branch_options.in_order = whole;
  Result ignored;
  statevec::RunObserver observer = progress_of(options);
  observer.makes_norm = true;
  run_branches(program, state, branch_options, observer, ignored, [](const Leaf&) {});
  check_norm(state->norm(), *program.circuit, program.ops, options.precision, true);
  return {std::move(state), std::move(program.qubits)};
}

runtime::HostBuffer take_amplitudes(FinalState& final) {
  State& state = *final.state;
  const std::uint32_t n = final.qubits.num_qubits();
  if (final.qubits.is_identity()) return state.take_amplitudes();
  check_memory(n, state.precision(), 1, runtime::available_host_bytes());
  const std::uint64_t size = statevec::amplitude_bytes(state.precision());
  runtime::HostBuffer all(size << n);  // of zeros
  Bits index(1);
  state.for_each_block([&](std::uint64_t first, std::span<const cplx> block) {
    for (std::size_t k = 0; k < block.size(); ++k) {
      final.qubits.spread(first + k, index);
      if (state.precision() == Precision::kDouble) {
        all.as<cplx>()[index[0]] = block[k];
      } else {
        all.as<std::complex<float>>()[index[0]] = std::complex<float>(block[k]);
      }
    }
  });
  return all;
}

std::unique_ptr<State> final_density(const circuit::Circuit& circuit, const Options& options) {
  const runtime::ThreadLimit limit(options.num_threads);
  check_has_qubits(circuit);
  const circuit::Circuit noisy =
      options.noise ? circuit::with_noise(circuit, *options.noise) : circuit;
  const Program program = prepare(noisy);
  DensityProgram density;
  Options exact = options;
  exact.engine = Engine::kDensity;
  choose_noisy_engine(program, exact, 1, density);
  if (density.program.dynamic) {
    throw Error(ExitCode::kUsage,
                "the density matrix of a circuit that measures in the middle depends on what is "
                "measured: ask for counts or expectations over shots");
  }
  std::unique_ptr<State> state = make_state(density.circuit.num_qubits(), options.precision,
                                            options.num_threads, options.device);
  BranchOptions branch_options;
  branch_options.in_order = true;
  Result ignored;
  run_branches(density.program, state, branch_options, progress_of(options), ignored,
               [](const Leaf&) {});
  return state;
}

}  // namespace tilewave::simulate
