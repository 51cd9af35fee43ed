#include "oracle/naive_simulator.h"

#include <bit>
#include <cmath>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"

namespace tilewave::oracle {
namespace {

constexpr std::size_t kMaxSteps = 1 << 20;  // of one history between two measurements

using circuit::Circuit;
using circuit::Op;
using circuit::OpKind;

bool controls_hold(std::span<const circuit::Qubit> controls, std::uint64_t values,
                   std::uint64_t index) {
  for (std::size_t k = 0; k < controls.size(); ++k) {
    if (((index >> controls[k]) & 1) != ((values >> k) & 1)) return false;
  }
  return true;
}

bool condition_holds(const circuit::Condition& c, std::uint64_t clbits) {
  if (!c.expr.empty()) return circuit::evaluate(c.expr, {&clbits, 1}) != 0;
  for (std::uint32_t k = 0; k < c.size; ++k) {
    const std::uint64_t word = k / 64 < c.value.size() ? c.value[k / 64] : 0;
    if (((clbits >> (c.first + k)) & 1) != ((word >> (k % 64)) & 1)) return false;
  }
  return true;
}

// Keeps the amplitudes in which `qubit` is `value`, normalised; returns their probability.
double project(State& state, circuit::Qubit qubit, std::uint64_t value) {
  double probability = 0;
  for (std::uint64_t i = 0; i < state.size(); ++i) {
    if (((i >> qubit) & 1) == value) {
      probability += std::norm(state[i]);
    } else {
      state[i] = 0;
    }
  }
  const double scale = probability > 0 ? 1 / std::sqrt(probability) : 0;
  for (cplx& a : state) a *= scale;
  return probability;
}

void flip(State& state, circuit::Qubit qubit) {
  for (std::uint64_t i = 0; i < state.size(); ++i) {
    if (((i >> qubit) & 1) == 0) std::swap(state[i], state[i | (std::uint64_t{1} << qubit)]);
  }
}

void check_size(const Circuit& circuit) {
  if (circuit.num_qubits() > 24 || circuit.num_clbits() > 64) {
    throw Error(ExitCode::kUsage, "the naive simulator takes 24 qubits and 64 classical bits");
  }
}

}  // namespace

State zero_state(std::uint32_t num_qubits) {
  State state(std::size_t{1} << num_qubits);
  state[0] = 1;
  return state;
}

State random_state(std::uint32_t num_qubits, std::uint64_t seed) {
  State state(std::size_t{1} << num_qubits);
  double norm = 0;
  for (std::uint64_t i = 0; i < state.size(); ++i) {
    state[i] = {random_uniform(seed, 7, 2 * i) - 0.5, random_uniform(seed, 7, 2 * i + 1) - 0.5};
    norm += std::norm(state[i]);
  }
  for (cplx& a : state) a /= std::sqrt(norm);
  return state;
}

void apply(const Circuit& circuit, const Op& op, State& state) {
  const auto controls = circuit.controls(op), targets = circuit.targets(op);
  const std::vector<cplx> m = circuit.matrix(op);
  const std::size_t dim = std::size_t{1} << targets.size();
  const auto spread = [&](std::size_t row) {  // bit k of row to target k
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < targets.size(); ++k) {
      bits |= static_cast<std::uint64_t>((row >> k) & 1) << targets[k];
    }
    return bits;
  };
  const std::uint64_t all_targets = spread(dim - 1);
  State in(dim), out(dim);
  for (std::uint64_t base = 0; base < state.size(); ++base) {
    if ((base & all_targets) != 0) continue;
    if (!controls_hold(controls, op.control_values, base)) continue;
    for (std::size_t k = 0; k < dim; ++k) in[k] = state[base | spread(k)];
    for (std::size_t row = 0; row < dim; ++row) {
      out[row] = 0;
      for (std::size_t col = 0; col < dim; ++col) out[row] += m[row * dim + col] * in[col];
    }
    for (std::size_t k = 0; k < dim; ++k) state[base | spread(k)] = out[k];
  }
}

State simulate(const Circuit& circuit, State initial) {
  check_size(circuit);
  if (!circuit.is_unitary()) {
    throw Error(ExitCode::kInput, "simulate takes circuits of gates: use enumerate_branches");
  }
  State state = initial.empty() ? zero_state(circuit.num_qubits()) : std::move(initial);
  for (const Op& op : circuit.ops()) {
    if (op.kind != OpKind::kBarrier) apply(circuit, op, state);
  }
  return state;
}

