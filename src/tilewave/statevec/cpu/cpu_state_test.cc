#include "tilewave/statevec/cpu/cpu_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "oracle/random_circuit.h"
#include "tilewave/base/seeds_test.h"
#include "tilewave/statevec/cpu/pass_costs.h"
#include "tilewave/statevec/cpu/pass_runner.h"
#include "tilewave/statevec/cpu/row_moves.h"
#include "tilewave/statevec/plan/pair_factors.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::statevec {
namespace {

using testing::Amplitudes;

class CpuState : public ::testing::TestWithParam<Precision> {
 protected:
  double tolerance() const { return GetParam() == Precision::kDouble ? 1e-11 : 2e-4; }

  // Runs a circuit on a random state, with one thread or two.
  void expect_state_of(const circuit::Circuit& c, std::mt19937_64& random) const {
    const int n = static_cast<int>(c.num_qubits());
    auto state = make_cpu_state(n, GetParam(), 1 + static_cast<int>(random() % 2));
    Amplitudes expected = testing::random_state(n, random);
    state->set_amplitudes(expected);
    state->apply(c, c.ops());
    testing::apply_circuit(expected, c);
    ASSERT_LT(testing::max_difference(testing::read_all(*state), expected), tolerance())
        << "n = " << n;
  }
};

TEST_P(CpuState, random_circuits_give_the_state_of_their_gates) {
  for_each_seed(120, [&](std::uint64_t, std::mt19937_64& random) {
    const int n = 1 + static_cast<int>(random() % 17);
    const circuit::Circuit c =
        testing::random_circuit(n, 1 + static_cast<int>(random() % 50), random);
    auto state = make_cpu_state(n, GetParam(), 1 + static_cast<int>(random() % 3));
    Amplitudes expected(state->num_amplitudes());
    expected[0] = 1;
    // |0...0> over memory that held something else: what is known to be zero is never read
    state->set_amplitudes(testing::random_state(n, random));
    state->set_zero_state();
    if (random() % 2) {
      expected = testing::random_state(n, random);
      state->set_amplitudes(expected);
    }
    // in two parts, so that the second starts from the layout the first left
    const std::size_t cut = random() % (c.ops().size() + 1);
    state->apply(c, c.ops().first(cut));
    if (random() % 3 == 0) state->restore_layout();
    state->apply(c, c.ops().subspan(cut));
    testing::apply_circuit(expected, c);
    double size = 0;
    for (const cplx& z : expected) size = std::max(size, std::abs(z));
    ASSERT_LT(testing::max_difference(testing::read_all(*state), expected),
              tolerance() * std::max(1.0, size))
        << "n = " << n;
    state->restore_layout();
    ASSERT_TRUE(state->layout().is_identity(n));
    ASSERT_LT(testing::max_difference(testing::read_all(*state), expected),
              tolerance() * std::max(1.0, size))
        << "n = " << n;
    const runtime::HostBuffer memory = state->take_amplitudes();
    Amplitudes taken(expected.size());
    for (std::size_t x = 0; x < taken.size(); ++x) {
      taken[x] = GetParam() == Precision::kDouble ? memory.as<cplx>()[x]
                                                  : cplx(memory.as<std::complex<float>>()[x]);
    }
    ASSERT_LT(testing::max_difference(taken, expected), tolerance() * std::max(1.0, size))
        << "n = " << n;
  });
}

// Matrices on pairs, most of them behind others and so applied by their factors, on every kind of
// place and under flips and exchanges that are absorbed; between them others, some of which take the
// scales that factors leave.
TEST_P(CpuState, matrices_on_pairs) {
  using circuit::GateId;
  for_each_seed(60, [&](std::uint64_t seed, std::mt19937_64& random) {
    const auto n = static_cast<circuit::Qubit>(seed % 4 ? 6 + random() % 6 : 15 + random() % 2);
    circuit::Circuit c(n);
    for (std::uint64_t k = 0; k < 3 * n; ++k) {
      const auto a = static_cast<circuit::Qubit>(random() % n),
                 b = static_cast<circuit::Qubit>((a + 1 + random() % (n - 1)) % n);
      auto other = static_cast<circuit::Qubit>(random() % n);
      while (other == a || other == b) other = static_cast<circuit::Qubit>((other + 1) % n);
      switch (random() % 20) {
        case 0:
          c.add_gate(GateId::kX, {a});
          break;
        case 1:
          c.add_gate(GateId::kSwap, {a, b});
          break;
        case 2:
          c.add_gate(GateId::kT, {a});
          c.add_gate(GateId::kCx, {a, b});
          break;
        case 3:  // a block of gates
          for (int l = 0; l < 3; ++l) {
            c.add_gate(GateId::kU3, {a}, {1.0 + 0.1 * l, 0.3, 2.0});
            c.add_gate(GateId::kU3, {b}, {2.0 + 0.3 * l, 1.3, 0.2});
            c.add_gate(GateId::kCx, {a, b});
          }
          break;
        case 4:
          c.add_matrix(std::array{a}, random() % 2, std::array{b},
                       circuit::random_unitary(1, seed, k));
          break;
        case 5:
          c.add_matrix(std::array{other}, random() % 2, std::array{a, b},
                       circuit::random_unitary(2, seed, k));
          break;
        case 6:
          c.add_matrix({}, 0, std::array{a, other, b}, circuit::random_unitary(3, seed, k));
          break;
        case 7:  // not unitary
          c.add_matrix({}, 0, std::array{a}, {1, 0.25, cplx(0, 0.5), 0.75});
          break;
        case 8:
          c.add_gate(GateId::kCcx, {a, b, other});
          break;
        default:
          c.add_matrix({}, 0, std::array{a, b}, circuit::random_unitary(2, seed, k));
      }
    }
    expect_state_of(c, random);
  });
}

// Lifts and factors of matrices leave what they multiply to the end of their pass: together they stay
// in the range of the numbers. Here 2^88 by lifts and 2^63 by seven matrices whose first entry is 2^-9,
// more than a float has room for.
TEST_P(CpuState, growth_of_lifts_and_factors_together) {
  using circuit::GateId;
  constexpr circuit::Qubit kQubits = 15;
  std::mt19937_64 random(3);
  circuit::Circuit c(kQubits);
  // R(0,1) with cosine 2^-9, R(2,3), then from the right R(1,3) and R(2,3)
  const double c0 = 0x1p-9, s0 = std::sqrt(1 - c0 * c0);
  std::vector<cplx> m = {c0, -s0, 0, 0, s0, c0, 0, 0, 0, 0, 0.8, -0.6, 0, 0, 0.6, 0.8};
  for (const int column : {1, 2}) {
    for (int k = 0; k < 4; ++k) {
      const cplx x = m[k * 4 + column], y = m[k * 4 + 3];
      m[k * 4 + column] = 0.96 * x + 0.28 * y;
      m[k * 4 + 3] = 0.96 * y - 0.28 * x;
    }
  }
  const auto factors = factor_pair(std::span<const cplx, 16>(m));
  ASSERT_TRUE(factors);
  ASSERT_NEAR(factors->scale, 0x1p-9, 1e-12);
  for (circuit::Qubit q = 0; q < 7; ++q)
    c.add_matrix({}, 0, std::array{q, static_cast<circuit::Qubit>(q + 7)}, m);
  for (circuit::Qubit q = 0; q < kQubits; q += 3)  // which ends the blocks of the pairs
    c.add_gate(GateId::kCcz,
               {q, static_cast<circuit::Qubit>(q + 1), static_cast<circuit::Qubit>(q + 2)});
  for (int layer = 0; layer < 13; ++layer) {
    for (circuit::Qubit q = 0; q < kQubits; ++q) {
      c.add_gate(GateId::kRx, {q}, {1.5 + 0.001 * layer + 0.003 * q});
      c.add_gate(GateId::kRz, {q}, {0.3 + 0.01 * q});
    }
    for (circuit::Qubit q = 0; q + 1 < kQubits; ++q)
      c.add_gate(GateId::kCz, {q, static_cast<circuit::Qubit>(q + 1)});
  }
  expect_state_of(c, random);
}

// Controlled X at the ends of passes are part of their movement; runs of cx on one target become a
// phase block. States of several tiles, so that controls lie outside them too.
TEST_P(CpuState, flips_between_few_other_gates_move_amplitudes) {
  using circuit::GateId;
  static constexpr GateId kGates[] = {GateId::kCx, GateId::kCx,   GateId::kCx, GateId::kCx,
                                      GateId::kX,  GateId::kSwap, GateId::kH,  GateId::kT};
  for_each_seed(24, [&](std::uint64_t seed, std::mt19937_64& random) {
    circuit::RandomCircuitOptions options;
    options.num_qubits = 15 + static_cast<std::uint32_t>(seed % 4);
    options.num_ops = 20 + static_cast<std::uint32_t>(random() % 60);
    options.seed = seed;
    options.extra_controls = seed % 2;
    options.matrices = false;
    options.gates = kGates;
    circuit::Circuit c = circuit::make_random_circuit(options);
    const circuit::Qubit target = static_cast<circuit::Qubit>(random() % options.num_qubits);
    for (circuit::Qubit q = 0; q < options.num_qubits; ++q) {
      if (q != target && random() % 2) c.add_gate(GateId::kCx, {q, target});
    }
    expect_state_of(c, random);
  });
}

// A few flips and rotations on states of one tile or a few: controlled X that is done while a tile
// is loaded, with its target inside a row and its control outside (so that rows start at different
// places), outside the tile or the other way around, before lifts inside rows.
TEST_P(CpuState, rows_that_start_at_their_own_places_while_a_tile_is_loaded) {
  using circuit::GateId;
  for_each_seed(600, [&](std::uint64_t seed, std::mt19937_64& random) {
    const std::uint64_t n = seed % 20 ? 7 + random() % 4 : 15 + random() % 2;
    circuit::Circuit c(static_cast<std::uint32_t>(n));
    const auto any = [&](std::uint64_t first, std::uint64_t last) {
      return static_cast<circuit::Qubit>(first + random() % (last - first));
    };
    const auto turn = [&] { c.add_gate(GateId::kRy, {any(0, 6)}, {0.1 + 0.01 * any(0, 100)}); };
    const auto flip = [&] {
      const bool target_is_low = random() % 4 != 0;
      const circuit::Qubit low = any(0, 6), high = any(6, n);
      target_is_low ? c.add_gate(GateId::kCx, {high, low}) : c.add_gate(GateId::kCx, {low, high});
    };
    if (random() % 2) turn();
    for (std::uint64_t k = 1 + random() % 4; k > 0; --k) flip();
    for (std::uint64_t k = 1 + random() % 4; k > 0; --k) turn();
    if (random() % 2) flip();
    expect_state_of(c, random);
  });
}

// Layers of like lifts between chains of phases: weighted rows (low_weights.h), with
// terms on bits outside tiles.
TEST_P(CpuState, evolution_of_a_chain_gives_the_state_of_its_gates) {
  using circuit::GateId;
  for_each_seed(24, 900, [&](std::uint64_t seed, std::mt19937_64& random) {
    const auto n = static_cast<std::uint32_t>(7 + random() % 11);
    const auto angle = [&] { return 0.001 * static_cast<double>(random() % 6000) - 3; };
    const double along = angle(), around = angle();
    const GateId across = random() % 2 ? GateId::kRx : GateId::kRy;
    circuit::Circuit c(n);
    for (int step = 0; step < 9; ++step) {
      const bool same = seed % 3 != 0, late = step > 5;
      for (std::uint32_t q = 0; q + 1 < n; ++q)
        c.add_gate(GateId::kRzz, {q, q + 1}, {same ? along : angle()});
      if (random() % 6 == 0) c.add_gate(GateId::kCx, {0, n - 1});
      if (random() % 4 == 0) c.add_gate(GateId::kCcz, {0, 2, n - 1});
      for (std::uint32_t q = 0; q < n; ++q) {
        if (!late || random() % 3) c.add_gate(across, {q}, {same ? around : angle()});
      }
    }
    expect_state_of(c, random);
  });
}

// Passes of such flips alone move rows in the state's own memory.
TEST_P(CpuState, flips_of_high_bits_move_rows) {
  using circuit::GateId;
  for_each_seed(24, 500, [&](std::uint64_t seed, std::mt19937_64& random) {
    const int n = 12 + static_cast<int>(random() % 7);
    circuit::Circuit c(static_cast<std::uint32_t>(n));
    const auto high = [&] { return static_cast<circuit::Qubit>(5 + random() % (n - 5)); };
    for (int k = 0; k < 20; ++k) {
      const circuit::Qubit a = high(), b = high();
      if (random() % 6 == 0) c.add_gate(GateId::kX, {a});
      if (a == b) continue;
      random() % 5 ? c.add_gate(GateId::kCx, {a, b}) : c.add_gate(GateId::kSwap, {a, b});
    }
    if (seed % 3 == 0) c.add_gate(GateId::kSx, {0});  // a global phase and another pass
    expect_state_of(c, random);
  });
}

// More positions than a tile has.
TEST_P(CpuState, wide_passes_move_rows) {
  using circuit::GateId;
  std::size_t num_wide = 0;
  for_each_seed(24, 900, [&](std::uint64_t seed, std::mt19937_64& random) {
    const int n = 15 + static_cast<int>(random() % 4);
    circuit::Circuit c(static_cast<std::uint32_t>(n));
    const auto flip = [&](int a, int b) {
      c.add_gate(GateId::kCx, {static_cast<circuit::Qubit>(a), static_cast<circuit::Qubit>(b)});
    };
    const bool starts = seed % 3 == 0;  // with the flips
    if (!starts) c.add_gate(GateId::kH, {0}), c.add_gate(GateId::kT, {0});
    for (int q = starts ? n - 10 : 0; q + 1 < n; ++q) flip(q, q + 1);
    for (std::uint64_t k = random() % 8; k > 0; --k) {
      const int a = n - 10 + static_cast<int>(random() % 10),
                b = n - 10 + static_cast<int>(random() % 10);
      if (a != b) flip(a, b);
    }
    if (starts) c.add_gate(GateId::kSx, {0});
    auto state = make_cpu_state(n, GetParam(), 1 + static_cast<int>(random() % 3));
    PlanOptions options;
    options.precision = GetParam();
    options.cost = state->cost_model();
    options.cost.tile_qubits = 9;
    options.cost.small_tile_qubits = 7;
    options.cost.move_positions = cpu::most_move_positions(n, GetParam() == Precision::kDouble);
    options.cost.price = cpu::pass_seconds;
    options.cost.block_bits = cpu::block_row_bits(GetParam() == Precision::kDouble);
    const Plan plan = make_plan(c, options);
    for (const Pass& pass : plan.passes) num_wide += pass.active.size() > 9;
    Amplitudes expected = testing::random_state(n, random);
    state->set_amplitudes(expected);
    state->run(plan, {});
    testing::apply_circuit(expected, c);
    ASSERT_LT(testing::max_difference(testing::read_all(*state), expected), tolerance())
        << explain(plan);
  });
  EXPECT_GT(num_wide, 12u);
}

// One gate on a qubit, then phases that tie it to others, qubit after qubit: sweeps over several
// such layers, and links inside rows. States of several tiles and of less than one.
TEST_P(CpuState, layers_of_single_lifts_agree_with_their_gates) {
  using circuit::GateId;
  for_each_seed(60, 7000, [&](std::uint64_t seed, std::mt19937_64& random) {
    const int n = 7 + static_cast<int>(random() % 11);
    const auto angle = [&] { return 0.001 * static_cast<double>(random() % 6283); };
    std::vector<circuit::Qubit> order(n);
    for (int q = 0; q < n; ++q) order[q] = static_cast<circuit::Qubit>(q);
    if (seed % 3) std::shuffle(order.begin(), order.end(), random);
    circuit::Circuit c(static_cast<std::uint32_t>(n));
    const std::uint64_t ties = 1 + random() % 10, others = seed % 2 ? 4 : 0;
    for (int round = 0; round < 2; ++round) {
      for (int k = n - 1; k >= 0; --k) {
        const circuit::Qubit q = order[k];
        switch (random() % 4) {
          case 0:
            c.add_gate(GateId::kU3, {q}, {angle(), angle(), angle()});
            break;
          case 1:  // lifts by 1 and by -1
            c.add_gate(GateId::kRy, {q}, {(random() % 2 ? 0.5 : -0.5) * std::numbers::pi});
            break;
          default:
            c.add_gate(GateId::kH, {q});
        }
        for (int j = 0; j < n; ++j) {
          const circuit::Qubit r = order[j];
          if (r == q || random() % 10 >= ties) continue;
          const std::uint64_t kind = random() % 100;
          if (kind < others) {
            c.add_gate(GateId::kCx, {q, r});
          } else if (kind < 2 * others && order[0] != q && order[0] != r) {
            c.add_gate(GateId::kCcz, {q, r, order[0]});
          } else {
            c.add_gate(GateId::kCp, {q, r}, {angle()});
          }
        }
      }
    }
    expect_state_of(c, random);
  });
}

// One rotation on many qubits, then phases: lifts by one t are taken in pairs. Of equal phases
// factors of rows are few and made once each.
TEST_P(CpuState, layers_of_equal_lifts_agree_with_their_gates) {
  using circuit::GateId;
  for_each_seed(30, 9000, [&](std::uint64_t seed, std::mt19937_64& random) {
    const int n = 6 + static_cast<int>(random() % 12);
    const auto angle = [&] { return 0.001 * static_cast<double>(random() % 6283) - 3.1; };
    circuit::Circuit c(static_cast<std::uint32_t>(n));
    for (int layer = 0; layer < 6; ++layer) {
      const double theta = angle(), phi = angle();
      const std::uint64_t some = random() % 3 ? ~std::uint64_t{0} : random();
      for (int k = 0; k < n; ++k) {
        const auto q = static_cast<circuit::Qubit>(k);
        if (some >> k & 1) c.add_gate(layer % 2 ? GateId::kRx : GateId::kRy, {q}, {theta});
      }
      for (int k = 0; k + 1 < n; ++k) {
        const auto q = static_cast<circuit::Qubit>(k);
        if (random() % 3) c.add_gate(GateId::kRzz, {q, q + 1}, {seed % 2 ? phi : angle()});
      }
    }
    expect_state_of(c, random);
  });
}

INSTANTIATE_TEST_SUITE_P(Precisions, CpuState,
                         ::testing::Values(Precision::kDouble, Precision::kSingle));

}  // namespace
}  // namespace tilewave::statevec
