#include "tilewave/simulate/tune/tune.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>

#include "tilewave/base/interrupt.h"
#include "tilewave/circuit/families.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/simulate/benchmark.h"
#include "tilewave/simulate/tune/engine.h"
#include "tilewave/simulate/tune/timing.h"
#include "tilewave/statevec/cpu/cpu_numbers.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/tile/device_numbers.h"

namespace tilewave::simulate {

namespace {

using statevec::Plan;
using statevec::Precision;
using statevec::State;

constexpr std::array<const char*, 9> kFamilies = {
    "qft", "ghz", "random", "supremacy", "quantum_volume", "ising", "qaoa", "ghz_qft", "bv"};
// Seconds of one core to compile the kernel of a pass, as long as most take.
constexpr double kCompile_s = 4;
constexpr double kWarmUp_s = 0.5;
constexpr int kTrainRepeats = 3, kCheckRepeats = 5;
// Circuits that take less are no check: clocks and what else a run does would be measured.
constexpr double kShortest_s = 2e-3;
// Of the time that measuring may take: probes and circuits to fit to, then the check.
constexpr double kShareOfTraining = 0.45;

const char* word(Precision p) { return p == Precision::kDouble ? "double" : "single"; }

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string line(const char* format, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// A circuit of the check as it was measured.
struct Measured {
  statevec::rates::Check check;
  std::vector<TimedPass> passes;
};

class Tuner {
 public:
  Tuner(Engine& engine, const TuneOptions& options) : engine_(engine), options_(options) {}

  TuneResult run() {
    TuneResult out;
    out.file.kind = engine_.kind();
    out.file.device = engine_.device();
    out.file.machine = engine_.machine();
    out.file.date = now_utc();
    out.file.version = TW_VERSION;
    out.file.threads = engine_.threads();
    const bool on_cpu = engine_.kind() == statevec::rates::Kind::kCpu;
    std::vector<double> spreads;
    // clocks are those of work, not of rest, before the first look
    for (const runtime::Timer rested; rested.elapsed_s() < kWarmUp_s;) look_at_speed();
    speeds_s_.clear();
    look_at_speed();
    for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
      const bool is_double = precision == Precision::kDouble;
      const int far = on_cpu ? 24 + !is_double : 28 + !is_double;
      const int n = std::min({far, engine_.most_qubits(precision), probes_in_time() + !is_double});
      options_.tell(line("probes in %s precision, %d qubits", word(precision), n));
      Probes probes = engine_.probe(precision, n);
      spreads.push_back(probes.spread);
      samples_[!is_double] = std::move(probes.passes);
      look_at_speed();
    }
    const std::array<int, 2> most = {engine_.most_qubits(Precision::kDouble),
                                     engine_.most_qubits(Precision::kSingle)};
    for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
      const int n = std::min(on_cpu ? 22 : 27, most[precision == Precision::kSingle] - 1);
      options_.tell(line("circuits to fit to in %s precision, %d qubits", word(precision), n));
      const auto state = engine_.make_state(n, precision);
      const double until_s = kShareOfTraining * options_.most_s;
      for (Measured& m : time_circuits(*state, kTrainRepeats, false, until_s, out.notes)) {
        trained_s_ += m.check.measured_s, trained_qubits_ = n;
        auto& all = samples_[precision == Precision::kSingle];
        all.insert(all.end(), m.passes.begin(), m.passes.end());
      }
      look_at_speed();
    }
    check(most, out);
    fit(out);
    for (const Measured& m : checked_) spreads.push_back(m.check.spread);
    out.file.spread = median_of(spreads);
    const auto [least, most_s] = std::minmax_element(speeds_s_.begin(), speeds_s_.end());
    out.file.drift = *most_s / *least - 1;
    if (options_.verbose) {
      std::string looks = "one pass from begin to end, ms:";
      for (const double seconds : speeds_s_) looks += line(" %.4f", 1e3 * seconds);
      options_.tell(looks);
    }
    out.file.seconds = timer_.elapsed_s();
    return out;
  }

 private:
  int reference_qubits() const { return engine_.kind() == statevec::rates::Kind::kCpu ? 20 : 26; }

  // The time of one pass, looked at again and again: what is measured at another speed of the machine
  // does not go together.
  void look_at_speed() {
    if (!reference_) {
      const int n = reference_qubits();
      reference_ = engine_.make_state(n, Precision::kDouble);
      reference_->set_product_state(random_product_state(n));
      const statevec::CostModel cost = reference_->cost_model();
      reference_plan_ =
          statevec::rates::probe_plan({n, Precision::kDouble, cost.tile_qubits, cost.row_bits},
                                      statevec::rates::Step::kLifts, 4);
    }
    speeds_s_.push_back(time_in_turns(*reference_, {reference_plan_}, 9)[0].passes[0].seconds);
  }

