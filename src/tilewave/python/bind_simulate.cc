// Running circuits: one call that answers everything (_run), a state as an array, densities. The
// interpreter is free while a circuit runs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "tilewave/base/interrupt.h"
#include "tilewave/base/whole_file.h"
#include "tilewave/language/noise/json.h"
#include "tilewave/language/pauli/text.h"
#include "tilewave/python/arguments-inl.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/python/bind-inl.h"
#include "tilewave/python/terms-inl.h"
#include "tilewave/runtime/bandwidth.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/simulate/exact_branches.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/simulate/report_page.h"
#include "tilewave/simulate/session.h"
#include "tilewave/statevec/cuda/device_view.h"
#include "tilewave/statevec/state.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {

using simulate::Options;
using simulate::Result;
using statevec::Precision;

Options run_options(const std::string& precision, const std::string& device, int threads,
                    const std::string& effort, const Seed& seed,
                    std::span<const cplx> initial_state) {
  Options options;
  options.precision = parse_precision(precision);
  options.device = DeviceSet::parse(device);
  options.num_threads = runtime::checked_num_threads(threads);
  options.seed = seed;
  options.on_progress = [](double, double) { check_interrupt(); };
  options.effort = parse_effort(effort);
  options.keeps_device_memory = true;
  options.initial_state = initial_state;
  return options;
}

