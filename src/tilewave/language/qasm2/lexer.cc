#include "tilewave/language/qasm2/lexer.h"

namespace tilewave::language::qasm2 {
namespace {

constexpr auto kPunctuation = [] {
  std::array<TokenKind, 128> kinds{};  // kEnd: none
  int kind = static_cast<int>(TokenKind::kSemicolon);
  for (const char c : {';', ',', '(', ')', '[', ']', '{', '}', '+', '-', '*', '/', '^'})
    kinds[static_cast<std::size_t>(c)] = static_cast<TokenKind>(kind++);
  return kinds;
}();

}  // namespace

void Lexer::advance() {
  if (!cursor_.begin(token_)) return;
  if (cursor_.at_letter()) {
    token_.kind = TokenKind::kIdentifier;
    token_.text = cursor_.take_name();
    return;
  }
  const char c = cursor_.peek();
  if (cursor_.at_digit() || c == '.') {
    bool is_real = false;
    token_.text = cursor_.take_number(is_real);
    token_.kind = is_real ? TokenKind::kReal : TokenKind::kInteger;
    if (cursor_.at_letter()) {
      fail_at(source(), cursor_.offset(), "a letter directly after a number");
    }
    return;
  }
  if (c == '"' || c == '\'') {
    token_.kind = TokenKind::kString;
    token_.text = cursor_.take_string();
    return;
  }
  std::size_t length = 1;
  if (c == '-' && cursor_.peek(1) == '>') {
    token_.kind = TokenKind::kArrow, length = 2;
  } else if (c == '=' && cursor_.peek(1) == '=') {
    token_.kind = TokenKind::kEqual, length = 2;
  } else {
    token_.kind = static_cast<unsigned char>(c) < kPunctuation.size()
                      ? kPunctuation[static_cast<std::size_t>(c)]
                      : TokenKind::kEnd;
    if (token_.kind == TokenKind::kEnd) {
      const bool printable = c >= 0x21 && c <= 0x7E;
      const std::string problem =
          printable ? concat("the character '", std::string_view(&c, 1), "' has no meaning here")
                    : "a byte that OpenQASM allows only in comments";
      fail_at(source(), cursor_.offset(), problem);
    }
  }
  token_.text = cursor_.take(length);
}

void Lexer::fail_expected(const char* what) const {
  fail_at(source(), token_.offset, concat("expected ", what, ", found ", describe(token_)));
}

}  // namespace tilewave::language::qasm2
