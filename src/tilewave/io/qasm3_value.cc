#include "tilewave/io/qasm3_value.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tilewave/base/bits.h"

namespace tilewave::io::qasm3 {
namespace {

using circuit::ClassicalFunction;

std::uint64_t mask_of(int width) { return low_mask(std::min(width, 64)); }

bool is_real_base(Base base) {
  return base == Base::kFloat || base == Base::kAngle || base == Base::kDuration;
}

// Wraps an integer into its type.
std::int64_t wrap(std::int64_t i, Base base, int width) {
  if (base == Base::kBool) return i != 0;
  if (width >= 64 || is_real_base(base)) return i;
  auto u = static_cast<std::uint64_t>(i) & mask_of(width);
  if (base == Base::kInt && u >> (width - 1) & 1) u |= ~mask_of(width);
  return static_cast<std::int64_t>(u);
}

double as_real(const Value& v, Cell c) { return v.is_real() ? c.d : static_cast<double>(c.i); }

// The index of a cell of `part` for cell `i` of a table over `all`.
std::size_t project(std::size_t i, const std::vector<int>& places) {
  std::size_t out = 0;
  for (std::size_t k = 0; k < places.size(); ++k) out |= (i >> places[k] & 1) << k;
  return out;
}

std::vector<int> places_in(const std::vector<circuit::Clbit>& part,
                           const std::vector<circuit::Clbit>& all) {
  std::vector<int> places;
  for (const auto b : part) {
    places.push_back(static_cast<int>(std::lower_bound(all.begin(), all.end(), b) - all.begin()));
  }
  return places;
}

Cell real_cell(double d) {
  if (!std::isfinite(d)) throw ValueError{"the result is not a finite number"};
  return {0, d};
}

double apply_real(std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "**") return std::pow(a, b);
  if (b == 0) throw ValueError{"division by zero"};
  return op == "/" ? a / b : std::fmod(a, b);
}

std::int64_t apply_integer(std::string_view op, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  const auto wrapped = [](std::uint64_t u) { return static_cast<std::int64_t>(u); };
  if (op == "+") return wrapped(ua + ub);
  if (op == "-") return wrapped(ua - ub);
  if (op == "*") return wrapped(ua * ub);
  if (op == "&") return a & b;
  if (op == "|") return a | b;
  if (op == "^") return a ^ b;
  if (op == "<<") return ub > 63 ? 0 : wrapped(ua << ub);
  if (op == ">>") return ub > 63 ? 0 : a >> b;
  if (b == 0) throw ValueError{"division by zero"};
  if (b == -1) return op == "/" ? wrapped(-ua) : 0;
  return op == "/" ? a / b : a % b;
}

bool compare(std::string_view op, auto a, auto b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  return op == "<=" ? a <= b : a >= b;
}

struct RealFunction {
  std::string_view name;
  ClassicalFunction f;
};
constexpr RealFunction kRealFunctions[] = {
    {"sin", ClassicalFunction::kSin},         {"cos", ClassicalFunction::kCos},
    {"tan", ClassicalFunction::kTan},         {"arcsin", ClassicalFunction::kArcsin},
    {"arccos", ClassicalFunction::kArccos},   {"arctan", ClassicalFunction::kArctan},
    {"exp", ClassicalFunction::kExp},         {"log", ClassicalFunction::kLog},
    {"ln", ClassicalFunction::kLog},          {"sqrt", ClassicalFunction::kSqrt},
    {"ceiling", ClassicalFunction::kCeiling}, {"floor", ClassicalFunction::kFloor},
};
constexpr std::string_view kOtherFunctions[] = {"mod", "pow", "popcount", "rotl", "rotr"};

using circuit::ClassicalExpr;
using circuit::ClassicalOp;
using circuit::ClassicalType;

std::int32_t add_node(ClassicalExpr& e, ClassicalOp op, ClassicalType type, std::int32_t a,
                      std::int32_t b = -1) {
  const auto width = static_cast<std::uint8_t>(type == ClassicalType::kBool ? 1 : 64);
  return e.add({op, type, width, a, b, 0});
}

std::int32_t word(ClassicalExpr& e, std::uint64_t value) {
  return e.constant(ClassicalType::kUint, 64, value);
}

// The runs of 64 bits of a long register, each compared with its part of the number.
std::int32_t add_comparison(const Test& test, ClassicalExpr& e) {
  std::int32_t all = -1;
  for (std::uint32_t k = 0; k < test.size; k += 64) {
    const int count = static_cast<int>(std::min<std::uint32_t>(64, test.size - k));
    const std::uint64_t part = k / 64 < test.value.size() ? test.value[k / 64] : 0;
    const std::int32_t bits =
        add_node(e, ClassicalOp::kCast, ClassicalType::kUint, e.bits(test.first + k, count));
    const std::int32_t equal =
        add_node(e, ClassicalOp::kEqual, ClassicalType::kBool, bits, word(e, part));
    all = all < 0 ? equal : add_node(e, ClassicalOp::kAnd, ClassicalType::kBool, all, equal);
  }
  for (std::size_t k = test.size; k < 64 * test.value.size(); ++k) {
    if (test.value[k / 64] >> (k % 64) & 1) {  // a number that no register of this size holds
      const std::int32_t never = e.constant(ClassicalType::kBool, 1, 0);
      all = add_node(e, ClassicalOp::kAnd, ClassicalType::kBool, all, never);
      break;
    }
  }
  return test.negated ? add_node(e, ClassicalOp::kNot, ClassicalType::kBool, all) : all;
}

// The result is the last node.
std::int32_t add_test(const Test& test, ClassicalExpr& e) {
  std::int32_t all = 0;
  if (test.expr) {
    all = e.append(*test.expr);
    if (e.nodes.back().type != ClassicalType::kBool) {
      all = add_node(e, ClassicalOp::kCast, ClassicalType::kBool, all);
    }
    if (test.negated) all = add_node(e, ClassicalOp::kNot, ClassicalType::kBool, all);
  } else {
    all = test.bits.empty() ? add_comparison(test, e) : add_table(test, e);
  }
  for (const Test& other : test.also) {
    const std::int32_t more = add_test(other, e);
    all = add_node(e, ClassicalOp::kAnd, ClassicalType::kBool, all, more);
  }
  return all;
}

Value map(const Value& a, const std::function<Cell(Cell)>& f) {
  Value out = a;
  for (Cell& c : out.cells) c = f(c);
  return out;
}

}  // namespace

