// The text of an expression to nodes, by recursive descent. Loosest first: a ? b : c, ||, &&, ==
// !=, < <= > >=, + -, * / %, unary - !, a call, a name or a number.
#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tilewave/base/error.h"
#include "tilewave/field/map.h"

namespace tilewave::field {
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

// The operations that are called by name.
constexpr MapOp kFirstFunction = MapOp::kSelect, kLastFunction = MapOp::kCbrt;

MapOp next(MapOp op) { return static_cast<MapOp>(static_cast<int>(op) + 1); }

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
    MapOp op = kFirstFunction;
    while (op <= kLastFunction && id != map_op_name(op)) op = next(op);
    if (op > kLastFunction) {
      std::string known = "v, ix, iy, idx, pi, e or one of";
      for (MapOp f = kFirstFunction; f <= kLastFunction; f = next(f)) {
        known += std::string(" ") + map_op_name(f);
      }
      fail_at(start, "'" + id + "' is not known", known + other_word(text_, start));
    }
    if (!take("(")) fail(id + " is a function", "'(' and its arguments");
    const int arity = map_op_arity(op);
    const std::string takes = id + " takes " + std::to_string(arity) + " argument";
    int arguments[3] = {-1, -1, -1};
    for (int k = 0; k < arity; ++k) {
      if (k > 0 && !take(",")) fail(takes + "s", "','");
      arguments[k] = conditional();
    }
    if (!take(")")) fail(takes + (arity > 1 ? "s" : ""), "')'");
    return node(op, arguments[0], arguments[1], arguments[2]);
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
