// Angles with a size. An angle[n] is an unsigned integer u of n bits that stands for 2 pi u / 2^n:
// sums, products and shifts are those of the integers, so that they wrap around after a turn. Mixed
// with real numbers it is one of radians, and the result is an angle without a size.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tilewave/base/bits.h"
#include "tilewave/base/concat.h"
#include "tilewave/base/units.h"
#include "tilewave/language/qasm3/value.h"

namespace tilewave::language::qasm3 {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

Value as_turns(const Value& u, int width) {
  return relabel(cast(u, Base::kUint, width), Base::kAngle);
}

// In radians where it has a size, otherwise as it is.
Value in_radians(const Value& a) {
  if (!a.is_turns()) return a;
  const Value u = cast(relabel(a, Base::kUint), Base::kFloat, 64);
  Value out = binary("*", u, Value::real(std::ldexp(kTurn, -a.width)));
  out.base = Base::kAngle, out.width = 0;
  return out;
}

// Longer by zeros at its end, or rounded, from the middle to the even one.
Value resized(const Value& a, int width) {
  const Value u = relabel(a, Base::kUint);
  const int lost = a.width - width;
  if (lost == 0) return a;
  if (lost < 0)
    return relabel(binary("<<", cast(u, Base::kUint, width), Value::integer(-lost)), Base::kAngle);
  const Value kept = binary(">>", u, Value::integer(lost)),
              rest = binary("&", u, Value::natural(low_mask(lost)));
  const Value half = Value::natural(bit(lost - 1)), odd = binary("&", kept, Value::natural(1));
  const Value up =
      binary("||", binary(">", rest, half), binary("&&", binary("==", rest, half), odd));
  return as_turns(binary("+", kept, up), width);
}

// The nearest number of 2^-width turns, from the middle to the even one.
std::uint64_t nearest_turns(double radians, int width) {
  const double turns = radians / kTurn;
  const double steps = std::nearbyint(std::ldexp(turns - std::floor(turns), width));
  return steps >= std::ldexp(1.0, width) ? 0 : static_cast<std::uint64_t>(steps);
}

Value to_turns(const Value& a, int width) {
  if (a.base == Base::kBit) {
    if (a.width == width) return relabel(a, Base::kAngle);
    throw ValueError{concat(counted(static_cast<std::uint64_t>(a.width), "bit"),
                            " cannot be an angle[", width, "]: the sizes must agree")};
  }
  if (a.base == Base::kBool) throw ValueError{"a truth value is no angle"};
  const Value x = cast(a, Base::kFloat, 64);
  if (x.is_expr()) return relabel(turns_expr(x, width), Base::kAngle);
  Value out = combine(x, Value::integer(0), [&](Cell c, Cell) {
    return Cell{static_cast<std::int64_t>(nearest_turns(c.d, width)), 0};
  });
  out.base = Base::kAngle, out.width = width;
  return out;
}

}  // namespace

Value angle_cast(const Value& a, Base base, int width) {
  if (!a.is_turns()) return to_turns(a, width);
  switch (base) {
    case Base::kAngle:
      return width == 0 ? in_radians(a) : resized(a, width);
    case Base::kFloat:
      return cast(in_radians(a), base, width);
    case Base::kBool:
      return cast(relabel(a, Base::kUint), base, width);
    case Base::kBit:
      if (a.width == width) return relabel(a, base);
      throw ValueError{concat("an angle[", a.width, "] has ",
                              counted(static_cast<std::uint64_t>(a.width), "bit"), ", not ",
                              width)};
    default:
      throw ValueError{concat("an angle is no integer: its bits are bit[", a.width, "](...)")};
  }
}

Value angle_binary(std::string_view op, const Value& a, const Value& b, const ReachOf& reach) {
  const bool two = a.is_turns() && b.is_turns();
  const auto undefined = [&](const char* what) {
    throw ValueError{concat("'", op, "' is not defined for ", what)};
  };
  if (op == "<<" || op == ">>") {
    return relabel(binary(op, relabel(a, Base::kUint), b), Base::kAngle);
  }
  if (op == "&" || op == "|" || op == "^") {
    if (!two || a.width != b.width) undefined("an angle and what is no angle of the same size");
    return relabel(binary(op, relabel(a, Base::kUint), relabel(b, Base::kUint)), Base::kAngle);
  }
  if (two) {
    const int width = std::max(a.width, b.width);
    const Value x = relabel(resized(a, width), Base::kUint);
    const Value y = relabel(resized(b, width), Base::kUint);
    if (is_comparison(op)) return binary(op, x, y);
    if (op == "/") return cast(binary(op, x, y, reach), Base::kUint, width);
    if (op != "+" && op != "-") undefined("two angles");
    return as_turns(binary(op, x, y), width);
  }
  const Value &angle = a.is_turns() ? a : b, &other = a.is_turns() ? b : a;
  if (other.is_real() || (op != "*" && op != "/")) {
    return binary(op, in_radians(a), in_radians(b), reach);
  }
  if (op == "/" && b.is_turns()) undefined("an integer and an angle");
  const bool negative =
      other.base == Base::kInt && !other.is_expr() &&
      std::any_of(other.cells.begin(), other.cells.end(), [](Cell c) { return c.i < 0; });
  if (op == "/" && negative) throw ValueError{"an angle with a size is divided by natural numbers"};
  const Value u = relabel(angle, Base::kUint);
  return as_turns(binary(op, u, cast(other, Base::kUint, 64), reach), angle.width);
}

}  // namespace tilewave::language::qasm3
