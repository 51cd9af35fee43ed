// Times whole circuits and observations on a device, as targets.md counts them: planning plus
// execution on a random product state, ended by a synchronisation; medians after a warm-up.
//   gpu_bench <qubits> [repetitions [family...]]      JSON lines on the standard output
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/circuit/families.h"
#include "tilewave/io/circuit_file.h"
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
  for (int k = 0; k <= repetitions; ++k) {
    if (from_zeros) {
      state.set_zero_state();
    } else {
      state.set_product_state(product);
    }
    runtime::Timer timer;
    const Plan plan = make_plan(c, c.ops(), state.plan_options());
    const double planned = timer.elapsed_s();
    RunObserver observer;
    if (k == 0) {
      observer.on_step = [&](const StepTime& s) {
        char text[64];
        std::snprintf(text, sizeof text, "%.2f", s.measured_s * 1e3);
        steps.push_back(text);
      };
    }
    state.run(plan, observer);
    passes = plan.passes.size();
    if (k > 0) {
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
      auto state = make_cuda_state(n, precision);
      const auto product = random_product(n);
      for (const std::string& name : names) {
        const bool file = name.find('.') != std::string::npos;
        const circuit::Circuit c = file ? io::read_circuit_file(name)
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
