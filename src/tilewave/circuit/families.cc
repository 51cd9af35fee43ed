#include "tilewave/circuit/families.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"

namespace tilewave::circuit {
namespace {

using G = GateId;
using std::numbers::pi;

/// One stream of draws a family and size.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  double uniform(double low, double high) {
    return low + (high - low) * random_uniform(seed_, 0, next_++);
  }
  double angle() { return uniform(-pi, pi); }
  std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>(uniform(0, 1) * count);
  }
  /// Two different numbers below `count`.
  std::pair<Qubit, Qubit> pair(std::uint32_t count) {
    const Qubit a = below(count), b = below(count - 1);
    return {a, b < a ? b : b + 1};
  }

 private:
  std::uint64_t seed_, next_ = 0;
};

void hadamards(Circuit& c, std::uint32_t count) {
  for (Qubit q = 0; q < count; ++q) c.add_gate(G::kH, {q});
}

// exp(-i angle/2 ZZ) as programs write it
void zz(Circuit& c, Qubit a, Qubit b, double angle) {
  c.add_gate(G::kCx, {a, b});
  c.add_gate(G::kRz, {b}, {angle});
  c.add_gate(G::kCx, {a, b});
}

void qft(Circuit& c, std::uint32_t n) {
  for (Qubit i = n; i-- > 0;) {
    c.add_gate(G::kH, {i});
    for (Qubit j = i; j-- > 0;) c.add_gate(G::kCp, {j, i}, {std::ldexp(pi, -int(i - j))});
  }
}

void invqft(Circuit& c, std::uint32_t n) {
  for (Qubit i = 0; i < n; ++i) {
    for (Qubit j = 0; j < i; ++j) c.add_gate(G::kCp, {j, i}, {-std::ldexp(pi, -int(i - j))});
    c.add_gate(G::kH, {i});
  }
}

void ghz(Circuit& c, std::uint32_t n) {
  c.add_gate(G::kH, {0});
  for (Qubit q = 0; q + 1 < n; ++q) c.add_gate(G::kCx, {q, q + 1});
}

void ghz_qft(Circuit& c, std::uint32_t n) {
  ghz(c, n);
  qft(c, n);
}

void random_gates(Circuit& c, std::uint32_t n) {
  constexpr G kKinds[] = {G::kH,  G::kX,  G::kY,  G::kZ,  G::kS,  G::kT, G::kRx,
                          G::kRy, G::kRz, G::kU3, G::kCx, G::kCz, G::kCp};
  Draws draws(1000 + n);
  for (std::uint32_t k = 0; k < 20 * n; ++k) {
    const GateInfo& info = gate_info(kKinds[draws.below(std::size(kKinds))]);
    const auto [a, b] = draws.pair(n);
    std::vector<double> params(static_cast<std::size_t>(info.num_params));
    for (double& p : params) p = draws.angle();
    const Qubit qubits[] = {a, b};
    c.add_gate(info.id, std::span(qubits).first(info.num_controls + 1u), params);
  }
}

void supremacy(Circuit& c, std::uint32_t n) {
  constexpr std::uint32_t kDepth = 20;
  Draws draws(2000 + n);
  auto cols = static_cast<std::uint32_t>(std::sqrt(n));
  while (n % cols != 0) --cols;
  const std::uint32_t rows = n / cols;  // the most nearly square grid
  hadamards(c, n);
  for (std::uint32_t d = 0; d < kDepth; ++d) {
    const bool vertical = d % 4 < 2;
    std::vector<bool> busy(n);
    for (std::uint32_t i = 0; i < rows; ++i) {
      for (std::uint32_t j = 0; j < cols; ++j) {
        const std::uint32_t k = i + vertical, l = j + !vertical;
        if (k >= rows || l >= cols || (i + j + d) % 2 != 0) continue;
        const Qubit a = i * cols + j, b = k * cols + l;
        if (busy[a] || busy[b]) continue;
        busy[a] = busy[b] = true;
        c.add_gate(G::kCz, {a, b});
      }
    }
    for (Qubit q = 0; q < n; ++q) {
      const std::uint32_t kind = draws.below(3);
      if (kind == 2) {
        c.add_gate(G::kT, {q});
      } else {
        c.add_gate(kind == 0 ? G::kRx : G::kRy, {q}, {pi / 2});
      }
    }
  }
}

