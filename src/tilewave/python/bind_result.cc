// What a run found, as attributes; and as a copy for other processes.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "tilewave/base/units.h"
#include "tilewave/language/text/source.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/python/bind-inl.h"
#include "tilewave/simulate/simulate.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {
namespace {

using simulate::Result;
using statevec::Precision;

nb::dict step_dict(const statevec::StepTime& step) {
  nb::dict d;
  d["step"] = step.step;
  d["bytes"] = step.bytes;
  d["predicted_s"] = step.predicted_s;
  d["measured_s"] = step.measured_s;
  return d;
}

// f(name, field) for everything a Result shows in Python.
template <class R, class F>
void for_each_field(R& r, F f) {
  f("num_qubits", r.num_qubits);
  f("engine", r.engine);
  f("engine_choice", r.engine_choice);
  f("device", r.device);
  f("transport", r.transport);
  f("seed", r.seed);
  f("shots", r.shots);
  f("counts", r.counts);
  f("shot_words", r.shot_words);
  f("num_shot_bits", r.num_shot_bits);
  f("probabilities", r.probabilities);
  f("joint_probabilities", r.joint_probabilities);
  f("expectations", r.expectations);
  f("expectation_sum", r.expectation_sum);
  f("probability_errors", r.probability_errors);
  f("expectation_errors", r.expectation_errors);
  f("expectation_sum_error", r.expectation_sum_error);
  f("num_trajectories", r.num_trajectories);
  f("norm", r.norm);
  f("shot_deviation", r.shot_deviation);
  f("memory_bytes", r.memory_bytes);
  f("num_ranks", r.num_ranks);
  f("num_branches", r.num_branches);
  f("passes", r.plan.passes);
  f("gates", r.plan.gates);
  f("bytes", r.plan.bytes);
  f("flops", r.plan.flops);
  f("predicted_s", r.plan.predicted_s);
  f("predicted_for", r.plan.predicted_for);
  f("text", r.plan.text);
  f("parse_s", r.timings.parse_s);
  f("plan_s", r.timings.plan_s);
  f("execute_s", r.timings.execute_s);
  f("observe_s", r.timings.observe_s);
  f("warnings", r.warnings);
}

nb::dict fields(const Result& r, std::initializer_list<std::string_view> names) {
  nb::dict d;
  for_each_field(r, [&](const char* name, const auto& field) {
    if (std::find(names.begin(), names.end(), name) != names.end()) d[name] = field;
  });
  return d;
}

using StoredStep = std::tuple<std::string, double, double, double>;

nb::dict stored(const Result& r) {
  nb::dict d;
  for_each_field(r, [&](const char* name, const auto& field) { d[name] = field; });
  d["precision"] = static_cast<int>(r.precision);
  d["effort"] = static_cast<int>(r.plan.effort);
  d["shot_bits"] = nb::bytes(r.shot_bits.data(), r.shot_bits.size() * sizeof(std::uint64_t));
  std::vector<StoredStep> steps;
  for (const auto& s : r.steps) {
    steps.emplace_back(s.step, s.predicted_s, s.measured_s, s.bytes);
  }
  d["steps"] = steps;
  return d;
}

void restore(Result& r, const nb::dict& d) {
  for_each_field(r, [&](const char* name, auto& field) {
    field = nb::cast<std::decay_t<decltype(field)>>(d[name]);
  });
  r.precision = static_cast<Precision>(nb::cast<int>(d["precision"]));
  r.plan.effort = static_cast<Effort>(nb::cast<int>(d["effort"]));
  const auto bits = nb::cast<nb::bytes>(d["shot_bits"]);
  r.shot_bits.resize(bits.size() / sizeof(std::uint64_t));
  if (bits.size() > 0) std::memcpy(r.shot_bits.data(), bits.data(), bits.size());
  for (const auto& [step, predicted_s, measured_s, bytes] :
       nb::cast<std::vector<StoredStep>>(d["steps"])) {
    r.steps.push_back({step, predicted_s, measured_s, bytes});
  }
}

}  // namespace

void bind_result(nb::module_& m) {
  nb::class_<Result> c(m, "Result", "What a run found, with what it cost.");
  c.def("__getstate__", &stored);
  c.def("__setstate__", [](Result* self, const nb::dict& state) {
    new (self) Result();
    restore(*self, state);
  });
  c.def("__repr__", [](const Result& r) {
    std::string text = "<tilewave.Result: " + counted(r.num_qubits, "qubit");
    if (!r.counts.empty()) {
      text += ", " + counted(r.shots, "shot") + " with " + counted(r.counts.size(), "outcome");
    }
    if (!r.expectations.empty()) {
      text += ", " + counted(r.expectations.size(), "expectation");
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
  const auto numbers = [&](const char* name, std::vector<double> Result::*field, const char* doc) {
    c.def_prop_ro(
        name,
        [field](const Result& r) { return own_vector<double>(std::vector<double>(r.*field)); },
        nb::rv_policy::automatic, doc);
  };
  numbers("probabilities", &Result::probabilities,
          "P(qubit = 1), of all qubits or of the chosen ones.");
  numbers("joint_probabilities", &Result::joint_probabilities,
          "Of all outcomes of the chosen qubits; bit j of an index is the j-th of them.");
  numbers("expectations", &Result::expectations, "Coefficient times <P>, one a term.");
  c.def_ro("expectation_sum", &Result::expectation_sum);
  numbers("expectation_errors", &Result::expectation_errors,
          "Standard errors of means over trajectories or shots, NaN for a single one; empty where "
          "means are exact.");
  numbers("probability_errors", &Result::probability_errors,
          "Standard errors of means over trajectories or shots, NaN for a single one; empty where "
          "means are exact.");
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
    return fields(r, {"parse_s", "plan_s", "execute_s", "observe_s"});
  });
  c.def_prop_ro("plan", [](const Result& r) {
    nb::dict d = fields(r, {"passes", "gates", "bytes", "flops", "predicted_s"});
    if (!r.plan.predicted_for.empty()) d["predicted_for"] = r.plan.predicted_for;
    d["effort"] = std::string(name_of(r.plan.effort));
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

}  // namespace tilewave::python
