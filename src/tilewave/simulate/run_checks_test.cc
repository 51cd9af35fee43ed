#include "tilewave/simulate/run_checks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tilewave/base/error.h"
#include "tilewave/circuit/gate_table.h"

namespace tilewave::simulate {
namespace {

using statevec::Precision;

circuit::Circuit rotations(int num_gates) {
  circuit::Circuit c(2);
  for (int k = 0; k < num_gates; ++k) c.add_gate(circuit::GateId::kRy, {0}, {0.1});
  return c;
}

ExitCode code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::kOk;
}

TEST(RunChecks, a_norm_that_gates_do_not_explain_is_no_answer) {
  const circuit::Circuit c = rotations(100);
  const auto check = [&](double norm, Precision precision, bool exact = true) {
    return code_of([&] { check_norm(norm, c, c.ops(), precision, exact); });
  };
  struct Row {
    double norm;
    ExitCode in_double, in_single;
  };
  constexpr ExitCode kOk = ExitCode::kOk, kBad = ExitCode::kVerification;
  for (const Row& row : std::initializer_list<Row>{{1, kOk, kOk},
                                                   {1 + 1e-12, kOk, kOk},
                                                   {1 - 0.9e-6, kOk, kOk},
                                                   {1 + 1.1e-6, kBad, kOk},
                                                   {1 - 1.1e-6, kBad, kOk},
                                                   {1 + 5e-6, kBad, kOk},
                                                   {1.001, kBad, kBad},
                                                   {0.5, kBad, kBad},
                                                   {0, kBad, kBad},
                                                   {1.1e7, kBad, kBad},
                                                   {INFINITY, kBad, kBad},
                                                   {NAN, kBad, kBad}}) {
    EXPECT_EQ(check(row.norm, Precision::kDouble), row.in_double) << row.norm;
    EXPECT_EQ(check(row.norm, Precision::kSingle), row.in_single) << row.norm;
  }
  // channels may change a trace as much as their file says
  EXPECT_EQ(check(1.001, Precision::kDouble, false), kOk);
  EXPECT_EQ(check(NAN, Precision::kDouble, false), kBad);
}

TEST(RunChecks, matrices_of_the_user_may_change_the_norm_as_far_as_they_are_not_unitary) {
  circuit::Circuit c = rotations(1);
  const circuit::Qubit target[] = {1};
  const std::vector<cplx> scaled = {1.01, 0, 0, 1.01};
  c.add_matrix({}, 0, target, scaled);
  EXPECT_EQ(code_of([&] { check_norm(1.0201, c, c.ops(), Precision::kDouble, true); }),
            ExitCode::kOk);
  EXPECT_NE(check_norm(1.0201, c, c.ops(), Precision::kDouble, true).find("norm"),
            std::string::npos);
  EXPECT_EQ(code_of([&] { check_norm(1.2, c, c.ops(), Precision::kDouble, true); }),
            ExitCode::kVerification);
}

// Shots of qubits that are 1 with these probabilities.
std::vector<std::uint64_t> draw(const std::vector<double>& p, std::size_t shots,
                                std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform;
  std::vector<std::uint64_t> all(shots);
  for (std::uint64_t& x : all) {
    for (std::size_t q = 0; q < p.size(); ++q)
      x |= static_cast<std::uint64_t>(uniform(random) < p[q]) << q;
  }
  return all;
}

TEST(RunChecks, sound_shots_pass_and_a_wrong_probability_does_not) {
  const std::vector<double> p = {0.5, 0.708, 0, 1, 1e-9, 1e-3, 0.999};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (const std::size_t shots : {1, 10, 1000}) {
      ShotCheck check;
      check.add(p, draw(p, shots, random));
      ASSERT_NO_THROW(check.check());
      ASSERT_LT(check.worst_deviation(), 8);
      std::vector<double> wrong = p;
      wrong[1] = 0.299;
      ShotCheck catches;
      catches.add(p, draw(wrong, shots, random));
      if (shots == 1000) {
        ASSERT_EQ(code_of([&] { catches.check(); }), ExitCode::kVerification);
        ASSERT_GT(catches.worst_deviation(), 20);
      }
    }
  }
  // a bit that must be 0 and is 1
  ShotCheck check;
  check.add(p, std::vector<std::uint64_t>(1000, 0b1101011));
  check.add(std::vector<double>(7, 0.0), std::vector<std::uint64_t>(1000, 0b1000000));
  EXPECT_EQ(code_of([&] { check.check(); }), ExitCode::kVerification);
}

}  // namespace
}  // namespace tilewave::simulate
