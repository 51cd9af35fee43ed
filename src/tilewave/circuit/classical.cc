#include "tilewave/circuit/classical.h"

#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"

namespace tilewave::circuit {
namespace {

double to_double(std::uint64_t v) { return std::bit_cast<double>(v); }
std::uint64_t from_double(double v) { return std::bit_cast<std::uint64_t>(v); }
// Of what is computed: neither infinite nor no number at all.
std::uint64_t finite(double v) {
  if (std::isfinite(v)) return from_double(v);
  fail(ExitCode::kInput,
       "the result of a classical expression is not a finite number, as of 1e300 * 1e300 or "
       "sqrt(-1)");
}

// Brings a 64-bit result back to its type.
std::uint64_t wrap(std::uint64_t v, const ClassicalNode& node) {
  if (node.type == ClassicalType::kFloat || node.width == 64) return v;
  v &= low_mask(node.width);
  const bool negative = node.type == ClassicalType::kInt && (v >> (node.width - 1) & 1);
  return negative ? v | ~low_mask(node.width) : v;
}

std::uint64_t read(std::span<const std::uint64_t> bits, std::uint64_t first, int width) {
  const std::uint64_t word = first / 64, shift = first % 64;
  std::uint64_t v = bits[word] >> shift;
  if (shift && word + 1 < bits.size()) v |= bits[word + 1] << (64 - shift);
  return width == 64 ? v : v & low_mask(width);
}

std::uint64_t cast(std::uint64_t v, const ClassicalNode& from, const ClassicalNode& to) {
  const bool to_float = to.type == ClassicalType::kFloat;
  if (from.type == ClassicalType::kFloat) {
    const double d = to_double(v);
    if (to_float) return v;
    if (to.type == ClassicalType::kBool) return d != 0;
    if (!(d >= -0x1p63 && d < (to.type == ClassicalType::kInt ? 0x1p63 : 0x1p64))) {
      fail(ExitCode::kInput, "a classical number does not fit an integer");
    }
    return wrap(d < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(d))
                      : static_cast<std::uint64_t>(d),
                to);
  }
  if (to_float) {
    return from_double(from.type == ClassicalType::kInt
                           ? static_cast<double>(static_cast<std::int64_t>(v))
                           : static_cast<double>(v));
  }
  return to.type == ClassicalType::kBool ? v != 0 : wrap(v, to);
}

template <class T>
std::uint64_t compare(ClassicalOp op, T a, T b) {
  switch (op) {
    case ClassicalOp::kEqual:
      return a == b;
    case ClassicalOp::kNotEqual:
      return a != b;
    case ClassicalOp::kLess:
      return a < b;
    case ClassicalOp::kLessEqual:
      return a <= b;
    case ClassicalOp::kGreater:
      return a > b;
    default:
      return a >= b;
  }
}

std::uint64_t float_arithmetic(ClassicalOp op, double a, double b) {
  switch (op) {
    case ClassicalOp::kAdd:
      return finite(a + b);
    case ClassicalOp::kSub:
      return finite(a - b);
    case ClassicalOp::kMul:
      return finite(a * b);
    case ClassicalOp::kDiv:
      if (b == 0) fail(ExitCode::kInput, "a classical expression divides by zero");
      return finite(a / b);
    default:
      throw Error(ExitCode::kInput, "this operation is not defined for floating-point numbers");
  }
}

std::uint64_t divide(const ClassicalNode& node, std::uint64_t a, std::uint64_t b) {
  if (b == 0) fail(ExitCode::kInput, "a classical expression divides by zero");
  const bool rest = node.op == ClassicalOp::kMod;
  if (node.type != ClassicalType::kInt) return rest ? a % b : a / b;
  const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
  if (y == -1) return rest ? 0 : 0 - a;  // the least number has no negative
  return static_cast<std::uint64_t>(rest ? x % y : x / y);
}

std::uint64_t binary(const ClassicalNode& node, const ClassicalNode& left, std::uint64_t a,
                     std::uint64_t b) {
  switch (node.op) {
    case ClassicalOp::kBitAnd:
      return a & b;
    case ClassicalOp::kBitOr:
      return a | b;
    case ClassicalOp::kBitXor:
      return a ^ b;
    case ClassicalOp::kAnd:
      return a && b;
    case ClassicalOp::kOr:
      return a || b;
    case ClassicalOp::kShiftLeft:
      return b >= 64 ? 0 : a << b;
    case ClassicalOp::kShiftRight:
      if (left.type == ClassicalType::kInt) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(a) >> (b > 63 ? 63 : b));
      }
      return b >= 64 ? 0 : a >> b;
    case ClassicalOp::kIndex:
      return b >= 64 ? 0 : a >> b & 1;
    default:
      break;
  }
  if (node.op >= ClassicalOp::kEqual && node.op <= ClassicalOp::kGreaterEqual) {
    if (left.type == ClassicalType::kFloat) return compare(node.op, to_double(a), to_double(b));
    if (left.type == ClassicalType::kInt) {
      return compare(node.op, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
    }
    return compare(node.op, a, b);
  }
  if (node.type == ClassicalType::kFloat) {
    return float_arithmetic(node.op, to_double(a), to_double(b));
  }
  switch (node.op) {
    case ClassicalOp::kAdd:
      return a + b;
    case ClassicalOp::kSub:
      return a - b;
    case ClassicalOp::kMul:
      return a * b;
    default:
      return divide(node, a, b);
  }
}

