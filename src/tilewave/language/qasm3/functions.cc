// The functions that expressions may call.
#include <algorithm>
#include <bit>
#include <cmath>

#include "tilewave/base/bits.h"
#include "tilewave/base/concat.h"
#include "tilewave/base/units.h"
#include "tilewave/language/qasm3/value.h"

namespace tilewave::language::qasm3 {
namespace {

using circuit::ClassicalFunction;

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

// u << by | u >> (w - by), with by from 0 to w - 1
Value rotated(const Value& a, const Value& by, bool left) {
  const Value w = Value::integer(a.width);
  const Value u = a.is_turns() ? relabel(a, Base::kUint) : cast(a, Base::kUint, a.width);
  const Value rest = binary("%", cast(by, Base::kInt, 64), w);
  const Value turn = binary("%", binary("+", rest, w), w);
  const Value back = binary("%", binary("-", w, turn), w);
  const Value turned =
      binary("|", binary("<<", u, left ? turn : back), binary(">>", u, left ? back : turn));
  return a.is_turns() ? relabel(turned, a.base) : cast(turned, a.base, a.width);
}

// Integers and bits are numbers, an angle is one of radians.
Value as_float(const Value& a) {
  if (a.base == Base::kDuration) throw ValueError{"a time is no number"};
  return cast(a, Base::kFloat, 64);
}

}  // namespace

bool call_function(std::string_view name, const std::vector<Value>& args, Value& out,
                   const ReachOf& reach) {
  if (is_function(name)) need_arguments(name, args.size());
  for (const RealFunction& f : kRealFunctions) {
    if (f.name != name) continue;
    const Value x = as_float(args[0]);
    std::optional<Value> table;
    if (!x.is_expr()) {
      table = combine(
          x, Value::integer(0),
          [&](Cell c, Cell) {
            const double y = circuit::apply_function(f.f, c.d);
            if (!std::isfinite(y)) throw ValueError{"the result is not a finite number"};
            return Cell{0, y};
          },
          reach);
    }
    if (table) table->base = Base::kFloat, table->width = 64;
    out = table ? std::move(*table) : function_expr(f.f, x);
    return true;
  }
  if (name == "mod" || name == "pow") {
    out = binary(name == "mod" ? "%" : "**", args[0], args[1], reach);
    return true;
  }
  if (name == "popcount") {
    if (args[0].is_real()) throw ValueError{"popcount needs bits or an integer"};
    const Value u =
        args[0].is_turns() ? raw_bits(args[0]) : cast(args[0], Base::kUint, args[0].width);
    if (u.is_expr()) {
      out = function_expr(ClassicalFunction::kPopcount, u);
      return true;
    }
    out = combine(u, Value::integer(0), [](Cell c, Cell) {
      return Cell{std::popcount(static_cast<std::uint64_t>(c.i)), 0};
    });
    out.base = Base::kUint, out.width = 64;
    return true;
  }
  if (name == "rotl" || name == "rotr") {
    if (args[0].is_real() || args[1].is_real() || args[1].is_turns()) {
      throw ValueError{"a rotation needs bits and an integer"};
    }
    out = rotated(args[0], args[1], name == "rotl");
    return true;
  }
  return false;
}

void need_arguments(std::string_view function, std::size_t has) {
  const bool two =
      function == "mod" || function == "pow" || function == "rotl" || function == "rotr";
  const std::size_t takes = two ? 2 : 1;
  if (has == takes) return;
  throw ValueError{concat("'", function, "' takes ", counted(takes, "argument"), ", not ", has)};
}

bool is_function(std::string_view name) {
  const auto names = function_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string_view> function_names() {
  std::vector<std::string_view> names(std::begin(kOtherFunctions), std::end(kOtherFunctions));
  for (const RealFunction& f : kRealFunctions) names.push_back(f.name);
  return names;
}

}  // namespace tilewave::language::qasm3
