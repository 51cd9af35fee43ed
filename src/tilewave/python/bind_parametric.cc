// Circuits as functions of their parameters. The interpreter is free while they compute.
#include <complex>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "tilewave/circuit/pauli.h"
#include "tilewave/parametric/device_choice.h"
#include "tilewave/parametric/split_function.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/python/bind-inl.h"
#include "tilewave/python/terms-inl.h"
#include "tilewave/runtime/ranks.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/settings/device.h"
#include "tilewave/settings/names.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {
namespace {

using Function = parametric::SplitFunction;
using Values = ConstArray<double>;

Function* make_function(const PyCircuit& circuit, const Terms& terms,
                        ConstArray<std::uint32_t> observable, std::uint32_t num_observables,
                        const std::string& precision, const std::string& device, int threads,
                        const std::string& ranks_share) {
  const DeviceSet devices = DeviceSet::parse(device);
  parametric::FunctionOptions options;
  options.precision = parse_precision(precision);
  options.num_threads = runtime::checked_num_threads(threads);
  std::vector<circuit::PauliSum> observables(num_observables);
  const circuit::WidePauliSum sum = to_sum(terms);
  for (std::size_t k = 0; k < sum.size(); ++k)
    observables[observable.data()[k]].push_back(circuit::narrow(sum[k]));
  const auto shared = circuit.share();
  const nb::gil_scoped_release release;
  auto ranks = ranks_share.empty() ? nullptr : runtime::launched_ranks();
  const auto share =
      ranks_share == "state" ? parametric::Shared::kState : parametric::Shared::kSets;
  const std::vector<int> places =
      parametric::devices_for(devices, shared->num_qubits(), options.precision, ranks.get(),
                              share == parametric::Shared::kState);
  return new Function(*shared, observables, options, places, std::move(ranks), share);
}

std::size_t sets_of(const Values& values) { return values.shape(0); }

// Amplitudes of one state for all sets, or of one for each; none without any.
using Amplitudes = ConstArray<std::complex<double>>;
parametric::Sets to_sets(const Values& values, const Amplitudes& initial) {
  parametric::Sets sets{values.data(), sets_of(values)};
  if (initial.size() == 0) return sets;
  sets.initial = initial.data();
  sets.shares_initial = initial.shape(0) == 1;
  return sets;
}

// An array of this shape, which fill(its data) writes while the interpreter is free.
template <class T, class Fill>
Array<T> filled(std::vector<std::size_t> shape, Fill fill) {
  NewArray<T> out(std::move(shape));
  {
    const nb::gil_scoped_release release;
    fill(out.data());
  }
  return out.take();
}

}  // namespace

void bind_parametric(nb::module_& m) {
  nb::class_<Function> c(m, "_Function");
  c.def(nb::new_(&make_function), "circuit"_a, "terms"_a, "observable"_a, "num_observables"_a,
        "precision"_a, "device"_a, "threads"_a, "ranks_share"_a = "");
  c.def("_expectations", [](const Function& f, Values values, Amplitudes initial) {
    return filled<double>({sets_of(values), f.num_observables()},
                          [&](auto* out) { f.expectations(to_sets(values, initial), out); });
  });
  c.def("_vjp", [](const Function& f, Values values, Amplitudes initial, Values v,
                   bool wants_expectations) {
    const std::size_t sets = sets_of(values);
    NewArray<double> expectations({wants_expectations ? sets : 0, f.num_observables()});
    NewArray<double> gradient({sets, f.num_parameters()});
    {
      const nb::gil_scoped_release release;
      f.vjp(to_sets(values, initial), v.data(), wants_expectations ? expectations.data() : nullptr,
            gradient.data());
    }
    return nb::make_tuple(expectations.take(), gradient.take());
  });
  c.def("_states", [](const Function& f, Values values, Amplitudes initial) {
    return filled<std::complex<double>>(
        {sets_of(values), std::size_t{1} << f.num_qubits()},
        [&](auto* out) { f.states(to_sets(values, initial), out); });
  });
  c.def("_state_vjp", [](const Function& f, Values values, Amplitudes initial,
                         ConstArray<std::complex<double>> g) {
    return filled<double>({sets_of(values), f.num_parameters()}, [&](double* out) {
      f.state_vjp(to_sets(values, initial), g.data(), out);
    });
  });
  c.def("_metric_tensor", [](const Function& f, Values values, Amplitudes initial) {
    return filled<double>({sets_of(values), f.num_parameters(), f.num_parameters()},
                          [&](auto* out) { f.metric_tensor(to_sets(values, initial), out); });
  });
  c.def("_probabilities", [](const Function& f, Values values, Amplitudes initial,
                             ConstArray<std::uint32_t> qubits) {
    return filled<double>({sets_of(values), std::size_t{1} << qubits.size()}, [&](double* out) {
      f.probabilities(to_sets(values, initial), {qubits.data(), qubits.size()}, out);
    });
  });
  c.def("_samples", [](const Function& f, Values values, Amplitudes initial, std::uint64_t shots,
                       std::uint64_t seed) {
    return filled<std::uint64_t>(
        {sets_of(values), static_cast<std::size_t>(shots)},
        [&](std::uint64_t* out) { f.samples(to_sets(values, initial), shots, seed, out); });
  });
  c.def("_explain", &Function::explain);
  // Leaves the processes of the run in order; for the end of a program that went well.
  m.def("_finish_ranks", [] {
    const nb::gil_scoped_release release;
    if (const auto ranks = runtime::joined_ranks()) ranks->finish();
  });
}

}  // namespace tilewave::python