namespace {

// A history under way: it goes on with operation `op`.
struct Waiting {
  Branch branch;
  std::size_t op = 0;
};

bool acts(const Circuit& circuit, const Op& op, std::uint64_t clbits) {
  return op.condition < 0 ||
         condition_holds(circuit.conditions()[static_cast<std::size_t>(op.condition)], clbits);
}

void assign(const circuit::Assignment& to, std::uint64_t& clbits) {
  const std::uint64_t mask = low_mask(static_cast<int>(to.size)) << to.first;
  const std::uint64_t value = circuit::evaluate(to.value, {&clbits, 1}) << to.first;
  clbits = (clbits & ~mask) | (value & mask);
}

}  // namespace

std::vector<Branch> enumerate_branches(const Circuit& circuit) {
  check_size(circuit);
  std::vector<Branch> done;
  std::vector<Waiting> waiting(1);
  waiting[0].branch.state = zero_state(circuit.num_qubits());
  while (!waiting.empty()) {
    Waiting now = std::move(waiting.back());
    waiting.pop_back();
    Branch& b = now.branch;
    bool split = false;
    for (std::size_t steps = 0; now.op < circuit.ops().size() && !split; ++steps) {
      if (steps > kMaxSteps) throw Error(ExitCode::kInput, "a loop does not end");
      const Op& op = circuit.ops()[now.op++];
      if (op.kind == OpKind::kBarrier || !acts(circuit, op, b.clbits)) continue;
      if (op.kind == OpKind::kRuntimeGate) {
        std::vector<double> angles;
        for (const auto& angle : circuit.angles(op)) {
          angles.push_back(std::bit_cast<double>(circuit::evaluate(angle, {&b.clbits, 1})));
        }
        Circuit one(circuit.num_qubits());
        circuit.append_with_angles(op, angles, one);
        apply(one, one.ops()[0], b.state);
      } else if (op.kind == OpKind::kAssign) {
        assign(circuit.assignment(op), b.clbits);
      } else if (op.kind == OpKind::kJump) {
        now.op = op.first_param;
      } else if (op.kind == OpKind::kGate || op.kind == OpKind::kMatrix) {
        apply(circuit, op, b.state);
      } else {
        split = true;
        const circuit::Qubit qubit = circuit.targets(op)[0];
        for (const std::uint64_t value : {0, 1}) {
          Waiting next = now;
          next.branch.probability *= project(next.branch.state, qubit, value);
          if (next.branch.probability <= 1e-14) continue;
          if (op.kind == OpKind::kMeasure) {
            next.branch.clbits &= ~(std::uint64_t{1} << op.clbit);
            next.branch.clbits |= value << op.clbit;
          } else if (value == 1) {
            flip(next.branch.state, qubit);
          }
          waiting.push_back(std::move(next));
        }
      }
    }
    if (!split) done.push_back(std::move(b));
  }
  return done;
}

std::map<std::uint64_t, double> distribution(const Circuit& circuit) {
  std::map<std::uint64_t, double> result;
  for (const Branch& b : enumerate_branches(circuit)) result[b.clbits] += b.probability;
  return result;
}

std::vector<double> probabilities(const State& state) {
  std::vector<double> p(static_cast<std::size_t>(std::countr_zero(state.size())));
  for (std::uint64_t i = 0; i < state.size(); ++i) {
    for (std::size_t q = 0; q < p.size(); ++q) {
      if ((i >> q) & 1) p[q] += std::norm(state[i]);
    }
  }
  return p;
}

double expectation(const State& state, const circuit::PauliTerm& term) {
  cplx sum = 0;
  for (std::uint64_t i = 0; i < state.size(); ++i) {
    // P|i> = i^{#Y} (-1)^{popcount(i & z)} |i ^ x>
    const double sign = std::popcount(i & term.z) % 2 ? -1 : 1;
    sum += std::conj(state[i ^ term.x]) * sign * state[i];
  }
  constexpr cplx kPowers[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  return (sum * kPowers[std::popcount(term.x & term.z) % 4]).real();
}

double max_difference(const State& a, const State& b) {
  if (a.size() != b.size()) return INFINITY;
  double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = std::max(difference, std::abs(a[i] - b[i]));
  return difference;
}

}  // namespace tilewave::oracle