std::int32_t add_index(const std::vector<circuit::Clbit>& bits, ClassicalExpr& e) {
  constexpr auto kUint = ClassicalType::kUint;
  std::int32_t index = -1;
  for (std::size_t j = 0; j < bits.size(); ++j) {
    const std::int32_t one = add_node(e, ClassicalOp::kCast, kUint, e.bits(bits[j], 1));
    const std::int32_t shifted =
        j == 0 ? one : add_node(e, ClassicalOp::kShiftLeft, kUint, one, word(e, j));
    index = j == 0 ? shifted : add_node(e, ClassicalOp::kBitOr, kUint, index, shifted);
  }
  return index;
}

// Bit (index % 64) of word (index / 64) of the table.
std::int32_t add_table(const Test& test, ClassicalExpr& e) {
  constexpr auto kUint = ClassicalType::kUint;
  const std::int32_t index = add_index(test.bits, e);
  const std::int32_t low = add_node(e, ClassicalOp::kBitAnd, kUint, index, word(e, 63));
  const std::int32_t high = add_node(e, ClassicalOp::kShiftRight, kUint, index, word(e, 6));
  std::int32_t any = -1;
  for (std::size_t w = 0; w < test.table.size(); ++w) {
    const std::int32_t moved =
        add_node(e, ClassicalOp::kShiftRight, kUint, word(e, test.table[w]), low);
    const std::int32_t bit =
        add_node(e, ClassicalOp::kEqual, ClassicalType::kBool,
                 add_node(e, ClassicalOp::kBitAnd, kUint, moved, word(e, 1)), word(e, 1));
    const std::int32_t here =
        add_node(e, ClassicalOp::kEqual, ClassicalType::kBool, high, word(e, w));
    const std::int32_t hit = add_node(e, ClassicalOp::kAnd, ClassicalType::kBool, bit, here);
    any = w == 0 ? hit : add_node(e, ClassicalOp::kOr, ClassicalType::kBool, any, hit);
  }
  return any;
}

Base common_base(const Value& a, const Value& b) {
  for (const Base base :
       {Base::kDuration, Base::kFloat, Base::kAngle, Base::kInt, Base::kUint, Base::kBit}) {
    if (a.base == base || b.base == base) return base;
  }
  return Base::kInt;  // of two truth values
}

bool is_comparison(std::string_view op) {
  return op == "==" || op == "!=" || op == "<" || op == ">" || op == "<=" || op == ">=";
}

