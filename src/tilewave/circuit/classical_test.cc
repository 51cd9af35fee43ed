#include "tilewave/circuit/classical.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"

namespace tilewave::circuit {
namespace {

using Operator = ClassicalOp;
using Type = ClassicalType;

std::uint64_t of_two(Operator op, Type type, int width, std::uint64_t a, std::uint64_t b) {
  ClassicalExpr e;
  const auto x = e.constant(type, width, a), y = e.constant(type, width, b);
  const bool is_bool = op >= Operator::kEqual && op <= Operator::kGreaterEqual;
  e.add(
      {op, is_bool ? Type::kBool : type, static_cast<std::uint8_t>(is_bool ? 1 : width), x, y, 0});
  return evaluate(e, {});
}

std::int64_t of_signed(Operator op, int width, std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(
      of_two(op, Type::kInt, width, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

TEST(Classical, unsigned_numbers_wrap_at_their_width) {
  EXPECT_EQ(of_two(Operator::kAdd, Type::kUint, 8, 200, 100), 44u);
  EXPECT_EQ(of_two(Operator::kSub, Type::kUint, 8, 1, 2), 255u);
  EXPECT_EQ(of_two(Operator::kMul, Type::kUint, 4, 7, 5), 3u);
  EXPECT_EQ(of_two(Operator::kShiftLeft, Type::kUint, 8, 3, 7), 128u);
  EXPECT_EQ(of_two(Operator::kShiftRight, Type::kUint, 64, ~0ull, 64), 0u);
  EXPECT_EQ(of_two(Operator::kSub, Type::kUint, 64, 0, 1), ~0ull);
  EXPECT_EQ(of_two(Operator::kMod, Type::kUint, 8, 200, 7), 4u);
}

TEST(Classical, signed_numbers) {
  EXPECT_EQ(of_signed(Operator::kAdd, 8, 127, 1), -128);
  EXPECT_EQ(of_signed(Operator::kDiv, 8, -7, 2), -3);
  EXPECT_EQ(of_signed(Operator::kMod, 8, -7, 2), -1);
  EXPECT_EQ(of_signed(Operator::kDiv, 64, std::numeric_limits<std::int64_t>::min(), -1),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(of_signed(Operator::kShiftRight, 8, -128, 3), -16);
  EXPECT_EQ(of_signed(Operator::kLess, 8, -1, 0), 1);
  EXPECT_EQ(of_two(Operator::kLess, Type::kUint, 8, 255, 0), 0u);
}

TEST(Classical, floats_and_casts) {
  const auto bits = [](double v) { return std::bit_cast<std::uint64_t>(v); };
  EXPECT_EQ(of_two(Operator::kDiv, Type::kFloat, 64, bits(1), bits(4)), bits(0.25));
  EXPECT_EQ(of_two(Operator::kLess, Type::kFloat, 64, bits(-1), bits(0.5)), 1u);
  const auto cast = [&](Type from, int width, std::uint64_t v, Type to, int to_width) {
    ClassicalExpr e;
    const auto a = e.constant(from, width, v);
    e.add({Operator::kCast, to, static_cast<std::uint8_t>(to_width), a, -1, 0});
    return evaluate(e, {});
  };
  EXPECT_EQ(cast(Type::kInt, 8, 255, Type::kFloat, 64), bits(-1));
  EXPECT_EQ(cast(Type::kFloat, 64, bits(-2.7), Type::kInt, 16), static_cast<std::uint64_t>(-2));
  EXPECT_EQ(cast(Type::kUint, 8, 0x1ff, Type::kUint, 4), 0xfu);
  EXPECT_EQ(cast(Type::kUint, 8, 4, Type::kBool, 1), 1u);
  EXPECT_THROW(cast(Type::kFloat, 64, bits(1e30), Type::kUint, 8), Error);
}

TEST(Classical, reads_bits_wherever_they_lie) {
  std::mt19937_64 random(1);
  const std::vector<std::uint64_t> words = {random(), random(), random()};
  for (int trial = 0; trial < 500; ++trial) {
    const int width = 1 + static_cast<int>(random() % 64);
    const auto first = static_cast<std::uint32_t>(random() % (192 - width + 1));
    ClassicalExpr e;
    e.bits(first, width);
    std::uint64_t expected = 0;
    for (int k = 0; k < width; ++k) {
      const std::uint32_t at = first + static_cast<std::uint32_t>(k);
      expected |= (words[at / 64] >> (at % 64) & 1) << k;
    }
    ASSERT_EQ(evaluate(e, words), expected) << first << ' ' << width;
  }
}

TEST(Classical, functions_tables_and_bounds) {
  using Function = ClassicalFunction;
  const auto call = [](Function f, Type type, std::uint64_t a, std::uint64_t b, Type result) {
    ClassicalExpr e;
    const auto x = e.constant(type, 64, a), y = e.constant(type, 64, b);
    e.add({Operator::kCall, result, 64, x, y, static_cast<std::uint64_t>(f)});
    return evaluate(e, {});
  };
  const auto bits = [](double d) { return std::bit_cast<std::uint64_t>(d); };
  EXPECT_EQ(call(Function::kFloatPower, Type::kFloat, bits(2), bits(0.5), Type::kFloat),
            bits(std::sqrt(2.0)));
  EXPECT_EQ(call(Function::kFloatMod, Type::kFloat, bits(-7), bits(3), Type::kFloat), bits(-1));
  EXPECT_EQ(call(Function::kPower, Type::kInt, 3, 5, Type::kInt), 243u);
  EXPECT_THROW(call(Function::kPower, Type::kInt, 3, ~std::uint64_t{0}, Type::kInt), Error);
  EXPECT_EQ(call(Function::kPopcount, Type::kUint, 0xf1, 0, Type::kUint), 5u);
  EXPECT_EQ(call(Function::kSin, Type::kFloat, bits(0.3), 0, Type::kFloat), bits(std::sin(0.3)));

  ClassicalExpr table;
  table.tables.push_back({7, bits(1.5), 9});
  const auto index = table.bits(1, 2);
  table.add({Operator::kLookup, Type::kFloat, 64, index, -1, 0});
  ClassicalExpr twice = table;  // tables move along
  const auto other = twice.append(table);
  twice.add({Operator::kAdd, Type::kFloat, 64, other, other, 0});
  EXPECT_EQ(evaluate(twice, std::vector<std::uint64_t>{0b010}), bits(3));

  ClassicalExpr bounded;
  const auto a = bounded.bits(0, 3);
  bounded.add({Operator::kBounded, Type::kUint, 64, a, -1, 5});
  EXPECT_EQ(evaluate(bounded, std::vector<std::uint64_t>{4}), 4u);
  EXPECT_THROW(evaluate(bounded, std::vector<std::uint64_t>{5}), Error);
}

TEST(Classical, what_is_guarded_does_not_fail) {
  using Function = ClassicalFunction;
  const auto bits = [](double d) { return std::bit_cast<std::uint64_t>(d); };
  // x != 0 && 12 / x > 2, of bits 0 to 2, as integers and as floats
  for (const Type type : {Type::kUint, Type::kInt, Type::kFloat}) {
    const bool real = type == Type::kFloat;
    for (const bool is_or : {false, true}) {
      ClassicalExpr e;
      const auto constant = [&](std::uint64_t k) {
        return e.constant(type, 64, real ? bits(static_cast<double>(k)) : k);
      };
      const auto x = e.add({Operator::kCast, type, 64, e.bits(0, 3), -1, 0});
      const auto test = e.add(
          {is_or ? Operator::kEqual : Operator::kNotEqual, Type::kBool, 1, x, constant(0), 0});
      const auto part = e.add({Operator::kDiv, type, 64, constant(12), x, 0});
      const auto more = e.add({Operator::kGreater, Type::kBool, 1, part, constant(2), 0});
      e.add({is_or ? Operator::kOr : Operator::kAnd, Type::kBool, 1, test, more, 0});
      for (std::uint64_t k = 0; k < 8; ++k) {
        const double quotient = k ? 12.0 / static_cast<double>(k) : 0;
        const bool above = k && (real ? quotient > 2 : 12 / k > 2);
        EXPECT_EQ(evaluate(e, std::vector{k}), is_or ? k == 0 || above : above) << k;
      }
      // the right side does not guard the left one, and a value that is needed fails
      ClassicalExpr reversed = e;
      reversed.nodes.back().a = more, reversed.nodes.back().b = test;
      EXPECT_THROW(evaluate(reversed, std::vector<std::uint64_t>{0}), Error);
      ClassicalExpr needed = e;
      needed.nodes.pop_back();
      EXPECT_THROW(evaluate(needed, std::vector<std::uint64_t>{0}), Error);
    }
  }
  ClassicalExpr round;
  round.constant(Type::kFloat, 64, bits(2.5));
  round.add(
      {Operator::kCall, Type::kFloat, 64, 0, -1, static_cast<std::uint64_t>(Function::kRound)});
  EXPECT_EQ(evaluate(round, {}), bits(2));
}

TEST(Classical, what_makes_no_sense_is_an_error) {
  EXPECT_THROW(of_two(Operator::kDiv, Type::kUint, 8, 1, 0), Error);
  ClassicalExpr e;
  EXPECT_THROW(e.add({Operator::kNot, Type::kBool, 1, 0, -1, 0}), Error);
  EXPECT_THROW(e.constant(Type::kUint, 65, 0), Error);
  EXPECT_THROW(e.constant(Type::kUint, 0, 0), Error);
}

}  // namespace
}  // namespace tilewave::circuit
