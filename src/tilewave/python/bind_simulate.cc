// Running circuits: one call that answers everything (run), a state that stays (State), and plans.
// The interpreter is free while a circuit runs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <functional>

#include "tilewave/base/error.h"
#include "tilewave/io/pauli_text.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/python/bind.h"
#include "tilewave/python/rooms-inl.h"
#include "tilewave/runtime/bandwidth.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/simulate/report_page.h"
#include "tilewave/statevec/cuda/device_view.h"
#include "tilewave/statevec/state.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {

statevec::Precision parse_precision(const std::string& word) {
  if (word == "double") return statevec::Precision::kDouble;
  if (word == "single") return statevec::Precision::kSingle;
  throw Error(ExitCode::kUsage, "unknown precision '" + word + "': use 'double' or 'single'");
}

namespace {

using simulate::Options;
using simulate::Result;
using statevec::Precision;
using Seed = std::optional<std::uint64_t>;
using Terms = std::vector<std::tuple<double, std::uint64_t, std::uint64_t>>;  // coefficient, x, z

circuit::PauliSum to_sum(const Terms& terms) {
  circuit::PauliSum sum;
  for (const auto& [coefficient, x, z] : terms) sum.push_back({coefficient, x, z});
  return sum;
}

// Lets Ctrl-C end a long run between two passes: asks for signals every tenth of a second. Called
// without the interpreter's lock.
std::function<void(double, double)> interruptible() {
  using Clock = std::chrono::steady_clock;
  return [last = Clock::now()](double, double) mutable {
    const Clock::time_point now = Clock::now();
    if (now - last < std::chrono::milliseconds(100)) return;
    last = now;
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  };
}

Options base_options(const PyCircuit& circuit, const std::string& precision,
                     const std::string& device, int threads, const Seed& seed) {
  Options options;
  options.precision = parse_precision(precision);
  options.device = device;
  options.num_threads = checked_threads(threads);
  options.seed = seed;
  options.on_progress = interruptible();
  options.plans = circuit.plans(options.precision, threads, device);
  return options;
}

nb::object array_of(runtime::HostBuffer&& memory, Precision precision, std::size_t size) {
  if (precision == Precision::kDouble) {
    auto* data = memory.as<std::complex<double>>();
    return nb::cast(own_array<std::complex<double>>(std::move(memory), data, {size}));
  }
  auto* data = memory.as<std::complex<float>>();
  return nb::cast(own_array<std::complex<float>>(std::move(memory), data, {size}));
}

Array<std::complex<double>> simulate_array_check(std::vector<cplx>&& values) {
  return own_vector<std::complex<double>>(std::move(values));
}

// A final state that answers questions; one at a time.
class PyState {
 public:
  PyState(const PyCircuit& circuit, const Options& options, bool in_order = false) {
    const auto shared = circuit.share();
    const nb::gil_scoped_release release;
    state_ = simulate::final_state(*shared, options, in_order);
    num_qubits_ = state_->num_qubits();
  }

  /// f(state) without the interpreter lock.
  template <class F>
  auto ask(F f) {
    const nb::gil_scoped_release release;
    const std::scoped_lock lock(mutex_);
    if (!state_) {
      throw Error(ExitCode::kUsage, "the amplitudes were taken away: make a new State");
    }
    return f(*state_);
  }

  nb::object take() {
    runtime::HostBuffer memory;
    Precision precision{};
    {
      memory = ask([&](statevec::State& s) {
        precision = s.precision();
        return s.take_amplitudes();
      });
      const nb::gil_scoped_release release;
      const std::scoped_lock lock(mutex_);
      state_.reset();
    }
    return array_of(std::move(memory), precision, std::size_t{1} << num_qubits_);
  }

