// The words of OpenQASM 2. One pass over the text, one token at a time, nothing kept: a token is a
// kind and a view into the source. Comments (//) may hold any bytes; everything else is ASCII.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tilewave/base/concat.h"
#include "tilewave/language/text/cursor.h"

namespace tilewave::language::qasm2 {

enum class TokenKind : std::uint8_t {
  kEnd,
  kIdentifier,
  kInteger,
  kReal,
  kString,  ///< the text between the quotes
  kSemicolon,
  kComma,
  kLeftParen,
  kRightParen,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  kPlus,
  kMinus,
  kStar,
  kSlash,
  kCaret,
  kArrow,
  kEqual,  ///< ==
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::uint32_t line = 1;
  std::size_t offset = 0;
  std::string_view text;
};

class Lexer {
 public:
  /// `source` must outlive the lexer.
  explicit Lexer(const TextSource& source) : cursor_(source, {}) { advance(); }

  const TextSource& source() const { return cursor_.source(); }
  const Token& token() const { return token_; }

  /// Moves to the next token; throws at a character that starts none.
  void advance();

  /// Returns the token and moves on.
  Token take() {
    const Token t = token_;
    advance();
    return t;
  }

  /// Throws unless the token is of this kind; `what` names it in the message.
  Token expect(TokenKind kind, const char* what) {
    if (token_.kind != kind) fail_expected(what);
    return take();
  }

  bool accept(TokenKind kind) {
    if (token_.kind != kind) return false;
    advance();
    return true;
  }

  template <class... Parts>
  [[noreturn]] void fail(const Token& at, const Parts&... problem) const {
    fail_at(source(), at.offset, concat(problem...));
  }
  [[noreturn]] void fail_expected(const char* what) const;

 private:
  TextCursor cursor_;
  Token token_;
};

}  // namespace tilewave::language::qasm2
