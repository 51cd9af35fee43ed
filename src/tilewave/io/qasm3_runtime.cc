// Values that the running circuit computes: expressions over its classical bits, in the types of
// circuit/classical.h. Integers are computed in 64 bits and cut to their width, as tables are.
#include <algorithm>
#include <bit>

#include "tilewave/io/qasm3_value.h"

namespace tilewave::io::qasm3 {
namespace {

using circuit::ClassicalExpr;
using circuit::ClassicalFunction;
using circuit::ClassicalOp;
using circuit::ClassicalType;

ClassicalType type_of(Base base) {
  switch (base) {
    case Base::kBool:
      return ClassicalType::kBool;
    case Base::kInt:
      return ClassicalType::kInt;
    case Base::kFloat:
    case Base::kAngle:
    case Base::kDuration:
      return ClassicalType::kFloat;
    default:
      return ClassicalType::kUint;
  }
}

int node_width(Base base, int width) {
  const ClassicalType type = type_of(base);
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

std::uint64_t content(const Value& v, const Cell& c) {
  return v.is_real() ? std::bit_cast<std::uint64_t>(c.d) : static_cast<std::uint64_t>(c.i);
}

// The cell of the table that the bits name.
std::int32_t add_value_table(ClassicalExpr& e, const Value& v) {
  const std::int32_t index = add_index(v.deps, e);
  std::vector<std::uint64_t> table;
  for (const Cell& c : v.cells) table.push_back(content(v, c));
  e.tables.push_back(std::move(table));
  return e.add({ClassicalOp::kLookup, type_of(v.base),
                static_cast<std::uint8_t>(node_width(v.base, v.width)), index, -1,
                e.tables.size() - 1});
}

std::int32_t add_value(ClassicalExpr& e, const Value& v) {
  if (v.is_expr()) return e.append(*v.expr);
  if (!v.is_same()) return add_value_table(e, v);
  return e.constant(type_of(v.base), node_width(v.base, v.width), content(v, v.cells[0]));
}

Value finish(ClassicalExpr e, Base base, int width) {
  Value out;
  out.base = base, out.width = width;
  circuit::for_each_read(e, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) out.deps.push_back(first + k);
  });
  std::sort(out.deps.begin(), out.deps.end());
  out.deps.erase(std::unique(out.deps.begin(), out.deps.end()), out.deps.end());
  out.expr = std::make_shared<const ClassicalExpr>(std::move(e));
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
  throw ValueError{concat({"'", name, "' is not computed while a circuit runs"})};
}

bool is_unsigned(const Value& v) { return type_of(v.base) != ClassicalType::kInt; }

}  // namespace

ClassicalExpr to_expr(const Value& a) {
  ClassicalExpr e;
  add_value(e, a);
  return e;
}

Value stored(Base base, int width, circuit::Clbit first) {
  ClassicalExpr e;
  e.add({ClassicalOp::kBits, type_of(base), static_cast<std::uint8_t>(node_width(base, width)), -1,
         -1, first});
  return finish(std::move(e), base, width);
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
  return finish(std::move(e), Base::kBit, width);
}

Value cast_expr(const Value& a, Base base, int width) {
  if (a.is_real() && base == Base::kBit) {
    throw ValueError{"a float or an angle has no bits to read"};
  }
  ClassicalExpr e = *a.expr;
  const auto last = static_cast<std::int32_t>(e.nodes.size()) - 1;
  add_cast(e, last, type_of(base), node_width(base, width));
  return finish(std::move(e), base, base == Base::kBool ? 1 : width);
}

Value function_expr(ClassicalFunction f, const Value& a, const Value* b) {
  const bool whole = f == ClassicalFunction::kPower || f == ClassicalFunction::kPopcount;
  const Base base = f == ClassicalFunction::kPopcount ? Base::kUint
                    : whole                           ? Base::kInt
                                                      : Base::kFloat;
  ClassicalExpr e;
  const std::int32_t x = add_value(e, a);
  const std::int32_t y = b ? add_value(e, *b) : -1;
  e.add({ClassicalOp::kCall, type_of(base), 64, x, y, static_cast<std::uint64_t>(f)});
  return finish(std::move(e), base, 64);
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
  add(e, code, type_of(from.base), node_width(from.base, from.width), last);
  return finish(std::move(e), from.base, from.width);
}

Value binary_expr(std::string_view op, const Value& a, const Value& b) {
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
    if (real && common_base(a, b) == Base::kAngle) out.base = Base::kAngle;
    return out;
  }
  const ClassicalOp code = op_of(op);
  ClassicalExpr e;
  std::int32_t x = add_value(e, a), y = add_value(e, b);
  if (op == "&&" || op == "||") {
    x = add_cast(e, x, kBool, 1), y = add_cast(e, y, kBool, 1);
    add(e, code, kBool, 1, x, y);
    return finish(std::move(e), Base::kBool, 1);
  }
  if (is_comparison(op)) {
    const auto type = real                               ? ClassicalType::kFloat
                      : is_unsigned(a) && is_unsigned(b) ? ClassicalType::kUint
                                                         : ClassicalType::kInt;
    x = add_cast(e, x, type, 64), y = add_cast(e, y, type, 64);
    add(e, code, kBool, 1, x, y);
    return finish(std::move(e), Base::kBool, 1);
  }
  if (real) {
    x = add_cast(e, x, ClassicalType::kFloat, 64), y = add_cast(e, y, ClassicalType::kFloat, 64);
    add(e, code, ClassicalType::kFloat, 64, x, y);
    const Base base = common_base(a, b);
    return finish(std::move(e), base == Base::kAngle ? Base::kAngle : Base::kFloat, 64);
  }
  const IntegerType to = integer_result(op, a, b);
  const bool shift = op == "<<" || op == ">>";
  const bool plain = shift ? is_unsigned(a) : to.base != Base::kInt;
  const auto type = plain ? ClassicalType::kUint : ClassicalType::kInt;
  x = add_cast(e, x, type, 64);
  y = add_cast(e, y, shift ? ClassicalType::kUint : type, 64);
  add_cast(e, add(e, code, type, 64, x, y), type_of(to.base), node_width(to.base, to.width));
  return finish(std::move(e), to.base, to.width);
}

}  // namespace tilewave::io::qasm3
