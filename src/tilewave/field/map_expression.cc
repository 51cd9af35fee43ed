// Nodes: folding, residues, specialisation, and the evaluation in double precision. Constants fold to
// what the operation would give at a pixel: floats round to a float, integers wrap round.
#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>

#include "tilewave/base/error.h"
#include "tilewave/field/index_arithmetic.h"
#include "tilewave/field/map.h"

namespace tilewave::field {
namespace {

// The remainder of a division rounded down, as % of maps means it and NumPy's remainder computes it:
// x - y floor(x / y), exact, but for one rounding where the signs of x and y differ. Has the sign of
// y. NaN for y = 0 and infinite x; x (y where the signs differ) for infinite y.
template <class T>
T floor_remainder(T x, T y) {
  const T r = std::fmod(x, y);  // exact, of the sign of x
  if (r == 0) return std::copysign(T(0), y);
  return (r < 0) != (y < 0) ? r + y : r;
}

// An operation: how it is written, and its value.
struct OpRow {
  const char* name;
  int arity = 0;
  double (*of_one)(double) = nullptr;
  double (*of_two)(double, double) = nullptr;

  constexpr OpRow(const char* leaf) : name(leaf) {}
  constexpr OpRow(const char* n, double (*f)(double)) : name(n), arity(1), of_one(f) {}
  constexpr OpRow(const char* n, double (*f)(double, double)) : name(n), arity(2), of_two(f) {}
  constexpr OpRow(const char* n, int a) : name(n), arity(a) {}
};
// In the order of MapOp.
constexpr OpRow kOps[] = {
    {"number"},
    {"v"},
    {"ix"},
    {"iy"},
    {"idx"},
    {"+", [](double a, double b) { return a + b; }},
    {"-", [](double a, double b) { return a - b; }},
    {"*", [](double a, double b) { return a * b; }},
    {"/", [](double a, double b) { return a / b; }},
    {"%", floor_remainder<double>},
    {"neg", [](double a) { return -a; }},
    {"<", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    {"<=", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
    {"==", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
    {"!=", [](double a, double b) { return a != b ? 1.0 : 0.0; }},
    {"&&", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
    {"||", [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
    {"!", [](double a) { return a == 0 ? 1.0 : 0.0; }},
    {"select", 3},  // see evaluate
    {"sqrt", std::sqrt},
    {"abs", std::abs},
    {"floor", std::floor},
    {"ceil", std::ceil},
    {"round", std::nearbyint},
    {"min",
     [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }},
    {"max",
     [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }},
    {"log", std::log},
    {"log2", std::log2},
    {"log10", std::log10},
    {"exp", std::exp},
    {"sin", std::sin},
    {"cos", std::cos},
    {"tan", std::tan},
    {"asin", std::asin},
    {"acos", std::acos},
    {"atan", std::atan},
    {"atan2", std::atan2},
    {"sinh", std::sinh},
    {"cosh", std::cosh},
    {"tanh", std::tanh},
    {"pow", std::pow},
    {"cbrt", std::cbrt},
    {"trunc", std::trunc},
    {"hypot", [](double a, double b) { return std::hypot(a, b); }},
    {"log1p", std::log1p},
    {"expm1", std::expm1}};
static_assert(std::size(kOps) == static_cast<std::size_t>(MapOp::kExpm1) + 1);

double apply(MapOp op, double a, double b) {
  const OpRow& row = kOps[static_cast<std::size_t>(op)];
  return row.of_one ? row.of_one(a) : row.of_two(a, b);
}

bool is_leaf(MapOp op) { return op <= MapOp::kIndex; }

// Whether the operation on integers gives an integer.
bool keeps_integers(MapOp op) {
  return op == MapOp::kAdd || op == MapOp::kSub || op == MapOp::kMul || op == MapOp::kMod ||
         op == MapOp::kNeg || op == MapOp::kMin || op == MapOp::kMax || op == MapOp::kAbs;
}

// An operation that keeps integers, of integers.
std::int64_t apply_whole(MapOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case MapOp::kAdd:
      return wrapped_sum(a, b);
    case MapOp::kSub:
      return wrapped_difference(a, b);
    case MapOp::kMul:
      return wrapped_product(a, b);
    case MapOp::kMod:
      return whole_remainder(a, b);
    case MapOp::kNeg:
      return wrapped_difference(0, a);
    case MapOp::kMin:
      return lesser(a, b);
    case MapOp::kMax:
      return greater(a, b);
    default:
      return wrapped_magnitude(a);
  }
}

// A comparison of integers, which floats would round.
double compare_whole(MapOp op, std::int64_t a, std::int64_t b) {
  const bool holds = op == MapOp::kLess        ? a < b
                     : op == MapOp::kLessEqual ? a <= b
                     : op == MapOp::kEqual     ? a == b
                                               : a != b;
  return holds ? 1 : 0;
}
bool is_comparison(MapOp op) { return op >= MapOp::kLess && op <= MapOp::kNotEqual; }

double as_float(double x) { return static_cast<double>(static_cast<float>(x)); }

// The same operation of the same operands, and numbers of the same bits.
bool is_same(const MapNode& x, const MapNode& y) {
  const auto bits = [](double d) { return std::bit_cast<std::uint64_t>(d); };
  return x.op == y.op && x.is_integer == y.is_integer && x.a == y.a && x.b == y.b && x.c == y.c &&
         x.whole == y.whole && bits(x.number) == bits(y.number) && bits(x.exact) == bits(y.exact);
}

// An operation that leaves whole numbers as they are.
bool rounds(MapOp op) {
  return op == MapOp::kFloor || op == MapOp::kCeil || op == MapOp::kRound || op == MapOp::kTrunc;
}

struct Residues {
  int period, column, row, index;
};

// The greatest magnitude that the node could have if it did not wrap round.
double most_magnitude(const std::vector<MapNode>& nodes, int i) {
  const MapNode& n = nodes[static_cast<std::size_t>(i)];
  const auto of = [&](int k) { return most_magnitude(nodes, k); };
  switch (n.op) {
    case MapOp::kNumber:
      return std::abs(static_cast<double>(n.whole));
    case MapOp::kColumn:
    case MapOp::kRow:
    case MapOp::kIndex:
      return static_cast<double>(kMostMapPixels);
    case MapOp::kAdd:
    case MapOp::kSub:
      return of(n.a) + of(n.b);
    case MapOp::kMul:
      return of(n.a) * of(n.b);
    case MapOp::kNeg:
      return of(n.a);
    default:
      return HUGE_VAL;  // not asked for
  }
}

// node mod m, where its leaves' residues are known. What wraps round at 2^64 keeps the residues of
// divisors of 2^64 only.
std::optional<std::int64_t> residue(const std::vector<MapNode>& nodes, int i, std::int64_t m,
                                    const Residues& r) {
  const MapNode& n = nodes[static_cast<std::size_t>(i)];
  const auto wrap = [m](std::int64_t x) { return whole_remainder(x, m); };
  if (!n.is_integer) return std::nullopt;
  const bool known = r.period % m == 0;
  switch (n.op) {
    case MapOp::kNumber:
      return wrap(n.whole);
    case MapOp::kColumn:
      return known ? std::optional(wrap(r.column)) : std::nullopt;
    case MapOp::kRow:
      return known ? std::optional(wrap(r.row)) : std::nullopt;
    case MapOp::kIndex:
      return known ? std::optional(wrap(r.index)) : std::nullopt;
    case MapOp::kAdd:
    case MapOp::kSub:
    case MapOp::kMul:
    case MapOp::kNeg: {
      constexpr double kWithin64Bits = 9.2e18;
      if ((m & (m - 1)) != 0 && most_magnitude(nodes, i) > kWithin64Bits) return std::nullopt;
      const auto a = residue(nodes, n.a, m, r);
      if (!a) return std::nullopt;
      if (n.op == MapOp::kNeg) return wrap(-*a);
      const auto b = residue(nodes, n.b, m, r);
      if (!b) return std::nullopt;
      return wrap(n.op == MapOp::kAdd ? *a + *b : n.op == MapOp::kSub ? *a - *b : *a * *b);
    }
    default:
      return std::nullopt;
  }
}

// The divisor of an integer remainder that programs of their own can take the place of; 0 of others.
std::int64_t small_modulus(const std::vector<MapNode>& nodes, const MapNode& n) {
  if (n.op != MapOp::kMod || !n.is_integer) return 0;
  const MapNode& divisor = nodes[static_cast<std::size_t>(n.b)];
  if (divisor.op != MapOp::kNumber) return 0;
  const bool small = divisor.whole >= -kMostMapPeriod && divisor.whole <= kMostMapPeriod;
  return small ? divisor.whole : 0;
}

}  // namespace

const char* map_op_name(MapOp op) { return kOps[static_cast<std::size_t>(op)].name; }
int map_op_arity(MapOp op) { return kOps[static_cast<std::size_t>(op)].arity; }

MapNode MapNode::of_real(double value) {
  return {MapOp::kNumber, false, -1, -1, -1, as_float(value), 0, value};
}
MapNode MapNode::of_whole(std::int64_t value) {
  // from 64 bits to a float in one rounding
  const auto number = static_cast<double>(static_cast<float>(value));
  return {MapOp::kNumber, true, -1, -1, -1, number, value, static_cast<double>(value)};
}

int MapExpression::add(MapNode node) {
  const int arity = map_op_arity(node.op);
  const auto at = [&](int i) -> const MapNode& { return nodes_[static_cast<std::size_t>(i)]; };
  const int operands[3] = {node.a, node.b, node.c};
  if (!is_leaf(node.op)) {
    const bool select = node.op == MapOp::kSelect;
    if (rounds(node.op) && at(node.a).is_integer) return node.a;
    bool constant = true, integer = true;
    for (int k = 0; k < arity; ++k) {
      constant &= at(operands[k]).op == MapOp::kNumber;
      if (!select || k > 0) integer &= at(operands[k]).is_integer;
    }
    node.is_integer = integer && (keeps_integers(node.op) || select);
    if (select && at(node.a).op == MapOp::kNumber) {
      const bool holds = at(node.a).number != 0;
      if (holds == (at(node.a).exact != 0)) {
        const int chosen = holds ? node.b : node.c;
        if (node.is_integer || !at(chosen).is_integer) return chosen;
        // the other one is a float, so this is one too
        if (at(chosen).op != MapOp::kNumber)
          return add({MapOp::kMul, false, chosen, add(MapNode::of_real(1))});
        node = at(chosen);
        node.is_integer = false;
        node.whole = 0;
      }
    } else if (node.op == MapOp::kPow && at(node.b).op == MapOp::kNumber && at(node.b).exact == 2 &&
               !at(node.a).is_integer) {
      node = {MapOp::kMul, false, node.a, node.a};  // the same bits: one rounding
    }
    if (constant && !select) {
      const MapNode& a = at(node.a);
      const MapNode& b = at(arity > 1 ? node.b : node.a);
      if (node.is_integer) {
        node = MapNode::of_whole(apply_whole(node.op, a.whole, b.whole));
      } else if (is_comparison(node.op) && integer) {
        node = MapNode::of_real(compare_whole(node.op, a.whole, b.whole));
      } else {
        const double number = as_float(apply(node.op, a.number, b.number));
        const double exact = apply(node.op, a.exact, b.exact);
        node = {MapOp::kNumber, false, -1, -1, -1, number, 0, exact};
      }
    }
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (is_same(nodes_[i], node)) return static_cast<int>(i);
  }
  nodes_.push_back(node);
  return static_cast<int>(nodes_.size()) - 1;
}

bool MapExpression::uses(MapOp leaf) const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [leaf](const MapNode& n) { return n.op == leaf; });
}

// Drops what the last node does not need, and finds the period.
void MapExpression::finish() {
  std::vector<bool> needed(nodes_.size());
  needed.back() = true;
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const int k : {nodes_[i].a, nodes_[i].b, nodes_[i].c}) {
      if (k >= 0) needed[static_cast<std::size_t>(k)] = true;
    }
  }
  std::vector<int> place(nodes_.size(), -1);
  std::vector<MapNode> kept;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!needed[i]) continue;
    MapNode n = nodes_[i];
    for (int* k : {&n.a, &n.b, &n.c}) {
      if (*k >= 0) *k = place[static_cast<std::size_t>(*k)];
    }
    place[i] = static_cast<int>(kept.size());
    kept.push_back(n);
  }
  nodes_ = std::move(kept);
  std::int64_t period = 1;
  for (const MapNode& n : nodes_) {
    const std::int64_t modulus = std::abs(small_modulus(nodes_, n));
    if (modulus == 0 || !residue(nodes_, n.a, modulus, {static_cast<int>(modulus), 0, 0, 0}))
      continue;
    const std::int64_t together = std::lcm(period, modulus);
    if (together <= kMostMapPeriod) period = together;
  }
  period_ = static_cast<int>(period);
}

