// For tests only: a circuit gate by gate, and a plan action by action, in the plainest way, in
// double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/circuit/circuit.h"
#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec::testing {

using Amplitudes = std::vector<cplx>;

/// What a state of an engine holds.
inline Amplitudes read_all(State& state) {
  std::vector<std::uint64_t> indices(state.num_amplitudes());
  for (std::uint64_t x = 0; x < indices.size(); ++x) indices[x] = x;
  return state.amplitudes(indices);
}

inline void apply_dense(Amplitudes& a, const std::vector<int>& targets, std::uint64_t control_mask,
                        std::uint64_t control_value, const std::vector<cplx>& m) {
  const std::size_t dim = std::size_t{1} << targets.size();
  std::uint64_t all = 0;
  for (int t : targets) all |= bit(t);
  std::vector<std::uint64_t> offset(dim, 0);
  for (std::size_t k = 0; k < dim; ++k) {
    for (std::size_t j = 0; j < targets.size(); ++j) offset[k] |= (k >> j & 1) << targets[j];
  }
  // plain numbers: tests are compiled without inlining
  double* const amplitudes = reinterpret_cast<double*>(a.data());
  const double* const matrix = reinterpret_cast<const double*>(m.data());
  if (control_value & (~control_mask | all) || control_value >= a.size()) return;  // never hold
  // the bits that are neither targets nor controls count up
  const std::uint64_t room = (a.size() - 1) & ~(all | control_mask);
  const auto next = [&](std::uint64_t x) { return ((x | ~room) + 1) & room; };
  std::uint64_t x = 0;
  if (dim == 2) {
    const double *m0 = matrix, *m1 = m0 + 2, *m2 = m0 + 4, *m3 = m0 + 6;
    do {
      double *p = amplitudes + 2 * (x | control_value), *q = p + 2 * all;
      const double pr = p[0], pi = p[1], qr = q[0], qi = q[1];
      p[0] = m0[0] * pr - m0[1] * pi + m1[0] * qr - m1[1] * qi;
      p[1] = m0[0] * pi + m0[1] * pr + m1[0] * qi + m1[1] * qr;
      q[0] = m2[0] * pr - m2[1] * pi + m3[0] * qr - m3[1] * qi;
      q[1] = m2[0] * pi + m2[1] * pr + m3[0] * qi + m3[1] * qr;
    } while ((x = next(x)) != 0);
    return;
  }
  struct Entry {
    std::size_t column;
    double re, im;
  };
  std::vector<Entry> entries;  // row after row, those that are not 0
  std::vector<std::size_t> ends(dim);
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t k = 0; k < dim; ++k) {
      if (m[i * dim + k] != 0.0)
        entries.push_back({k, m[i * dim + k].real(), m[i * dim + k].imag()});
    }
    ends[i] = entries.size();
  }
  std::vector<double> in(2 * dim);
  do {
    double* const v = in.data();
    for (std::size_t k = 0; k < dim; ++k) {
      const double* from = amplitudes + 2 * (x | control_value | offset.data()[k]);
      v[2 * k] = from[0];
      v[2 * k + 1] = from[1];
    }
    const Entry* e = entries.data();
    for (std::size_t i = 0; i < dim; ++i) {
      double re = 0, im = 0;
      for (const Entry* end = entries.data() + ends.data()[i]; e != end; ++e) {
        re += e->re * v[2 * e->column] - e->im * v[2 * e->column + 1];
        im += e->re * v[2 * e->column + 1] + e->im * v[2 * e->column];
      }
      double* to = amplitudes + 2 * (x | control_value | offset.data()[i]);
      to[0] = re;
      to[1] = im;
    }
  } while ((x = next(x)) != 0);
}

inline void apply_op(Amplitudes& a, const circuit::Circuit& c, const circuit::Op& op) {
  if (op.kind != circuit::OpKind::kGate && op.kind != circuit::OpKind::kMatrix) return;
  std::uint64_t mask = 0, value = 0;
  const auto controls = c.controls(op);
  for (std::size_t k = 0; k < controls.size(); ++k) {
    mask |= bit(static_cast<int>(controls[k]));
    value |= (op.control_values >> k & 1) << controls[k];
  }
  std::vector<int> targets;
  for (circuit::Qubit q : c.targets(op)) targets.push_back(static_cast<int>(q));
  apply_dense(a, targets, mask, value, c.matrix(op));
}

inline void apply_circuit(Amplitudes& a, const circuit::Circuit& c) {
  for (const circuit::Op& op : c.ops()) apply_op(a, c, op);
}

inline cplx turn(std::uint64_t turns) {
  const double angle =
      static_cast<double>(static_cast<std::int64_t>(turns)) * 0x1p-63 * std::numbers::pi;
  return {std::cos(angle), std::sin(angle)};
}

