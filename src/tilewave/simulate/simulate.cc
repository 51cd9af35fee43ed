// The spine of a run: prepare -> check memory -> state -> branches -> observe.
#include "tilewave/simulate/simulate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <random>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/io/npy.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/simulate/branches.h"
#include "tilewave/simulate/clifford_run.h"
#include "tilewave/simulate/counts.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/topology.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {
namespace {

using statevec::Precision;
using statevec::State;

constexpr std::uint32_t kCostModelQubits = 22;
constexpr std::uint64_t kMaxShots = 100'000'000;
// Up to here a state vector answers as fast, with the same shots on every device.
constexpr std::uint32_t kMostSmallQubits = 20;

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

// Gates from one measurement to the next, planned as `--explain` and `--dry-run` print them:
// every gate applied, the first stretch from |0...0>, later ones from an arbitrary state.
void plan_only(const Program& program, const Options& options, const statevec::CostModel& cost,
               Result& result, const Topology* topology = nullptr) {
  runtime::Timer timer;
  bool first = true;
  for (std::size_t at = 0; at < program.ops.size();) {
    std::vector<circuit::Op> gates;
    const auto is_event = [&](std::size_t k) {
      const auto kind = program.ops[k].kind;
      return kind != circuit::OpKind::kGate && kind != circuit::OpKind::kMatrix;
    };
    for (; at < program.ops.size() && !is_event(at); ++at) gates.push_back(program.ops[at]);
    if (!gates.empty()) {
      statevec::PlanOptions plan_options;
      plan_options.precision = options.precision;
      plan_options.from_zeros = first;
      plan_options.cost = cost;
      statevec::Plan plan = statevec::make_plan(*program.circuit, gates, plan_options);
      std::vector<double> sent;
      if (topology) sent = price_exchanges(plan, *topology);
      result.plan.passes += plan.passes.size();
      result.plan.gates += plan.num_circuit_gates;
      result.plan.predicted_s += plan.predicted_s;
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
      result.plan.text += std::to_string(events) +
                          " measurements or resets: shots part by outcome, each branch goes on\n";
    }
    if (jumps) {
      result.plan.text += std::to_string(jumps) + " jumps or assignments: what follows may run " +
                          "never, once or often\n";
    }
    first = false;
  }
  if (!program.deferred.empty()) {
    result.plan.text +=
        std::to_string(program.deferred.size()) + " measurements read off the final state\n";
  }
  result.timings.plan_s = timer.elapsed_s();
}

// Finds out now, not after the run, that the file cannot be written.
void check_writable(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_directory(status)) {
    return;  // opening a pipe twice would disturb its reader
  }
  io::NpyWriter(path, {io::NpyType::kUint8, {1}});
}

void write_state(State& state, const std::string& path, bool is_root) {
  const bool is_double = state.precision() == Precision::kDouble;
  if (!is_root) {  // takes part, so that the root gets every block
    state.for_each_block([](std::uint64_t, std::span<const cplx>) {});
    return;
  }
  io::NpyWriter writer(path, {is_double ? io::NpyType::kComplex128 : io::NpyType::kComplex64,
                              {state.num_amplitudes()}});
  std::vector<std::complex<float>> narrow;
  state.for_each_block([&](std::uint64_t, std::span<const cplx> block) {
    if (is_double) {
      writer.write(block);
      return;
    }
    narrow.resize(block.size());
    std::transform(block.begin(), block.end(), narrow.begin(),
                   [](cplx a) { return std::complex<float>(a); });
    writer.write(std::span<const std::complex<float>>(narrow));
  });
  writer.close();
}

// The circuit for the stabilizer engine, where that engine is wanted and can answer.
std::optional<CliffordProgram> choose_stabilizer(const Program& program, const Options& options) {
  const std::uint32_t n = program.circuit->num_qubits();
  const bool forced = options.engine == "stabilizer";
  if (!forced && options.engine != "auto" && options.engine != "statevector") {
    throw Error(ExitCode::kUsage,
                "unknown engine '" + options.engine + "': use auto, statevector or stabilizer");
  }
  if (!forced && (options.engine == "statevector" || n <= kMostSmallQubits ||
                  options.distribution.num_ranks() != 1)) {
    return std::nullopt;
  }
  if (!asks_only_counts(options) || options.record_shots) {
    if (forced) {
      throw Error(ExitCode::kUsage,
                  "the stabilizer engine answers with counts only: ask for --shots and nothing "
                  "else, or use --engine statevector");
    }
    return std::nullopt;
  }
  std::string why_not;
  auto clifford = to_clifford(program, &why_not);
  if (!clifford && forced) {
    throw Error(ExitCode::kUsage, "the stabilizer engine cannot run this circuit: " + why_not +
                                      "; use --engine statevector");
  }
  return clifford;
}

// Collects what was asked from the final state of every branch, weighted by its share of the shots.
class Collector {
 public:
  Collector(const Program& program, const Options& options, Result& result)
      : program_(program), options_(options), result_(result), counter_(program) {}

