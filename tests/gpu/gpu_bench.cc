// Times whole circuits and observations on a device, as docs/performance.md counts them: planning
// plus execution on a random product state, ended by a synchronisation; medians after a warm-up, in
// which everything is made that later runs use. TILEWAVE_JIT=off: without kernels compiled for
// single passes.
//   gpu_bench <qubits> [repetitions [name...]]      JSON lines on the standard output
// A name is a family, a circuit file, "small" (100 gates on the CPU and on the device, planned once
// or every time), or a circuit file and a file of Pauli strings joined by "+". From 33 qubits on
// only the precisions that fit are timed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/circuit/families.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/language/pauli/text.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/statevec/state.h"

namespace {

using namespace tilewave;
using namespace tilewave::statevec;

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

std::vector<cplx> random_product(int n) {
  std::mt19937_64 random(17);
  std::vector<cplx> a;
  for (int q = 0; q < n; ++q) {
    const double t = std::uniform_real_distribution<double>(0.2, 1.3)(random);
    a.push_back(std::cos(t));
    a.push_back(std::polar(std::sin(t), 3 * t));
  }
  return a;
}

void time_circuit(State& state, const std::string& name, const circuit::Circuit& c, int repetitions,
                  bool from_zeros, const std::vector<cplx>& product) {
  std::vector<double> total, planning;
  std::size_t passes = 0;
  std::vector<std::string> steps;
  for (int k = 0; k <= repetitions + 1; ++k) {
    if (from_zeros) {
      state.set_zero_state();
    } else {
      state.set_product_state(product);
    }
    if (k == 1) state.prepare(make_plan(c, c.ops(), state.plan_options()));
    runtime::Timer timer;
    const Plan plan = make_plan(c, c.ops(), state.plan_options());
    const double planned = timer.elapsed_s();
    RunObserver observer;
    if (k > repetitions) {  // its passes one by one
      observer.on_step = [&](const StepTime& s) {
        char text[64];
        std::snprintf(text, sizeof text, "%.2f", s.measured_s * 1e3);
        steps.push_back(text);
      };
    }
    state.run(plan, observer);
    passes = plan.passes.size();
    if (k > 0 && k <= repetitions) {
      planning.push_back(planned);
      total.push_back(timer.elapsed_s());
    }
  }
  std::string list;
  for (const std::string& s : steps) list += (list.empty() ? "" : ", ") + s;
  std::printf(
      "{\"circuit\": \"%s\", \"qubits\": %d, \"precision\": \"%s\", \"input\": \"%s\", \"gates\": "
      "%zu, "
      "\"passes\": %zu, \"total_ms\": %.3f, \"planning_ms\": %.3f, \"norm\": %.12f, "
      "\"pass_ms\": [%s]}\n",
      name.c_str(), state.num_qubits(),
      state.precision() == Precision::kDouble ? "double" : "single",
      from_zeros ? "zeros" : "arbitrary", c.ops().size(), passes, median(total) * 1e3,
      median(planning) * 1e3, state.norm(), list.c_str());
  std::fflush(stdout);
}

/// 100 random gates again and again.
void time_small(State& state, const circuit::Circuit& c) {
  const auto ops = c.ops().first(std::min<std::size_t>(100, c.ops().size()));
  std::vector<double> again, anew;
  const Plan first = make_plan(c, ops, state.plan_options());
  for (int k = 0; k < 300; ++k) {
    state.set_zero_state();
    Plan plan = make_plan(c, ops, state.plan_options());
    runtime::Timer with_planning;
    plan = make_plan(c, ops, state.plan_options());
    state.run(plan);
    anew.push_back(with_planning.elapsed_s());
    state.set_zero_state();
    state.run(plan);
    state.set_zero_state();
    runtime::Timer timer;
    state.run(plan);
    again.push_back(timer.elapsed_s());
  }
  std::printf(
      "{\"small\": \"%s\", \"qubits\": %d, \"gates\": %zu, \"again_us\": %.1f, "
      "\"with_planning_us\": %.1f}\n",
      state.device().c_str(), state.num_qubits(), ops.size(), median(again) * 1e6,
      median(anew) * 1e6);
}

/// A circuit from |0...0> and the expectations of many Pauli strings.
void time_strings(State& state, const std::string& name, const circuit::Circuit& c,
                  const circuit::PauliSum& strings, int repetitions) {
  std::vector<double> total, part;
  double energy = 0;
  for (int k = 0; k <= repetitions; ++k) {
    state.set_zero_state();
    runtime::Timer timer;
    PlanOptions options = state.plan_options();
    options.from_zeros = true;
    state.run(make_plan(c, options));
    const double ran = timer.elapsed_s();
    const std::vector<double> values = state.expectations(strings);
    energy = 0;
    for (std::size_t t = 0; t < strings.size(); ++t) energy += strings[t].coefficient * values[t];
    if (k) {
      total.push_back(timer.elapsed_s());
      part.push_back(timer.elapsed_s() - ran);
    }
  }
  std::printf(
      "{\"strings\": \"%s\", \"precision\": \"%s\", \"count\": %zu, \"total_ms\": %.3f, "
      "\"expectations_ms\": %.3f, \"sum\": %.12f}\n",
      name.c_str(), state.precision() == Precision::kDouble ? "double" : "single", strings.size(),
      median(total) * 1e3, median(part) * 1e3, energy);
}

void time_observations(State& state, const std::vector<cplx>& product) {
  const auto report = [&](const char* what, auto f) {
    std::vector<double> s;
    for (int k = 0; k < 4; ++k) {
      state.set_product_state(product);
      runtime::Timer timer;
      f();
      if (k) s.push_back(timer.elapsed_s());
    }
    std::printf("{\"observation\": \"%s\", \"qubits\": %d, \"precision\": \"%s\", \"ms\": %.3f}\n",
                what, state.num_qubits(),
                state.precision() == Precision::kDouble ? "double" : "single", median(s) * 1e3);
    std::fflush(stdout);
  };
  circuit::Circuit one_pass(static_cast<std::uint32_t>(state.num_qubits()));
  for (circuit::Qubit q = 0; q < 8; ++q) one_pass.add_gate(circuit::GateId::kH, {q});
  RunObserver observer;
  const auto run = [&] {
    state.run(make_plan(one_pass, one_pass.ops(), state.plan_options()), observer);
  };
  report("a pass of 8 gates", run);
  observer.makes_norm = true;
  report("the same with the norm", run);
  observer.makes_marginals = true;
  report("the same with norm and marginals", run);
  report("norm", [&] { state.norm(); });
  report("marginals", [&] { state.marginals(); });
  report("joint of 10", [&] {
    state.joint_probabilities(std::vector<circuit::Qubit>{0, 3, 6, 9, 12, 15, 18, 19, 20, 21});
  });
  std::vector<double> u(1000000);
  for (std::size_t k = 0; k < u.size(); ++k) u[k] = (static_cast<double>(k) + 0.5) / 1e6;
  report("sample_sorted of 1000000", [&] { state.sample_sorted(u); });
  report("sample of 1000000", [&] { sample(state, 1000000, 5); });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int n = argc > 1 ? std::atoi(argv[1]) : 30;
    const int repetitions = argc > 2 ? std::atoi(argv[2]) : 7;
    std::vector<std::string> names(argv + std::min(argc, 3), argv + argc);
    bool observe = false;
    if (names.empty()) {
      for (std::string_view f : circuit::family_names()) names.emplace_back(f);
      observe = true;
    }
    for (Precision precision : {Precision::kDouble, Precision::kSingle}) {
      if (n > 33 && precision == Precision::kDouble) continue;
      auto state = make_cuda_state(n, precision);
      std::printf("{\"memory_bytes\": %llu}\n",
                  static_cast<unsigned long long>(state->memory_bytes()));
      const auto product = random_product(n);
      for (const std::string& name : names) {
        if (name == "small") {
          const auto c = circuit::make_family("random", static_cast<std::uint32_t>(n));
          time_small(*state, c);
          time_small(*make_cpu_state(n, precision, 1), c);
          continue;
        }
        if (const std::size_t plus = name.find('+'); plus != std::string::npos) {
          const auto c = language::read_circuit_file(name.substr(0, plus));
          circuit::PauliSum sum;
          for (const auto& term : language::read_pauli_file(
                   name.substr(plus + 1), circuit::PauliOrder::kFirstIsQubit0, c.num_qubits())) {
            sum.push_back(circuit::narrow(term));
          }
          time_strings(*state, name, c, sum, repetitions);
          continue;
        }
        const bool file = name.find('.') != std::string::npos;
        const circuit::Circuit c = file ? language::read_circuit_file(name)
                                        : circuit::make_family(name, static_cast<std::uint32_t>(n));
        if (static_cast<int>(c.num_qubits()) != n) continue;
        if (!c.is_unitary()) throw Error(ExitCode::kInput, name + " is not unitary");
        time_circuit(*state, name, c, repetitions, false, product);
        time_circuit(*state, name, c, std::min(repetitions, 3), true, product);
      }
      if (observe) time_observations(*state, product);
    }
  } catch (const tilewave::Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return static_cast<int>(e.code());
  }
}