/// Moves the bits of the physical index as an exchange says.
inline void run_exchange(Amplitudes& a, const Exchange& step) {
  for (std::uint64_t p = 0; p < a.size(); ++p) {
    if (p & step.known_zero_before) a[p] = 0;
  }
  Amplitudes moved(a.size());
  for (std::uint64_t p = 0; p < a.size(); ++p) {
    std::uint64_t q = p;
    for (const auto* list : {&step.relabels, &step.swaps}) {
      for (const auto& [x, y] : *list) {
        q = (q & ~(bit(x) | bit(y))) | (q >> x & 1) << y | (q >> y & 1) << x;
      }
    }
    moved[q ^ step.flips] = a[p];
  }
  for (std::uint64_t p = 0; p < a.size(); ++p) {
    if (p & step.known_zero_after) moved[p] = NAN;
  }
  a.swap(moved);
}

/// Runs a pass on physical amplitudes; memory that nobody may read is poisoned with NaN so that
/// reading it shows.
inline void run_pass(Amplitudes& a, const Plan& plan, const Pass& pass) {
  for (std::uint64_t p = 0; p < a.size(); ++p) {
    if (p & pass.known_zero_before) a[p] = 0;
  }
  for (const Action& x : pass.actions) {
    std::vector<int> targets;
    for (int k = 0; k < x.num_targets; ++k) targets.push_back(x.targets[k]);
    switch (x.kind) {
      case ActionKind::kLift: {
        const cplx pre = turn(x.pre_turns);
        apply_dense(a, targets, 0, 0, {1, -x.m[0] * pre, x.m[0], pre});
        break;
      }
      case ActionKind::kFlip:
        apply_dense(a, targets, x.control_mask, x.control_value, {0, 1, 1, 0});
        break;
      case ActionKind::kRotate:
        apply_dense(a, targets, x.control_mask, x.control_value, {x.m[0], x.m[1], x.m[2], x.m[3]});
        break;
      case ActionKind::kMatrix: {
        const auto* first = plan.matrices.data() + x.first;
        apply_dense(a, targets, x.control_mask, x.control_value,
                    {first, first + (std::size_t{1} << (2 * x.num_targets))});
        break;
      }
      case ActionKind::kPhase:
        for (std::uint64_t p = 0; p < a.size(); ++p) {
          std::uint64_t sum = 0;
          for (std::uint32_t k = x.first; k < x.first + x.count; ++k) {
            if ((p & plan.terms[k].mask) == plan.terms[k].mask) sum += plan.terms[k].turns;
          }
          a[p] *= turn(sum);
        }
        break;
    }
  }
  Amplitudes moved(a.size());
  std::uint64_t active = 0;
  for (int p : pass.active) active |= bit(p);
  for (std::uint64_t p = 0; p < a.size(); ++p) {
    std::uint64_t q = p & ~active;
    for (std::size_t k = 0; k < pass.active.size(); ++k)
      q |= (p >> pass.active[k] & 1) << pass.dest[k];
    moved[q ^ pass.store_flips] = a[p] * pass.scale;
  }
  for (std::uint64_t p = 0; p < a.size(); ++p) {
    if (p & pass.known_zero_after) moved[p] = NAN;
  }
  a.swap(moved);
}

/// Runs a plan on physical amplitudes.
inline void run_plan(Amplitudes& a, const Plan& plan) {
  auto step = plan.exchanges.begin();
  const auto run_exchanges = [&](std::size_t before_pass) {
    for (; step != plan.exchanges.end() && step->before_pass == before_pass; ++step)
      run_exchange(a, *step);
  };
  for (std::size_t p = 0; p < plan.passes.size(); ++p) {
    run_exchanges(p);
    run_pass(a, plan, plan.passes[p]);
  }
  run_exchanges(plan.passes.size());
  for (std::uint64_t p = 0; p < a.size(); ++p) {
    if (p & plan.known_zero_after) a[p] = 0;
  }
}

/// Physical amplitudes in the order of basis states.
inline Amplitudes in_order(const Amplitudes& physical, const Layout& layout, int num_qubits) {
  Amplitudes out(physical.size());
  for (std::uint64_t x = 0; x < out.size(); ++x) out[x] = physical[layout.physical(x, num_qubits)];
  return out;
}

inline double max_difference(const Amplitudes& a, const Amplitudes& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t k = 0; k < a.size() && k < b.size(); ++k) {
    const cplx d = a[k] - b[k];
    const double square = d.real() * d.real() + d.imag() * d.imag();
    if (!(square <= worst)) worst = square;
  }
  return std::sqrt(worst);
}

inline Amplitudes random_state(int num_qubits, std::mt19937_64& random) {
  // between -1 and 1
  const auto draw = [&] {
    return static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-63;
  };
  Amplitudes a(std::size_t{1} << num_qubits);
  double norm = 0;
  for (cplx& x : a) {
    x = {draw(), draw()};
    norm += std::norm(x);
  }
  for (cplx& x : a) x /= std::sqrt(norm);
  return a;
}

/// A circuit's plan, and how far the state that it gives is from the one of the gates one by one.
struct Planned {
  Plan plan;
  double difference = 0;
};

