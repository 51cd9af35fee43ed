// Jumps and assignments: loops, branches, what may be deferred around them, loops that never end.
#include "tilewave/base/error.h"
#include "tilewave/circuit/from_stabilizer.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/runs_test.h"

namespace tilewave::simulate {
namespace {

using circuit::Circuit;
using circuit::ClassicalExpr;
using circuit::ClassicalOp;
using circuit::ClassicalType;
using circuit::GateId;

Result run(const Circuit& circuit, std::uint64_t shots) {
  return simulate(circuit, shots_of(shots, 7));
}

// bits [first, first + width) op value
ClassicalExpr compare(std::uint32_t first, int width, ClassicalOp op, std::uint64_t value) {
  ClassicalExpr e;
  const auto a = e.bits(first, width), b = e.constant(ClassicalType::kUint, width, value);
  e.add({op, ClassicalType::kBool, 1, a, b, 0});
  return e;
}

circuit::Condition when(ClassicalExpr expr) { return {0, 0, {}, std::move(expr)}; }

// Repeats h, measure until the outcome is 0; counts the rounds in three bits behind the outcome.
Circuit repeat_until_zero() {
  Circuit c(1);
  c.add_creg("m", 1);
  c.add_creg("rounds", 3);
  const std::size_t head = c.ops().size();
  c.add_gate(GateId::kH, {0});
  c.add_measure(0, 0);
  ClassicalExpr more;
  const auto a = more.bits(1, 3), one = more.constant(ClassicalType::kUint, 3, 1);
  more.add({ClassicalOp::kAdd, ClassicalType::kUint, 3, a, one, 0});
  c.add_assign({1, 3, more});
  const std::size_t back = c.add_jump(c.add_condition(when(compare(0, 1, ClassicalOp::kEqual, 1))));
  c.set_jump_target(back, head);
  return c;
}

TEST(ControlFlow, a_loop_draws_anew_each_time) {
  const Result r = run(repeat_until_zero(), 16000);
  // rounds are geometric: half of the shots need one, a quarter two, ...
  double expected = 8000;
  for (const char* key : {"001 0", "010 0", "011 0", "100 0"}) {
    EXPECT_NEAR(static_cast<double>(r.counts.at(key)), expected, 5 * std::sqrt(expected)) << key;
    expected /= 2;
  }
  for (const auto& [key, count] : r.counts) EXPECT_EQ(key.back(), '0') << key;
}

TEST(ControlFlow, else_runs_where_then_does_not) {
  Circuit c(3);
  c.add_creg("c", 3);
  c.add_gate(GateId::kH, {0});
  c.add_measure(0, 0);
  const auto to_then = c.add_jump(c.add_condition(when(compare(0, 1, ClassicalOp::kEqual, 1))));
  const auto to_else = c.add_jump();
  c.set_jump_target(to_then, c.ops().size());
  c.add_gate(GateId::kX, {1});
  const auto to_end = c.add_jump();
  c.set_jump_target(to_else, c.ops().size());
  c.add_gate(GateId::kX, {2});
  c.set_jump_target(to_end, c.ops().size());
  c.add_measure(1, 1);
  c.add_measure(2, 2);
  const Program program = prepare(c);
  EXPECT_EQ(program.deferred.size(), 2u);  // what stands behind the last landing
  const Result r = run(c, 2000);
  ASSERT_EQ(r.counts.size(), 2u);
  EXPECT_GT(r.counts.at("011"), 800u);
  EXPECT_GT(r.counts.at("100"), 800u);
  EXPECT_EQ(r.num_branches, 2u);
}

TEST(ControlFlow, loops_over_constants_need_no_shots) {
  Circuit c(1);
  c.add_clbits(4);
  const std::size_t head = c.ops().size();
  c.add_gate(GateId::kRx, {0}, {0.25});
  ClassicalExpr more;
  const auto a = more.bits(0, 4), one = more.constant(ClassicalType::kUint, 4, 1);
  more.add({ClassicalOp::kAdd, ClassicalType::kUint, 4, a, one, 0});
  c.add_assign({0, 4, more});
  c.set_jump_target(c.add_jump(c.add_condition(when(compare(0, 4, ClassicalOp::kLess, 6)))), head);
  Options options;
  options.probabilities = true;
  const Result r = simulate(c, options);
  EXPECT_NEAR(r.probabilities[0], std::pow(std::sin(0.75), 2), 1e-12);
}

TEST(ControlFlow, a_loop_without_end_is_an_error) {
  Circuit c(1);
  c.add_creg("c", 1);
  c.set_jump_target(c.add_jump(), 0);
  EXPECT_THROW(run(c, 1), Error);
  Circuit measuring(1);
  measuring.add_creg("c", 1);
  measuring.add_measure(0, 0);
  measuring.set_jump_target(measuring.add_jump(), 0);
  EXPECT_THROW(run(measuring, 1), Error);
}

TEST(ControlFlow, expressions_may_only_read_bits_that_exist) {
  Circuit c(1);
  c.add_creg("c", 2);
  EXPECT_THROW(c.add_condition(when(compare(1, 2, ClassicalOp::kEqual, 1))), Error);
  EXPECT_THROW(c.add_assign({1, 2, compare(0, 1, ClassicalOp::kEqual, 1)}), Error);
}

TEST(FromStabilizer, measures_products_and_feeds_back) {
  const auto stim = language::parse_stim(
      "H 0\nCX 0 1\nMPP X0*X1 !Z0*Z1 Y0*Y1\nM 0\nCX rec[-1] 1\nM 1\nMX 2\nMX !2\nMPAD 1 0\n"
      "RY 3\nMY 3\nSPP Z3\nSPP_DAG Z3\nMRY !3\nMYY 3 4\n");
  const Circuit c = circuit::from_stabilizer(stim);
  const Result r = run(c, 400);
  for (const auto& entry : r.counts) {
    const std::string& key = entry.first;
    const auto bit = [&](std::size_t k) { return key[key.size() - 1 - k] == '1'; };
    EXPECT_FALSE(bit(0));       // XX of a Bell pair
    EXPECT_TRUE(bit(1));        // ZZ, inverted
    EXPECT_TRUE(bit(2));        // YY = -XX ZZ
    EXPECT_FALSE(bit(4));       // corrected by the record before
    EXPECT_NE(bit(5), bit(6));  // X twice, once inverted
    EXPECT_TRUE(bit(7));        // padding
    EXPECT_FALSE(bit(8));
    EXPECT_FALSE(bit(9));  // Y after a reset in Y
    EXPECT_TRUE(bit(10));  // inverted
  }
  EXPECT_THROW(circuit::from_stabilizer(language::parse_stim("X_ERROR(0.1) 0\n")), Error);
  EXPECT_THROW(circuit::from_stabilizer(language::parse_stim("REPEAT 1000000000 {\n H 0\n}\n")),
               Error);
}

}  // namespace
}  // namespace tilewave::simulate
