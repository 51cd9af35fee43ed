// Times of values and gradients through the C++ API, of the first call and the median of the last of
// those in SECONDS (10 on a GPU, where kernels of a function are compiled while it runs):
//   parametric_rates DEVICE(cpu|cuda:0) FAMILY(layers|tfim) QUBITS LAYERS PRECISION(double|single) [SETS [SECONDS]]
// As one of several processes (mpirun, TILEWAVE_PROCESSES) it shares a state with the others, and every
// process makes 24 calls of each kind.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tilewave/circuit.h"
#include "tilewave/function.h"

namespace {

constexpr std::size_t kSharedCalls = 24;

// A process's number where there are several, as launchers tell it; -1 alone.
int process() {
  for (const char* name : {"TILEWAVE_PROCESS", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"}) {
    if (const char* const text = std::getenv(name)) return std::atoi(text);
  }
  return -1;
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Strongly entangling layers, or those of an Ising chain in a field.
tilewave::Circuit make_circuit(bool is_tfim, std::uint32_t n, std::uint32_t layers) {
  const auto theta = tilewave::parameters("p", (is_tfim ? 2 * n - 1 : 3 * n) * layers);
  auto next = theta.begin();
  tilewave::Circuit c(n);
  for (std::uint32_t l = 0; l < layers; ++l) {
    if (is_tfim) {
      for (std::uint32_t q = 0; q + 1 < n; ++q) c.gate("rzz", {q, q + 1}, {*next++});
      for (std::uint32_t q = 0; q < n; ++q) c.rx(*next++, q);
      continue;
    }
    for (std::uint32_t q = 0; q < n; ++q) {
      c.rz(*next++, q);
      c.ry(*next++, q);
      c.rz(*next++, q);
    }
    const std::uint32_t range = l % (n - 1) + 1;
    for (std::uint32_t q = 0; q < n; ++q) c.cx(q, (q + range) % n);
  }
  return c;
}

std::string ising(std::uint32_t n) {
  std::string sum;
  for (std::uint32_t q = 0; q + 1 < n; ++q)
    sum += " - 1 Z" + std::to_string(q) + " Z" + std::to_string(q + 1);
  for (std::uint32_t q = 0; q < n; ++q) sum += " - 1 X" + std::to_string(q);
  return sum;
}

double median_ms(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return 1e3 * times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr,
                 "usage: parametric_rates cpu|cuda:0 layers|tfim QUBITS LAYERS double|single [SETS "
                 "[SECONDS]]\n");
    return 2;
  }
  const auto n = static_cast<std::uint32_t>(std::atoi(argv[3]));
  const std::size_t sets = argc > 6 ? static_cast<std::size_t>(std::atoll(argv[6])) : 1;
  const auto circuit = make_circuit(std::strcmp(argv[2], "tfim") == 0, n,
                                    static_cast<std::uint32_t>(std::atoi(argv[4])));
  tilewave::FunctionOptions options;
  options.device = argv[1];
  options.precision =
      std::strcmp(argv[5], "single") ? tilewave::Precision::kDouble : tilewave::Precision::kSingle;
  const bool is_shared = process() >= 0;
  if (is_shared) options.ranks = tilewave::Sharing::kState;
  const double begin = seconds();
  const tilewave::Function f(circuit, {ising(n)}, options);
  const double made = seconds();
  std::vector<double> values(sets * f.num_parameters());
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = 0.1 + 0.37 * static_cast<double>(k % 17);
  std::vector<double> forward, both;
  tilewave::Function::ValueAndGradient last;
  const double all_s = argc > 7 ? std::atof(argv[7]) : std::strncmp(argv[1], "cuda", 4) ? 0 : 10;
  const std::size_t kKept = 7;
  while (is_shared ? both.size() < kSharedCalls
                   : both.size() <= kKept || seconds() - made < all_s) {
    const double first = seconds();
    f.expectations(values);
    const double middle = seconds();
    f.value_and_gradient(values, {}, last);
    forward.push_back(middle - first);
    both.push_back(seconds() - middle);
  }
  if (process() > 0) return 0;
  const double first_ms = 1e3 * forward[0], first_both_ms = 1e3 * both[0];
  forward.erase(forward.begin(), forward.end() - kKept);
  both.erase(both.begin(), both.end() - kKept);
  std::printf(
      "%s %s %u qubits %s layers %zu parameters %s %zu sets: made in %.1f ms, value %.3f (first "
      "%.1f) ms, value and gradient %.3f (first %.1f) ms, E %.12g\n",
      argv[1], argv[2], n, argv[4], f.num_parameters(), argv[5], sets, 1e3 * (made - begin),
      median_ms(forward), first_ms, median_ms(both), first_both_ms, last.value[0]);
  if (std::getenv("EXPLAIN")) std::fputs(f.explain().c_str(), stdout);
}
