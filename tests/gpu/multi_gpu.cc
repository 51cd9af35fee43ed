// Several devices of one process, or one of each process that mpirun started: the same amplitudes,
// answers and shots as one state on the CPU; then how fast exchanges and whole circuits are on 1, 2
// and 4 of them.
//   multi_gpu check                  correctness on every power of two of devices
//   multi_gpu time <qubits> <devices> [repetitions [family or file...]]   JSON lines
//   multi_gpu time-apart ...         the same without overlap
//   multi_gpu stream <qubits> <MiB of each device> [repetitions [devices [family]]]
//                                    from host memory; below each line its stretches: the times of
//                                    all workers, added up
//   mpirun -np 2 multi_gpu check     processes; so with time and time-apart
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/families.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/runtime/ranks.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/statevec/state.h"
#include "tilewave/statevec/testing/reference.h"

namespace {

using namespace tilewave;
using namespace tilewave::statevec;

std::vector<int> first_devices(int count) {
  std::vector<int> devices(static_cast<std::size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

constexpr int kNever = 100;  // local qubits from which exchanges overlap with passes

std::shared_ptr<runtime::Ranks> processes;  // null: this one alone

bool is_root() { return !processes || processes->rank() == 0; }

std::unique_ptr<State> make(int n, Precision precision, int num_devices, int min_sliced) {
  if (processes) {
    const int shown = static_cast<int>(runtime::cuda_devices().size());
    return make_process_state(n, precision, 1, processes, processes->rank_on_host() % shown,
                              min_sliced);
  }
  if (num_devices == 1) return make_cuda_state(n, precision, 0);
  return make_multi_cuda_state(n, precision, first_devices(num_devices), min_sliced);
}

int failures = 0;

void expect(bool good, const std::string& what) {
  if (good) return;
  ++failures;
  std::printf("FAILED: %s\n", what.c_str());
}

double worst(const std::vector<double>& a, const std::vector<double>& b) {
  double w = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t k = 0; k < a.size() && k < b.size(); ++k) w = std::max(w, std::abs(a[k] - b[k]));
  return w;
}

void compare(State& one, State& many, std::mt19937_64& random, double allowed,
             const std::string& what) {
  const int n = one.num_qubits();
  std::vector<std::uint64_t> all(one.num_amplitudes());
  std::iota(all.begin(), all.end(), 0);
  const double d = testing::max_difference(one.amplitudes(all), many.amplitudes(all));
  expect(d < allowed, what + ": amplitudes " + std::to_string(d));
  expect(std::abs(one.norm() - many.norm()) < 10 * allowed, what + ": norm");
  expect(worst(one.marginals(), many.marginals()) < 10 * allowed, what + ": marginals");
  const std::vector<circuit::Qubit> some = {0, static_cast<circuit::Qubit>(n - 1), 3,
                                            static_cast<circuit::Qubit>(n - 2)};
  expect(worst(one.joint_probabilities(some), many.joint_probabilities(some)) < 10 * allowed,
         what + ": joint");
  circuit::PauliSum paulis;
  for (int k = 0; k < 6; ++k) paulis.push_back({1, random() & low_mask(n), random() & low_mask(n)});
  paulis.push_back({1, 0, low_mask(n)});
  expect(worst(one.expectations(paulis), many.expectations(paulis)) < 20 * allowed,
         what + ": expectations");
}

void check(int num_devices, int min_sliced) {
  std::mt19937_64 random(static_cast<std::uint64_t>(num_devices));
  for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
    const double allowed = precision == Precision::kDouble ? 1e-12 : 2e-5;
    const std::string kind = precision == Precision::kDouble ? " double" : " single";
    for (const int n : {8, 16, 20}) {
      for (const auto family : circuit::family_names()) {
        const circuit::Circuit c = circuit::make_family(family, static_cast<std::uint32_t>(n));
        const auto one = make_cpu_state(n, precision, 4);
        const auto many = make(n, precision, num_devices, min_sliced);
        const std::string what = std::string(family) + " " + std::to_string(n) + kind + " x" +
                                 std::to_string(num_devices);
        one->apply(c, c.ops());
        many->apply(c, c.ops());
        compare(*one, *many, random, allowed, what);
        if (precision == Precision::kDouble) {
          expect(sample(*one, 20000, 3) == sample(*many, 20000, 3), what + ": shots");
        }
      }
    }
    for (int round = 0; round < 12; ++round) {
      const int n = 14;
      const auto one = make_cpu_state(n, precision, 4);
      const auto many = make(n, precision, num_devices, min_sliced);
      for (int stretch = 0; stretch < 3; ++stretch) {
        const circuit::Circuit c = testing::random_circuit(n, 40, random);
        one->apply(c, c.ops());
        many->apply(c, c.ops());
        const auto q = static_cast<circuit::Qubit>(random() % n);
        const auto p = one->joint_probabilities(std::span(&q, 1));
        const int outcome = p[1] > p[0] ? 1 : 0;
        one->collapse(q, outcome, 1 / std::sqrt(p[static_cast<std::size_t>(outcome)]));
        many->collapse(q, outcome, 1 / std::sqrt(p[static_cast<std::size_t>(outcome)]));
      }
      const auto copy = many->clone();
      compare(*one, *copy, random, 10 * allowed,
              "random " + std::to_string(round) + kind + " x" + std::to_string(num_devices));
    }
  }
  std::fflush(stdout);
  const std::string what = make(8, Precision::kDouble, num_devices, min_sliced)->device();
  if (is_root()) {
    std::printf("%s checked, %s overlap, %d failures so far\n", what.c_str(),
                min_sliced == kNever ? "no" : "with", failures);
  }
  std::fflush(stdout);
}

// A state that streams through little device memory against one that does not.
void check_streaming() {
  std::mt19937_64 random(9);
  const int n = 18;
  for (int devices = 1;
       devices <= std::min<int>(2, static_cast<int>(runtime::cuda_devices().size())); ++devices) {
    std::string kind;
    for (const std::string_view family : {"qft", "random", "ghz", "ising"}) {
      const circuit::Circuit c = circuit::make_family(family, n);
      const auto one = make_cuda_state(n, Precision::kDouble, 0);
      // a quarter stays, or half of it on two
      const auto many = make_streamed_cuda_state(n, Precision::kDouble, first_devices(devices),
                                                 std::uint64_t{16} << 20);
      one->apply(c, c.ops());
      many->apply(c, c.ops());
      compare(*one, *many, random, 1e-12, std::string(family) + " streamed");
      expect(sample(*one, 20000, 3) == sample(*many, 20000, 3), std::string(family) + ": shots");
      kind = many->device() + ", " + many->remark();
    }
    std::printf("%s: checked, %d failures so far\n", kind.c_str(), failures);
  }
}

void time_streaming(const std::string& family, int n, std::uint64_t device_bytes, int repetitions,
                    int devices) {
  const circuit::Circuit c = circuit::make_family(family, static_cast<std::uint32_t>(n));
  const auto state =
      make_streamed_cuda_state(n, Precision::kDouble, first_devices(devices), device_bytes);
  std::printf("%s: %s\n", state->device().c_str(), state->remark().c_str());
  const std::vector<cplx> product(static_cast<std::size_t>(2 * n), std::sqrt(0.5));
  for (int k = 0; k <= repetitions; ++k) {
    state->set_product_state(product);
    RunObserver observer;
    std::string parts;  // of every stretch
    double brought = 0;
    observer.on_step = [&](const StepTime& s) {
      if (s.step == "passes") parts += "\n  " + std::to_string(1e3 * s.measured_s) + " ms:";
    };
    observer.on_part = [&](const StepTime& s) {
      char text[100];
      std::snprintf(text, sizeof text, " %s %.0f ms", s.step.c_str(), 1e3 * s.measured_s);
      parts += text;
      if (s.bytes > 0) {
        std::snprintf(text, sizeof text, " at %.1f GB/s", 1e-9 * s.bytes / s.measured_s);
        parts += text;
      }
      if (s.step == "copy in") brought += s.bytes;
      parts += ";";
    };
    const runtime::Timer timer;
    const Plan plan = make_plan(c, c.ops(), state->plan_options());
    const double planned_s = timer.elapsed_s();
    state->run(plan, observer);
    const double s = timer.elapsed_s();
    std::size_t streams = 1;
    for (const Exchange& e : plan.exchanges) streams += e.before_pass > 0;
    std::printf(
        "{\"streamed\": \"%s\", \"qubits\": %d, \"device\": \"%s\", \"ms\": %.1f, "
        "\"planning_ms\": %.1f, \"streams\": %zu, \"state_GBs_each_way\": %.1f, "
        "\"link_GBs_each_way\": %.1f, \"norm\": %.13f}%s\n",
        family.c_str(), n, state->device().c_str(), 1e3 * s, 1e3 * planned_s, streams,
        1e-9 * static_cast<double>(streams) * std::ldexp(16.0, n) / s, 1e-9 * brought / s,
        state->norm(), parts.c_str());
    std::fflush(stdout);
  }
}

void time_circuits(int n, int num_devices, int repetitions, bool overlap,
                   const std::vector<std::string>& names) {
  std::vector<cplx> product;
  std::mt19937_64 random(17);
  for (int q = 0; q < n; ++q) {
    const double t = std::uniform_real_distribution<double>(0.2, 1.3)(random);
    product.push_back(std::cos(t));
    product.push_back(std::polar(std::sin(t), 3 * t));
  }
  const auto state = make(n, Precision::kDouble, num_devices, overlap ? -1 : kNever);
  for (const std::string& name : names) {
    const bool file = name.find('.') != std::string::npos;
    const circuit::Circuit c = file ? language::read_circuit_file(name)
                                    : circuit::make_family(name, static_cast<std::uint32_t>(n));
    if (static_cast<int>(c.num_qubits()) != n) continue;
    std::vector<double> total;
    std::map<std::string, double> seconds, bytes;
    Plan plan;
    for (int k = 0; k <= repetitions; ++k) {
      state->set_product_state(product);
      RunObserver observer;
      seconds.clear(), bytes.clear();
      observer.on_step = [&](const StepTime& s) {
        seconds[s.step] += s.measured_s;
        bytes[s.step] += s.bytes;
      };
      const runtime::Timer timer;
      plan = make_plan(c, c.ops(), state->plan_options());
      state->run(plan, num_devices > 1 ? observer : RunObserver{});
      if (k > 0) total.push_back(timer.elapsed_s());
    }
    std::sort(total.begin(), total.end());
    const auto moving = std::count_if(plan.exchanges.begin(), plan.exchanges.end(),
                                      [](const Exchange& e) { return e.bytes > 0; });
    const double exchange_s = seconds["exchange"], beside_s = seconds["exchange beside passes"];
    const double norm = state->norm();
    if (!is_root()) continue;
    std::printf(
        "{\"circuit\": \"%s\", \"qubits\": %d, \"devices\": %d, \"passes\": %zu, \"exchanges\": "
        "%d, \"ms\": %.2f, \"predicted_ms\": %.2f, \"passes_ms\": %.2f, \"exchange_ms\": %.2f, "
        "\"beside_ms\": %.2f, \"out_of_each_GBs\": %.0f, \"norm\": %.13f, \"memory_GiB\": %.2f}\n",
        name.c_str(), n, num_devices, plan.passes.size(), static_cast<int>(moving),
        1e3 * total[total.size() / 2], 1e3 * plan.predicted_s, 1e3 * seconds["passes"],
        1e3 * exchange_s, 1e3 * beside_s,
        exchange_s > 0 ? 1e-9 * bytes["exchange"] / num_devices / exchange_s : 0.0, norm,
        static_cast<double>(state->memory_bytes()) / (1 << 30));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    processes = runtime::launched_ranks();
    const int found =
        processes ? processes->size() : static_cast<int>(runtime::cuda_devices().size());
    const bool apart = argc > 3 && std::strcmp(argv[1], "time-apart") == 0;
    if (apart || (argc > 3 && std::strcmp(argv[1], "time") == 0)) {
      std::vector<std::string> names(argv + std::min(argc, 5), argv + argc);
      if (names.empty()) {
        for (const std::string_view f : circuit::family_names()) names.emplace_back(f);
      }
      time_circuits(std::atoi(argv[2]), std::atoi(argv[3]), argc > 4 ? std::atoi(argv[4]) : 5,
                    !apart, names);
      if (processes) processes->finish();
      return 0;
    }
    if (argc > 3 && std::strcmp(argv[1], "stream") == 0) {
      time_streaming(argc > 6 ? argv[6] : "qft", std::atoi(argv[2]),
                     static_cast<std::uint64_t>(std::atoi(argv[3])) << 20,
                     argc > 4 ? std::atoi(argv[4]) : 3, argc > 5 ? std::atoi(argv[5]) : 1);
      return 0;
    }
    if (found && !processes) check_streaming();
    if (found < 2) {
      std::printf("skipped: %d CUDA devices, two are needed\n", found);
      return 77;
    }
    for (int count = processes ? found : 2; count <= found; count *= 2) {
      check(count, kNever);
      check(count, 0);
    }
    if (processes) processes->finish();
  } catch (const tilewave::Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    if (processes) processes->abort(static_cast<int>(e.code()));
    return static_cast<int>(e.code());
  }
  return failures ? 1 : 0;
}