  // Qubits of which probes take a sixth of the time, by what one took that is as long as they are.
  int probes_in_time() const {
    constexpr double kProbes = 160;
    int n = reference_qubits() + 2;
    while (n < 30 &&
           kProbes * std::ldexp(speeds_s_[0], n + 1 - reference_qubits()) < options_.most_s / 6)
      ++n;
    return n;
  }

  // The circuits of all families from both inputs, but those that take too short a time. `prepares`:
  // as later runs have them, with what is compiled for them. What cannot be done before `until_s` is
  // left out and noted.
  std::vector<Measured> time_circuits(State& state, int repeats, bool prepares, double until_s,
                                      std::vector<std::string>& notes) {
    const auto n = static_cast<std::uint32_t>(state.num_qubits());
    const std::vector<cplx> product = random_product_state(n);
    struct Subject {
      std::string circuit;
      bool zeros;
    };
    std::vector<Subject> subjects;
    std::vector<Plan> plans;
    const auto reset = [&](bool zeros) {
      zeros ? state.set_zero_state() : state.set_product_state(product);
    };
    // Plans, and the time of a run each; half of the time that is left is for preparing.
    const double start_s = timer_.elapsed_s(), all_s = until_s - start_s;
    double run_s = 0, compile_s = 0;
    for (const bool zeros : {false, true}) {
      for (const char* family : kFamilies) {
        check_interrupt();
        const std::string name = std::string(family) + "_" + std::to_string(n);
        const double used_s = timer_.elapsed_s() - start_s;
        if (used_s > 0.5 * all_s || used_s + 4 * run_s > 0.9 * all_s) {
          notes.push_back("left out for want of time: " + name + " in " + word(state.precision()) +
                          " precision from " + (zeros ? "zeros" : "an arbitrary state"));
          continue;
        }
        reset(zeros);
        statevec::PlanOptions plan_options = state.plan_options();
        plan_options.effort = Effort::kRepeated;
        Plan plan = statevec::make_plan(circuit::make_family(family, n), plan_options);
        const runtime::Timer timer;
        state.run(plan);
        const double once_s = timer.elapsed_s();
        if (once_s < kShortest_s / 2) continue;
        // compiled side by side, until that takes half of the time
        const double more_s =
            kCompile_s * static_cast<double>(plan.passes.size()) / engine_.threads();
        if (prepares && compile_s + more_s <= 0.5 * all_s) {
          compile_s += more_s;
          state.prepare(plan, false);
        } else if (prepares) {
          notes.push_back("interpreted, compiling takes too long: " + name + " in " +
                          word(state.precision()) + " precision from " +
                          (zeros ? "zeros" : "an arbitrary state"));
        }
        run_s += once_s;
        subjects.push_back({name, zeros});
        plans.push_back(std::move(plan));
      }
    }
    if (compile_s > 0) state.prepare(plans.front());  // waits for all
    const std::vector<PlanTiming> timings = time_in_turns(
        state, plans, repeats, [&](std::size_t k) { reset(subjects[k].zeros); },
        [&] { return timer_.elapsed_s() + 1.2 * run_s < until_s; });
    std::vector<Measured> out;
    for (std::size_t k = 0; k < plans.size(); ++k) {
      if (timings[k].seconds < kShortest_s) continue;
      Measured& m = out.emplace_back();
      m.check.circuit = subjects[k].circuit;
      m.check.precision = state.precision();
      m.check.input = subjects[k].zeros ? "zeros" : "arbitrary";
      m.check.measured_s = timings[k].seconds;
      m.check.spread = timings[k].spread;
      m.passes = engine_.passes_of(m.check.circuit + " " + m.check.input, plans[k], timings[k]);
    }
    return out;
  }

