// Nodes: folding, residues, specialisation, and the evaluation in double precision.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>

#include "tilewave/base/error.h"
#include "tilewave/field/map.h"

namespace tilewave::field {
namespace {

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
    {MapOp::kTanh, "tanh", 1},     {MapOp::kPow, "pow", 2},     {MapOp::kCbrt, "cbrt", 1}};

double floor_mod(double a, double b) { return a - b * std::floor(a / b); }

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
      return floor_mod(a, b);
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

// ---- the parser ----
namespace {

// What other languages write, and what is written here.
constexpr std::string_view kOtherWords[][2] = {
    {"**", "pow(a, b)"}, {"^", "pow(a, b)"}, {"and", "&&"}, {"or", "||"},
    {"not", "!"},        {"=", "=="},        {"mod", "%"},  {"ln", "log"},
    {"PI", "pi"},        {"x", "ix"},        {"y", "iy"},   {"if", "a ? b : c"},
};

// " ('log' for 'ln')" where such a word begins at `at`, or one character before it ends there.
std::string other_word(const std::string& text, std::size_t at) {
  const auto is_letter = [&](std::size_t k) {
    return k < text.size() && std::isalnum(static_cast<unsigned char>(text[k])) != 0;
  };
  for (const auto& [theirs, ours] : kOtherWords) {
    const std::size_t first = theirs == "**" && at > 0 ? at - 1 : at;
    const std::size_t end = first + theirs.size();
    if (text.compare(first, theirs.size(), theirs) != 0) continue;
    if (is_letter(end - 1) && is_letter(end)) continue;
    return " ('" + std::string(ours) + "' for '" + std::string(theirs) + "')";
  }
  return "";
}

// Grammar, loosest first: a ? b : c, ||, &&, == !=, < <= > >=, + -, * / %, unary - !, call or name
// or number.
class Parser {
 public:
  Parser(const std::string& text, MapExpression& out) : text_(text), out_(out) {}

  int parse() {
    const int result = conditional();
    skip();
    if (at_ < text_.size())
      fail(std::string("'") + text_[at_] + "' is not expected here",
           "an operator, or the end" + other_word(text_, at_));
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& want) const {
    fail_at(at_, what, want);
  }
  [[noreturn]] void fail_at(std::size_t at, const std::string& what,
                            const std::string& want) const {
    throw Error(ExitCode::kUsage, "expression: column " + std::to_string(at + 1) + ": " + what +
                                      ": write " + want + "\n  " + text_ + "\n  " +
                                      std::string(at, ' ') + "^");
  }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(const char* token) {
    skip();
    const std::string t(token);
    if (text_.compare(at_, t.size(), t) != 0) return false;
    at_ += t.size();
    return true;
  }
  int node(MapOp op, int a, int b = -1, int c = -1) {
    if (out_.nodes().size() >= 250) fail("the expression is too long", "at most 250 operations");
    return out_.add({op, false, a, b, c, 0});
  }

  int conditional() {
    if (++depth_ > 200) fail("too deeply nested", "a flatter expression");
    int cond = disjunction();
    if (take("?")) {
      const int yes = conditional();
      if (!take(":")) fail("the second half of 'a ? b : c' is missing", "':'");
      const int no = conditional();
      cond = node(MapOp::kSelect, cond, yes, no);
    }
    --depth_;
    return cond;
  }
  int disjunction() {
    int a = conjunction();
    while (take("||")) a = node(MapOp::kOr, a, conjunction());
    return a;
  }
  int conjunction() {
    int a = equality();
    while (take("&&")) a = node(MapOp::kAnd, a, equality());
    return a;
  }
  int equality() {
    int a = comparison();
    while (true) {
      if (take("==")) {
        a = node(MapOp::kEqual, a, comparison());
      } else if (take("!=")) {
        a = node(MapOp::kNotEqual, a, comparison());
      } else {
        return a;
      }
    }
  }
  int comparison() {
    int a = sum();
    while (true) {
      if (take("<=")) {
        a = node(MapOp::kLessEqual, a, sum());
      } else if (take(">=")) {
        const int b = sum();
        a = node(MapOp::kLessEqual, b, a);
      } else if (take("<")) {
        a = node(MapOp::kLess, a, sum());
      } else if (take(">")) {
        const int b = sum();
        a = node(MapOp::kLess, b, a);
      } else {
        return a;
      }
    }
  }
  int sum() {
    int a = product();
    while (true) {
      if (take("+")) {
        a = node(MapOp::kAdd, a, product());
      } else if (take("-")) {
        a = node(MapOp::kSub, a, product());
      } else {
        return a;
      }
    }
  }
  int product() {
    int a = unary();
    while (true) {
      if (take("*")) {
        a = node(MapOp::kMul, a, unary());
      } else if (take("/")) {
        a = node(MapOp::kDiv, a, unary());
      } else if (take("%")) {
        a = node(MapOp::kMod, a, unary());
      } else {
        return a;
      }
    }
  }
  int unary() {
    if (++depth_ > 200) fail("too deeply nested", "a flatter expression");
    int a;
    skip();
    if (take("-")) {
      a = node(MapOp::kNeg, unary());
    } else if (take("+")) {
      a = unary();
    } else if (text_.compare(at_, 2, "!=") != 0 && take("!")) {
      a = node(MapOp::kNot, unary());
    } else {
      a = primary();
    }
    --depth_;
    return a;
  }