void bind_simulate(nb::module_& m) {
  m.def(
      "_simulate",
      [](const PyCircuit& circuit, const std::string& precision, const std::string& device,
         int threads, const Seed& seed, const std::string& effort, const InitialState& initial) {
        const Options options =
            run_options(precision, device, threads, effort, seed, span_of(initial));
        const auto shared = circuit.share();
        runtime::HostBuffer memory = without_interpreter([&] {
          simulate::FinalState final = simulate::final_state(*shared, options, true);
          return simulate::take_amplitudes(final);
        });
        return amplitude_array(std::move(memory), options.precision, shared->num_qubits());
      },
      "circuit"_a, "precision"_a, "device"_a, "threads"_a, "seed"_a, "effort"_a = "auto",
      "initial_state"_a = nb::none());
  m.def(
      "_simulate_on_device",
      [](const PyCircuit& circuit, const std::string& precision, const std::string& device,
         int threads, const Seed& seed, const std::string& effort,
         const InitialState& initial) -> nb::object {
        const Options options =
            run_options(precision, device, threads, effort, seed, span_of(initial));
        const auto shared = circuit.share();
        std::unique_ptr<statevec::State> state;
        const statevec::DeviceView view = without_interpreter([&] {
          state = simulate::final_state(*shared, options, true).state;
          return statevec::view_on_device(*state);
        });
        const std::vector<std::size_t> shape{std::size_t{1} << state->num_qubits()};
        if (options.precision == Precision::kDouble) {
          return own_device_array<std::complex<double>>(std::move(state), view.data, shape,
                                                        view.device);
        }
        return own_device_array<std::complex<float>>(std::move(state), view.data, shape,
                                                     view.device);
      },
      "circuit"_a, "precision"_a, "device"_a, "threads"_a, "seed"_a, "effort"_a = "auto",
      "initial_state"_a = nb::none());
  m.def(
      "_run",
      [](const PyCircuit& circuit, std::uint64_t shots, const Seed& seed,
         const std::string& precision, const std::string& device, int threads,
         nb::handle probabilities, const Terms& terms, bool record_shots, bool record_steps,
         bool explain, bool dry_run, const std::optional<PyNoise>& noise, const std::string& engine,
         const std::string& effort, const InitialState& initial, const std::string& checkpoint,
         double checkpoint_every_s, const std::string& resume) {
        Options options = run_options(precision, device, threads, effort, seed, span_of(initial));
        options.checkpoint.folder = checkpoint;
        options.checkpoint.every_s = checkpoint_every_s;
        options.checkpoint.resume = resume;
        options.shots = shots;
        options.probabilities = !probabilities.is_none();
        if (options.probabilities) {
          options.probability_qubits =
              qubits_of(probabilities, circuit.get().num_qubits(), {"run", "probabilities"});
        }
        options.observables = to_sum(terms);
        options.record_shots = record_shots;
        options.record_steps = record_steps;
        options.explain = explain;
        options.dry_run = dry_run;
        options.engine = parse_engine(engine);
        if (noise) options.noise = noise->model;
        const auto shared = circuit.share();
        const nb::gil_scoped_release release;
        auto result = std::make_unique<Result>(simulate::simulate(*shared, options));
        if (result->keeper) result->keeper->remove();  // nothing is left to go on with
        result->keeper.reset();
        return result.release();
      },
      "circuit"_a, "shots"_a, "seed"_a, "precision"_a, "device"_a, "threads"_a,
      "probabilities"_a.none(), "terms"_a, "record_shots"_a, "record_steps"_a, "explain"_a,
      "dry_run"_a, "noise"_a = nb::none(), "engine"_a = "auto", "effort"_a = "auto",
      "initial_state"_a = nb::none(), "checkpoint"_a = "", "checkpoint_every_s"_a = 600.0,
      "resume"_a = "", nb::rv_policy::take_ownership);
  m.def("_free_memory", [] { simulate::Session::of_process()->clear(); });
  m.def(
      "_density",
      [](const PyCircuit& circuit, const std::optional<PyNoise>& noise,
         const std::string& precision, const std::string& device, int threads) {
        Options options = run_options(precision, device, threads, "auto", std::nullopt);
        options.keeps_device_memory = false;
        if (noise) options.noise = noise->model;
        const auto shared = circuit.share();
        int num_qubits = 0;
        runtime::HostBuffer memory = without_interpreter([&] {
          const auto state = simulate::final_density(*shared, options);
          num_qubits = state->num_qubits();
          return state->take_amplitudes();
        });
        return amplitude_array(std::move(memory), options.precision, num_qubits);
      },
      "circuit"_a, "noise"_a, "precision"_a, "device"_a, "threads"_a);
  m.def(
      "_exact_expectations",
      [](const PyCircuit& circuit, const Terms& terms, const std::string& precision,
         const std::string& device, int threads, const std::optional<PyNoise>& noise,
         const InitialState& initial, const std::string& effort) {
        Options options =
            run_options(precision, device, threads, effort, std::nullopt, span_of(initial));
        options.keeps_device_memory = false;
        options.observables = to_sum(terms);
        if (noise) options.noise = noise->model;
        const auto shared = circuit.share();
        return own_vector<double>(
            without_interpreter([&] { return simulate::exact_expectations(*shared, options); }));
      },
      "circuit"_a, "terms"_a, "precision"_a, "device"_a, "threads"_a, "noise"_a = nb::none(),
      "initial_state"_a = nb::none(), "effort"_a = "auto",
      "<P> of every term. Of a circuit that measures in the middle: every outcome with its "
      "probability. Large Clifford circuits need no state.");
  m.def(
      "_most_qubits",
      [](const std::string& precision) {
        return simulate::most_qubits(parse_precision(precision), 1,
                                     runtime::available_host_bytes());
      },
      "precision"_a, "Of a state that fits this machine's memory now.");
  m.def(
      "_write_report",
      [](const std::string& json, const std::string& path) {
        write_whole_file(path, simulate::report_page(json));
      },
      "json"_a, "path"_a);
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
        return to_arrays(
            language::parse_pauli_sum(text, "observable",
                                      order == "first" ? circuit::PauliOrder::kFirstIsQubit0
                                                       : circuit::PauliOrder::kLastIsQubit0,
                                      num_qubits),
            num_qubits);
      },
      "text"_a, "order"_a, "num_qubits"_a);
}

// Noise models, from the text of docs/noise.md's format.
void bind_noise(nb::module_& m) {
  nb::class_<PyNoise> c(m, "_Noise", "A noise model that was read and checked.");
  c.def(
      "__init__",
      [](PyNoise* self, const std::string& text, const std::string& name) {
        auto model = std::make_shared<circuit::NoiseModel>(language::parse_noise_model(text, name));
        new (self) PyNoise{std::move(model)};
      },
      "text"_a, "name"_a = "noise");
  c.def_prop_ro("num_rules", [](const PyNoise& n) { return n.model->rules.size(); });
}

}  // namespace tilewave::python