  // Circuits of the sizes that fit the device and the time; on a CPU also ones that caches hold.
  void check(const std::array<int, 2>& most, TuneResult& out) {
    const bool on_cpu = engine_.kind() == statevec::rates::Kind::kCpu;
    std::vector<int> sizes = {on_cpu ? largest_in_time(most[0]) : 30};
    if (options_.most_qubits > 0) sizes = {options_.most_qubits};
    if (on_cpu) sizes.insert(sizes.begin(), 20);
    double shares = 2 * static_cast<double>(sizes.size());
    for (const int size : sizes) {
      for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
        const int n = std::min(size, most[precision == Precision::kSingle]);
        options_.tell(line("check in %s precision, %d qubits", word(precision), n));
        const auto state = engine_.make_state(n, precision);
        const double now_s = timer_.elapsed_s();
        // double precision takes the larger part
        const double share = precision == Precision::kDouble ? 0.6 : 1;
        const double until_s = now_s + (size == sizes.back() ? share : share / shares) *
                                           (0.97 * options_.most_s - now_s);
        --shares;
        for (Measured& m : time_circuits(*state, kCheckRepeats, !on_cpu, until_s, out.notes))
          checked_.push_back(std::move(m));
        look_at_speed();
      }
    }
  }

  // Of which all circuits can be timed in what is left, by the smaller ones.
  int largest_in_time(int most) const {
    constexpr double kPlansAndInputs = 1.3;
    const double left_s = 0.85 * (options_.most_s - timer_.elapsed_s());
    int n = std::min(24, most);
    while (n > 21 &&
           kPlansAndInputs * (kCheckRepeats + 1) * std::ldexp(trained_s_, n - trained_qubits_) >
               left_s)
      --n;
    return n;
  }

  void fit(TuneResult& out) {
    double squares = 0, count = 0;
    for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
      std::vector<TimedPass>& samples = samples_[precision == Precision::kSingle];
      if (engine_.kind() == statevec::rates::Kind::kCuda) {
        // kernels that were compiled for the check
        for (const Measured& m : checked_) {
          if (m.check.precision == precision)
            samples.insert(samples.end(), m.passes.begin(), m.passes.end());
        }
      }
      out.file.of(precision) = engine_.fit(precision, samples);
      for (const TimedPass& pass : samples) {
        const double predicted_s = engine_.predict(out.file.of(precision), pass);
        const double off = predicted_s / pass.seconds - 1;
        squares += off * off, ++count;
        tell_pass(precision, pass, out);
      }
    }
    out.fit_rms = count > 0 ? std::sqrt(squares / count) : 0;
    for (Measured& m : checked_) {
      m.check.predicted_s = 0;
      for (const TimedPass& pass : m.passes)
        m.check.predicted_s += engine_.predict(out.file.of(m.check.precision), pass);
      out.file.checks.push_back(m.check);
      if (engine_.kind() == statevec::rates::Kind::kCuda) continue;  // told with the others
      for (const TimedPass& pass : m.passes) tell_pass(m.check.precision, pass, out);
    }
  }

  // With what it has of each number, where that takes a tenth of its time or more.
  void tell_pass(Precision precision, const TimedPass& pass, const TuneResult& out) const {
    if (!options_.verbose) return;
    const std::vector<double>& numbers = out.file.of(precision);
    const double predicted_s = engine_.predict(numbers, pass);
    std::string text =
        line("  %-6s %-40s %9.4f ms, fitted %9.4f, %.3f:", word(precision), pass.name.c_str(),
             1e3 * pass.seconds, 1e3 * predicted_s, predicted_s / pass.seconds);
    for (std::size_t k = 0; k < pass.terms.size(); ++k) {
      TimedPass part = pass;
      std::fill(part.terms.begin(), part.terms.end(), 0.0);
      part.terms[k] = pass.terms[k];
      const double part_s = engine_.predict(numbers, part);
      if (std::abs(part_s) > 0.1 * predicted_s)
        text += line(" %s %.0f%%", engine_.list()[k].name, 100 * part_s / predicted_s);
    }
    options_.tell(text);
  }

  Engine& engine_;
  const TuneOptions& options_;
  runtime::Timer timer_;
  std::unique_ptr<State> reference_;
  Plan reference_plan_;
  std::vector<double> speeds_s_;
  std::vector<TimedPass> samples_[2];
  double trained_s_ = 0;  // of all circuits that rates are fitted to, once
  int trained_qubits_ = 0;
  std::vector<Measured> checked_;
};

}  // namespace

TuneResult tune(const TuneOptions& options) {
  const statevec::rates::Unknown unknown;
  const std::unique_ptr<Engine> engine =
      options.cuda_device < 0 ? make_cpu_engine() : make_cuda_engine(options.cuda_device);
  return Tuner(*engine, options).run();
}

std::span<const statevec::rates::NumberInfo> tuned_numbers(statevec::rates::Kind kind) {
  return kind == statevec::rates::Kind::kCpu ? statevec::cpu::cpu_number_list()
                                             : statevec::tile::device_number_list();
}

}  // namespace tilewave::simulate