IntegerType integer_result(std::string_view op, const Value& a, const Value& b) {
  const bool shift = op == "<<" || op == ">>";
  const bool bitwise = op == "&" || op == "|" || op == "^" || shift;
  const Base base = shift ? a.base : common_base(a, b);
  if (a.base == Base::kBool && b.base == Base::kBool && bitwise && !shift) return {Base::kBool, 1};
  const bool keeps_bits = bitwise && (base == Base::kBit || base == Base::kUint);
  const Base result = bitwise || base == Base::kUint ? base : Base::kInt;
  return {result, keeps_bits ? (shift ? a.width : std::max(a.width, b.width)) : 64};
}

bool Value::is_same() const {
  return !is_expr() && std::all_of(cells.begin(), cells.end(), [&](const Cell& c) {
    return c.i == cells[0].i && c.d == cells[0].d;
  });
}

Value Value::bits(const std::vector<circuit::Clbit>& wires, const std::vector<int>& known) {
  if (wires.size() > 64) {
    throw ValueError{"a register of more than 64 bits can only be compared with == and !="};
  }
  Value out{Base::kBit, static_cast<int>(wires.size()), {}, {}};
  for (std::size_t k = 0; k < wires.size(); ++k) {
    if (known[k] < 0) out.deps.push_back(wires[k]);
  }
  std::sort(out.deps.begin(), out.deps.end());
  out.deps.erase(std::unique(out.deps.begin(), out.deps.end()), out.deps.end());
  if (out.deps.size() > kMaxValueBits) return stored_bits(wires, known);
  const std::vector<int> places = places_in(wires, out.deps);
  out.cells.resize(std::size_t{1} << out.deps.size());
  for (std::size_t i = 0; i < out.cells.size(); ++i) {
    std::uint64_t u = 0;
    for (std::size_t k = 0; k < wires.size(); ++k) {
      const std::uint64_t one = known[k] < 0 ? i >> places[k] & 1 : known[k] != 0;
      u |= one << k;
    }
    out.cells[i].i = static_cast<std::int64_t>(u);
  }
  return out;
}

bool fit_a_table(const Value& a, const Value& b) {
  if (a.is_expr() || b.is_expr()) return false;
  std::size_t shared = 0;
  for (const auto bit : a.deps) shared += std::binary_search(b.deps.begin(), b.deps.end(), bit);
  return a.deps.size() + b.deps.size() - shared <= kMaxValueBits;
}

Value combine(const Value& a, const Value& b, const std::function<Cell(Cell, Cell)>& f) {
  if (!fit_a_table(a, b)) {
    throw ValueError{concat({"this depends on more than ", std::to_string(kMaxValueBits),
                             " measured bits, or on what a running loop changes"})};
  }
  Value out;
  std::set_union(a.deps.begin(), a.deps.end(), b.deps.begin(), b.deps.end(),
                 std::back_inserter(out.deps));
  const std::vector<int> in_a = places_in(a.deps, out.deps), in_b = places_in(b.deps, out.deps);
  out.cells.resize(std::size_t{1} << out.deps.size());
  for (std::size_t i = 0; i < out.cells.size(); ++i) {
    out.cells[i] = f(a.cells[project(i, in_a)], b.cells[project(i, in_b)]);
  }
  return out;
}

Value unary(std::string_view op, const Value& a) {
  if (a.is_expr()) return unary_expr(op, a);
  if (op == "!") {
    const Value t = truth(a);
    return map(t, [](Cell c) { return Cell{c.i == 0, 0}; });
  }
  if (op == "~") {
    if (a.is_real()) throw ValueError{"~ needs bits or an integer"};
    if (a.base == Base::kBool) return unary("!", a);
    return map(a, [&](Cell c) { return Cell{wrap(~c.i, a.base, a.width), 0}; });
  }
  Value out = map(a, [&](Cell c) {
    return a.is_real() ? Cell{0, -c.d} : Cell{apply_integer("-", 0, c.i), 0};
  });
  if (!a.is_real()) out.base = Base::kInt, out.width = 64;
  return out;
}

