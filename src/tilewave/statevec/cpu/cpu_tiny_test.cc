// Gates on tiny states against the slow reference, from any layout that plans and measurements leave.
#include <gtest/gtest.h>

#include <array>

#include "tilewave/base/bits.h"
#include "tilewave/base/seeds_test.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/statevec/cpu/cpu_state.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::statevec {
namespace {

TEST(TinyState, gates_give_the_state_of_the_reference) {
  for_each_seed(400, [](std::uint64_t seed, std::mt19937_64& random) {
    const auto precision = seed % 2 ? Precision::kDouble : Precision::kSingle;
    const double tolerance = seed % 2 ? 1e-11 : 2e-4;
    const int n = 1 + static_cast<int>(random() % cpu::kTinyQubits);
    auto state = make_cpu_state(n, precision, 1);
    ASSERT_TRUE(state->is_tiny());
    testing::Amplitudes expected(state->num_amplitudes());
    expected[0] = 1;
    // |0...0> over memory that held something else
    state->set_amplitudes(testing::random_state(n, random));
    state->set_zero_state();
    for (int part = 0; part < 4; ++part) {
      const circuit::Circuit c =
          testing::random_circuit(n, 1 + static_cast<int>(random() % 12), random);
      if (random() % 2) {
        state->apply_tiny(c, c.ops());
      } else {
        state->apply(c, c.ops());  // by a plan, which may leave another layout
      }
      testing::apply_circuit(expected, c);
      double size = 0, norm = 0;
      for (const cplx& z : expected) size = std::max(size, std::abs(z)), norm += std::norm(z);
      ASSERT_LT(testing::max_difference(testing::read_all(*state), expected),
                tolerance * std::max(1.0, size))
          << "n = " << n << ", part " << part;
      ASSERT_NEAR(state->norm(), norm, tolerance * std::max(1.0, norm));
      const auto qubit = static_cast<circuit::Qubit>(random() % static_cast<unsigned>(n));
      const int outcome = static_cast<int>(random() % 2);
      double p = 0;
      for (std::uint64_t x = 0; x < expected.size(); ++x)
        if (static_cast<int>(x >> qubit & 1) == outcome) p += std::norm(expected[x]);
      ASSERT_NEAR(state->probability(qubit, outcome), p, tolerance * std::max(1.0, norm));
      if (p < 0.1 * norm) continue;
      state->collapse(qubit, outcome, 1);
      for (std::uint64_t x = 0; x < expected.size(); ++x)
        if (static_cast<int>(x >> qubit & 1) != outcome) expected[x] = 0;
    }
  });
}

TEST(TinyState, larger_ones_are_refused) {
  const auto state = make_cpu_state(cpu::kTinyQubits + 1, Precision::kDouble, 1);
  EXPECT_FALSE(state->is_tiny());
  const circuit::Qubit q = 0;
  const std::array<cplx, 4> x = {0, 1, 1, 0};
  expect_error([&] { state->apply_tiny(0, 0, {&q, 1}, x); }, "tiny", ExitCode::kInternal);
}

}  // namespace
}  // namespace tilewave::statevec
