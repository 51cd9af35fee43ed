// Classical expressions over the classical bits of a circuit: what conditions, jumps and
// assignments compute while a circuit runs. Layout: nodes in a list, operands before those that use
// them, the last node is the result. Every value is 64 bits: unsigned numbers below 2^width, signed
// ones sign-extended, floats as the bits of a double, truth values 0 and 1.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tilewave::circuit {

enum class ClassicalType : std::uint8_t { kBool, kUint, kInt, kFloat };

enum class ClassicalOp : std::uint8_t {
  kConst,  ///< `value`
  kBits,   ///< classical bits [value, value + width)
  kCast,   ///< of a
  kBitNot,
  kNot,
  kNegate,
  kBitAnd,
  kBitOr,
  kBitXor,
  kAnd,
  kOr,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kShiftLeft,
  kShiftRight,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kIndex,    ///< bit b of a
  kLookup,   ///< entry a, from 0 on, of table `value`
  kBounded,  ///< a, which must lie below `value` as an unsigned number
  kCall,     ///< function `value` of a, or of a and b; floats but where the function says so
};

enum class ClassicalFunction : std::uint8_t {
  kSin,
  kCos,
  kTan,
  kArcsin,
  kArccos,
  kArctan,
  kExp,
  kLog,
  kSqrt,
  kCeiling,
  kFloor,
  kRound,       ///< to the nearest integer, from the middle to the even one
  kFloatPower,  ///< a to the power b, the first of those with two operands
  kFloatMod,    ///< with the sign of a
  kPower,       ///< of integers, b at least 0
  kPopcount,    ///< of an integer
};
/// One of the functions of one float.
double apply_function(ClassicalFunction f, double x);
/// b at least 0; wraps around.
std::uint64_t integer_power(std::uint64_t a, std::uint64_t b);

struct ClassicalNode {
  ClassicalOp op = ClassicalOp::kConst;
  ClassicalType type = ClassicalType::kBool;  ///< of the result
  std::uint8_t width = 1;                     ///< of the result in bits, 1..64; floats have 64
  std::int32_t a = -1, b = -1;                ///< operands; both of one type and width, but shifts
  std::uint64_t value = 0;
};

struct ClassicalExpr {
  std::vector<ClassicalNode> nodes;
  std::vector<std::vector<std::uint64_t>> tables{};  ///< what kLookup reads

  bool empty() const { return nodes.empty(); }
  /// Adds a node; returns its index. Throws Error(kInput) for operands that do not exist or a width
  /// that is not 1..64.
  std::int32_t add(ClassicalNode node);
  std::int32_t constant(ClassicalType type, int width, std::uint64_t value);
  std::int32_t bits(std::uint32_t first, int width);
  /// `tail`'s nodes behind these; returns the index of its result.
  std::int32_t append(const ClassicalExpr& tail);
};

/// The value, with classical bit k as bit k % 64 of word k / 64. Throws Error(kInput) for a
/// division by zero, for a float that is not finite and for what is out of bounds, where the value
/// depends on it: the right side of an `and` does not count where the left one is false, nor that
/// of an `or` where it is true.
std::uint64_t evaluate(const ClassicalExpr& expr, std::span<const std::uint64_t> bits);

/// Whether there may be bits with which evaluate() throws. Sums and products of floats, which do so
/// beyond 1e308 only, count as safe.
bool may_fail(const ClassicalExpr& expr);

/// Calls f(first, count) for every run of classical bits the expression reads.
void for_each_read(const ClassicalExpr& expr,
                   const std::function<void(std::uint32_t, std::uint32_t)>& f);

}  // namespace tilewave::circuit
