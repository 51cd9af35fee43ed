// tilewave run FILE: the main job. RunFlags in, simulate, results out.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/cli/arguments.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/distribution.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/run_report.h"
#include "tilewave/cli/signals.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/language/noise/json.h"
#include "tilewave/language/pauli/text.h"
#include "tilewave/runtime/bandwidth.h"
#include "tilewave/runtime/progress.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/settings/names.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::cli {
namespace {

constexpr std::uint64_t kDefaultShots = 1000;
constexpr std::uint64_t kMostAmplitudes = std::uint64_t{1} << 26;

struct RunFlags {
  std::string topology;
  std::string file, shots, seed, precision = "double", threads, ranks, device = "auto",
                                 engine = "auto", effort = "auto", repeat, memory_limit,
                                 memory_fraction, noise;
  std::string amplitudes, probabilities, expect, pauli_order = "last", state;
  std::string checkpoint, checkpoint_every, resume, initial_state;
  std::vector<std::string> inputs;
  bool json = false, no_include = false;
  std::uint64_t most_operations = language::Reading::kMostSteps;
  ReportOptions report;
};

circuit::WidePauliSum read_observables(const RunFlags& flags, circuit::PauliOrder order,
                                       std::uint32_t num_qubits) {
  std::error_code ignored;
  if (std::filesystem::exists(flags.expect, ignored)) {
    return language::read_pauli_file(flags.expect, order, num_qubits);
  }
  try {
    return language::parse_pauli_sum(flags.expect, "--expect", order, num_qubits);
  } catch (const Error&) {
    const std::size_t point = flags.expect.rfind('.');
    const bool has_ending = point != std::string::npos && point + 1 < flags.expect.size() &&
                            std::isalpha(static_cast<unsigned char>(flags.expect[point + 1]));
    const bool is_path = flags.expect.find(' ') == std::string::npos &&
                         (has_ending || flags.expect.find('/') != std::string::npos);
    if (!is_path) throw;
  }
  throw Error(ExitCode::kInput, "--expect " + flags.expect + ": there is no such file");
}

language::ProgramInputs read_inputs(const std::vector<std::string>& texts) {
  language::ProgramInputs inputs;
  for (const std::string& text : texts) {
    const std::size_t equal = text.find('=');
    if (equal == 0 || equal == std::string::npos || equal + 1 == text.size()) {
      throw Error(ExitCode::kUsage, "--input " + text + ": use name=value, as in theta=pi/2");
    }
    if (!inputs.emplace(text.substr(0, equal), text.substr(equal + 1)).second) {
      throw Error(ExitCode::kUsage, "--input " + text + ": this input has a value already");
    }
  }
  return inputs;
}

simulate::Options to_options(const RunFlags& flags) {
  simulate::Options options;
  options.precision = parse_precision(flags.precision);
  options.device = DeviceSet::parse(flags.device);
  options.engine = parse_engine(flags.engine);
  options.effort = parse_effort(flags.effort);
  options.state_path = flags.state;
  options.initial_state_path = flags.initial_state;
  options.explain = flags.report.explain;
  options.dry_run = flags.report.dry_run;
  if (!flags.seed.empty()) options.seed = parse_number("--seed", flags.seed, 0, ~std::uint64_t{0});
  if (!flags.threads.empty()) {
    options.num_threads =
        static_cast<int>(parse_number("--threads", flags.threads, 1, runtime::kMostAskedThreads));
  }
  std::uint64_t num_amplitudes = 0;
  if (!flags.amplitudes.empty()) {
    for (const Span& span : parse_spans("--amplitudes", flags.amplitudes)) {
      num_amplitudes += span.count;
      if (span.count > kMostAmplitudes || num_amplitudes > kMostAmplitudes) {
        throw Error(ExitCode::kUsage, "--amplitudes " + flags.amplitudes +
                                          ": too many to print: write the state with --state");
      }
      options.amplitudes.push_back({span.first, span.count});
    }
  }
  if (!flags.probabilities.empty()) {
    options.probabilities = true;
    options.probability_qubits = parse_qubits("--probabilities", flags.probabilities);
  }
  const bool asks_something = options.probabilities || !options.amplitudes.empty() ||
                              !flags.expect.empty() || !flags.state.empty();
  options.shots = asks_something ? 0 : kDefaultShots;
  if (!flags.shots.empty()) {
    options.shots = parse_number("--shots", flags.shots, 0, ~std::uint64_t{0});
  }
  return options;
}

void set_checkpoints(const RunFlags& flags, simulate::Options& options) {
  simulate::CheckpointOptions& to = options.checkpoint;
  to.folder = flags.checkpoint;
  to.resume = flags.resume;
  const auto fail = [](const auto&... parts) { tilewave::fail(ExitCode::kUsage, parts...); };
  if (!flags.checkpoint_every.empty()) {
    if (to.folder.empty()) fail("--checkpoint-every needs --checkpoint FOLDER");
    to.every_s = parse_duration("--checkpoint-every", flags.checkpoint_every);
  }
  if (to.folder.empty() && to.resume.empty()) return;
  if (!flags.repeat.empty())
    fail("--repeat runs again and again: leave out --checkpoint and --resume");
  if (to.folder.empty()) return;
  to.asked = asked_by_signal;
  watch_for_checkpoints();
}

void run(RunFlags& flags) {
  simulate::Options options = to_options(flags);
  options.distribution = read_distribution(flags.ranks);
  options.topology_path = flags.topology;
  set_checkpoints(flags, options);
  if (!flags.memory_limit.empty()) {
    options.distribution.device_bytes =
        parse_number("--memory-limit", flags.memory_limit, 1, std::uint64_t{1} << 20) << 20;
  }
  if (!flags.memory_fraction.empty()) {
    options.distribution.memory_fraction = parse_share("--memory-fraction", flags.memory_fraction);
  }
  flags.report.pauli_order = flags.pauli_order == "first" ? circuit::PauliOrder::kFirstIsQubit0
                                                          : circuit::PauliOrder::kLastIsQubit0;
  const OutputFile state{"--state", flags.state}, page{"--report", flags.report.page_path};
  need_distinct_files({flags.file, flags.expect, flags.noise, flags.topology, flags.initial_state},
                      {state, page});
  need_no_checkpoints({flags.checkpoint, flags.resume}, {state, page});
  need_ending(state, ".npy");
  for (const OutputFile& file : {state, page}) {
    if (file.path == "-") {
      throw Error(ExitCode::kUsage, std::string(file.flag) + " -: give the name of a file");
    }
  }
  if (options.distribution.is_root()) need_writable(page);  // the state opens its file first
  runtime::Timer timer;
  std::vector<std::string> included;
  language::Reading reading;
  if (flags.no_include) reading.includes = language::Includes::kRefused;
  reading.most_steps = flags.most_operations;
  const circuit::Circuit circuit =
      language::read_circuit_file(flags.file, read_inputs(flags.inputs), &included, reading);
  need_distinct_files(included, {state, page}, "a file that the program includes");
  if (flags.amplitudes.starts_with("first:") && circuit.num_qubits() < 64) {
    auto& count = options.amplitudes.front().count;  // as many as there are
    count = std::min(count, std::uint64_t{1} << circuit.num_qubits());
  }
  if (!flags.expect.empty()) {
    options.observables = read_observables(flags, flags.report.pauli_order, circuit.num_qubits());
  }
  if (!flags.noise.empty()) {
    options.noise = std::make_shared<circuit::NoiseModel>(language::read_noise_model(flags.noise));
  }
  const double parse_s = timer.elapsed_s();

  const bool speaks = !flags.report.quiet && options.distribution.is_root();
  runtime::ProgressBar bar(stderr, speaks && runtime::wants_progress(stderr));
  options.on_progress = [&](double fraction, double remaining_s) {
    bar.update(fraction, remaining_s);
  };
  const bool wants_page = !flags.report.page_path.empty();
  if (wants_page && options.dry_run) {
    throw Error(ExitCode::kUsage, "--report shows a run, --dry-run has none: leave one out");
  }
  options.record_steps = wants_page;
  if (wants_page) options.explain = true;
  std::uint64_t repeat = 1;
  if (!flags.repeat.empty()) repeat = parse_number("--repeat", flags.repeat, 1, 1000000);
  options.keeps_device_memory = repeat > 1;  // with the programs of the passes
  options.spare_device_share = 1;            // only this circuit runs here
  simulate::Result result;
  for (std::uint64_t k = 0; k < repeat; ++k) {
    options.writes_state = k + 1 == repeat;
    result = simulate::simulate(circuit, options);
    if (repeat == 1) break;
    const simulate::Timings& t = result.timings;
    flags.report.runs.push_back(
        {result.plan.passes, result.plan.effort, t.plan_s, t.execute_s, t.observe_s});
  }
  bar.clear();
  result.timings.parse_s = parse_s;
  const std::shared_ptr<simulate::Keeper> keeper = std::move(result.keeper);
  if (!options.distribution.is_root()) return;
  if (wants_page) {
    flags.report.title = std::filesystem::path(flags.file).filename().string();
    if (result.device == "cpu") {
      flags.report.limit_bytes_per_s = runtime::measure_scale_bandwidth(
          std::size_t{1} << 27, runtime::resolve_num_threads(options.num_threads));
    }
  }
  // The answer first: a file that cannot be written takes none of it.
  const std::string plan = result.plan.text;
  if (wants_page && !flags.report.explain) result.plan.text.clear();
  (flags.json ? print_run_json : print_run_text)(result, options, flags.report);
  const bool is_printed = std::fflush(stdout) == 0 && !std::ferror(stdout);
  result.plan.text = plan;
  std::string problem = result.state_error;
  if (wants_page) {
    try {
      write_run_page(result, options, flags.report);
    } catch (const Error& e) {
      if (e.code() != ExitCode::kResources) throw;
      problem += (problem.empty() ? "" : "; ") + std::string(e.what());
    }
  }
  if (!problem.empty()) throw Error(ExitCode::kResources, problem);
  if (keeper && is_printed) keeper->remove();  // nothing is left to go on with
}

}  // namespace

