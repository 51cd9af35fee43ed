#include "tilewave/statevec/cpu/held_scales.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "oracle/random_circuit.h"
#include "tilewave/statevec/cpu/cpu_state.h"
#include "tilewave/statevec/cpu/tile_program.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::statevec::cpu {
namespace {

Plan plan_of(const circuit::Circuit& c) {
  PlanOptions options;
  options.precision = Precision::kSingle;
  options.cost = CpuState<float>(static_cast<int>(c.num_qubits()), 1).cost_model();
  return make_plan(c, options);
}

void add_random(circuit::Circuit& c, circuit::Qubit a, circuit::Qubit b, std::uint64_t number) {
  c.add_matrix({}, 0, std::array{a, b}, circuit::random_unitary(2, 31, number));
}

// The chain of matrices of a pass, where each leaves scales to the next one on each bit, multiplied
// as the kernels do; without scales the same.
TEST(HeldScales, a_matrix_leaves_the_scales_of_bits_whose_next_step_is_a_matrix) {
  circuit::Circuit c(8);
  std::uint64_t number = 0;
  for (int layer = 0; layer < 6; ++layer) {
    for (circuit::Qubit q = 0; q < 4; ++q)
      add_random(c, q,
                 static_cast<circuit::Qubit>(4 + (q + static_cast<circuit::Qubit>(layer)) % 4),
                 number++);
    if (layer == 3) c.add_gate(circuit::GateId::kCcx, {0, 4, 5});  // which takes no scale
  }
  const Plan plan = plan_of(c);
  ASSERT_EQ(plan.passes.size(), 1u);
  const Pass& pass = plan.passes[0];
  const auto outline = make_outline(plan, pass, 2);
  HeldScales held(plan, pass, outline);
  std::array<double, 64> scale;
  scale.fill(1);
  int left = 0, taken = 0, flips = 0;
  for (const OutlinePhase& phase : outline) {
    for (const OutlineStep& step : phase.steps) {
      ASSERT_TRUE(step.action);
      const Action& a = *step.action;
      if (a.kind == ActionKind::kFlip) {
        EXPECT_EQ(scale[a.targets[0]], 1);
        ++flips;
        continue;
      }
      ASSERT_EQ(a.num_targets, 2);
      const PairFactors* plain = held.factors_of(a);
      if (!plain) {
        const std::vector<cplx> m = held.take_matrix(a);
        for (int e = 0; e < 16; ++e) {
          const double s = (e & 1 ? scale[a.targets[0]] : 1) * (e & 2 ? scale[a.targets[1]] : 1);
          EXPECT_LT(std::abs(m[e] - plan.matrices[a.first + e] * s), 1e-14);
        }
        for (int b = 0; b < 2; ++b) taken += std::exchange(scale[a.targets[b]], 1) != 1;
        continue;
      }
      const PairFactors f = held.take_factors(a);
      for (int b = 0; b < 2; ++b) {
        double& s = scale[a.targets[f.exchanged ? 1 - b : b]];
        taken += s != 1;
        const int j = 1 << b;
        const cplx whole = plain->weight[j] * s;  // what amplitude j is to be multiplied by at last
        s = f.weight[j].real() == 1 ? whole.real() : 1;
        left += s != 1;
        EXPECT_LT(std::abs(f.weight[j] * s - whole), 1e-12 * std::abs(whole));
        EXPECT_LT(std::abs(std::log2(std::abs(s))), 6.001);
      }
    }
  }
  EXPECT_EQ(flips, 1);
  EXPECT_GT(left, 8);
  EXPECT_EQ(taken, left) << "with scales left the state is another one";
  for (const double s : scale) EXPECT_EQ(s, 1);
}

// Matrices whose scales, left again and again, would leave the range of floats.
TEST(HeldScales, scales_are_limited_for_one_bit_and_together) {
  constexpr std::uint8_t kQubits = 14;
  // R(0,1) R(2,3) after R(1,3) with cosine 2^-2 after R(2,3) with cosine 2^-2
  std::vector<cplx> m = {0.96, -0.28, 0, 0, 0.28, 0.96, 0, 0, 0, 0, 0.8, -0.6, 0, 0, 0.6, 0.8};
  const double small = 0x1p-2, large = std::sqrt(1 - small * small);
  for (const int column : {1, 2}) {
    for (int k = 0; k < 4; ++k) {
      const cplx x = m[k * 4 + column], y = m[k * 4 + 3];
      m[k * 4 + column] = small * x + large * y;
      m[k * 4 + 3] = small * y - large * x;
    }
  }
  Plan plan;
  plan.num_qubits = kQubits;
  plan.precision = Precision::kSingle;
  plan.matrices = m;
  Pass pass;
  for (std::uint8_t p = 0; p < kQubits; ++p) pass.active.push_back(p);
  pass.dest = pass.active;
  for (int layer = 0; layer < 8; ++layer) {
    for (std::uint8_t q = 0; q < kQubits / 2; ++q) {
      Action a;
      a.kind = ActionKind::kMatrix;
      a.num_targets = 2;
      a.targets[0] = q;
      a.targets[1] = static_cast<std::uint8_t>(kQubits / 2 + (q + layer) % (kQubits / 2));
      pass.actions.push_back(a);
    }
  }
  const auto outline = make_outline(plan, pass, 6);
  HeldScales held(plan, pass, outline);
  std::array<double, 64> scale;
  scale.fill(1);
  double most = 0, most_together = 0;
  for (const OutlinePhase& phase : outline) {
    for (const OutlineStep& step : phase.steps) {
      const Action& a = *step.action;
      ASSERT_TRUE(held.factors_of(a));
      const cplx plain = held.factors_of(a)->weight[3];
      const PairFactors f = held.take_factors(a);
      double& s0 = scale[a.targets[f.exchanged]];
      double& s1 = scale[a.targets[!f.exchanged]];
      const cplx whole1 = held.factors_of(a)->weight[1] * s0,
                 whole2 = held.factors_of(a)->weight[2] * s1, whole3 = plain * s0 * s1;
      s0 = (whole1 / f.weight[1]).real();
      s1 = (whole2 / f.weight[2]).real();
      EXPECT_LT(std::abs(f.weight[3] * s0 * s1 - whole3), 1e-12 * std::abs(whole3));
      double together = 0;
      for (const double s : scale) {
        most = std::max(most, std::abs(std::log2(std::abs(s))));
        together += std::abs(std::log2(std::abs(s)));
      }
      most_together = std::max(most_together, together);
    }
  }
  EXPECT_LT(most, 6.001);
  EXPECT_GT(most, 4);
  EXPECT_LT(most_together, 40.001);
  EXPECT_GT(most_together, 30);
  for (const double s : scale) EXPECT_NEAR(s, 1, 1e-12);
}

}  // namespace
}  // namespace tilewave::statevec::cpu