  int primary() {
    skip();
    if (at_ >= text_.size()) fail("the expression ends too early", "a number, a name or '('");
    if (take("(")) {
      const int inner = conditional();
      if (!take(")")) fail("a parenthesis is not closed", "')'");
      return inner;
    }
    const char c = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') return number();
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') return name();
    fail(std::string("'") + c + "' is not expected here",
         "a number, a name or '('" + other_word(text_, at_));
  }

  int number() {
    const char* start = text_.c_str() + at_;
    if (start[0] == '0' && (start[1] == 'x' || start[1] == 'X'))
      fail("hexadecimal numbers are not read", "a decimal number");
    char* end = nullptr;
    const double value = std::strtod(start, &end);
    if (end == start) fail("this is no number", "digits, such as 1.5e3");
    const std::string digits(start, static_cast<std::size_t>(end - start));
    const bool integer = digits.find_first_of(".eE") == std::string::npos && value < 9e15;
    if (std::isalpha(static_cast<unsigned char>(*end))) {
      at_ += digits.size();
      fail("a letter follows a number", "an operator between them");
    }
    at_ += digits.size();
    return out_.add({MapOp::kNumber, integer, -1, -1, -1, value});
  }

  int name() {
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    const std::string id = text_.substr(start, at_ - start);
    if (id == "v") return out_.add({MapOp::kValue, false, -1, -1, -1, 0});
    if (id == "ix") return out_.add({MapOp::kColumn, true, -1, -1, -1, 0});
    if (id == "iy") return out_.add({MapOp::kRow, true, -1, -1, -1, 0});
    if (id == "idx") return out_.add({MapOp::kIndex, true, -1, -1, -1, 0});
    if (id == "pi") return out_.add({MapOp::kNumber, false, -1, -1, -1, 3.14159265358979323846});
    if (id == "e") return out_.add({MapOp::kNumber, false, -1, -1, -1, 2.71828182845904523536});
    const auto* row = std::find_if(std::begin(kOps), std::end(kOps), [&](const OpRow& r) {
      return r.op >= MapOp::kSelect && id == r.name;
    });
    if (row == std::end(kOps)) {
      std::string known = "v, ix, iy, idx, pi, e or one of";
      for (const OpRow& r : kOps) {
        if (r.op >= MapOp::kSelect) known += std::string(" ") + r.name;
      }
      fail_at(start, "'" + id + "' is not known", known + other_word(text_, start));
    }
    if (!take("(")) fail(id + " is a function", "'(' and its arguments");
    int arguments[3] = {-1, -1, -1};
    for (int k = 0; k < row->arity; ++k) {
      if (k > 0 && !take(","))
        fail(id + " takes " + std::to_string(row->arity) + " arguments", "','");
      arguments[k] = conditional();
    }
    if (!take(")"))
      fail(id + " takes " + std::to_string(row->arity) + " argument" + (row->arity > 1 ? "s" : ""),
           "')'");
    return node(row->op, arguments[0], arguments[1], arguments[2]);
  }

  const std::string& text_;
  MapExpression& out_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

MapExpression MapExpression::parse(const std::string& text) {
  MapExpression out;
  out.text_ = text;
  for (char& c : out.text_) {
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
  }
  const int result = Parser(out.text_, out).parse();
  out.nodes_.resize(static_cast<std::size_t>(result) + 1);
  out.finish();
  return out;
}

}  // namespace tilewave::field