/// On a random state, or on |0...0> where the options say so; `look` sees the plan before it runs.
inline Planned run_planned(const circuit::Circuit& c, const PlanOptions& options,
                           std::mt19937_64& random, const std::function<void(const Plan&)>& look) {
  const int n = static_cast<int>(c.num_qubits());
  Amplitudes expected = random_state(n, random);
  if (options.from_zeros) {
    std::fill(expected.begin(), expected.end(), cplx{});
    expected[0] = 1;
  }
  Amplitudes physical(expected.size());
  for (std::uint64_t x = 0; x < expected.size(); ++x)
    physical[options.layout.physical(x, n)] = expected[x];
  if (options.from_zeros) {  // undefined where known to be zero
    for (std::uint64_t x = 1; x < physical.size(); ++x) physical[x] = NAN;
  }
  apply_circuit(expected, c);
  Planned out{make_plan(c, options)};
  const Plan& plan = out.plan;
  look(plan);
  run_plan(physical, plan);
  if (plan.passes.empty() && plan.exchanges.empty() && options.from_zeros) {
    for (std::uint64_t x = 1; x < physical.size(); ++x) physical[x] = 0;
  }
  out.difference = max_difference(in_order(physical, plan.layout_after, n), expected);
  return out;
}

/// Options of plans with small tiles, so that there are many passes, on 2^shard_bits ranks.
inline PlanOptions tile_options(int tile_qubits, int row_bits, int shard_bits = 0) {
  PlanOptions options;
  options.cost.tile_qubits = tile_qubits;
  options.cost.row_bits = row_bits;
  options.cost.shard_bits = shard_bits;
  return options;
}

/// The plan begins in any layout of n qubits.
inline void begin_anywhere(PlanOptions& options, int n, std::mt19937_64& random) {
  std::shuffle(options.layout.position.begin(), options.layout.position.begin() + n, random);
  options.layout.flips = random() & low_mask(n);
}

/// Adds gates drawn from a list, which may name one several times, on qubits drawn from all and with
/// angles of which some are equal.
inline void add_drawn_gates(circuit::Circuit& c, std::uint64_t num_gates,
                            std::span<const circuit::GateId> gates, std::mt19937_64& random) {
  std::vector<circuit::Qubit> order(c.num_qubits());
  std::iota(order.begin(), order.end(), 0);
  for (std::uint64_t k = 0; k < num_gates; ++k) {
    const circuit::GateInfo& gate = circuit::gate_info(gates[random() % gates.size()]);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<double> angles(static_cast<std::size_t>(gate.num_params));
    for (double& angle : angles) angle = 0.1 + 0.2 * static_cast<double>(random() % 9);
    c.add_gate(gate.id, std::span(order).first(gate.num_controls + gate.num_targets), angles);
  }
}

/// A circuit of `num_gates` gates drawn from the whole table, with further controls, user matrices
/// and swaps of basis.
inline circuit::Circuit random_circuit(int num_qubits, int num_gates, std::mt19937_64& random) {
  circuit::Circuit c(static_cast<std::uint32_t>(num_qubits));
  std::vector<circuit::Qubit> order(num_qubits);
  for (int q = 0; q < num_qubits; ++q) order[q] = static_cast<circuit::Qubit>(q);
  std::uniform_real_distribution<double> angle(-3.2, 3.2);
  const auto table = circuit::gate_table();
  for (int g = 0; g < num_gates;) {
    std::shuffle(order.begin(), order.end(), random);
    if (random() % 24 == 0) {  // a matrix that is not unitary but near one
      const int k = 1 + static_cast<int>(random() % std::min(3, num_qubits));
      std::vector<cplx> m(std::size_t{1} << (2 * k));
      for (cplx& x : m) x = 0.3 * cplx{angle(random), angle(random)} / static_cast<double>(1 << k);
      for (int i = 0; i < 1 << k; ++i) m[(i << k) + i] += 0.9;
      const int controls = static_cast<int>(random() % 2) * (num_qubits > k ? 1 : 0);
      c.add_matrix(std::span(order).first(controls), random(),
                   std::span(order).subspan(controls, k), m);
      ++g;
      continue;
    }
    const circuit::GateInfo& info = table[random() % table.size()];
    const int arity = info.num_controls + info.num_targets;
    if (arity > num_qubits) continue;
    const int room = num_qubits - arity;
    const int extra = random() % 6 == 0 ? static_cast<int>(random() % (std::min(room, 3) + 1)) : 0;
    std::vector<double> params(info.num_params);
    for (double& p : params) {
      p = random() % 3 == 0   ? std::numbers::pi / 2 * static_cast<double>(random() % 5)
          : random() % 6 == 0 ? std::pow(10, -static_cast<double>(random() % 18))
                              : angle(random);
    }
    c.add_controlled_gate(info.id, std::span(order).first(extra), random(),
                          std::span(order).subspan(extra, arity), params);
    ++g;
  }
  return c;
}

}  // namespace tilewave::statevec::testing
