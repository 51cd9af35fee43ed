#include "tilewave/language/qasm3/value.h"

#include <algorithm>
#include <cmath>

#include "tilewave/base/bits.h"
#include "tilewave/base/concat.h"
#include "tilewave/base/units.h"

namespace tilewave::language::qasm3 {
namespace {

std::uint64_t mask_of(int width) { return low_mask(std::min(width, 64)); }
bool is_signed(const Value& v) { return v.base == Base::kInt; }

// Wraps an integer into its type.
std::int64_t wrap(std::int64_t i, Base base, int width) {
  if (base == Base::kBool) return i != 0;
  if (width >= 64) return i;
  auto u = static_cast<std::uint64_t>(i) & mask_of(width);
  if (base == Base::kInt && u >> (width - 1) & 1) u |= ~mask_of(width);
  return static_cast<std::int64_t>(u);
}

double as_real(const Value& v, Cell c) {
  if (v.is_real()) return c.d;
  return is_signed(v) ? static_cast<double>(c.i)
                      : static_cast<double>(static_cast<std::uint64_t>(c.i));
}

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

// In 64 bits, wrapping around.
std::int64_t apply_integer(std::string_view op, std::int64_t a, std::int64_t b, bool is_signed) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  const auto cut = [](std::uint64_t u) { return static_cast<std::int64_t>(u); };
  if (op == "&") return a & b;
  if (op == "|") return a | b;
  if (op == "^") return a ^ b;
  if (op == "<<") return ub > 63 ? 0 : cut(ua << ub);
  if (op == ">>")
    return ub > 63 ? (is_signed && a < 0 ? -1 : 0) : is_signed ? a >> b : cut(ua >> ub);
  if (op == "/" || op == "%") {
    if (b == 0) throw ValueError{"division by zero"};
    if (!is_signed) return cut(op == "/" ? ua / ub : ua % ub);
    if (b == -1) return op == "%" ? 0 : cut(0 - ua);  // the least number has no negative
    return op == "/" ? a / b : a % b;
  }
  if (op == "+") return cut(ua + ub);
  if (op == "-") return cut(ua - ub);
  if (op == "*") return cut(ua * ub);
  return cut(circuit::integer_power(ua, ub));
}

}  // namespace

bool exceeds_64_bits(std::string_view op, const Value& a, const Value& b) {
  const auto is_int = [](const Value& v) {
    return v.is_known() && !v.is_real() && !v.is_turns() && v.base != Base::kUint &&
           v.base != Base::kBit;
  };
  if (!is_int(a) || !is_int(b)) return false;
  std::int64_t x = a.cells[0].i, out = 0;
  const std::int64_t y = b.cells[0].i;
  if (op == "+") return __builtin_add_overflow(x, y, &out);
  if (op == "-") return __builtin_sub_overflow(x, y, &out);
  if (op == "*") return __builtin_mul_overflow(x, y, &out);
  if (op != "**" || y < 0) return false;
  bool overflow = false;
  out = 1;
  for (std::int64_t rest = y; rest; rest >>= 1) {
    if (rest & 1) overflow |= __builtin_mul_overflow(out, x, &out);
    if (rest > 1) overflow |= __builtin_mul_overflow(x, x, &x);
  }
  return overflow;
}

