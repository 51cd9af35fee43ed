// Nodes: folding, residues, specialisation, and the evaluation in double precision.
#include <algorithm>
#include <cmath>
#include <iterator>
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

// An operation: how it is written, and its value.
struct OpRow {
  const char* name;
  int arity = 0;
  double (*of_one)(double) = nullptr;
  double (*of_two)(double, double) = nullptr;
  double (*of_three)(double, double, double) = nullptr;

  constexpr OpRow(const char* leaf) : name(leaf) {}
  constexpr OpRow(const char* n, double (*f)(double)) : name(n), arity(1), of_one(f) {}
  constexpr OpRow(const char* n, double (*f)(double, double)) : name(n), arity(2), of_two(f) {}
  constexpr OpRow(const char* n, double (*f)(double, double, double))
      : name(n), arity(3), of_three(f) {}
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
    {"select", [](double a, double b, double c) { return a != 0 ? b : c; }},
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

double apply(MapOp op, double a, double b, double c) {
  const OpRow& row = kOps[static_cast<std::size_t>(op)];
  return row.of_one ? row.of_one(a) : row.of_two ? row.of_two(a, b) : row.of_three(a, b, c);
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