std::uint64_t call(const ClassicalNode& node, std::uint64_t a, std::uint64_t b) {
  const auto f = static_cast<ClassicalFunction>(node.value);
  switch (f) {
    case ClassicalFunction::kFloatPower:
      return finite(std::pow(to_double(a), to_double(b)));
    case ClassicalFunction::kFloatMod:
      if (to_double(b) == 0) {
        fail(ExitCode::kInput, "a classical expression divides by zero");
      }
      return from_double(std::fmod(to_double(a), to_double(b)));
    case ClassicalFunction::kPower:
      if (static_cast<std::int64_t>(b) < 0) {
        fail(ExitCode::kInput, "a classical expression raises an integer to the power ",
             static_cast<std::int64_t>(b), ": use a float");
      }
      return integer_power(a, b);
    case ClassicalFunction::kPopcount:
      return static_cast<std::uint64_t>(std::popcount(a));
    default:
      return finite(apply_function(f, to_double(a)));
  }
}

std::uint64_t bounded(const ClassicalNode& node, std::uint64_t a) {
  if (a < node.value) return a;
  fail(ExitCode::kInput,
       "an index that the circuit computed is out of range or names a qubit twice");
}

std::uint64_t value_of(const ClassicalExpr& expr, const ClassicalNode& node,
                       std::span<const std::uint64_t> values, std::span<const std::uint64_t> bits) {
  const auto at = [&](std::int32_t k) { return values[static_cast<std::size_t>(k)]; };
  switch (node.op) {
    case ClassicalOp::kConst:
      return wrap(node.value, node);
    case ClassicalOp::kBits:
      return wrap(read(bits, node.value, node.width), node);
    case ClassicalOp::kCast:
      return cast(at(node.a), expr.nodes[static_cast<std::size_t>(node.a)], node);
    case ClassicalOp::kBitNot:
      return wrap(~at(node.a), node);
    case ClassicalOp::kNot:
      return !at(node.a);
    case ClassicalOp::kNegate:
      return node.type == ClassicalType::kFloat ? from_double(-to_double(at(node.a)))
                                                : wrap(0 - at(node.a), node);
    case ClassicalOp::kLookup:
      return wrap(expr.tables[node.value].at(at(node.a)), node);
    case ClassicalOp::kBounded:
      return bounded(node, at(node.a));
    case ClassicalOp::kCall:
      return wrap(call(node, at(node.a), node.b < 0 ? 0 : at(node.b)), node);
    default:
      return wrap(
          binary(node, expr.nodes[static_cast<std::size_t>(node.a)], at(node.a), at(node.b)), node);
  }
}

// The same, where some node has no value: neither do those that depend on it.
std::uint64_t evaluate_with_failures(const ClassicalExpr& expr,
                                     std::span<const std::uint64_t> bits) {
  std::vector<std::uint64_t> values;
  std::vector<std::optional<Error>> failures(expr.nodes.size());
  const auto failure = [&](std::int32_t k) {
    return k < 0 ? std::optional<Error>() : failures[static_cast<std::size_t>(k)];
  };
  for (const ClassicalNode& node : expr.nodes) {
    std::optional<Error>& own = failures[values.size()];
    own = failure(node.a);
    const bool decides = node.op == ClassicalOp::kAnd || node.op == ClassicalOp::kOr;
    if (decides && !own) {
      const bool left = values[static_cast<std::size_t>(node.a)] != 0;
      if (left == (node.op == ClassicalOp::kOr)) {
        values.push_back(left);
        continue;
      }
    }
    if (!own) own = failure(node.b);
    std::uint64_t value = 0;
    try {
      if (!own) value = value_of(expr, node, values, bits);
    } catch (const Error& error) {
      own = error;
    }
    values.push_back(value);
  }
  if (failures.back()) throw Error(*failures.back());
  return values.back();
}

}  // namespace

double apply_function(ClassicalFunction f, double x) {
  switch (f) {
    case ClassicalFunction::kSin:
      return std::sin(x);
    case ClassicalFunction::kCos:
      return std::cos(x);
    case ClassicalFunction::kTan:
      return std::tan(x);
    case ClassicalFunction::kArcsin:
      return std::asin(x);
    case ClassicalFunction::kArccos:
      return std::acos(x);
    case ClassicalFunction::kArctan:
      return std::atan(x);
    case ClassicalFunction::kExp:
      return std::exp(x);
    case ClassicalFunction::kLog:
      return std::log(x);
    case ClassicalFunction::kSqrt:
      return std::sqrt(x);
    case ClassicalFunction::kCeiling:
      return std::ceil(x);
    case ClassicalFunction::kRound:
      return std::nearbyint(x);
    default:
      return std::floor(x);
  }
}