  void operator()(const Leaf& leaf) {
    const runtime::Timer timer;
    const double weight = program_.dynamic ? static_cast<double>(leaf.shots.size()) /
                                                 static_cast<double>(options_.shots)
                                           : 1.0;
    check_norm(leaf.state, weight);
    State& state = leaf.state;
    if (options_.probabilities) {
      timed("probabilities", [&] { add_probabilities(state, weight); });
    }
    if (!options_.observables.empty()) {
      timed("expectations", [&] {
        const std::vector<double> values = state.expectations(options_.observables);
        result_.expectations.resize(values.size());
        for (std::size_t k = 0; k < values.size(); ++k) {
          result_.expectations[k] += weight * options_.observables[k].coefficient * values[k];
        }
      });
    }
    if (!options_.amplitudes.empty()) timed("amplitudes", [&] { read_amplitudes(state); });
    if (options_.shots > 0) timed("sample", [&] { count(leaf); });
    if (!options_.state_path.empty()) {
      timed("write state",
            [&] { write_state(state, options_.state_path, options_.distribution.is_root()); });
    }
    result_.timings.observe_s += timer.elapsed_s();
    shots_done_ += leaf.shots.size();
  }

  // Room for every shot, before the first leaf.
  void prepare_shots() {
    const auto& circuit = *program_.circuit;
    result_.num_shot_bits = program_.records ? circuit.num_clbits() : circuit.num_qubits();
    result_.shot_words = (result_.num_shot_bits + 63) / 64;
    result_.shot_bits.assign(options_.shots * result_.shot_words, 0);
  }

  void finish() {
    result_.counts = counter_.take();
    // One order, so the sum is the same however the branches were walked.
    for (const double value : result_.expectations) result_.expectation_sum += value;
  }
  double fraction_done() const {
    return options_.shots ? static_cast<double>(shots_done_) / static_cast<double>(options_.shots)
                          : 1;
  }

 private:
  template <class F>
  void timed(const char* step, F f) {
    const runtime::Timer timer;
    f();
    result_.profile[step].add(timer.elapsed_s(), 0, 0);
  }

  void check_norm(State& state, double weight) {
    double norm = 0;
    timed("norm", [&] { norm = state.norm(); });
    if (!std::isfinite(norm)) {
      throw Error(ExitCode::kVerification,
                  "the state is not finite (its norm is " + std::to_string(norm) +
                      "): an angle or a matrix of the circuit is too large");
    }
    const double gates = static_cast<double>(std::max<std::size_t>(program_.ops.size(), 1));
    const double unit = state.precision() == Precision::kDouble ? 1e-11 : 1e-4;
    if (std::abs(norm - 1) > unit * std::sqrt(gates) && result_.warnings.empty()) {
      char text[128];
      std::snprintf(text, sizeof text,
                    "the norm of the state is %.12g, not 1; nothing was rescaled", norm);
      result_.warnings.emplace_back(text);
    }
    result_.norm += weight * norm;
  }

  void add_probabilities(State& state, double weight) {
    const std::vector<double> all = state.marginals();
    const auto& chosen = options_.probability_qubits;
    result_.probabilities.resize(chosen.empty() ? all.size() : chosen.size());
    for (std::size_t k = 0; k < result_.probabilities.size(); ++k) {
      result_.probabilities[k] += weight * all[chosen.empty() ? k : chosen[k]];
    }
    if (chosen.empty() || chosen.size() > kMaxJointQubits) return;
    const std::vector<double> joint = state.joint_probabilities(chosen);
    result_.joint_probabilities.resize(joint.size());
    for (std::size_t k = 0; k < joint.size(); ++k)
      result_.joint_probabilities[k] += weight * joint[k];
  }

  void read_amplitudes(State& state) {
    std::vector<std::uint64_t> indices;
    for (const auto& range : options_.amplitudes) {
      for (std::uint64_t k = 0; k < range.count; ++k) indices.push_back(range.first + k);
    }
    const std::vector<cplx> values = state.amplitudes(indices);
    for (std::size_t k = 0; k < indices.size(); ++k) {
      result_.amplitudes.push_back({indices[k], values[k]});
    }
  }