  int num_qubits() const { return num_qubits_; }
  void check_qubits(const std::vector<circuit::Qubit>& qubits) const {
    for (std::size_t k = 0; k < qubits.size(); ++k) {
      if (qubits[k] >= static_cast<circuit::Qubit>(num_qubits_)) {
        throw Error(ExitCode::kUsage, "qubit " + std::to_string(qubits[k]) +
                                          " does not exist: the circuit has qubits 0 to " +
                                          std::to_string(num_qubits_ - 1));
      }
      if (std::find(qubits.begin(), qubits.begin() + static_cast<std::ptrdiff_t>(k), qubits[k]) !=
          qubits.begin() + static_cast<std::ptrdiff_t>(k)) {
        throw Error(ExitCode::kUsage, "qubit " + std::to_string(qubits[k]) + " is asked for twice");
      }
    }
    if (qubits.size() > 24) {
      throw Error(ExitCode::kUsage, "joint probabilities of " + std::to_string(qubits.size()) +
                                        " qubits are too many numbers: ask for at most 24 qubits");
    }
  }
  void check_index(std::uint64_t index) const {
    if (index >> num_qubits_) {
      throw Error(ExitCode::kUsage, "amplitude " + std::to_string(index) +
                                        " does not exist: a state of " +
                                        std::to_string(num_qubits_) + " qubits has indices 0 to " +
                                        std::to_string((std::uint64_t{1} << num_qubits_) - 1));
    }
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<statevec::State> state_;
  int num_qubits_ = 0;
};

void bind_state(nb::module_& m) {
  nb::class_<PyState> c(m, "State",
                        "The final state of a circuit (of one shot, when it measures in the "
                        "middle). Trailing measurements are left out.");
  c.def(
      "__init__",
      [](PyState* self, const PyCircuit& circuit, const std::string& precision,
         const std::string& device, int threads, const Seed& seed) {
        new (self) PyState(circuit, base_options(circuit, precision, device, threads, seed));
      },
      "circuit"_a, "precision"_a = "double", "device"_a = "auto", "threads"_a = 0,
      "seed"_a = nb::none());
  c.def("__repr__", [](const PyState& self) {
    return "<tilewave.State: " + std::to_string(self.num_qubits()) + " qubits>";
  });
  c.def_prop_ro("num_qubits", &PyState::num_qubits);
  c.def(
      "norm", [](PyState& self) { return self.ask([](auto& s) { return s.norm(); }); },
      "The sum of |amplitude|^2, as found.");
  c.def(
      "marginals",
      [](PyState& self) {
        return own_vector<double>(self.ask([](auto& s) { return s.marginals(); }));
      },
      "P(qubit = 1) of every qubit.");
  c.def(
      "probabilities",
      [](PyState& self, const std::optional<std::vector<circuit::Qubit>>& qubits) {
        std::vector<circuit::Qubit> chosen;
        if (qubits) {
          chosen = *qubits;
        } else {
          for (int q = 0; q < self.num_qubits(); ++q) {
            chosen.push_back(static_cast<circuit::Qubit>(q));
          }
        }
        self.check_qubits(chosen);
        return own_vector<double>(self.ask([&](auto& s) { return s.joint_probabilities(chosen); }));
      },
      "qubits"_a = nb::none(),
      "Probabilities of the 2^k outcomes of chosen qubits (all of them when none are given); bit j "
      "of an outcome is qubits[j].");
  c.def(
      "amplitudes",
      [](PyState& self, const std::vector<std::uint64_t>& indices) {
        for (const auto index : indices) self.check_index(index);
        return simulate_array_check(self.ask([&](auto& s) { return s.amplitudes(indices); }));
      },
      "indices"_a, "Amplitudes of chosen basis states.");
  c.def(
      "_expectations",
      [](PyState& self, const Terms& terms) {
        const circuit::PauliSum sum = to_sum(terms);
        return own_vector<double>(self.ask([&](auto& s) { return s.expectations(sum); }));
      },
      "terms"_a);
  c.def(
      "_sample",
      [](PyState& self, std::uint64_t shots, std::uint64_t seed) {
        return own_vector<std::uint64_t>(
            self.ask([&](auto& s) { return statevec::sample(s, shots, seed); }));
      },
      "shots"_a, "seed"_a);
  c.def("take", &PyState::take,
        "All amplitudes as an array over the state's own memory, without a copy. The state can "
        "then answer nothing more.");
}

nb::dict step_dict(const statevec::StepTime& step) {
  nb::dict d;
  d["step"] = step.step;
  d["bytes"] = step.bytes;
  d["predicted_s"] = step.predicted_s;
  d["measured_s"] = step.measured_s;
  return d;
}

void bind_result(nb::module_& m) {
  nb::class_<Result> c(m, "Result", "What a run found, with what it cost.");
  c.def("__repr__", [](const Result& r) {
    std::string text = "<tilewave.Result: " + std::to_string(r.num_qubits) + " qubits";
    if (!r.counts.empty()) {
      text += ", " + std::to_string(r.shots) + " shots with " + std::to_string(r.counts.size()) +
              " outcomes";
    }
    if (!r.expectations.empty()) {
      text += ", " + std::to_string(r.expectations.size()) + " expectations";
    }
    return text + ", " + r.engine + " on " + r.device + ">";
  });
  c.def_ro("num_qubits", &Result::num_qubits);
  c.def_prop_ro("precision", [](const Result& r) {
    return r.precision == Precision::kDouble ? "double" : "single";
  });
  c.def_ro("device", &Result::device);
  c.def_ro("engine", &Result::engine,
           "statevector or stabilizer; of noisy circuits density or trajectories.");
  c.def_ro("engine_choice", &Result::engine_choice, "Why, for noisy circuits.");
  c.def_ro("num_trajectories", &Result::num_trajectories);
  c.def_ro("seed", &Result::seed);
  c.def_ro("shots", &Result::shots);
  c.def_ro(
      "counts", &Result::counts,
      "How often each outcome came: registers separated by blanks, the last declared leftmost, "
      "the highest bit of a register leftmost.");
  c.def_prop_ro(
      "probabilities",
      [](const Result& r) { return own_vector<double>(std::vector<double>(r.probabilities)); },
      nb::rv_policy::automatic);
  c.def_prop_ro(
      "joint_probabilities",
      [](const Result& r) {
        return own_vector<double>(std::vector<double>(r.joint_probabilities));
      },
      nb::rv_policy::automatic);
  c.def_prop_ro(
      "expectations",
      [](const Result& r) { return own_vector<double>(std::vector<double>(r.expectations)); },
      nb::rv_policy::automatic);
  c.def_ro("expectation_sum", &Result::expectation_sum);
  c.def_prop_ro(
      "expectation_errors",
      [](const Result& r) { return own_vector<double>(std::vector<double>(r.expectation_errors)); },
      nb::rv_policy::automatic, "Standard errors of means over trajectories, else empty.");
  c.def_prop_ro(
      "probability_errors",
      [](const Result& r) { return own_vector<double>(std::vector<double>(r.probability_errors)); },
      nb::rv_policy::automatic, "Standard errors of means over trajectories, else empty.");
  c.def_ro("expectation_sum_error", &Result::expectation_sum_error);
  c.def_ro("norm", &Result::norm);
  c.def_ro(
      "shot_deviation", &Result::shot_deviation,
      "Ones of a qubit among the shots against its exact probability: the largest difference in "
      "standard deviations, near 2 in a sound run; 0 where no shots are drawn from final states.");
  c.def_ro("memory_bytes", &Result::memory_bytes);
  c.def_ro("num_branches", &Result::num_branches);
  c.def_prop_ro(
      "shot_bits",
      [](nb::handle_t<Result> self) {
        Result& r = nb::cast<Result&>(self);
        const std::size_t shots = r.shot_words ? r.shot_bits.size() / r.shot_words : 0;
        return nb::ndarray<nb::numpy, std::uint8_t, nb::c_contig>(
            r.shot_bits.data(), {shots, std::size_t{r.shot_words} * 8}, self);
      },
      nb::rv_policy::automatic,
      "Every shot in order, eight bits a byte, the lowest first; rows are whole 64-bit words.");
  c.def_ro("num_shot_bits", &Result::num_shot_bits);
  c.def_prop_ro("timings", [](const Result& r) {
    nb::dict d;
    d["parse_s"] = r.timings.parse_s;
    d["plan_s"] = r.timings.plan_s;
    d["execute_s"] = r.timings.execute_s;
    d["observe_s"] = r.timings.observe_s;
    return d;
  });
  c.def_prop_ro("plan", [](const Result& r) {
    nb::dict d;
    d["passes"] = r.plan.passes;
    d["gates"] = r.plan.gates;
    d["bytes"] = r.plan.bytes;
    d["flops"] = r.plan.flops;
    d["predicted_s"] = r.plan.predicted_s;
    d["text"] = r.plan.text;
    return d;
  });
  c.def_prop_ro("steps", [](const Result& r) {
    nb::list steps;
    for (const auto& step : r.steps) steps.append(step_dict(step));
    return steps;
  });
  c.def_ro("warnings", &Result::warnings);
}

}  // namespace

void bind_simulate(nb::module_& m) {
  bind_result(m);
  bind_state(m);
  m.def(
      "_simulate",
      [](const PyCircuit& circuit, const std::string& precision, const std::string& device,
         int threads, const Seed& seed) {
        return PyState(circuit, base_options(circuit, precision, device, threads, seed), true)
            .take();
      },
      "circuit"_a, "precision"_a, "device"_a, "threads"_a, "seed"_a);
  m.def(
      "_simulate_on_device",
      [](const PyCircuit& circuit, const std::string& precision, const std::string& device,
         int threads, const Seed& seed) -> nb::object {
        const Options options = base_options(circuit, precision, device, threads, seed);
        const auto shared = circuit.share();
        std::unique_ptr<statevec::State> state;
        statevec::DeviceView view;
        {
          const nb::gil_scoped_release release;
          state = simulate::final_state(*shared, options, true);
          view = statevec::view_on_device(*state);
        }
        const std::vector<std::size_t> shape{std::size_t{1} << state->num_qubits()};
        if (options.precision == Precision::kDouble) {
          return own_device_array<std::complex<double>>(std::move(state), view.data, shape,
                                                        view.device);
        }
        return own_device_array<std::complex<float>>(std::move(state), view.data, shape,
                                                     view.device);
      },
      "circuit"_a, "precision"_a, "device"_a, "threads"_a, "seed"_a);
  m.def(
      "_run",
      [](const PyCircuit& circuit, std::uint64_t shots, const Seed& seed,
         const std::string& precision, const std::string& device, int threads,
         const std::optional<std::vector<circuit::Qubit>>& probabilities, const Terms& terms,
         bool record_shots, bool record_steps, bool explain, bool dry_run,
         const std::optional<PyNoise>& noise, const std::string& engine) {
        Options options = base_options(circuit, precision, device, threads, seed);
        options.shots = shots;
        options.probabilities = probabilities.has_value();
        if (probabilities) options.probability_qubits = *probabilities;
        options.observables = to_sum(terms);
        options.record_shots = record_shots;
        options.record_steps = record_steps;
        options.explain = explain;
        options.dry_run = dry_run;
        options.engine = engine;
        if (noise) options.noise = noise->model;
        const auto shared = circuit.share();
        const nb::gil_scoped_release release;
        return new Result(simulate::simulate(*shared, options));
      },
      "circuit"_a, "shots"_a, "seed"_a, "precision"_a, "device"_a, "threads"_a, "probabilities"_a,
      "terms"_a, "record_shots"_a, "record_steps"_a, "explain"_a, "dry_run"_a,
      "noise"_a = nb::none(), "engine"_a = "auto", nb::rv_policy::take_ownership);
  m.def(
      "_density",
      [](const PyCircuit& circuit, const std::optional<PyNoise>& noise,
         const std::string& precision, const std::string& device, int threads) {
        Options options = base_options(circuit, precision, device, threads, std::nullopt);
        options.plans = nullptr;
        if (noise) options.noise = noise->model;
        const auto shared = circuit.share();
        runtime::HostBuffer memory;
        std::size_t size = 0;
        {
          const nb::gil_scoped_release release;
          const auto state = simulate::final_density(*shared, options);
          size = state->num_amplitudes();
          memory = state->take_amplitudes();
        }
        return array_of(std::move(memory), options.precision, size);
      },
      "circuit"_a, "noise"_a, "precision"_a, "device"_a, "threads"_a);
  m.def("_report_page", &simulate::report_page, "json"_a);
  m.def(
      "_bandwidth",
      [](int threads) {
        const nb::gil_scoped_release release;
        return runtime::measure_scale_bandwidth(std::size_t{1} << 27,
                                                runtime::resolve_num_threads(threads));
      },
      "threads"_a);
  m.def(
      "_parse_pauli_sum",
      [](const std::string& text, const std::string& order, std::uint32_t num_qubits) {
        const auto sum = io::parse_pauli_sum(text, "observable",
                                             order == "first" ? circuit::PauliOrder::kFirstIsQubit0
                                                              : circuit::PauliOrder::kLastIsQubit0,
                                             num_qubits);
        Terms terms;
        for (const auto& t : sum) terms.emplace_back(t.coefficient, t.x, t.z);
        return terms;
      },
      "text"_a, "order"_a, "num_qubits"_a);
}

}  // namespace tilewave::python
