// The text of an expression to nodes, by recursive descent. Loosest first: a ? b : c, ||, &&, ==
// !=, < <= > >=, + -, * / %, unary - !, a call, a name or a number.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/read_double.h"
#include "tilewave/field/map.h"

namespace tilewave::field {
namespace {

// What other languages write, and what is written here.
constexpr std::string_view kOtherWords[][2] = {
    {"**", "pow(a, b)"},
    {"^", "pow(a, b)"},
    {"and", "&&"},
    {"or", "||"},
    {"not", "!"},
    {"=", "=="},
    {"mod", "%"},
    {"ln", "log"},
    {"PI", "pi"},
    {"x", "ix"},
    {"y", "iy"},
    {"if", "a ? b : c"},
    {"fmod", "a % b"},
    {"power", "pow"},
    {"fabs", "abs"},
    {"rint", "round"},
    {"arcsin", "asin"},
    {"arccos", "acos"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"minimum", "min"},
    {"maximum", "max"},
    {"clamp", "clip"},
    {"isfinite", "abs(v) < inf"},
    {"isinf", "abs(v) == inf"},
    {"exp2", "pow(2, v)"},
    {"square", "v * v"},
    {"sgn", "sign"},
    {"NaN", "nan"},
    {"NAN", "nan"},
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

// The operations that are called by name.
constexpr MapOp kFirstFunction = MapOp::kSelect, kLastFunction = MapOp::kExpm1;

MapOp next(MapOp op) { return static_cast<MapOp>(static_cast<int>(op) + 1); }

// Functions that are short for several operations (Parser::spell).
enum class Short : std::uint8_t { kWhere, kClip, kSign, kIsnan };
struct ShortRow {
  Short what;
  const char* name;
  int arity;
};
constexpr ShortRow kShorts[] = {{Short::kWhere, "where", 3},
                                {Short::kClip, "clip", 3},
                                {Short::kSign, "sign", 1},
                                {Short::kIsnan, "isnan", 1}};

// Bytes of the character of UTF-8 at `at`; 0 where there is none that can be shown.
std::size_t shown_bytes(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t k) {
    return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u;
  };
  const unsigned first = byte(at);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t k = 1; k < size; ++k) {
    if ((byte(at + k) & 0xC0) != 0x80) return 0;
  }
  const bool control = first == 0xC2 && byte(at + 1) < 0xA0;
  const bool overlong =
      (first == 0xE0 && byte(at + 1) < 0xA0) || (first == 0xF0 && byte(at + 1) < 0x90);
  const bool beyond =
      (first == 0xED && byte(at + 1) >= 0xA0) || (first == 0xF4 && byte(at + 1) >= 0x90);
  return control || overlong || beyond ? 0 : size;
}

// The text with '?' for bytes that cannot be shown.
std::string shown(const std::string& text) {
  std::string out;
  for (std::size_t k = 0; k < text.size();) {
    const std::size_t n = shown_bytes(text, k);
    out += n > 0 ? text.substr(k, n) : "?";
    k += std::max<std::size_t>(n, 1);
  }
  return out;
}

// The character at `at` in quotes.
std::string quoted(const std::string& text, std::size_t at) {
  const std::size_t n = shown_bytes(text, at);
  if (n > 0) return "'" + text.substr(at, n) + "'";
  char code[16];
  std::snprintf(code, sizeof code, "byte 0x%02x", static_cast<unsigned char>(text[at]));
  return code;
}

class Parser {
 public:
  Parser(const std::string& text, MapExpression& out) : text_(text), out_(out) {}