  void count(const Leaf& leaf) {
    if (program_.records && program_.deferred.empty()) {
      counter_.add(leaf.bits, leaf.shots.size());
      if (options_.record_shots) {
        for (const auto shot : leaf.shots) record(shot, leaf.bits, 0);
      }
      return;
    }
    std::vector<double> draws(leaf.shots.size());
    for (std::size_t k = 0; k < draws.size(); ++k) {
      draws[k] = leaf_draw(result_.seed, leaf.shots[k]);
    }
    std::vector<std::uint32_t> order;  // of shots by their draws
    if (options_.record_shots) {
      order.resize(draws.size());
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return draws[a] != draws[b] ? draws[a] < draws[b] : a < b;
      });
    }
    std::sort(draws.begin(), draws.end());
    const std::vector<std::uint64_t> drawn = leaf.state.sample_sorted(draws);
    for (std::size_t k = 0; k < order.size(); ++k) {
      record(leaf.shots[order[k]], leaf.bits, drawn[k]);
    }
    for (std::size_t k = 0; k < drawn.size();) {
      std::size_t end = k + 1;
      while (end < drawn.size() && drawn[end] == drawn[k]) ++end;
      counter_.add(leaf.bits, drawn[k], end - k);
      k = end;
    }
  }

  void record(std::uint32_t shot, const Bits& bits, std::uint64_t basis_state) {
    std::uint64_t* row = result_.shot_bits.data() + std::size_t{shot} * result_.shot_words;
    if (!program_.records) {
      row[0] = basis_state;
      return;
    }
    std::copy(bits.begin(), bits.end(), row);
    for (const auto& d : program_.deferred) {
      const std::uint64_t mask = std::uint64_t{1} << (d.clbit % 64);
      row[d.clbit / 64] &= ~mask;
      if (basis_state >> d.qubit & 1) row[d.clbit / 64] |= mask;
    }
  }

  const Program& program_;
  const Options& options_;
  Result& result_;
  Counter counter_;
  std::uint64_t shots_done_ = 0;
};

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

Result simulate(const circuit::Circuit& circuit, const Options& options) {
  const Program program = prepare(circuit);
  check_questions(program, options);
  const std::uint32_t n = circuit.num_qubits();
  const int num_threads = runtime::resolve_num_threads(options.num_threads);
  Result result;
  result.num_qubits = n;
  result.precision = options.precision;
  result.shots = options.shots;
  result.seed = options.seed ? *options.seed : options.distribution.agreed(draw_seed());

  if (const auto clifford = choose_stabilizer(program, options)) {
    runs_on_cpu(n, options.precision, options.device);  // checks the word
    run_clifford(program, *clifford, options, result);
    return result;
  }
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
    const bool on_cpu = runs_on_cpu(n, options.precision, options.device);
    if (n > statevec::kMaxQubits) {
      check_memory(n, options.precision, num_threads, runtime::available_host_bytes());
    }
    // A small state of the same kind knows the machine as the large one would.
    const std::string device = on_cpu || options.distribution.num_ranks() > 1 ? "cpu"
                               : options.device == "auto"                     ? "cuda"
                                                                              : options.device;
    const std::unique_ptr<State> small =
        make_state(std::min(n, kCostModelQubits), options.precision, options.num_threads, device,
                   options.distribution);
    result.device = small->device();
    plan_only(program, options, small->cost_model(), result);
    result.memory_bytes =
        statevec::needed_bytes(static_cast<int>(n), options.precision, num_threads);
    if (result.num_ranks > 1) {  // what a small distributed state holds beside its amplitudes
      result.memory_bytes += small->memory_bytes() -
                             (statevec::amplitude_bytes(options.precision) << small->num_qubits());
    }
    return result;
  }

  const std::uint64_t available =
      program.dynamic ? options.distribution.agreed(runtime::available_host_bytes()) : 0;
  if (!options.state_path.empty() && options.distribution.is_root())
    check_writable(options.state_path);
  runtime::Timer timer;
  std::unique_ptr<State> state =
      make_state(n, options.precision, options.num_threads, options.device, options.distribution);
  result.profile["allocate"].add(timer.elapsed_s(), 0, 0);
  result.device = state->device();
  result.memory_bytes = state->memory_bytes();
  if (options.explain) {
    plan_only(program, options, state->cost_model(), result);
    result.plan = {.text = result.plan.text};
    result.timings.plan_s = 0;
  }

  Collector collect(program, options, result);
  if (options.record_shots) collect.prepare_shots();
  statevec::RunObserver observer;
  observer.on_step = [&](const statevec::StepTime& step) {
    result.profile[step.step].add(step.measured_s, step.predicted_s, step.bytes);
    if (options.record_steps && result.steps.size() < kMaxSteps) result.steps.push_back(step);
  };
  const runtime::Timer run_timer;
  if (options.on_progress) {
    observer.on_progress = [&](double done_s, double total_s) {
      if (!program.dynamic) {
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
  branch_options.shots =
      program.dynamic ? options.shots : std::max<std::uint64_t>(options.shots, 1);
  branch_options.seed = result.seed;
  branch_options.max_states =
      1 + left / 5 * 4 / std::max<std::uint64_t>(result.memory_bytes, std::uint64_t{1} << 21);
  branch_options.plans = options.plans.get();
  run_branches(program, state, branch_options, observer, result, std::ref(collect));
  collect.finish();
  return result;
}

std::unique_ptr<State> final_state(const circuit::Circuit& circuit, const Options& options,
                                   bool in_order) {
  const Program program = prepare(circuit);
  check_has_qubits(circuit);
  std::unique_ptr<State> state =
      make_state(circuit.num_qubits(), options.precision, options.num_threads, options.device);
  BranchOptions branch_options;
  if (program.dynamic) branch_options.seed = options.seed ? *options.seed : draw_seed();
  branch_options.plans = options.plans.get();
  branch_options.in_order = in_order;
  Result ignored;
  run_branches(program, state, branch_options, {}, ignored, [](const Leaf&) {});
  return state;
}

}  // namespace tilewave::simulate
