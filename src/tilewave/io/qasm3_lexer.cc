#include "tilewave/io/qasm3_lexer.h"

#include <algorithm>

namespace tilewave::io::qasm3 {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Longest first.
constexpr std::string_view kPunctuation[] = {
    "**=", "<<=", ">>=", "->", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>",
    "++",  "**",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", "~=", ";",
    ",",   "(",   ")",   "[",  "]",  "{",  "}",  "+",  "-",  "*",  "/",  "%",
    "&",   "|",   "^",   "~",  "!",  "<",  ">",  "=",  ":",  "@",  ".",  "#"};

constexpr std::string_view kUnits[] = {"dt", "ns", "us", "ms", "s", "\xC2\xB5s", "\xCE\xBCs"};

}  // namespace

void Lexer::skip_blanks() {
  const std::string_view text = source_.text;
  if (next_ == 0 && text.starts_with("\xEF\xBB\xBF")) next_ = 3;  // byte order mark
  while (next_ < text.size()) {
    const char c = text[next_];
    if (c == '\n') {
      ++line_;
      ++next_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++next_;
    } else if (text.substr(next_, 2) == "//") {
      next_ = std::min(text.find('\n', next_), text.size());
    } else if (text.substr(next_, 2) == "/*") {
      const std::size_t close = text.find("*/", next_ + 2);
      if (close == std::string_view::npos) fail_at(source_, next_, "this comment is not closed");
      line_ += static_cast<std::uint32_t>(
          std::count(text.begin() + static_cast<std::ptrdiff_t>(next_),
                     text.begin() + static_cast<std::ptrdiff_t>(close), '\n'));
      next_ = close + 2;
    } else {
      return;
    }
  }
}

void Lexer::skip_line() {
  next_ = std::min(source_.text.find('\n', token_.offset), source_.text.size());
  line_ = token_.line;
  advance();
}

// 0x1F 0b10 0o17, digits with _ between them, [digits] . [digits] [e [sign] digits], a unit or im
void Lexer::number() {
  const std::string_view text = source_.text;
  const std::size_t begin = next_;
  std::size_t k = begin;
  const auto at = [&](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
  const auto digits = [&] {
    const std::size_t from = k;
    while (is_digit(at(k)) || (k > from && at(k) == '_' && is_digit(at(k + 1)))) ++k;
    return k > from;
  };
  token_.kind = TokenKind::kInteger;
  const char base = static_cast<char>(at(k + 1) | 0x20);
  if (at(k) == '0' && (base == 'x' || base == 'b' || base == 'o')) {
    k += 2;
    while (is_digit(at(k)) || is_letter(at(k))) ++k;
    token_.text = text.substr(begin, k - begin);
    next_ = k;
    return;
  }
  bool any = digits();
  if (at(k) == '.') {
    ++k;
    any |= digits();
    token_.kind = TokenKind::kReal;
  }
  if (!any) fail_at(source_, begin, "a number needs digits beside its point");
  if (at(k) == 'e' || at(k) == 'E') {
    ++k;
    if (at(k) == '+' || at(k) == '-') ++k;
    if (!digits()) fail_at(source_, k, "the exponent of a number needs digits");
    token_.kind = TokenKind::kReal;
  }
  token_.text = text.substr(begin, k - begin);
  if (is_letter(at(k))) {
    const std::size_t unit = k;
    while (is_letter(at(k)) || is_digit(at(k))) ++k;
    const std::string_view word = text.substr(unit, k - unit);
    if (std::find(std::begin(kUnits), std::end(kUnits), word) != std::end(kUnits)) {
      token_.kind = TokenKind::kTiming;
      token_.text = text.substr(begin, k - begin);
    } else if (word == "im") {
      token_.kind = TokenKind::kImaginary;
    } else {
      fail_at(source_, unit, "a letter directly after a number");
    }
  }
  next_ = k;
}

void Lexer::advance() {
  skip_blanks();
  const std::string_view text = source_.text;
  token_.offset = next_;
  token_.line = line_;
  if (next_ >= text.size()) {
    token_.kind = TokenKind::kEnd;
    token_.text = {};
    return;
  }
  const char c = text[next_];
  if (is_letter(c) || c == '$') {
    std::size_t k = next_ + 1;
    while (k < text.size() && (is_letter(text[k]) || is_digit(text[k]))) ++k;
    token_.kind = TokenKind::kIdentifier;
    token_.text = text.substr(next_, k - next_);
    next_ = k;
    return;
  }
  if (is_digit(c) || (c == '.' && next_ + 1 < text.size() && is_digit(text[next_ + 1]))) {
    return number();
  }
  if (c == '"' || c == '\'') {
    const std::size_t close = text.find_first_of(c == '"' ? "\"\n" : "'\n", next_ + 1);
    if (close == std::string_view::npos || text[close] == '\n') {
      fail_at(source_, next_, "this string is not closed on its line");
    }
    token_.kind = TokenKind::kString;
    token_.text = text.substr(next_ + 1, close - next_ - 1);
    next_ = close + 1;
    return;
  }
  for (const std::string_view p : kPunctuation) {
    if (c != p[0] || !text.substr(next_).starts_with(p)) continue;
    token_.kind = TokenKind::kPunctuation;
    token_.text = text.substr(next_, p.size());
    next_ += p.size();
    return;
  }
  fail_at(source_, next_,
          concat({"the character '", text.substr(next_, 1), "' has no meaning here"}));
}

Token Lexer::expect(std::string_view punctuation) {
  if (!token_.is(punctuation)) fail_expected(concat({"'", punctuation, "'"}));
  return take();
}

Token Lexer::expect_identifier(const char* what) {
  if (token_.kind != TokenKind::kIdentifier) fail_expected(what);
  return take();
}

void Lexer::fail_expected(const std::string& what) const {
  std::string found = concat({"'", token_.text.substr(0, 40), "'"});
  if (token_.kind == TokenKind::kEnd) found = "the end of the file";
  if (token_.kind == TokenKind::kString) found = "a string";
  fail_at(source_, token_.offset, concat({"expected ", what, ", found ", found}));
}

}  // namespace tilewave::io::qasm3
