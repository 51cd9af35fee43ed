// Nodes: folding, residues, specialisation, and the evaluation in double precision.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "tilewave/base/error.h"
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

struct OpRow {
  MapOp op;
  const char* name;
  int arity;
};
constexpr OpRow kOps[] = {
    {MapOp::kNumber, "number", 0}, {MapOp::kValue, "v", 0},     {MapOp::kColumn, "ix", 0},
    {MapOp::kRow, "iy", 0},        {MapOp::kIndex, "idx", 0},   {MapOp::kAdd, "+", 2},
    {MapOp::kSub, "-", 2},         {MapOp::kMul, "*", 2},       {MapOp::kDiv, "/", 2},
    {MapOp::kMod, "%", 2},         {MapOp::kNeg, "neg", 1},     {MapOp::kLess, "<", 2},
    {MapOp::kLessEqual, "<=", 2},  {MapOp::kEqual, "==", 2},    {MapOp::kNotEqual, "!=", 2},
    {MapOp::kAnd, "&&", 2},        {MapOp::kOr, "||", 2},       {MapOp::kNot, "!", 1},
    {MapOp::kSelect, "select", 3}, {MapOp::kSqrt, "sqrt", 1},   {MapOp::kAbs, "abs", 1},
    {MapOp::kFloor, "floor", 1},   {MapOp::kCeil, "ceil", 1},   {MapOp::kRound, "round", 1},
    {MapOp::kMin, "min", 2},       {MapOp::kMax, "max", 2},     {MapOp::kLog, "log", 1},
    {MapOp::kLog2, "log2", 1},     {MapOp::kLog10, "log10", 1}, {MapOp::kExp, "exp", 1},
    {MapOp::kSin, "sin", 1},       {MapOp::kCos, "cos", 1},     {MapOp::kTan, "tan", 1},
    {MapOp::kAsin, "asin", 1},     {MapOp::kAcos, "acos", 1},   {MapOp::kAtan, "atan", 1},
    {MapOp::kAtan2, "atan2", 2},   {MapOp::kSinh, "sinh", 1},   {MapOp::kCosh, "cosh", 1},
    {MapOp::kTanh, "tanh", 1},     {MapOp::kPow, "pow", 2},     {MapOp::kCbrt, "cbrt", 1},
    {MapOp::kTrunc, "trunc", 1},   {MapOp::kHypot, "hypot", 2}, {MapOp::kLog1p, "log1p", 1},
    {MapOp::kExpm1, "expm1", 1}};

double apply(MapOp op, double a, double b, double c) {
  switch (op) {
    case MapOp::kAdd:
      return a + b;
    case MapOp::kSub:
      return a - b;
    case MapOp::kMul:
      return a * b;
    case MapOp::kDiv:
      return a / b;
    case MapOp::kMod:
      return floor_remainder(a, b);
    case MapOp::kNeg:
      return -a;
    case MapOp::kLess:
      return a < b;
    case MapOp::kLessEqual:
      return a <= b;
    case MapOp::kEqual:
      return a == b;
    case MapOp::kNotEqual:
      return a != b;
    case MapOp::kAnd:
      return a != 0 && b != 0;
    case MapOp::kOr:
      return a != 0 || b != 0;
    case MapOp::kNot:
      return a == 0;
    case MapOp::kSelect:
      return a != 0 ? b : c;
    case MapOp::kSqrt:
      return std::sqrt(a);
    case MapOp::kAbs:
      return std::abs(a);
    case MapOp::kFloor:
      return std::floor(a);
    case MapOp::kCeil:
      return std::ceil(a);
    case MapOp::kRound:
      return std::nearbyint(a);
    case MapOp::kMin:
      return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
    case MapOp::kMax:
      return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
    case MapOp::kLog:
      return std::log(a);
    case MapOp::kLog2:
      return std::log2(a);
    case MapOp::kLog10:
      return std::log10(a);
    case MapOp::kExp:
      return std::exp(a);
    case MapOp::kSin:
      return std::sin(a);
    case MapOp::kCos:
      return std::cos(a);
    case MapOp::kTan:
      return std::tan(a);
    case MapOp::kAsin:
      return std::asin(a);
    case MapOp::kAcos:
      return std::acos(a);
    case MapOp::kAtan:
      return std::atan(a);
    case MapOp::kAtan2:
      return std::atan2(a, b);
    case MapOp::kSinh:
      return std::sinh(a);
    case MapOp::kCosh:
      return std::cosh(a);
    case MapOp::kTanh:
      return std::tanh(a);
    case MapOp::kPow:
      return std::pow(a, b);
    case MapOp::kCbrt:
      return std::cbrt(a);
    case MapOp::kTrunc:
      return std::trunc(a);
    case MapOp::kHypot:
      return std::hypot(a, b);
    case MapOp::kLog1p:
      return std::log1p(a);
    case MapOp::kExpm1:
      return std::expm1(a);
    default:
      return 0;
  }
}

