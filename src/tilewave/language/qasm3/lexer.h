// The words of OpenQASM 3: one pass, one token at a time. Punctuation is told apart by its text.
// Comments are // and /* */; identifiers may hold any UTF-8 letter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tilewave/base/concat.h"
#include "tilewave/language/text/cursor.h"

namespace tilewave::language::qasm3 {

enum class TokenKind : std::uint8_t {
  kEnd,
  kIdentifier,
  kInteger,
  kReal,
  kTiming,     ///< a number with a unit of time
  kImaginary,  ///< a number followed by im
  kString,     ///< the text between the quotes
  kPunctuation,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::uint32_t line = 1;
  std::size_t offset = 0;
  std::string_view text;

  bool is(std::string_view punctuation) const {
    return kind == TokenKind::kPunctuation && text == punctuation;
  }
  /// For punctuation of one character.
  bool is(char punctuation) const {
    return kind == TokenKind::kPunctuation && text.size() == 1 && text[0] == punctuation;
  }
  bool is_word(std::string_view word) const {
    return kind == TokenKind::kIdentifier && text == word;
  }
};

class Lexer {
 public:
  /// `source` must outlive the lexer.
  explicit Lexer(const TextSource& source) : cursor_(source, kRules) { advance(); }

  const TextSource& source() const { return cursor_.source(); }
  const Token& token() const { return token_; }
  void advance();
  Token take() {
    const Token t = token_;
    advance();
    return t;
  }
  bool accept(char punctuation) {
    if (!token_.is(punctuation)) return false;
    advance();
    return true;
  }
  bool accept(std::string_view punctuation) {
    if (!token_.is(punctuation)) return false;
    advance();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!token_.is_word(word)) return false;
    advance();
    return true;
  }
  /// Throws unless the token is this punctuation.
  Token expect(std::string_view punctuation);
  Token expect_identifier(const char* what);

  template <class... Parts>
  [[noreturn]] void fail(const Token& at, const Parts&... problem) const {
    fail_at(source(), at.offset, concat(problem...));
  }
  [[noreturn]] void fail_expected(const std::string& what) const;

  /// Back to a token that was read before.
  void go_back(const Token& to) {
    cursor_.move_to(to.offset, to.line);
    advance();
  }
  /// Goes on behind the end of the line of the current token (pragmas and annotations).
  void skip_line();

 private:
  static constexpr TextRules kRules{true, true, true};

  void number();

  TextCursor cursor_;
  Token token_;
};

}  // namespace tilewave::language::qasm3