Value binary(std::string_view op, const Value& a, const Value& b) {
  if (op == "++") throw ValueError{"++ joins registers: it stands in 'let'"};
  const bool real = a.is_real() || b.is_real();
  if (real && (op == "&" || op == "|" || op == "^" || op == "<<" || op == ">>")) {
    throw ValueError{concat({"'", op, "' needs bits or integers"})};
  }
  if (!fit_a_table(a, b)) return binary_expr(op, a, b);
  if (op == "&&" || op == "||") {
    const Value x = truth(a), y = truth(b);
    Value out = combine(x, y, [&](Cell p, Cell q) {
      return Cell{op == "&&" ? (p.i && q.i) : (p.i || q.i), 0};
    });
    out.base = Base::kBool, out.width = 1;
    return out;
  }
  if (is_comparison(op)) {
    Value out = combine(a, b, [&](Cell p, Cell q) {
      return Cell{real ? compare(op, as_real(a, p), as_real(b, q)) : compare(op, p.i, q.i), 0};
    });
    out.base = Base::kBool, out.width = 1;
    return out;
  }
  const bool power_real =
      op == "**" && !real &&
      std::any_of(b.cells.begin(), b.cells.end(), [](Cell c) { return c.i < 0; });
  if (real || power_real) {
    Value out = combine(a, b, [&](Cell p, Cell q) {
      return real_cell(apply_real(op, as_real(a, p), as_real(b, q)));
    });
    const Base base = common_base(a, b);
    const bool ratio = op == "/" && a.base == Base::kDuration && b.base == Base::kDuration;
    out.base = power_real || ratio || !is_real_base(base) ? Base::kFloat : base;
    return out;
  }
  const IntegerType to = integer_result(op, a, b);
  Value out = combine(a, b, [&](Cell p, Cell q) {
    const std::int64_t i =
        op == "**" ? static_cast<std::int64_t>(circuit::integer_power(
                         static_cast<std::uint64_t>(p.i), static_cast<std::uint64_t>(q.i)))
                   : apply_integer(op, p.i, q.i);
    return Cell{wrap(i, to.base, to.width), 0};
  });
  out.base = to.base, out.width = to.width;
  return out;
}

namespace {

// u << by | u >> (w - by), with by from 0 to w - 1
Value rotated(const Value& a, const Value& by, bool left) {
  const Value w = Value::integer(a.width);
  const Value u = cast(a, Base::kUint, a.width);
  const Value rest = binary("%", cast(by, Base::kInt, 64), w);
  const Value turn = binary("%", binary("+", rest, w), w);
  const Value back = binary("%", binary("-", w, turn), w);
  return cast(binary("|", binary("<<", u, left ? turn : back), binary(">>", u, left ? back : turn)),
              a.base, a.width);
}

}  // namespace

bool call_function(std::string_view name, const std::vector<Value>& args, Value& out) {
  const auto need = [&](std::size_t count) {
    if (args.size() != count) {
      throw ValueError{concat({"'", name, "' takes ", std::to_string(count), " argument",
                               (count == 1 ? "" : "s"), ", not ", std::to_string(args.size())})};
    }
  };
  for (const RealFunction& f : kRealFunctions) {
    if (f.name != name) continue;
    need(1);
    if (args[0].is_expr()) {
      out = function_expr(f.f, cast(args[0], Base::kFloat, 64));
      return true;
    }
    out = map(args[0],
              [&](Cell c) { return real_cell(circuit::apply_function(f.f, as_real(args[0], c))); });
    out.base = Base::kFloat;
    return true;
  }
  if (name == "mod" || name == "pow") {
    need(2);
    out = binary(name == "mod" ? "%" : "**", args[0], args[1]);
    return true;
  }
  if (name == "popcount") {
    need(1);
    if (args[0].is_real()) throw ValueError{"popcount needs bits or an integer"};
    if (args[0].is_expr()) {
      out = function_expr(ClassicalFunction::kPopcount, cast(args[0], Base::kUint, args[0].width));
      return true;
    }
    out = map(args[0], [&](Cell c) {
      return Cell{std::popcount(static_cast<std::uint64_t>(c.i) & mask_of(args[0].width)), 0};
    });
    out.base = Base::kUint, out.width = 64;
    return true;
  }
  if (name == "rotl" || name == "rotr") {
    need(2);
    if (args[0].is_real() || args[1].is_real()) throw ValueError{"a rotation needs bits"};
    const int w = args[0].width;
    if (!fit_a_table(args[0], args[1])) {
      out = rotated(args[0], args[1], name == "rotl");
      return true;
    }
    out = combine(args[0], args[1], [&](Cell p, Cell q) {
      std::int64_t by = (name == "rotl" ? q.i : -q.i) % w;
      if (by < 0) by += w;
      const std::uint64_t u = static_cast<std::uint64_t>(p.i) & mask_of(w);
      const std::uint64_t turned = by == 0 ? u : u << by | u >> (w - by);
      return Cell{wrap(static_cast<std::int64_t>(turned), Base::kBit, w), 0};
    });
    out.base = args[0].base, out.width = w;
    return true;
  }
  return false;
}