namespace {

// a / b or a % b of an int and a natural number of 64 bits, which is `a` where `a_is_int` is not
// set: a quotient of the amounts, with the sign of the int, or with that of a for a remainder.
std::int64_t divide_mixed(std::string_view op, std::int64_t a, std::int64_t b, bool a_is_int) {
  if (b == 0) throw ValueError{"division by zero"};
  const bool a_below = a_is_int && a < 0, b_below = !a_is_int && b < 0;
  const auto amount = [](std::int64_t i, bool is_below) {
    const auto u = static_cast<std::uint64_t>(i);
    return is_below ? 0 - u : u;
  };
  const std::uint64_t x = amount(a, a_below), y = amount(b, b_below);
  const std::uint64_t out = op == "/" ? x / y : x % y;
  const bool below = op == "/" ? a_below || b_below : a_below;
  return static_cast<std::int64_t>(below ? 0 - out : out);
}

bool compare(std::string_view op, auto a, auto b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  return op == "<=" ? a <= b : a >= b;
}

// What a table without a value in some cells is.
enum class Outcome : std::uint8_t { kTable, kRunning };

// Fills the cells with what f gives. Where it throws in a case that can occur there is no table: an
// error where there is no other case, else the running circuit's to compute.
Outcome fill(Value& out, const std::function<Cell(std::size_t)>& f, const ReachOf& reach) {
  std::vector<std::size_t> bad;
  std::string problem;
  for (std::size_t i = 0; i < out.cells.size(); ++i) {
    try {
      out.cells[i] = f(i);
    } catch (const ValueError& error) {
      if (!reach) throw;
      out.cells[i] = {};
      bad.push_back(i);
      problem = error.problem;
    }
  }
  if (bad.empty()) return Outcome::kTable;
  const Reach r = reach();
  bool occurs = true;
  if (fit_a_table(out, r.holds)) {
    Value failed = Value::zero(Base::kBool, 1);
    failed.deps = out.deps;
    failed.cells.assign(out.cells.size(), Cell{});
    for (const std::size_t i : bad) failed.cells[i].i = 1;
    const Value both = combine(failed, r.holds, [](Cell a, Cell b) { return Cell{a.i && b.i, 0}; });
    occurs = std::any_of(both.cells.begin(), both.cells.end(), [](Cell c) { return c.i != 0; });
  }
  if (!occurs) return Outcome::kTable;
  // Which case there is, is known while the circuit runs, unless all are alike.
  const bool always = !r.is_conditional && bad.size() == out.cells.size();
  if (always) throw ValueError{problem};
  return Outcome::kRunning;
}

}  // namespace

Base common_base(const Value& a, const Value& b) {
  for (const Base base :
       {Base::kDuration, Base::kFloat, Base::kAngle, Base::kInt, Base::kUint, Base::kBit}) {
    if (a.base == base || b.base == base) return base;
  }
  return Base::kInt;  // of two truth values
}

bool exceeds_int(const Value& a, const Value& b) {
  const auto is_long = [](const Value& v) {
    return (v.base == Base::kUint || v.base == Base::kBit) && v.width == 64;
  };
  return (is_long(a) && is_signed(b)) || (is_signed(a) && is_long(b));
}

bool is_comparison(std::string_view op) {
  return op == "==" || op == "!=" || op == "<" || op == ">" || op == "<=" || op == ">=";
}

IntegerType integer_result(std::string_view op, const Value& a, const Value& b) {
  const bool shift = op == "<<" || op == ">>";
  const bool bitwise = op == "&" || op == "|" || op == "^" || shift;
  Base base = shift ? a.base : common_base(a, b);
  const Value& with_sign = is_signed(a) ? a : b;
  if ((op == "/" || op == "%") && exceeds_int(a, b) && !with_sign.is_expr() &&
      std::ranges::all_of(with_sign.cells, [](const Cell& c) { return c.i >= 0; }))
    base = Base::kUint;  // what is a sign in an int is a bit of the number
  if (a.base == Base::kBool && b.base == Base::kBool && bitwise && !shift) return {Base::kBool, 1};
  const bool keeps_bits = bitwise && (base == Base::kBit || base == Base::kUint);
  const Base result = bitwise || base == Base::kUint ? base : Base::kInt;
  if (shift && keeps_bits) return {result, a.width};
  return {result, keeps_bits || base == Base::kUint ? std::max(a.width, b.width) : 64};
}

bool Value::is_same() const {
  return !is_expr() && std::all_of(cells.begin(), cells.end(), [&](const Cell& c) {
    return c.i == cells[0].i && c.d == cells[0].d;
  });
}