bool is_leaf(MapOp op) { return op <= MapOp::kIndex; }

// Whether the operation on integers gives an integer.
bool keeps_integers(MapOp op) {
  return op == MapOp::kAdd || op == MapOp::kSub || op == MapOp::kMul || op == MapOp::kMod ||
         op == MapOp::kNeg || op == MapOp::kMin || op == MapOp::kMax || op == MapOp::kAbs;
}

struct Residues {
  int period, column, row, index;
};

// node mod m, where its leaves' residues are known.
std::optional<std::int64_t> residue(const std::vector<MapNode>& nodes, int i, std::int64_t m,
                                    const Residues& r) {
  const MapNode& n = nodes[static_cast<std::size_t>(i)];
  const auto wrap = [m](std::int64_t x) { return ((x % m) + m) % m; };
  if (!n.is_integer) return std::nullopt;
  const bool known = r.period % m == 0;
  switch (n.op) {
    case MapOp::kNumber:
      return wrap(static_cast<std::int64_t>(n.number));
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

}  // namespace

const char* map_op_name(MapOp op) { return kOps[static_cast<std::size_t>(op)].name; }
int map_op_arity(MapOp op) { return kOps[static_cast<std::size_t>(op)].arity; }

int MapExpression::add(MapNode node) {
  const int arity = map_op_arity(node.op);
  const auto at = [&](int i) -> const MapNode& { return nodes_[static_cast<std::size_t>(i)]; };
  const int operands[3] = {node.a, node.b, node.c};
  if (!is_leaf(node.op)) {
    bool constant = true, integer = true;
    for (int k = 0; k < arity; ++k) {
      constant &= at(operands[k]).op == MapOp::kNumber;
      if (node.op != MapOp::kSelect || k > 0) integer &= at(operands[k]).is_integer;
    }
    // an integer remainder needs a divisor known to be positive
    if (node.op == MapOp::kMod && !(at(node.b).op == MapOp::kNumber && at(node.b).number >= 1))
      integer = false;
    node.is_integer = integer && (keeps_integers(node.op) || node.op == MapOp::kSelect);
    if (node.op == MapOp::kPow && at(node.b).op == MapOp::kNumber && at(node.b).number == 2 &&
        !at(node.a).is_integer) {
      node = {MapOp::kMul, false, node.a, node.a, -1, 0};  // the same bits: one rounding
    }
    if (node.op == MapOp::kSelect && at(node.a).op == MapOp::kNumber)
      return at(node.a).number != 0 ? node.b : node.c;
    if (constant) {
      const double value = apply(node.op, at(node.a).number, arity > 1 ? at(node.b).number : 0,
                                 arity > 2 ? at(node.c).number : 0);
      node = {MapOp::kNumber, node.is_integer && std::abs(value) < 9e15, -1, -1, -1, value};
    }
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const bool same_nan = node.number != node.number && nodes_[i].number != nodes_[i].number &&
                          nodes_[i].op == node.op;
    const bool zeros_differ = std::signbit(nodes_[i].number) != std::signbit(node.number);
    if ((nodes_[i] == node && !zeros_differ) || same_nan) return static_cast<int>(i);
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
    if (n.op != MapOp::kMod || !n.is_integer) continue;
    const double m = nodes_[static_cast<std::size_t>(n.b)].number;
    if (m > kMostMapPeriod) continue;
    const auto modulus = static_cast<std::int64_t>(m);
    if (!residue(nodes_, n.a, modulus, {static_cast<int>(modulus), 0, 0, 0})) continue;
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
    if (n.op == MapOp::kMod && n.is_integer) {
      const auto m = static_cast<std::int64_t>(nodes_[static_cast<std::size_t>(n.b)].number);
      if (const auto r = residue(nodes_, n.a, m, residues))
        n = {MapOp::kNumber, true, -1, -1, -1, static_cast<double>(*r)};
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
  TW_CHECK(nodes_.size() <= 256, "an expression has at most 256 nodes");
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const MapNode& n = nodes_[i];
    switch (n.op) {
      case MapOp::kNumber:
        values[i] = n.number;
        break;
      case MapOp::kValue:
        values[i] = v;
        break;
      case MapOp::kColumn:
        values[i] = static_cast<double>(ix);
        break;
      case MapOp::kRow:
        values[i] = static_cast<double>(iy);
        break;
      case MapOp::kIndex:
        values[i] = static_cast<double>(idx);
        break;
      default:
        values[i] =
            apply(n.op, values[n.a], n.b >= 0 ? values[n.b] : 0, n.c >= 0 ? values[n.c] : 0);
    }
  }
  return values[nodes_.size() - 1];
}

}  // namespace tilewave::field