void quantum_volume(Circuit& c, std::uint32_t n) {
  constexpr int kLayers = 10;
  Draws draws(3000 + n);
  const auto u3 = [&](Qubit q) {
    const double theta = draws.angle(), phi = draws.angle(), lambda = draws.angle();
    c.add_gate(G::kU3, {q}, {theta, phi, lambda});
  };
  std::vector<Qubit> order(n);
  for (int layer = 0; layer < kLayers; ++layer) {
    for (Qubit q = 0; q < n; ++q) order[q] = q;
    for (Qubit q = n - 1; q > 0; --q) std::swap(order[q], order[draws.below(q + 1)]);
    for (std::uint32_t k = 0; k + 1 < n; k += 2) {
      const Qubit a = order[k], b = order[k + 1];
      for (int block = 0; block < 3; ++block) {
        u3(a);
        u3(b);
        c.add_gate(G::kCx, {a, b});
      }
      u3(a);
      u3(b);
    }
  }
}

void ising(Circuit& c, std::uint32_t n) {
  constexpr int kSteps = 10;
  hadamards(c, n);
  for (int step = 0; step < kSteps; ++step) {
    for (Qubit q = 0; q + 1 < n; ++q) zz(c, q, q + 1, 0.2);
    for (Qubit q = 0; q < n; ++q) c.add_gate(G::kRx, {q}, {0.3});
  }
}

void qaoa(Circuit& c, std::uint32_t n) {
  constexpr int kLayers = 3;
  Draws draws(4000 + n);
  // a graph of 3n/2 edges; fewer where so few qubits have fewer pairs
  const std::size_t num_edges = std::min<std::size_t>(3 * n / 2, n * (n - 1) / 2);
  std::set<std::pair<Qubit, Qubit>> edges;
  while (edges.size() < num_edges) {
    const auto [a, b] = draws.pair(n);
    edges.insert({std::min(a, b), std::max(a, b)});
  }
  hadamards(c, n);
  for (int layer = 0; layer < kLayers; ++layer) {
    for (const auto& [a, b] : edges) zz(c, a, b, 0.37 + 0.1 * layer);
    for (Qubit q = 0; q < n; ++q) c.add_gate(G::kRx, {q}, {0.51 + 0.1 * layer});
  }
}

void bv(Circuit& c, std::uint32_t n) {
  Draws draws(5000 + n);
  c.add_gate(G::kX, {n - 1});
  hadamards(c, n);
  for (Qubit q = 0; q + 1 < n; ++q) {
    if (draws.uniform(0, 1) < 0.6) c.add_gate(G::kCx, {q, n - 1});
  }
  hadamards(c, n - 1);
}

struct Family {
  std::string_view name;
  void (*build)(Circuit&, std::uint32_t);
};
constexpr Family kFamilies[] = {{"qft", qft},
                                {"invqft", invqft},
                                {"ghz", ghz},
                                {"ghz_qft", ghz_qft},
                                {"random", random_gates},
                                {"supremacy", supremacy},
                                {"quantum_volume", quantum_volume},
                                {"ising", ising},
                                {"qaoa", qaoa},
                                {"bv", bv}};

}  // namespace

std::span<const std::string_view> family_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const Family& f : kFamilies) list.push_back(f.name);
    return list;
  }();
  return names;
}

Circuit make_family(std::string_view name, std::uint32_t num_qubits) {
  if (num_qubits < 2 || num_qubits > 64) {
    fail(ExitCode::kUsage, "a benchmark circuit has 2 to 64 qubits, not ", num_qubits);
  }
  for (const Family& f : kFamilies) {
    if (f.name != name) continue;
    Circuit circuit;
    circuit.add_qreg("q", num_qubits);
    f.build(circuit, num_qubits);
    return circuit;
  }
  std::string known;
  for (const Family& f : kFamilies) (known += known.empty() ? "" : ", ") += f.name;
  std::string message = "unknown family '";
  message.append(name).append("': choose one of ").append(known);
  fail(ExitCode::kUsage, message);
}

}  // namespace tilewave::circuit
