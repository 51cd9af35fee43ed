// Values that the running circuit computes: expressions over its classical bits, in the types of
// circuit/classical.h. Integers are computed in 64 bits and cut to their width, as tables are.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

#include "tilewave/language/qasm3/value.h"

#include "tilewave/base/concat.h"

namespace tilewave::language::qasm3 {
namespace {

using circuit::ClassicalExpr;
using circuit::ClassicalFunction;
using circuit::ClassicalOp;
using circuit::ClassicalType;

ClassicalType type_of(Base base, int width) {
  if (is_real_type(base, width)) return ClassicalType::kFloat;
  if (base == Base::kBool) return ClassicalType::kBool;
  return base == Base::kInt ? ClassicalType::kInt : ClassicalType::kUint;
}
ClassicalType type_of(const Value& v) { return type_of(v.base, v.width); }

int node_width(Base base, int width) {
  const ClassicalType type = type_of(base, width);
  return type == ClassicalType::kBool ? 1 : type == ClassicalType::kFloat ? 64 : width;
}

std::int32_t add(ClassicalExpr& e, ClassicalOp op, ClassicalType type, int width, std::int32_t a,
                 std::int32_t b = -1) {
  return e.add({op, type, static_cast<std::uint8_t>(width), a, b, 0});
}

std::int32_t add_cast(ClassicalExpr& e, std::int32_t a, ClassicalType type, int width) {
  const circuit::ClassicalNode& node = e.nodes[static_cast<std::size_t>(a)];
  if (node.type == type && node.width == width) return a;
  return add(e, ClassicalOp::kCast, type, width, a);
}

// a with its bits moved up by `shift`, joined to what is there already.
std::int32_t add_part(ClassicalExpr& e, std::int32_t all, std::int32_t a, std::size_t shift) {
  constexpr auto kUint = ClassicalType::kUint;
  a = add_cast(e, a, kUint, 64);
  if (shift) a = add(e, ClassicalOp::kShiftLeft, kUint, 64, a, e.constant(kUint, 64, shift));
  return all < 0 ? a : add(e, ClassicalOp::kBitOr, kUint, 64, all, a);
}

}  // namespace

std::int32_t add_index(const std::vector<circuit::Clbit>& bits, ClassicalExpr& e) {
  std::int32_t index = -1;
  for (std::size_t j = 0; j < bits.size(); ++j) index = add_part(e, index, e.bits(bits[j], 1), j);
  return index;
}

namespace {

std::uint64_t content(const Value& v, const Cell& c) {
  return v.is_real() ? std::bit_cast<std::uint64_t>(c.d) : static_cast<std::uint64_t>(c.i);
}

// The cell of the table that the bits name.
std::int32_t add_value_table(ClassicalExpr& e, const Value& v) {
  const std::int32_t index = add_index(v.deps, e);
  std::vector<std::uint64_t> table;
  for (const Cell& c : v.cells) table.push_back(content(v, c));
  e.tables.push_back(std::move(table));
  return e.add({ClassicalOp::kLookup, type_of(v),
                static_cast<std::uint8_t>(node_width(v.base, v.width)), index, -1,
                e.tables.size() - 1});
}

std::int32_t add_value(ClassicalExpr& e, const Value& v) {
  if (v.is_expr()) return e.append(*v.expr);
  if (!v.is_same()) return add_value_table(e, v);
  return e.constant(type_of(v), node_width(v.base, v.width), content(v, v.cells[0]));
}

using Bits = std::vector<circuit::Clbit>;  // ascending

Value finish(ClassicalExpr e, Base base, int width, Bits deps) {
  Value out;
  out.base = base, out.width = width, out.deps = std::move(deps);
  out.expr = std::make_shared<ClassicalExpr>(std::move(e));
  return out;
}

// Takes the nodes out of a value that nobody shares, so that a long sum is not copied at each term.
ClassicalExpr take_expr(Value& v) {
  if (v.is_expr() && v.expr.use_count() == 1) {
    return std::move(*std::const_pointer_cast<ClassicalExpr>(v.expr));
  }
  return to_expr(v);
}

Bits joined(Bits a, const Bits& b) {
  if (b.empty()) return a;
  if (a.empty() || a.back() < b.front()) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  if (std::includes(a.begin(), a.end(), b.begin(), b.end())) return a;
  Bits out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

struct OpName {
  std::string_view name;
  ClassicalOp op;
};
constexpr OpName kOps[] = {{"&", ClassicalOp::kBitAnd},        {"|", ClassicalOp::kBitOr},
                           {"^", ClassicalOp::kBitXor},        {"==", ClassicalOp::kEqual},
                           {"!=", ClassicalOp::kNotEqual},     {"<", ClassicalOp::kLess},
                           {"<=", ClassicalOp::kLessEqual},    {">", ClassicalOp::kGreater},
                           {">=", ClassicalOp::kGreaterEqual}, {"<<", ClassicalOp::kShiftLeft},
                           {">>", ClassicalOp::kShiftRight},   {"+", ClassicalOp::kAdd},
                           {"-", ClassicalOp::kSub},           {"*", ClassicalOp::kMul},
                           {"/", ClassicalOp::kDiv},           {"%", ClassicalOp::kMod},
                           {"&&", ClassicalOp::kAnd},          {"||", ClassicalOp::kOr}};

ClassicalOp op_of(std::string_view name) {
  for (const OpName& row : kOps) {
    if (row.name == name) return row.op;
  }
  throw ValueError{concat("'", name, "' is not computed while a circuit runs")};
}

bool is_unsigned(const Value& v) { return type_of(v) != ClassicalType::kInt; }

// x / y or x % y of an int and a natural number of 64 bits, x being the int where `x_is_int`: with
// s = -1 below 0, else 0, the amount of the int i is (i ^ s) - s, and the result gets its sign in
// the same way. A remainder has the sign of x.
std::int32_t add_mixed_quotient(ClassicalExpr& e, ClassicalOp code, std::int32_t x, std::int32_t y,
                                bool x_is_int) {
  constexpr auto kUint = ClassicalType::kUint, kInt = ClassicalType::kInt;
  const std::int32_t number = add_cast(e, x_is_int ? x : y, kInt, 64);
  const std::int32_t below = add_cast(
      e, add(e, ClassicalOp::kShiftRight, kInt, 64, number, e.constant(kUint, 64, 63)), kUint, 64);
  const auto with_sign = [&](std::int32_t a) {
    return add(e, ClassicalOp::kSub, kUint, 64, add(e, ClassicalOp::kBitXor, kUint, 64, a, below),
               below);
  };
  const std::int32_t amount = with_sign(add_cast(e, number, kUint, 64));
  const std::int32_t natural = add_cast(e, x_is_int ? y : x, kUint, 64);
  const std::int32_t out = x_is_int ? add(e, code, kUint, 64, amount, natural)
                                    : add(e, code, kUint, 64, natural, amount);
  return code == ClassicalOp::kDiv || x_is_int ? with_sign(out) : out;
}

}  // namespace

ClassicalExpr to_expr(const Value& a) {
  ClassicalExpr e;
  add_value(e, a);
  return e;
}

Value stored(Base base, int width, circuit::Clbit first) {
  ClassicalExpr e;
  const int size = node_width(base, width);
  e.add({ClassicalOp::kBits, type_of(base, width), static_cast<std::uint8_t>(size), -1, -1, first});
  Bits bits(static_cast<std::size_t>(size));
  std::iota(bits.begin(), bits.end(), first);
  return finish(std::move(e), base, width, std::move(bits));
}

Value stored_bits(const std::vector<circuit::Clbit>& wires, const std::vector<int>& known) {
  ClassicalExpr e;
  std::int32_t all = -1;
  std::uint64_t constant = 0;
  for (std::size_t k = 0; k < wires.size();) {
    if (known[k] >= 0) {
      constant |= static_cast<std::uint64_t>(known[k] != 0) << k;
      ++k;
      continue;
    }
    std::size_t end = k + 1;
    while (end < wires.size() && known[end] < 0 && wires[end] == wires[k] + (end - k)) ++end;
    all = add_part(e, all, e.bits(wires[k], static_cast<int>(end - k)), k);
    k = end;
  }
  if (constant) all = add_part(e, all, e.constant(ClassicalType::kUint, 64, constant), 0);
  const auto width = static_cast<int>(wires.size());
  add_cast(e, all, ClassicalType::kUint, width);
  Bits bits;
  for (std::size_t k = 0; k < wires.size(); ++k) {
    if (known[k] < 0) bits.push_back(wires[k]);
  }
  std::sort(bits.begin(), bits.end());
  bits.erase(std::unique(bits.begin(), bits.end()), bits.end());
  return finish(std::move(e), Base::kBit, width, std::move(bits));
}

Value impossible_value(Base base, int width) {
  ClassicalExpr e;
  const std::int32_t one = e.constant(ClassicalType::kUint, 64, 1);
  const std::int32_t never = e.add({ClassicalOp::kBounded, ClassicalType::kUint, 64, one, -1, 1});
  add_cast(e, never, type_of(base, width), node_width(base, width));
  return finish(std::move(e), base, width, {});
}

Value cast_expr(const Value& a, Base base, int width) {
  ClassicalExpr e = to_expr(a);
  const auto last = static_cast<std::int32_t>(e.nodes.size()) - 1;
  add_cast(e, last, type_of(base, width), node_width(base, width));
  return finish(std::move(e), base, width, a.deps);
}

// round((t - floor(t)) 2^width) mod 2^width, with t = x / 2 pi
Value turns_expr(const Value& x, int width) {
  constexpr auto kFloat = ClassicalType::kFloat;
  ClassicalExpr e = to_expr(x);
  const auto number = [&](double d) {
    return e.constant(kFloat, 64, std::bit_cast<std::uint64_t>(d));
  };
  const auto call = [&](ClassicalFunction f, std::int32_t a, std::int32_t b = -1) {
    return e.add({ClassicalOp::kCall, kFloat, 64, a, b, static_cast<std::uint64_t>(f)});
  };
  const auto last = static_cast<std::int32_t>(e.nodes.size()) - 1;
  const std::int32_t turns =
      add(e, ClassicalOp::kDiv, kFloat, 64, last, number(2 * std::numbers::pi));
  const std::int32_t part =
      add(e, ClassicalOp::kSub, kFloat, 64, turns, call(ClassicalFunction::kFloor, turns));
  const std::int32_t size = number(std::ldexp(1.0, width));
  const std::int32_t steps =
      call(ClassicalFunction::kRound, add(e, ClassicalOp::kMul, kFloat, 64, part, size));
  add_cast(e, call(ClassicalFunction::kFloatMod, steps, size), ClassicalType::kUint, width);
  return finish(std::move(e), Base::kUint, width, x.deps);
}

Value function_expr(ClassicalFunction f, const Value& a, const Value* b) {
  const bool whole = f == ClassicalFunction::kPower || f == ClassicalFunction::kPopcount;
  const Base base = f == ClassicalFunction::kPopcount ? Base::kUint
                    : whole                           ? Base::kInt
                                                      : Base::kFloat;
  ClassicalExpr e;
  const std::int32_t x = add_value(e, a);
  const std::int32_t y = b ? add_value(e, *b) : -1;
  e.add({ClassicalOp::kCall, type_of(base, 64), 64, x, y, static_cast<std::uint64_t>(f)});
  return finish(std::move(e), base, 64, b ? joined(a.deps, b->deps) : a.deps);
}

Value unary_expr(std::string_view op, const Value& a) {
  if (op == "~" && a.is_real()) throw ValueError{"~ needs bits or an integer"};
  Value from = op == "!" ? truth(a) : a;
  if (op == "-" && !a.is_real()) from = cast(a, Base::kInt, 64);
  if (op == "~" && a.base == Base::kBool) return unary("!", a);
  ClassicalExpr e = to_expr(from);
  const auto last = static_cast<std::int32_t>(e.nodes.size()) - 1;
  const ClassicalOp code = op == "!"   ? ClassicalOp::kNot
                           : op == "~" ? ClassicalOp::kBitNot
                                       : ClassicalOp::kNegate;
  add(e, code, type_of(from), node_width(from.base, from.width), last);
  return finish(std::move(e), from.base, from.width, from.deps);
}

Value binary_expr(std::string_view op, Value a, const Value& b) {
  constexpr auto kBool = ClassicalType::kBool;
  const bool real = a.is_real() || b.is_real();
  if (op == "**" || (op == "%" && real)) {
    const auto number = [&](const Value& v) {
      return real ? cast(v, Base::kFloat, 64) : cast(v, Base::kInt, 64);
    };
    const Value x = number(a), y = number(b);
    Value out = function_expr(op == "%" ? ClassicalFunction::kFloatMod
                              : real    ? ClassicalFunction::kFloatPower
                                        : ClassicalFunction::kPower,
                              x, &y);
    if (real) out.base = real_result(op, a, b), out.width = default_width(out.base);
    return out;
  }
  const ClassicalOp code = op_of(op);
  ClassicalExpr e = take_expr(a);
  std::int32_t x = static_cast<std::int32_t>(e.nodes.size()) - 1, y = add_value(e, b);
  const auto result = [&](Base base, int width) {
    return finish(std::move(e), base, width, joined(std::move(a.deps), b.deps));
  };
  if (op == "&&" || op == "||") {
    x = add_cast(e, x, kBool, 1), y = add_cast(e, y, kBool, 1);
    add(e, code, kBool, 1, x, y);
    return result(Base::kBool, 1);
  }
  if (is_comparison(op)) {
    const bool mixed = exceeds_int(a, b);
    const auto type = real                                          ? ClassicalType::kFloat
                      : mixed || (is_unsigned(a) && is_unsigned(b)) ? ClassicalType::kUint
                                                                    : ClassicalType::kInt;
    const std::int32_t with_sign = is_unsigned(a) ? y : x;
    x = add_cast(e, x, type, 64), y = add_cast(e, y, type, 64);
    const std::int32_t compared = add(e, code, kBool, 1, x, y);
    if (mixed) {  // an int below 0 is less than every natural number
      const bool holds_below = op == "!=" || (is_unsigned(a) ? op[0] == '>' : op[0] == '<');
      const std::int32_t zero = e.constant(ClassicalType::kInt, 64, 0);
      const auto sign = holds_below ? ClassicalOp::kLess : ClassicalOp::kGreaterEqual;
      add(e, holds_below ? ClassicalOp::kOr : ClassicalOp::kAnd, kBool, 1,
          add(e, sign, kBool, 1, with_sign, zero), compared);
    }
    return result(Base::kBool, 1);
  }
  if (real) {
    x = add_cast(e, x, ClassicalType::kFloat, 64), y = add_cast(e, y, ClassicalType::kFloat, 64);
    add(e, code, ClassicalType::kFloat, 64, x, y);
    const Base base = real_result(op, a, b);
    return result(base, default_width(base));
  }
  const IntegerType to = integer_result(op, a, b);
  if ((op == "/" || op == "%") && exceeds_int(a, b)) {
    add_cast(e, add_mixed_quotient(e, code, x, y, !is_unsigned(a)), type_of(to.base, to.width),
             node_width(to.base, to.width));
    return result(to.base, to.width);
  }
  const bool shift = op == "<<" || op == ">>";
  const bool plain = shift ? is_unsigned(a) : to.base != Base::kInt;
  const auto type = plain ? ClassicalType::kUint : ClassicalType::kInt;
  x = add_cast(e, x, type, 64);
  y = add_cast(e, y, shift ? ClassicalType::kUint : type, 64);
  add_cast(e, add(e, code, type, 64, x, y), type_of(to.base, to.width),
           node_width(to.base, to.width));
  return result(to.base, to.width);
}

}  // namespace tilewave::language::qasm3