MapExpression MapExpression::specialise(int column, int row, int index) const {
  MapExpression out;
  out.text_ = text_;
  const Residues residues{period_, column, row, index};
  std::vector<int> place;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    MapNode n = nodes_[i];
    if (const std::int64_t m = small_modulus(nodes_, n); m != 0) {
      if (const auto r = residue(nodes_, n.a, std::abs(m), residues))
        n = MapNode::of_whole(whole_remainder(*r, m));
    }
    for (int* k : {&n.a, &n.b, &n.c}) {
      if (*k >= 0) *k = place[static_cast<std::size_t>(*k)];
    }
    place.push_back(out.add(n));
  }
  // the result must be the last node
  const auto result = static_cast<std::size_t>(place.back());
  out.nodes_.resize(result + 1);
  out.finish();
  return out;
}

double MapExpression::evaluate(double v, std::int64_t ix, std::int64_t iy, std::int64_t idx) const {
  double values[256];
  std::int64_t wholes[256];  // of integers
  TW_CHECK(nodes_.size() <= 256, "an expression has at most 256 nodes");
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const MapNode& n = nodes_[i];
    const auto is_whole = [&](int k) { return nodes_[static_cast<std::size_t>(k)].is_integer; };
    const int b = n.b >= 0 ? n.b : n.a;
    const auto set_whole = [&](std::int64_t whole) {
      wholes[i] = whole;
      values[i] = static_cast<double>(whole);
    };
    if (n.op == MapOp::kNumber) {
      wholes[i] = n.whole;
      values[i] = n.exact;
    } else if (n.op == MapOp::kValue) {
      values[i] = v;
    } else if (is_leaf(n.op)) {
      set_whole(n.op == MapOp::kColumn ? ix : n.op == MapOp::kRow ? iy : idx);
    } else if (n.op == MapOp::kSelect) {
      const int chosen = values[n.a] != 0 ? n.b : n.c;
      values[i] = values[chosen];
      if (n.is_integer) wholes[i] = wholes[chosen];
    } else if (n.is_integer) {
      set_whole(apply_whole(n.op, wholes[n.a], wholes[b]));
    } else if (is_comparison(n.op) && is_whole(n.a) && is_whole(b)) {
      values[i] = compare_whole(n.op, wholes[n.a], wholes[b]);
    } else {
      values[i] = apply(n.op, values[n.a], values[b]);
    }
  }
  return values[nodes_.size() - 1];
}

}  // namespace tilewave::field