  int parse() {
    const int result = conditional();
    skip();
    if (at_ < text_.size())
      fail(quoted(text_, at_) + " is not expected here",
           "an operator, or the end" + other_word(text_, at_));
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& want) const {
    fail_at(at_, what, want);
  }
  [[noreturn]] void fail_at(std::size_t at, const std::string& what,
                            const std::string& want) const {
    // of a long expression what is around the place
    constexpr std::size_t kAround = 60;
    const std::size_t from = at > kAround ? at - kAround : 0;
    const bool has_more = text_.size() - at > kAround;
    const std::string_view dots = "...", none = "", head = from > 0 ? dots : none,
                           tail = has_more ? dots : none;
    const std::string line =
        std::string(head) + shown(text_.substr(from, has_more ? at - from + kAround : text_.npos)) +
        std::string(tail);
    tilewave::fail(ExitCode::kUsage, "expression: column ", at + 1, ": ", what, ": write ", want,
                   "\n  ", line, "\n  ", std::string(head.size() + at - from, ' '), "^");
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
  int disjunction() { return chain(&Parser::conjunction, {{"||", MapOp::kOr}}); }
  int conjunction() { return chain(&Parser::equality, {{"&&", MapOp::kAnd}}); }
  int equality() {
    int a = comparison();
    for (bool chained = false;; chained = true) {
      skip();
      const std::size_t at = at_;
      MapOp op = MapOp::kEqual;
      if (take("!=")) {
        op = MapOp::kNotEqual;
      } else if (!take("==")) {
        return a;
      }
      if (chained) fail_at(at, "comparisons do not chain", "a == b && b == c");
      a = node(op, a, comparison());
    }
  }
  int comparison() {
    int a = sum();
    for (bool chained = false;; chained = true) {
      skip();
      const std::size_t at = at_;
      if (at < text_.size() && (text_[at] == '<' || text_[at] == '>') && chained)
        fail_at(at, "comparisons do not chain", "a < b && b < c");
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
  int sum() { return chain(&Parser::product, {{"+", MapOp::kAdd}, {"-", MapOp::kSub}}); }
  int product() {
    return chain(&Parser::unary, {{"*", MapOp::kMul}, {"/", MapOp::kDiv}, {"%", MapOp::kMod}});
  }
  // Operands with any of these operators between them, from the left.
  int chain(int (Parser::*operand)(),
            std::initializer_list<std::pair<const char*, MapOp>> operators) {
    int a = (this->*operand)();
    for (;;) {
      const auto found = std::find_if(operators.begin(), operators.end(),
                                      [&](const auto& row) { return take(row.first); });
      if (found == operators.end()) return a;
      a = node(found->second, a, (this->*operand)());
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
    fail(quoted(text_, at_) + " is not expected here",
         "a number, a name or '('" + other_word(text_, at_));
  }

  int number() {
    const char* start = text_.c_str() + at_;
    if (start[0] == '0' && (start[1] == 'x' || start[1] == 'X'))
      fail("hexadecimal numbers are not read", "a decimal number");
    const auto [value, size, is_too_large] = read_double(std::string_view(text_).substr(at_));
    if (size == 0) fail("this is no number", "digits, such as 1.5e3");
    const std::string digits(start, size);
    const bool integer = digits.find_first_of(".eE") == std::string::npos && value < 9e15;
    if (std::isalpha(static_cast<unsigned char>(start[size]))) {
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
    if (id == "inf") return out_.add({MapOp::kNumber, false, -1, -1, -1, HUGE_VAL});
    if (id == "nan") return out_.add({MapOp::kNumber, false, -1, -1, -1, NAN});
    for (const ShortRow& row : kShorts) {
      if (id == row.name) return spell(row.what, arguments(id, row.arity));
    }
    MapOp op = kFirstFunction;
    while (op <= kLastFunction && id != map_op_name(op)) op = next(op);
    if (op > kLastFunction) {
      std::string known = "v, ix, iy, idx, pi, e, inf, nan or one of";
      for (MapOp f = kFirstFunction; f <= kLastFunction; f = next(f)) {
        known += std::string(" ") + map_op_name(f);
      }
      for (const ShortRow& row : kShorts) known += std::string(" ") + row.name;
      fail_at(start, "'" + id + "' is not known", known + other_word(text_, start));
    }
    const std::array<int, 3> a = arguments(id, map_op_arity(op));
    return node(op, a[0], a[1], a[2]);
  }

  std::array<int, 3> arguments(const std::string& id, int arity) {
    if (!take("(")) fail(id + " is a function", "'(' and its arguments");
    const std::string takes = id + " takes " + std::to_string(arity) + " argument";
    std::array<int, 3> nodes = {-1, -1, -1};
    for (int k = 0; k < arity; ++k) {
      if (k > 0 && !take(",")) fail(takes + "s", "','");
      nodes[static_cast<std::size_t>(k)] = conditional();
    }
    if (!take(")")) fail(takes + (arity > 1 ? "s" : ""), "')'");
    return nodes;
  }

  int spell(Short what, const std::array<int, 3>& a) {
    const auto whole = [&](int n) {
      return out_.add({MapOp::kNumber, true, -1, -1, -1, static_cast<double>(n)});
    };
    switch (what) {
      case Short::kWhere:
        return node(MapOp::kSelect, a[0], a[1], a[2]);
      case Short::kClip:
        return node(MapOp::kMin, node(MapOp::kMax, a[0], a[1]), a[2]);
      case Short::kIsnan:
        return node(MapOp::kNotEqual, a[0], a[0]);
      case Short::kSign:  // NaN stays
        break;
    }
    const int zero = whole(0);
    const int rest = node(MapOp::kSelect, node(MapOp::kEqual, a[0], zero), zero, a[0]);
    const int below = node(MapOp::kSelect, node(MapOp::kLess, a[0], zero), whole(-1), rest);
    return node(MapOp::kSelect, node(MapOp::kLess, zero, a[0]), whole(1), below);
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
