#include "tilewave/simulate/tune/tune.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>
#include <numeric>

#include "tilewave/base/error.h"
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
    for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
      const bool is_double = precision == Precision::kDouble;
      const int far = on_cpu ? 24 + !is_double : 28 + !is_double;
      const int n = std::min(far, engine_.most_qubits(precision));
      options_.tell(line("probes in %s precision, %d qubits", word(precision), n));
      Probes probes = engine_.probe(precision, n);
      spreads.push_back(probes.spread);
      samples_[!is_double] = std::move(probes.passes);
    }
    const std::array<int, 2> most = {engine_.most_qubits(Precision::kDouble),
                                     engine_.most_qubits(Precision::kSingle)};
    // circuits to fit to
    for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
      const int n = std::min(on_cpu ? 22 : 27, most[precision == Precision::kSingle] - 1);
      options_.tell(line("circuits to fit to in %s precision, %d qubits", word(precision), n));
      const auto state = engine_.make_state(n, precision);
      for (const char* family : kFamilies) {
        if (timer_.elapsed_s() > kShareOfTraining * options_.most_s) {
          out.notes.push_back(
              line("not fitted to: %s in %s precision (out of time)", family, word(precision)));
          continue;
        }
        for (const bool zeros : {false, true}) {
          for (Measured& m : time_circuit(*state, family, zeros, kTrainRepeats, false)) {
            auto& all = samples_[precision == Precision::kSingle];
            all.insert(all.end(), m.passes.begin(), m.passes.end());
          }
        }
      }
    }
    check(most, out);
    fit(out);
    for (const Measured& m : checked_) spreads.push_back(m.check.spread);
    out.file.spread = median_of(spreads);
    out.file.seconds = timer_.elapsed_s();
    return out;
  }

 private:
  // A circuit of a family from one input; nothing where it takes too short a time.
  std::vector<Measured> time_circuit(State& state, const std::string& family, bool zeros,
                                     int repeats, bool prepares) {
    check_interrupt();
    const auto n = static_cast<std::uint32_t>(state.num_qubits());
    const circuit::Circuit circuit = circuit::make_family(family, n);
    const std::vector<cplx> product = random_product_state(n);
    const auto reset = [&] { zeros ? state.set_zero_state() : state.set_product_state(product); };
    reset();
    statevec::PlanOptions plan_options = state.plan_options();
    plan_options.effort = Effort::kRepeated;
    const Plan plan = statevec::make_plan(circuit, plan_options);
    if (prepares) state.prepare(plan);
    const PlanTiming timing = time_plan(state, plan, reset, repeats);
    if (timing.seconds < kShortest_s) return {};
    Measured m;
    m.check.circuit = family + "_" + std::to_string(n);
    m.check.precision = state.precision();
    m.check.input = zeros ? "zeros" : "arbitrary";
    m.check.measured_s = timing.seconds;
    m.check.spread = timing.spread;
    m.passes = engine_.passes_of(m.check.circuit + " " + m.check.input, plan, timing);
    return {m};
  }

  // Circuits of the sizes that fit the device and the time; on a CPU also one that caches hold.
  void check(const std::array<int, 2>& most, TuneResult& out) {
    const bool on_cpu = engine_.kind() == statevec::rates::Kind::kCpu;
    std::vector<int> sizes = {on_cpu ? 24 : 30};
    if (on_cpu) sizes.push_back(20);
    if (options_.most_qubits > 0) sizes = {options_.most_qubits};
    for (const int size : sizes) {
      for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
        const int n = std::min(size, most[precision == Precision::kSingle]);
        options_.tell(line("check in %s precision, %d qubits", word(precision), n));
        const auto state = engine_.make_state(n, precision);
        for (const char* family : kFamilies) {
          for (const bool zeros : {false, true}) {
            // each size and precision has its share of the time that is left
            const double left_s = options_.most_s - timer_.elapsed_s();
            if (left_s < 0.02 * options_.most_s || (!zeros && too_slow(left_s))) {
              out.notes.push_back(line("not checked: %s_%d in %s precision from %s (out of time)",
                                       family, n, word(precision),
                                       zeros ? "zeros" : "an arbitrary state"));
              continue;
            }
            for (Measured& m : time_circuit(*state, family, zeros, kCheckRepeats, !on_cpu))
              checked_.push_back(std::move(m));
          }
        }
      }
    }
  }

  bool too_slow(double left_s) const {
    const double longest_s = std::accumulate(
        checked_.begin(), checked_.end(), 0.0,
        [](double s, const Measured& m) { return std::max(s, m.check.measured_s); });
    return left_s < (kCheckRepeats + 1) * longest_s;
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
        if (options_.verbose) {
          options_.tell(line("  %-6s %-44s measured %10.4f ms, fitted %10.4f ms, %.3f",
                             word(precision), pass.name.c_str(), 1e3 * pass.seconds,
                             1e3 * predicted_s, predicted_s / pass.seconds));
        }
      }
    }
    out.fit_rms = count > 0 ? std::sqrt(squares / count) : 0;
    for (Measured& m : checked_) {
      m.check.predicted_s = 0;
      for (const TimedPass& pass : m.passes)
        m.check.predicted_s += engine_.predict(out.file.of(m.check.precision), pass);
      out.file.checks.push_back(m.check);
    }
  }

  Engine& engine_;
  const TuneOptions& options_;
  runtime::Timer timer_;
  std::vector<TimedPass> samples_[2];
  std::vector<Measured> checked_;
};

}  // namespace

TuneResult tune(const TuneOptions& options) {
  const std::unique_ptr<Engine> engine =
      options.cuda_device < 0 ? make_cpu_engine() : make_cuda_engine(options.cuda_device);
  return Tuner(*engine, options).run();
}

std::span<const statevec::rates::NumberInfo> tuned_numbers(statevec::rates::Kind kind) {
  return kind == statevec::rates::Kind::kCpu ? statevec::cpu::cpu_number_list()
                                             : statevec::tile::device_number_list();
}

}  // namespace tilewave::simulate
