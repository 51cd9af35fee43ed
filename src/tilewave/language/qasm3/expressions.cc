// Recursive descent over the expressions of OpenQASM 3; see syntax.h.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "tilewave/base/read_double.h"

#include "tilewave/base/concat.h"
#include "tilewave/language/qasm3/syntax.h"

namespace tilewave::language::qasm3 {
namespace {

constexpr std::size_t kMaxBitString = 1 << 20;
constexpr int kMaxIndices = 64;  // of one name: an array has at most 7 dimensions

// Operators, the loosest first; one level a row.
constexpr std::string_view kLevels[][4] = {
    {"++"},       {"||"},     {"&&"},         {"|"},
    {"^"},        {"&"},      {"==", "!="},   {"<", ">", "<=", ">="},
    {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
constexpr int kNumLevels = static_cast<int>(std::size(kLevels));
constexpr int kComparisons = 7;

int level_of(const Token& t) {
  if (t.is_word("in")) return kComparisons;  // in {0, 3}
  if (t.kind != TokenKind::kPunctuation) return -1;
  for (int level = 0; level < kNumLevels; ++level) {
    const auto& words = kLevels[level];
    if (contains(words, t.text)) return level;
  }
  return -1;
}

}  // namespace

double picoseconds(std::string_view text) {
  std::string digits(text.substr(0, text.find_first_not_of("0123456789_.eE+-")));
  std::string_view unit = text.substr(digits.size());
  unit.remove_prefix(std::min(unit.find_first_not_of(" \t"), unit.size()));
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  const int scale = unit == "s" ? 12 : unit == "ms" ? 9 : unit == "ns" || unit == "dt" ? 3 : 6;
  // the exponent grows in the text, so that 0.57us is the double nearest to 570000 ps
  const std::size_t e = digits.find_first_of("eE");
  constexpr long kMost = 1'000'000'000;  // far beyond all numbers, however many digits there are
  const long exponent = e == std::string::npos
                            ? 0
                            : std::clamp(std::strtol(&digits[e + 1], nullptr, 10), -kMost, kMost);
  digits = concat(std::string_view(digits).substr(0, e), "e", exponent + scale);
  return read_double(digits).value;
}

ExprPtr Parser::value() {
  if (!lexer_.token().is_word("measure")) return expression();
  const Token at = lexer_.take();
  return make_expr(ExprKind::kMeasure, at, {}, {postfix()});
}

std::vector<ExprPtr> Parser::list(std::string_view close) {
  std::vector<ExprPtr> out;
  if (lexer_.accept(close)) return out;
  do {
    if (lexer_.token().is(close)) break;  // a comma may end the list
    out.push_back(expression());
  } while (lexer_.accept(","));
  lexer_.expect(close);
  return out;
}

ExprPtr Parser::expression() {
  const Depth deeper(*this);
  return binary(0);
}

ExprPtr Parser::enclosed(std::string_view open, std::string_view close) {
  lexer_.expect(open);
  ExprPtr inside = expression();
  lexer_.expect(close);
  return inside;
}

// Operators of `level` and tighter; those of one level from the left and in one node, so that the
// tree is no deeper than the text is nested.
ExprPtr Parser::binary(int level) {
  ExprPtr a = unary();
  std::shared_ptr<Expr> chain;
  int chain_level = -1;
  for (int own = level_of(lexer_.token()); own >= level; own = level_of(lexer_.token())) {
    const Token op = lexer_.take();
    if (own != chain_level) {
      chain = make_expr(ExprKind::kBinary, op, op.text);
      chain->args.push_back(std::move(a));
      chain_level = own;
      a = chain;
    }
    chain->links.push_back(op);
    const bool is_set = op.text == "in";
    if (is_set && !lexer_.token().is('{')) lexer_.fail_expected("a set such as {0, 3}");
    chain->args.push_back(is_set ? set_or_range() : binary(own + 1));
  }
  return a;
}

ExprPtr Parser::unary() {
  const Depth deeper(*this);
  const Token op = lexer_.token();
  if (op.is('-') || op.is('!') || op.is('~') || op.is('+')) {
    lexer_.advance();
    ExprPtr operand = unary();
    if (op.text == "+") return operand;
    return make_expr(ExprKind::kUnary, op, op.text, {operand});
  }
  ExprPtr a = postfix();
  if (!lexer_.token().is("**")) return a;
  auto e = make_expr(ExprKind::kBinary, lexer_.token(), "**");
  e->links.push_back(lexer_.take());
  e->args = {a, unary()};
  return e;
}

ExprPtr Parser::postfix() { return with_indices(primary()); }

ExprPtr Parser::with_indices(ExprPtr a) {
  for (int count = 0; lexer_.token().is('['); ++count) {
    if (count == kMaxIndices) lexer_.fail(lexer_.token(), "more than 64 indices");
    a = indexed(std::move(a));
  }
  return a;
}

// a[index], or a[index, index] for a[index][index]
ExprPtr Parser::indexed(ExprPtr a) {
  const Token at = lexer_.expect("[");
  int count = 0;
  list_of(
      [&] {
        if (++count > kMaxIndices) lexer_.fail(lexer_.token(), "more than 64 indices");
        a = make_expr(ExprKind::kIndex, at, {}, {a, set_or_range()});
      },
      [&] { return lexer_.token().is(']'); });
  lexer_.expect("]");
  return a;
}

// [range]
ExprPtr Parser::index() {
  lexer_.expect("[");
  ExprPtr inside = set_or_range();
  lexer_.expect("]");
  return inside;
}

ExprPtr Parser::set_or_range() {
  if (lexer_.token().is('{')) {
    const Token brace = lexer_.take();
    return make_expr(ExprKind::kSet, brace, {}, list("}"));
  }
  const Token at = lexer_.token();
  ExprPtr parts[3];
  if (!at.is(':')) parts[0] = expression();
  if (!lexer_.token().is(':')) return parts[0];
  int count = 1;
  while (lexer_.accept(":")) {
    if (count == 3) lexer_.fail(lexer_.token(), "a range is first:last or first:step:last");
    if (!lexer_.token().is(':') && !lexer_.token().is(']') && !lexer_.token().is(')')) {
      parts[count] = expression();
    }
    ++count;
  }
  if (count == 2) std::swap(parts[1], parts[2]);  // without a step
  return make_expr(ExprKind::kRange, at, {}, {parts[0], parts[1], parts[2]});
}

ExprPtr Parser::primary() {
  const Token t = lexer_.token();
  if (t.is('(')) return enclosed("(", ")");
  if (t.kind == TokenKind::kTiming) {
    lexer_.advance();
    auto e = make_expr(ExprKind::kTime, t);
    e->real = picoseconds(t.text);
    if (!std::isfinite(e->real)) lexer_.fail(t, "this time is too long");
    return e;
  }
  if (t.kind == TokenKind::kImaginary) lexer_.fail(t, "complex numbers are not read");
  if (t.kind == TokenKind::kInteger || t.kind == TokenKind::kReal) {
    lexer_.advance();
    std::string digits(t.text);
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    auto e = make_expr(t.kind == TokenKind::kReal ? ExprKind::kReal : ExprKind::kInteger, t);
    if (t.kind == TokenKind::kReal) {
      e->real = read_double(digits).value;
      if (!std::isfinite(e->real)) lexer_.fail(t, "this number is too large for a double");
      return e;
    }
    const char second = digits.size() > 1 ? static_cast<char>(digits[1] | 0x20) : '0';
    const int base = second == 'x' ? 16 : second == 'b' ? 2 : second == 'o' ? 8 : 10;
    const char* first = digits.data() + (base == 10 ? 0 : 2);
    std::uint64_t number = 0;
    const auto result = std::from_chars(first, digits.data() + digits.size(), number, base);
    if (result.ec == std::errc::result_out_of_range) {
      if (base != 10) lexer_.fail(t, "this integer needs more than 64 bits");
      e->kind = ExprKind::kReal;  // as in rz(pi / 36893488147419103232)
      e->real = read_double(digits).value;
      if (!std::isfinite(e->real)) lexer_.fail(t, "this number is too large for a double");
      return e;
    }
    if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) {
      lexer_.fail(t, "'", t.text, "' is no number");
    }
    e->integer = static_cast<std::int64_t>(number);
    e->is_long = number >> 63;
    return e;
  }
  if (t.kind == TokenKind::kString) {
    lexer_.advance();
    if (t.text.empty() || t.text.size() > kMaxBitString ||
        t.text.find_first_not_of("01_") != std::string_view::npos) {
      lexer_.fail(t, "a string in an expression is a row of bits such as \"0101\"");
    }
    return make_expr(ExprKind::kBits, t, t.text);
  }
  if (t.kind != TokenKind::kIdentifier) lexer_.fail_expected("an expression");
  lexer_.advance();
  if (t.text == "true" || t.text == "false") {
    auto e = make_expr(ExprKind::kBool, t);
    e->integer = t.text == "true";
    return e;
  }
  if (t.text == "measure") return make_expr(ExprKind::kMeasure, t, {}, {postfix()});
  check_is_read(t);
  if (base_of(t.text) != Base::kVoid) {
    if (base_of(t.text) == Base::kDuration) lexer_.fail(t, "nothing can be cast to a duration");
    auto e = make_expr(ExprKind::kCast, t);
    e->type = type(t);
    e->args = {enclosed("(", ")")};
    return e;
  }
  if (!lexer_.accept("(")) return make_expr(ExprKind::kName, t, t.text);
  return make_expr(ExprKind::kCall, t, t.text, list(")"));
}

}  // namespace tilewave::language::qasm3