std::uint64_t integer_power(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 1;
  for (; b; b >>= 1, a *= a) {
    if (b & 1) result *= a;
  }
  return result;
}

std::int32_t ClassicalExpr::add(ClassicalNode node) {
  const auto size = static_cast<std::int32_t>(nodes.size());
  const bool leaf = node.op == ClassicalOp::kConst || node.op == ClassicalOp::kBits;
  const bool unary = (node.op >= ClassicalOp::kCast && node.op <= ClassicalOp::kNegate) ||
                     node.op >= ClassicalOp::kLookup;  // a call may have a second one
  if (node.a >= size || node.b >= size || (!leaf && node.a < 0) ||
      (!leaf && !unary && node.b < 0)) {
    fail(ExitCode::kInput, "a classical expression names an operand that does not exist");
  }
  if (node.width < 1 || node.width > 64) {
    fail(ExitCode::kInput, "classical numbers have 1 to 64 bits, not ", node.width);
  }
  nodes.push_back(node);
  return size;
}

std::int32_t ClassicalExpr::constant(ClassicalType type, int width, std::uint64_t value) {
  return add({ClassicalOp::kConst, type, static_cast<std::uint8_t>(width), -1, -1, value});
}

std::int32_t ClassicalExpr::bits(std::uint32_t first, int width) {
  return add(
      {ClassicalOp::kBits, ClassicalType::kUint, static_cast<std::uint8_t>(width), -1, -1, first});
}

std::int32_t ClassicalExpr::append(const ClassicalExpr& tail) {
  const auto offset = static_cast<std::int32_t>(nodes.size());
  for (ClassicalNode node : tail.nodes) {
    if (node.a >= 0) node.a += offset;
    if (node.b >= 0) node.b += offset;
    if (node.op == ClassicalOp::kLookup) node.value += tables.size();
    nodes.push_back(node);
  }
  tables.insert(tables.end(), tail.tables.begin(), tail.tables.end());
  return static_cast<std::int32_t>(nodes.size()) - 1;
}

std::uint64_t evaluate(const ClassicalExpr& expr, std::span<const std::uint64_t> bits) {
  std::vector<std::uint64_t> values;
  values.reserve(expr.nodes.size());
  try {
    for (const ClassicalNode& node : expr.nodes) {
      values.push_back(value_of(expr, node, values, bits));
    }
  } catch (const Error&) {
    return evaluate_with_failures(expr, bits);
  }
  return values.empty() ? 0 : values.back();
}

bool may_fail(const ClassicalExpr& expr) {
  const auto node = [&](std::int32_t k) -> const ClassicalNode& {
    return expr.nodes[static_cast<std::size_t>(k)];
  };
  // A number that is known, beneath casts; null for others.
  const auto known = [&](std::int32_t k) -> const ClassicalNode* {
    const ClassicalNode* n = &node(k);
    while (n->op == ClassicalOp::kCast) n = &node(n->a);
    return n->op == ClassicalOp::kConst ? n : nullptr;
  };
  const auto is_zero = [](const ClassicalNode& n) {
    return n.type == ClassicalType::kFloat ? to_double(n.value) == 0 : wrap(n.value, n) == 0;
  };
  for (const ClassicalNode& n : expr.nodes) {
    switch (n.op) {
      case ClassicalOp::kBounded:
        return true;
      case ClassicalOp::kDiv:
      case ClassicalOp::kMod: {
        const ClassicalNode* divisor = known(n.b);
        if (!divisor || is_zero(*divisor)) return true;
        break;
      }
      case ClassicalOp::kCast:
        if (node(n.a).type == ClassicalType::kFloat && n.type != ClassicalType::kFloat &&
            n.type != ClassicalType::kBool)
          return true;
        break;
      case ClassicalOp::kCall:
        switch (static_cast<ClassicalFunction>(n.value)) {
          case ClassicalFunction::kArcsin:
          case ClassicalFunction::kArccos:
          case ClassicalFunction::kExp:
          case ClassicalFunction::kLog:
          case ClassicalFunction::kSqrt:
          case ClassicalFunction::kFloatPower:
          case ClassicalFunction::kFloatMod:
          case ClassicalFunction::kPower:
            return true;
          default:
            break;
        }
        break;
      default:
        break;
    }
  }
  return false;
}

void for_each_read(const ClassicalExpr& expr,
                   const std::function<void(std::uint32_t, std::uint32_t)>& f) {
  for (const ClassicalNode& node : expr.nodes) {
    if (node.op == ClassicalOp::kBits) f(static_cast<std::uint32_t>(node.value), node.width);
  }
}

}  // namespace tilewave::circuit
