// What is asked of a state on a CPU, against the amplitudes of gates one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "oracle/random_circuit.h"
#include "tilewave/base/seeds_test.h"
#include "tilewave/statevec/cpu/cpu_state.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::statevec {
namespace {

using testing::Amplitudes;

// The joint probabilities of `count` qubits are those of the amplitudes.
void expect_joint(State& state, const Amplitudes& a, std::size_t count, std::mt19937_64& random,
                  double tolerance) {
  std::vector<circuit::Qubit> some(state.num_qubits());
  std::iota(some.begin(), some.end(), 0);
  std::shuffle(some.begin(), some.end(), random);
  some.resize(count);
  const std::vector<double> joint = state.joint_probabilities(some);
  std::vector<double> expected(joint.size());
  for (std::uint64_t x = 0; x < a.size(); ++x) {
    std::size_t o = 0;
    for (std::size_t j = 0; j < some.size(); ++j) o |= (x >> some[j] & 1) << j;
    expected[o] += std::norm(a[x]);
  }
  for (std::size_t o = 0; o < joint.size(); ++o) EXPECT_NEAR(joint[o], expected[o], tolerance);
}

class CpuObservations : public ::testing::TestWithParam<Precision> {
 protected:
  double tolerance() const { return GetParam() == Precision::kDouble ? 1e-11 : 2e-4; }
};

TEST_P(CpuObservations, observations_agree_with_the_amplitudes) {
  using circuit::GateId;
  static constexpr GateId kGates[] = {GateId::kU3, GateId::kX, GateId::kCx, GateId::kCp};
  for_each_seed(40, 1000, [&](std::uint64_t, std::mt19937_64& random) {
    const int n = 1 + static_cast<int>(random() % 15);
    circuit::Circuit c(static_cast<std::uint32_t>(n));
    testing::add_drawn_gates(c, 40, std::span(kGates, n > 1 ? 4 : 2), random);
    auto state = make_cpu_state(n, GetParam(), 2);
    state->apply(c, c.ops());
    const Amplitudes a = testing::read_all(*state);
    const double tol = GetParam() == Precision::kDouble ? 1e-12 : 1e-5;
    double norm = 0;
    for (const cplx& z : a) norm += std::norm(z);
    EXPECT_NEAR(state->norm(), norm, tol);
    const auto marginals = state->marginals();
    for (int q = 0; q < n; ++q) {
      double one = 0;
      for (std::uint64_t x = 0; x < a.size(); ++x) one += x >> q & 1 ? std::norm(a[x]) : 0;
      EXPECT_NEAR(marginals[q], one, tol);
    }
    expect_joint(*state, a, 1 + random() % n, random, tol);
    circuit::PauliSum paulis;
    for (int k = 0; k < 20; ++k)
      paulis.push_back({1.0, random() & low_mask(n), random() & low_mask(n)});
    for (int k = 0; k < 10; ++k) paulis.push_back({1.0, paulis[0].x, random() & low_mask(n)});
    const auto values = state->expectations(paulis);
    for (std::size_t k = 0; k < paulis.size(); ++k) {
      cplx total = 0;
      for (std::uint64_t x = 0; x < a.size(); ++x) {  // Y = i X Z
        cplx z = a[x] * (std::popcount(x & paulis[k].z) & 1 ? -1.0 : 1.0);
        for (int y = 0; y < std::popcount(paulis[k].x & paulis[k].z); ++y) z *= cplx(0, 1);
        total += std::conj(a[x ^ paulis[k].x]) * z;
      }
      EXPECT_NEAR(values[k], total.real(), tol * 10);
    }
    // inverse of the running sum
    std::vector<double> u;
    for (int k = 0; k < 200; ++k) u.push_back(std::uniform_real_distribution<double>(0, 1)(random));
    std::sort(u.begin(), u.end());
    const auto drawn = state->sample_sorted(u);
    double running = 0;
    std::size_t s = 0;
    int off = 0;
    for (std::uint64_t x = 0; x < a.size(); ++x) {
      running += std::norm(a[x]);
      for (; s < u.size() && u[s] * norm < running; ++s) off += drawn[s] != x;
    }
    EXPECT_LE(off, GetParam() == Precision::kDouble ? 0 : 2);
    // collapse
    const int q = static_cast<int>(random() % n);
    const int outcome = marginals[q] > 0.5;
    const double p = outcome ? marginals[q] : norm - marginals[q];
    state->collapse(static_cast<circuit::Qubit>(q), outcome, 1 / std::sqrt(p));
    Amplitudes kept(a);
    for (std::uint64_t x = 0; x < a.size(); ++x) {
      kept[x] = static_cast<int>(x >> q & 1) == outcome ? a[x] / std::sqrt(p) : 0;
    }
    EXPECT_LT(testing::max_difference(testing::read_all(*state), kept), tol * 10);
    auto copy = state->clone();
    EXPECT_LT(testing::max_difference(testing::read_all(*copy), kept), tol * 10);
    copy->apply(c, c.ops());
    testing::apply_circuit(kept, c);
    EXPECT_LT(testing::max_difference(testing::read_all(*copy), kept), tolerance());
  });
}

// Projections one after another, as programs that measure make them, on states of which some
// positions are known to be zero: nothing is written out in between, and what stands in memory
// there is never looked at. An outcome that cannot be leaves no amplitude.
TEST_P(CpuObservations, random_projections_keep_what_is_known) {
  const double tol = GetParam() == Precision::kDouble ? 1e-12 : 2e-5;
  for_each_seed(80, [&](std::uint64_t, std::mt19937_64& random) {
    const int n = 1 + static_cast<int>(random() % 16);
    const auto draw = [&] { return static_cast<circuit::Qubit>(random() % n); };
    auto state = make_cpu_state(n, GetParam(), 1 + static_cast<int>(random() % 3));
    state->set_amplitudes(Amplitudes(state->num_amplitudes(), cplx(NAN, NAN)));
    state->set_zero_state();
    Amplitudes expected(state->num_amplitudes());
    expected[0] = 1;
    circuit::Circuit c(static_cast<std::uint32_t>(n));
    for (int k = 0; k < n; ++k) {  // not all qubits
      const circuit::Qubit q = draw(), r = draw();
      c.add_gate(circuit::GateId::kU3, {q}, {0.3 + k, 0.7, 1.1 * k});
      if (q != r) c.add_gate(circuit::GateId::kCx, {q, r});
      if (k % 3 == 0) c.add_gate(circuit::GateId::kX, {draw()});
    }
    for (int stretch = 0; stretch < 3; ++stretch) {
      if (stretch != 1) {
        state->apply(c, c.ops());
        testing::apply_circuit(expected, c);
      }
      for (int round = 0; round < 1 + n / 2; ++round) {
        double norm = 0;
        std::vector<double> ones(n, 0.0);
        for (std::uint64_t x = 0; x < expected.size(); ++x) {
          const double p = std::norm(expected[x]);
          norm += p;
          for_each_bit(x, [&](int q) { ones[q] += p; });
        }
        const circuit::Qubit q = draw();
        EXPECT_NEAR(state->probability(q, 1), ones[q], tol);
        EXPECT_NEAR(state->probability(q, 0), norm - ones[q], tol);
        if (random() % 2) {
          EXPECT_NEAR(state->norm(), norm, tol);
        }
        const std::vector<double> marginals = state->marginals();
        for (int k = 0; k < n; ++k) EXPECT_NEAR(marginals[k], ones[k], tol);
        EXPECT_NEAR(state->norm(), norm, tol);
        const std::uint64_t count = random() % 2 ? 1 + random() % n : n;  // few, many and all
        expect_joint(*state, expected, count, random, tol);
        // mostly the likely outcome, so that something is left
        const bool is_likely = random() % 8 != 0;
        const int outcome = (ones[q] > norm / 2) == is_likely;
        const double scale = random() % 3 == 0 ? 1.0 : 0.9;
        state->collapse(q, outcome, scale);
        for (std::uint64_t x = 0; x < expected.size(); ++x)
          expected[x] *= static_cast<int>(x >> q & 1) == outcome ? scale : 0.0;
        EXPECT_LT(testing::max_difference(testing::read_all(*state), expected), tol);
        EXPECT_NE(state->known_zero(), 0u) << "a question wrote zeros out";
      }
      if (::testing::Test::HasFailure()) return;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Precisions, CpuObservations,
                         ::testing::Values(Precision::kDouble, Precision::kSingle));

}  // namespace
}  // namespace tilewave::statevec