Value cast(const Value& a, Base base, int width) {
  if (a.is_expr()) return cast_expr(a, base, width);
  Value out = map(a, [&](Cell c) -> Cell {
    if (is_real_base(base)) return {0, as_real(a, c)};
    if (base == Base::kBool) return {a.is_real() ? c.d != 0 : c.i != 0, 0};
    if (!a.is_real()) return {wrap(c.i, base, width), 0};
    if (base == Base::kBit) throw ValueError{"a float or an angle has no bits to read"};
    if (std::abs(c.d) >= 0x1p63) throw ValueError{"this number is too large for an integer"};
    return {wrap(static_cast<std::int64_t>(c.d), base, width), 0};
  });
  out.base = base, out.width = base == Base::kBool ? 1 : width;
  return out;
}

Value truth(const Value& a) { return a.base == Base::kBool ? a : cast(a, Base::kBool, 1); }

Value select(const Value& condition, const Value& then, const Value& otherwise) {
  // Which side a cell comes from travels in the second field of a first combination.
  const Value other = cast(otherwise, then.base, then.width);
  Value chosen = combine(condition, then, [](Cell c, Cell t) { return c.i ? t : Cell{0, 0}; });
  const Value rest = combine(condition, other, [](Cell c, Cell o) { return c.i ? Cell{0, 0} : o; });
  chosen = combine(chosen, rest, [](Cell a, Cell b) { return Cell{a.i | b.i, a.d + b.d}; });
  chosen.base = then.base, chosen.width = then.width;
  return chosen;
}

void rename_bit(Value& a, circuit::Clbit from, circuit::Clbit to) {
  if (!std::binary_search(a.deps.begin(), a.deps.end(), from)) return;
  std::vector<circuit::Clbit> names = a.deps;
  std::replace(names.begin(), names.end(), from, to);
  Value out = a;
  out.deps = names;
  std::sort(out.deps.begin(), out.deps.end());
  const std::vector<int> places = places_in(names, out.deps);
  for (std::size_t i = 0; i < a.cells.size(); ++i) out.cells[i] = a.cells[project(i, places)];
  a = std::move(out);
}

Test to_test(const Value& holds) {
  if (holds.is_expr()) {
    Test c;
    c.expr = holds.expr;
    return c;
  }
  const std::size_t size = holds.cells.size(), k = holds.deps.size();
  std::size_t count = 0, last = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (holds.cells[i].i) ++count, last = i;
  }
  Test c;
  // One row of the table over neighbouring bits: a comparison of a register.
  if (count == 1 && holds.deps.back() - holds.deps.front() + 1 == k) {
    c.first = holds.deps.front();
    c.size = static_cast<std::uint32_t>(k);
    c.value = {last};
    return c;
  }
  c.bits = holds.deps;
  c.table.resize((size + 63) / 64);
  for (std::size_t i = 0; i < size; ++i) {
    if (holds.cells[i].i) c.table[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  return c;
}

std::vector<circuit::Clbit> bits_read(const Test& test) {
  std::vector<circuit::Clbit> bits = test.bits;
  if (test.expr) {
    circuit::for_each_read(*test.expr, [&](std::uint32_t first, std::uint32_t count) {
      for (std::uint32_t k = 0; k < count; ++k) bits.push_back(first + k);
    });
  } else if (bits.empty()) {
    for (std::uint32_t k = 0; k < test.size; ++k) bits.push_back(test.first + k);
  }
  for (const Test& other : test.also) {
    const std::vector<circuit::Clbit> more = bits_read(other);
    bits.insert(bits.end(), more.begin(), more.end());
  }
  return bits;
}

circuit::Condition to_condition(const Test& test) {
  circuit::Condition out;
  if (!test.negated && test.bits.empty() && test.also.empty() && !test.expr) {
    out.first = test.first, out.size = test.size, out.value = test.value;
    return out;
  }
  add_test(test, out.expr);
  return out;
}

std::vector<std::string_view> function_names() {
  std::vector<std::string_view> names(std::begin(kOtherFunctions), std::end(kOtherFunctions));
  for (const RealFunction& f : kRealFunctions) names.push_back(f.name);
  return names;
}

}  // namespace tilewave::io::qasm3