Value Value::bits(const std::vector<circuit::Clbit>& wires, const std::vector<int>& known) {
  if (wires.size() > 64) {
    throw ValueError{std::string(kLongRow)};
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

std::optional<Value> combine(const Value& a, const Value& b,
                             const std::function<Cell(Cell, Cell)>& f, const ReachOf& reach) {
  if (!fit_a_table(a, b)) {
    throw ValueError{concat("this depends on more than ", kMaxValueBits,
                            " measured bits, or on what a running loop changes")};
  }
  Value out;
  if (a.is_known() && b.is_known()) {
    try {
      out.cells[0] = f(a.cells[0], b.cells[0]);
    } catch (const ValueError&) {
      if (!reach || !reach().is_conditional) throw;
      return std::nullopt;
    }
    return out;
  }
  std::set_union(a.deps.begin(), a.deps.end(), b.deps.begin(), b.deps.end(),
                 std::back_inserter(out.deps));
  const std::vector<int> in_a = places_in(a.deps, out.deps), in_b = places_in(b.deps, out.deps);
  out.cells.resize(std::size_t{1} << out.deps.size());
  const Outcome outcome = fill(
      out, [&](std::size_t i) { return f(a.cells[project(i, in_a)], b.cells[project(i, in_b)]); },
      reach);
  return outcome == Outcome::kTable ? std::optional(std::move(out)) : std::nullopt;
}

Value combine(const Value& a, const Value& b, const std::function<Cell(Cell, Cell)>& f) {
  return *combine(a, b, f, {});
}

Value relabel(Value a, Base base) {
  a.base = base;
  return a;
}

Value raw_bits(const Value& a) {
  if (a.is_turns()) return relabel(a, Base::kUint);
  if (a.is_real()) throw ValueError{"a float or an angle without a size has no bits to read"};
  return cast(a, Base::kUint, 64);
}

Value unary(std::string_view op, const Value& a) {
  if (op != "-" && a.base == Base::kDuration) throw ValueError{"a time is no truth value"};
  if (a.is_turns() && op != "!") {
    const Value u = unary(op, relabel(a, Base::kUint));
    return relabel(cast(u, Base::kUint, a.width), Base::kAngle);
  }
  if (a.is_expr()) return unary_expr(op, a);
  if (op == "~" && a.is_real()) throw ValueError{"~ needs bits or an integer"};
  Value out = op == "!" ? truth(a) : a;
  if (op == "!" || (op == "~" && a.base == Base::kBool)) {
    for (Cell& c : out.cells) c.i = c.i == 0;
  } else if (op == "~") {
    for (Cell& c : out.cells) c.i = wrap(~c.i, a.base, a.width);
  } else if (a.is_real()) {
    for (Cell& c : out.cells) c.d = -c.d;
  } else {
    for (Cell& c : out.cells) c.i = apply_integer("-", 0, c.i, true);
    out.base = Base::kInt, out.width = 64;
  }
  return out;
}

namespace {

// A time and a number mix in products only.
void check_times(std::string_view op, const Value& a, const Value& b) {
  const bool left = a.base == Base::kDuration, right = b.base == Base::kDuration;
  if (!left && !right) return;
  const bool two = left && right && (op == "+" || op == "-" || op == "/" || is_comparison(op));
  const bool one = left != right && (op == "*" || (op == "/" && left));
  if (two || one) return;
  throw ValueError{concat("'", op, "' is not defined for ",
                          left && right ? "two times" : "a time and a number")};
}

void check_shift(std::string_view op, const Value& b) {
  if (b.is_real() || b.is_turns())
    throw ValueError{concat("'", op, "' needs an integer behind it")};
  if (b.is_same() && is_signed(b) && b.cells[0].i < 0)
    throw ValueError{"a shift by a negative number of bits"};
}

Value compare_cells(std::string_view op, const Value& a, const Value& b) {
  const bool real = a.is_real() || b.is_real();
  const bool with_sign = is_signed(a) || is_signed(b);
  const bool mixed = exceeds_int(a, b);  // the int is less than every such number, or is one
  Value out = combine(a, b, [&](Cell p, Cell q) -> Cell {
    if (real) return {compare(op, as_real(a, p), as_real(b, q)), 0};
    if (mixed && is_signed(a) && p.i < 0) return {compare(op, 0, 1), 0};
    if (mixed && is_signed(b) && q.i < 0) return {compare(op, 1, 0), 0};
    if (with_sign && !mixed) return {compare(op, p.i, q.i), 0};
    return {compare(op, static_cast<std::uint64_t>(p.i), static_cast<std::uint64_t>(q.i)), 0};
  });
  out.base = Base::kBool, out.width = 1;
  return out;
}

}  // namespace

Base real_result(std::string_view op, const Value& a, const Value& b) {
  const Base base = common_base(a, b);
  const bool ratio = op == "/" && a.base == Base::kDuration && b.base == Base::kDuration;
  return ratio || !is_real_type(base, 0) ? Base::kFloat : base;
}

Value binary(std::string_view op, Value a, const Value& b, const ReachOf& reach) {
  if (op == "++") throw ValueError{"++ joins registers: it stands in 'let'"};
  check_times(op, a, b);
  const bool shift = op == "<<" || op == ">>";
  if (shift && !a.is_real()) check_shift(op, b);
  const bool logical = op == "&&" || op == "||";
  if ((a.is_turns() || b.is_turns()) && !logical) return angle_binary(op, a, b, reach);
  const bool real = a.is_real() || b.is_real();
  if (real && (op == "&" || op == "|" || op == "^" || shift)) {
    throw ValueError{concat("'", op, "' needs bits or integers")};
  }
  if (!fit_a_table(a, b)) return binary_expr(op, std::move(a), b);
  if (logical) {
    Value out = combine(truth(a), truth(b), [&](Cell p, Cell q) {
      return Cell{op == "&&" ? (p.i && q.i) : (p.i || q.i), 0};
    });
    out.base = Base::kBool, out.width = 1;
    return out;
  }
  if (is_comparison(op)) return compare_cells(op, a, b);
  const bool power_real =
      op == "**" && !real && is_signed(b) &&
      std::any_of(b.cells.begin(), b.cells.end(), [](Cell c) { return c.i < 0; });
  if (real || power_real) {
    std::optional<Value> out = combine(
        a, b,
        [&](Cell p, Cell q) { return real_cell(apply_real(op, as_real(a, p), as_real(b, q))); },
        reach);
    if (!out && power_real) {
      return binary_expr(op, cast(a, Base::kFloat, 64), cast(b, Base::kFloat, 64));
    }
    if (!out) return binary_expr(op, std::move(a), b);
    out->base = power_real ? Base::kFloat : real_result(op, a, b);
    out->width = default_width(out->base);
    return *out;
  }
  const IntegerType to = integer_result(op, a, b);
  const bool with_sign = shift ? is_signed(a) : to.base == Base::kInt;
  const bool mixed = (op == "/" || op == "%") && exceeds_int(a, b);
  std::optional<Value> out = combine(
      a, b,
      [&](Cell p, Cell q) {
        if (mixed)
          return Cell{wrap(divide_mixed(op, p.i, q.i, is_signed(a)), to.base, to.width), 0};
        return Cell{wrap(apply_integer(op, p.i, q.i, with_sign), to.base, to.width), 0};
      },
      reach);
  if (!out) return binary_expr(op, std::move(a), b);
  out->base = to.base, out->width = to.width;
  return *out;
}

Value cast(const Value& a, Base base, int width, const ReachOf& reach) {
  if (base == Base::kBool) width = 1;
  if (a.base == base && a.width == width) return a;
  if ((a.base == Base::kDuration) != (base == Base::kDuration)) {
    throw ValueError{base == Base::kDuration ? "this needs a time such as 100ns"
                                             : "a time is no number"};
  }
  if (a.base == Base::kBit && base == Base::kBit) {
    throw ValueError{concat("the sizes differ: ", counted(static_cast<std::uint64_t>(width), "bit"),
                            " and ", a.width)};
  }
  const bool to_turns = base == Base::kAngle && width > 0;
  if (a.is_turns() || to_turns) return angle_cast(a, base, width);
  if (base == Base::kAngle && a.base == Base::kBit && a.width > 1) {
    throw ValueError{concat("bits become an angle of as many bits: write angle[", a.width,
                            "] for a part of a turn, int for a number")};
  }
  if (a.is_real() && base == Base::kBit) {
    throw ValueError{"a float or an angle without a size has no bits to read"};
  }
  if (a.is_real() && is_real_type(base, width)) {
    Value out = a;
    out.base = base, out.width = width;
    return out;
  }
  if (a.is_expr()) return cast_expr(a, base, width);
  Value out = Value::zero(base, width);
  out.deps = a.deps;
  out.cells.resize(a.cells.size());
  const auto one = [&](std::size_t i) -> Cell {
    const Cell c = a.cells[i];
    if (is_real_type(base, width)) return {0, as_real(a, c)};
    if (base == Base::kBool) return {a.is_real() ? c.d != 0 : c.i != 0, 0};
    if (!a.is_real()) return {wrap(c.i, base, width), 0};
    if (!(c.d >= -0x1p63 && c.d < (base == Base::kInt ? 0x1p63 : 0x1p64)))
      throw ValueError{"this number is too large for an integer"};
    const auto whole = c.d < 0 ? static_cast<std::int64_t>(c.d)
                               : static_cast<std::int64_t>(static_cast<std::uint64_t>(c.d));
    return {wrap(whole, base, width), 0};
  };
  return fill(out, one, reach) == Outcome::kTable ? out : cast_expr(a, base, width);
}

Value truth(const Value& a) { return a.base == Base::kBool ? a : cast(a, Base::kBool, 1); }

Value select(const Value& condition, const Value& then, const Value& otherwise) {
  // Which side a cell comes from travels in the second field of a first combination.
  Value chosen = combine(condition, then, [](Cell c, Cell t) { return c.i ? t : Cell{0, 0}; });
  const Value rest = combine(condition, otherwise, [](Cell c, Cell o) {
    return c.i ? Cell{0, 0} : o;
  });
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

}  // namespace tilewave::language::qasm3
