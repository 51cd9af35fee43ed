#include "differential/known_circuit.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "oracle/random_circuit.h"
#include "tilewave/base/bits.h"
#include "tilewave/circuit/gate_table.h"

namespace tilewave::differential {

using circuit::GateId;
using circuit::Qubit;

namespace {

double any_angle(Random& random) {
  std::uniform_real_distribution<double> uniform(-3.2, 3.2);
  switch (random() % 4) {
    case 0:
      return std::numbers::pi / 4 * static_cast<double>(random() % 8);
    case 1:
      return std::pow(10, -static_cast<double>(random() % 18));
    default:
      return uniform(random);
  }
}

}  // namespace

KnownCircuit::KnownCircuit(int num_qubits, Random& random)
    : circuit_(static_cast<std::uint32_t>(num_qubits)) {
  std::vector<int> order(static_cast<std::size_t>(num_qubits));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  // few groups or all of the register; passes of nothing but moves need all of it
  has_chain_ = random() % 3 == 0;
  const std::size_t used =
      has_chain_ || random() % 2 ? order.size() : 2 + random() % (order.size() - 1);
  for (std::size_t k = 0; k < used;) {
    const std::size_t size = std::min<std::size_t>(1 + random() % 6, used - k);
    Group group;
    group.qubits.assign(order.begin() + static_cast<std::ptrdiff_t>(k),
                        order.begin() + static_cast<std::ptrdiff_t>(k + size));
    group.state.assign(bit(static_cast<int>(size)), cplx{});
    group.state[0] = 1;
    groups_.push_back(std::move(group));
    k += size;
  }
  for (std::uint64_t k = 1 + random() % (random() % 3 ? 30 : 120); k > 0; --k)
    add_gate_of(groups_[random() % groups_.size()], random);
  for (Group& group : groups_) {
    for (std::size_t k = 0; k < group.qubits.size() && has_chain_; ++k) {
      const Qubit here[] = {static_cast<Qubit>(k)};
      const Qubit there[] = {static_cast<Qubit>(group.qubits[k])};
      add_gate_of(group, GateId::kRy, here, there, 0.2 + static_cast<double>(random() % 10) / 8);
    }
  }
  const bool has_others = has_chain_ ? random() % 3 == 0 : random() % 3 != 0;
  for (std::uint64_t k = has_others ? random() % 40 : 0; k > 0; --k) add_global(random);
  if (has_chain_) add_chain(random);
}

// Passes of nothing but CX: what moves rows of amplitudes.
void KnownCircuit::add_chain(Random& random) {
  const int n = num_qubits();
  const int step = random() % 3 ? 1 : 1 + static_cast<int>(random() % 3);
  for (std::uint64_t k = 1 + random() % 2; k > 0; --k) {
    // without the lowest qubits, as a rule: these are inside rows
    for (int q = random() % 4 ? 5 : 0; q + step < n; ++q) {
      if (random() % 8) add_global({GateId::kCx, q, q + step, 0});
    }
  }
}

void KnownCircuit::add_gate_of(Group& group, GateId gate, std::span<const Qubit> small,
                               std::span<const Qubit> large, double angle) {
  circuit::Circuit one(static_cast<std::uint32_t>(group.qubits.size()));
  one.add_gate(gate, small, std::span(&angle, 1));
  circuit_.add_gate(gate, large, std::span(&angle, 1));
  statevec::testing::apply_circuit(group.state, one);
}

void KnownCircuit::add_gate_of(Group& group, Random& random) {
  const auto size = static_cast<int>(group.qubits.size());
  std::vector<Qubit> small(group.qubits.size());
  std::iota(small.begin(), small.end(), 0u);
  std::shuffle(small.begin(), small.end(), random);
  std::vector<Qubit> large;
  for (const Qubit q : small) large.push_back(static_cast<Qubit>(group.qubits[q]));
  circuit::Circuit one(static_cast<std::uint32_t>(size));
  if (random() % 12 == 0) {
    const int targets =
        1 + static_cast<int>(random() % static_cast<std::uint64_t>(std::min(3, size)));
    const std::size_t controls = size > targets ? random() % 2 : 0;
    const std::vector<cplx> m = circuit::random_unitary(targets, random(), 1);
    const std::uint64_t values = random();
    const auto count = static_cast<std::size_t>(targets);
    one.add_matrix(std::span(small).first(controls), values,
                   std::span(small).subspan(controls, count), m);
    circuit_.add_matrix(std::span(large).first(controls), values,
                        std::span(large).subspan(controls, count), m);
  } else {
    const auto table = circuit::gate_table();
    const circuit::GateInfo* info = nullptr;
    int arity = 0;
    do {
      info = &table[random() % table.size()];
      arity = info->num_controls + info->num_targets;
    } while (arity > size);
    const auto count = static_cast<std::size_t>(arity);
    const std::size_t room = small.size() - count;
    const std::size_t extra = random() % 6 ? 0 : random() % (std::min<std::size_t>(room, 3) + 1);
    std::vector<double> params(static_cast<std::size_t>(info->num_params));
    for (double& p : params) p = any_angle(random);
    const std::uint64_t values = random();
    one.add_controlled_gate(info->id, std::span(small).first(extra), values,
                            std::span(small).subspan(extra, count), params);
    circuit_.add_controlled_gate(info->id, std::span(large).first(extra), values,
                                 std::span(large).subspan(extra, count), params);
  }
  statevec::testing::apply_circuit(group.state, one);
}

void KnownCircuit::add_global(Random& random) {
  const auto n = static_cast<std::uint64_t>(num_qubits());
  Global g;
  g.a = static_cast<int>(random() % n);
  g.b = static_cast<int>((static_cast<std::uint64_t>(g.a) + 1 + random() % (n - 1)) % n);
  static constexpr GateId kGates[] = {GateId::kX,  GateId::kX,  GateId::kSwap, GateId::kCp,
                                      GateId::kCx, GateId::kCx, GateId::kCx,   GateId::kCx};
  g.gate = kGates[random() % std::size(kGates)];
  if (g.gate == GateId::kCp) g.angle = random() % 2 ? std::numbers::pi : any_angle(random);
  add_global(g);
}

void KnownCircuit::add_global(const Global& g) {
  const auto a = static_cast<Qubit>(g.a), b = static_cast<Qubit>(g.b);
  if (g.gate == GateId::kX) {
    circuit_.add_gate(g.gate, {a});
  } else if (g.gate != GateId::kCp) {
    circuit_.add_gate(g.gate, {a, b});
  } else if (g.angle == std::numbers::pi) {
    circuit_.add_gate(GateId::kCz, {a, b});
  } else {
    circuit_.add_gate(g.gate, {a, b}, {g.angle});
  }
  globals_.push_back(g);
}

std::uint64_t KnownCircuit::bits_of(const Group& group, std::uint64_t x) const {
  std::uint64_t bits = 0;
  for (std::size_t k = 0; k < group.qubits.size(); ++k) bits |= (x >> group.qubits[k] & 1) << k;
  return bits;
}

std::uint64_t KnownCircuit::before_globals(std::uint64_t y, double* phase) const {
  for (auto g = globals_.rbegin(); g != globals_.rend(); ++g) {
    const std::uint64_t a = y >> g->a & 1, b = y >> g->b & 1;
    if (g->gate == GateId::kX) y ^= bit(g->a);
    if (g->gate == GateId::kSwap && a != b) y ^= bit(g->a) | bit(g->b);
    if (g->gate == GateId::kCx && a) y ^= bit(g->b);
    if (g->gate == GateId::kCp && a && b) *phase += g->angle;
  }
  return y;
}

cplx KnownCircuit::amplitude(std::uint64_t basis_state) const {
  double phase = 0;
  const std::uint64_t x = before_globals(basis_state, &phase);
  std::uint64_t used = 0;
  cplx product{std::cos(phase), std::sin(phase)};
  for (const Group& group : groups_) {
    product *= group.state[bits_of(group, x)];
    for (const int q : group.qubits) used |= bit(q);
  }
  return x & ~used ? cplx{} : product;
}

std::optional<double> KnownCircuit::expectation(const circuit::PauliTerm& string) const {
  std::uint64_t x = string.x, z = string.z;
  bool negative = false;
  for (auto g = globals_.rbegin(); g != globals_.rend(); ++g) {
    const auto of = [](std::uint64_t mask, int q) { return mask >> q & 1; };
    const int a = g->a, b = g->b;
    switch (g->gate) {
      case GateId::kX:
        negative ^= of(z, a);
        break;
      case GateId::kSwap:
        for (std::uint64_t* mask : {&x, &z}) {
          if (of(*mask, a) != of(*mask, b)) *mask ^= bit(a) | bit(b);
        }
        break;
      case GateId::kCx:
        negative ^= of(x, a) & of(z, b) & (of(x, b) ^ of(z, a) ^ 1);
        x ^= of(x, a) << b;
        z ^= of(z, b) << a;
        break;
      default:
        if (!(of(x, a) | of(x, b))) break;
        if (g->angle != std::numbers::pi) return std::nullopt;
        negative ^= of(x, a) & of(x, b) & (of(z, a) ^ of(z, b));
        z ^= of(x, b) << a | of(x, a) << b;
    }
  }
  double product = negative ? -1 : 1;
  std::uint64_t used = 0;
  for (const Group& group : groups_) {
    const std::uint64_t gx = bits_of(group, x), gz = bits_of(group, z);
    cplx sum = 0;
    for (std::uint64_t k = 0; k < group.state.size(); ++k) {
      const double sign = std::popcount(k & gz) % 2 ? -1 : 1;
      sum += std::conj(group.state[k ^ gx]) * group.state[k] * sign;
    }
    static constexpr cplx kPowers[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    product *= (sum * kPowers[std::popcount(gx & gz) % 4]).real();
    for (const int q : group.qubits) used |= bit(q);
  }
  return x & ~used ? 0 : product;
}

std::vector<double> KnownCircuit::joint(std::span<const Qubit> qubits) const {
  const std::size_t size = std::size_t{1} << qubits.size();
  std::vector<double> p(size);
  for (std::size_t s = 0; s < size; ++s) {
    std::uint64_t mask = 0;
    for (std::size_t j = 0; j < qubits.size(); ++j) mask |= (s >> j & 1) << qubits[j];
    p[s] = *expectation({1, 0, mask});
  }
  for (std::size_t b = 1; b < size; b *= 2) {  // parities to probabilities
    for (std::size_t k = 0; k < size; ++k) {
      if (k & b) continue;
      const double even = p[k], odd = p[k | b];
      p[k] = (even + odd) / 2;
      p[k | b] = (even - odd) / 2;
    }
  }
  return p;
}

std::vector<double> KnownCircuit::marginals() const {
  std::vector<double> all;
  for (int q = 0; q < num_qubits(); ++q) {
    const Qubit one[] = {static_cast<Qubit>(q)};
    all.push_back(joint(one)[1]);
  }
  return all;
}

std::uint64_t KnownCircuit::draw(Random& random) const {
  std::uniform_real_distribution<double> uniform;
  std::uint64_t y = 0;
  for (const Group& group : groups_) {
    double left = uniform(random);
    std::size_t k = 0;
    while (k + 1 < group.state.size() && (left -= std::norm(group.state[k])) >= 0) ++k;
    for (std::size_t j = 0; j < group.qubits.size(); ++j) y |= (k >> j & 1) << group.qubits[j];
  }
  for (const Global& g : globals_) {
    const std::uint64_t a = y >> g.a & 1, b = y >> g.b & 1;
    if (g.gate == GateId::kX) y ^= bit(g.a);
    if (g.gate == GateId::kSwap && a != b) y ^= bit(g.a) | bit(g.b);
    if (g.gate == GateId::kCx && a) y ^= bit(g.b);
  }
  return y;
}

}  // namespace tilewave::differential
