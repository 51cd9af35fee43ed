#include "tilewave/io/qasm2_lexer.h"

#include <algorithm>
#include <array>

namespace tilewave::io::qasm2 {
namespace {

enum : std::uint8_t { kOther = 0, kBlank = 1, kDigit = 2, kLetter = 4 };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> c{};
  for (const unsigned char b : {' ', '\t', '\r', '\f', '\v'}) c[b] = kBlank;
  for (int b = '0'; b <= '9'; ++b) c[b] = kDigit;
  for (int b = 'a'; b <= 'z'; ++b) c[b] = kLetter;
  for (int b = 'A'; b <= 'Z'; ++b) c[b] = kLetter;
  c['_'] = kLetter;
  return c;
}
constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

std::uint8_t class_of(char c) { return kClasses[static_cast<unsigned char>(c)]; }

TokenKind punctuation(char c) {
  switch (c) {
    case ';':
      return TokenKind::kSemicolon;
    case ',':
      return TokenKind::kComma;
    case '(':
      return TokenKind::kLeftParen;
    case ')':
      return TokenKind::kRightParen;
    case '[':
      return TokenKind::kLeftBracket;
    case ']':
      return TokenKind::kRightBracket;
    case '{':
      return TokenKind::kLeftBrace;
    case '}':
      return TokenKind::kRightBrace;
    case '+':
      return TokenKind::kPlus;
    case '-':
      return TokenKind::kMinus;
    case '*':
      return TokenKind::kStar;
    case '/':
      return TokenKind::kSlash;
    case '^':
      return TokenKind::kCaret;
    default:
      return TokenKind::kEnd;
  }
}

std::string describe(const Token& t) {
  if (t.kind == TokenKind::kEnd) return "the end of the file";
  if (t.kind == TokenKind::kString) return "a string";
  return concat({"'", t.text.substr(0, 40), "'"});
}

}  // namespace

void Lexer::skip_blanks() {
  const std::string_view text = source_.text;
  if (next_ == 0 && text.starts_with("\xEF\xBB\xBF")) next_ = 3;  // byte order mark
  while (next_ < text.size()) {
    const char c = text[next_];
    if (c == '\n') {
      ++line_;
      ++next_;
    } else if (class_of(c) == kBlank) {
      ++next_;
    } else if (c == '/' && next_ + 1 < text.size() && text[next_ + 1] == '/') {
      next_ = std::min(text.find('\n', next_), text.size());
    } else {
      return;
    }
  }
}

// digits [. digits] [e [sign] digits], with digits on at least one side of the point
void Lexer::number() {
  const std::string_view text = source_.text;
  const std::size_t begin = next_;
  std::size_t k = begin;
  const auto digits = [&] {
    const std::size_t from = k;
    while (k < text.size() && class_of(text[k]) == kDigit) ++k;
    return k > from;
  };
  bool any = digits();
  token_.kind = TokenKind::kInteger;
  if (k < text.size() && text[k] == '.') {
    ++k;
    any |= digits();
    token_.kind = TokenKind::kReal;
  }
  if (!any) fail_at(source_, begin, "a number needs digits beside its point");
  if (k < text.size() && (text[k] == 'e' || text[k] == 'E')) {
    ++k;
    if (k < text.size() && (text[k] == '+' || text[k] == '-')) ++k;
    if (!digits()) fail_at(source_, k, "the exponent of a number needs digits");
    token_.kind = TokenKind::kReal;
  }
  if (k < text.size() && class_of(text[k]) == kLetter) {
    fail_at(source_, k, "a letter directly after a number");
  }
  token_.text = text.substr(begin, k - begin);
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
  const std::uint8_t kind = class_of(c);
  if (kind == kLetter) {
    std::size_t k = next_ + 1;
    while (k < text.size() && (class_of(text[k]) & (kLetter | kDigit))) ++k;
    token_.kind = TokenKind::kIdentifier;
    token_.text = text.substr(next_, k - next_);
    next_ = k;
    return;
  }
  if (kind == kDigit || c == '.') return number();
  const auto follows = [&](char d) { return next_ + 1 < text.size() && text[next_ + 1] == d; };
  std::size_t length = 1;
  if (c == '-' && follows('>')) {
    token_.kind = TokenKind::kArrow, length = 2;
  } else if (c == '=' && follows('=')) {
    token_.kind = TokenKind::kEqual, length = 2;
  } else if (c == '"' || c == '\'') {
    const std::size_t close = text.find_first_of(c == '"' ? "\"\n" : "'\n", next_ + 1);
    if (close == std::string_view::npos || text[close] == '\n') {
      fail_at(source_, next_, "this string is not closed on its line");
    }
    token_.kind = TokenKind::kString;
    token_.text = text.substr(next_ + 1, close - next_ - 1);
    next_ = close + 1;
    return;
  } else {
    token_.kind = punctuation(c);
    if (token_.kind == TokenKind::kEnd) {
      const bool printable = c >= 0x21 && c <= 0x7E;
      if (!printable) fail_at(source_, next_, "a byte that OpenQASM allows only in comments");
      fail_at(source_, next_,
              concat({"the character '", text.substr(next_, 1), "' has no meaning here"}));
    }
  }
  token_.text = text.substr(next_, length);
  next_ += length;
}

void Lexer::fail_expected(const char* what) const {
  fail_at(source_, token_.offset, concat({"expected ", what, ", found ", describe(token_)}));
}

}  // namespace tilewave::io::qasm2
