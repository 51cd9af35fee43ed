// Times of values and gradients on a device, first call and median of repeated calls:
//   parametric_rates DEVICE(cpu|0|1..) FAMILY(layers|tfim) QUBITS LAYERS PRECISION(double|single) [SETS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tilewave/parametric/function.h"

using namespace tilewave;
using circuit::GateId;

namespace {

struct Ansatz {
  circuit::Circuit circuit;
  explicit Ansatz(std::uint32_t n) : circuit(n) {}
  void gate(GateId id, std::initializer_list<circuit::Qubit> q) {
    circuit.add_gate(id, q, {0.0});
    circuit::AffineAngle angle;
    angle.terms.push_back({circuit.add_parameter("p" + std::to_string(count++)), 1.0});
    circuit.set_affine(circuit.ops().size() - 1, 0, angle);
  }
  int count = 0;
};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const auto n = static_cast<std::uint32_t>(std::atoi(argv[3]));
  const int layers = std::atoi(argv[4]);
  const std::size_t sets = argc > 6 ? static_cast<std::size_t>(std::atoll(argv[6])) : 1;
  Ansatz a(n);
  for (int l = 0; l < layers; ++l) {
    if (!std::strcmp(argv[2], "layers")) {  // strongly entangling layers
      for (std::uint32_t q = 0; q < n; ++q) {
        a.gate(GateId::kRz, {q});
        a.gate(GateId::kRy, {q});
        a.gate(GateId::kRz, {q});
      }
      const auto range = static_cast<std::uint32_t>(l) % (n - 1) + 1;
      for (std::uint32_t q = 0; q < n; ++q) a.circuit.add_gate(GateId::kCx, {q, (q + range) % n});
    } else {
      for (std::uint32_t q = 0; q + 1 < n; ++q) a.gate(GateId::kRzz, {q, q + 1});
      for (std::uint32_t q = 0; q < n; ++q) a.gate(GateId::kRx, {q});
    }
  }
  circuit::PauliSum h;
  for (std::uint32_t q = 0; q + 1 < n; ++q) h.push_back({-1.0, 0, std::uint64_t{3} << q});
  for (std::uint32_t q = 0; q < n; ++q) h.push_back({-1.0, std::uint64_t{1} << q, 0});
  parametric::FunctionOptions options;
  options.precision = std::strcmp(argv[5], "single") ? Precision::kDouble : Precision::kSingle;
  if (std::strcmp(argv[1], "cpu")) options.cuda_device = std::atoi(argv[1]);
  const double t0 = seconds();
  const parametric::Function f(a.circuit, {h}, options);
  const double t1 = seconds();
  std::vector<double> values(sets * static_cast<std::size_t>(a.count)), v(sets, 1.0), e(sets);
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = 0.1 + 0.37 * static_cast<double>(k % 17);
  std::vector<double> gradient(values.size());
  std::vector<double> forward, both;
  for (int k = 0; k < 8; ++k) {
    const double b = seconds();
    f.expectations({values.data(), sets}, e.data());
    const double m = seconds();
    f.vjp({values.data(), sets}, v.data(), e.data(), gradient.data());
    const double end = seconds();
    forward.push_back(m - b), both.push_back(end - m);
  }
  const double first = forward[0], first_both = both[0];
  std::sort(forward.begin() + 1, forward.end());
  std::sort(both.begin() + 1, both.end());
  std::printf(
      "%s %s %u qubits %d layers %d parameters %s %zu sets: compile %.1f ms, expectation %.3f "
      "(first "
      "%.1f) ms, value and gradient %.3f (first %.1f) ms, E %.12g g %.9g\n",
      argv[1], argv[2], n, layers, a.count, argv[5], sets, (t1 - t0) * 1e3, forward[4] * 1e3,
      first * 1e3, both[4] * 1e3, first_both * 1e3, e[0], gradient[gradient.size() / 2]);
  if (std::getenv("EXPLAIN")) std::fputs(f.explain().c_str(), stdout);
}