void add_run_command(CLI::App& app) {
  const CLI::Validator not_empty(
      [](std::string& text) { return std::string(text.empty() ? "needs a value" : ""); }, "");
  CLI::App* c = app.add_subcommand("run", "run a circuit: counts, amplitudes, expectations");
  auto flags = std::make_shared<RunFlags>();
  c->add_option("FILE", flags->file,
                "OpenQASM 2 or 3, or qsim's text format (-: the standard input)")
      ->required();
  c->add_option(
       "--input", flags->inputs,
       "name=value: an input of an OpenQASM 3 program, a number, an expression (theta=pi/2), "
       "a row of bits (b=0101), true, false or a time (t=100ns)")
      ->allow_extra_args(false);
  c->add_flag("--no-include", flags->no_include,
              "refuse a program that includes files; the libraries of gates are built in");
  add_number_flag(
      *c, "--max-operations", [flags](std::uint64_t n) { flags->most_operations = n; },
      "refuse a program that expands to more steps and operations (default: 2^27)", 1,
      language::Reading::kMostSteps);
  c->add_option("--shots", flags->shots, "how often to measure (1000 when nothing else is asked)");
  c->add_option("--seed", flags->seed, "of the shots; drawn and printed when not given");
  c->add_option("--precision", flags->precision, "double (default) or single");
  c->add_option("--threads", flags->threads, "CPU threads (default: OMP_NUM_THREADS, all cores)");
  c->add_option("--device", flags->device,
                "auto (default), cpu, cuda, cuda:<index>, cuda:<first>-<last> or "
                "cuda:<index>,<index>");
  c->add_option("--effort", flags->effort,
                "how much planning the run is worth: auto (default), once, repeated (a plan that "
                "is searched for) or best (and kernels of its own, on one GPU)");
  c->add_option("--repeat", flags->repeat,
                "run so often and print the times of each; answers and files are those of the last "
                "run");
  c->add_option("--engine", flags->engine,
                "auto (default): stabilizer for counts of circuits of Clifford gates and few "
                "others above 20 qubits; statevector or stabilizer; with --noise the cheapest of "
                "density (exact), "
                "trajectories and, for Clifford gates with Pauli errors, stabilizer");
  c->add_option("--noise", flags->noise, "a noise model: channels and readout errors as JSON");
  c->add_option("--memory-limit", flags->memory_limit,
                "MiB of device memory to use: a larger state streams from host memory");
  c->add_option("--memory-fraction", flags->memory_fraction,
                "reserve this share of a device's memory once and place everything there, as in "
                "0.925 (default: what the state needs)");
  c->add_option("--ranks", flags->ranks,
                "share the state among this many ranks of this process (a power of two)");
  c->add_option("--amplitudes", flags->amplitudes, "first:10, or indices such as 0,5,8-11");
  c->add_option("--probabilities", flags->probabilities,
                "P(qubit = 1): all, or qubits such as 0,3 (up to 20 of them also jointly)");
  c->add_option("--expect", flags->expect,
                "expectation of Pauli strings: a file, or \"0.5 ZZI + 0.2 X0 Y3\"");
  c->add_option("--pauli-order", flags->pauli_order,
                "which character of a string such as ZZI is qubit 0: last (default) or first")
      ->check(CLI::IsMember({"last", "first"}));
  c->add_option("--state", flags->state, "write the final state to this .npy file");
  c->add_option("--initial-state", flags->initial_state,
                "start from the state of this .npy file, as --state writes it: number x is the "
                "amplitude of the basis state whose qubit k is bit k of x (default: |0...0>)");
  c->add_option("--checkpoint", flags->checkpoint,
                "keep the run in this folder, to go on with it after a crash or the end of a job");
  c->add_option(
      "--checkpoint-every", flags->checkpoint_every,
      "how often, as in 90s, 10m (default) or 1.5h; SIGUSR1 asks for one, SIGTERM for one "
      "and the end");
  c->add_option("--resume", flags->resume,
                "go on with the run of this folder, on any number of ranks and devices; with "
                "--checkpoint of the same name also start it");
  c->add_option("--report", flags->report.page_path,
                "write an HTML page with the results and the plan as a time line");
  c->add_flag("--json", flags->json, "print JSON");
  c->add_flag("--explain", flags->report.explain, "print the plan");
  c->add_flag("--dry-run", flags->report.dry_run, "stop after planning");
  c->add_option("--topology", flags->topology,
                "with --dry-run: predict for the machine this file describes (docs/many.md)");
  c->add_flag("--profile", flags->report.profile, "print times a kind of step");
  c->add_flag("--quiet", flags->report.quiet, "print results only: no summary, no progress");
  for (CLI::Option* option : c->get_options()) {
    if (option->get_expected_max() > 0) option->check(not_empty);
  }
  c->callback([flags] { run(*flags); });
}

}  // namespace tilewave::cli
