#include "tilewave/language/qasm3/lexer.h"

#include <algorithm>
#include <array>

namespace tilewave::language::qasm3 {
namespace {

// How punctuation may go on behind its first character.
enum class Follow : std::uint8_t { kNothing, kAlone, kEquals, kArrow, kTwice, kTwiceEquals };

constexpr auto kFollow = [] {
  std::array<Follow, 128> table{};
  const auto set = [&](std::string_view characters, Follow follow) {
    for (const char c : characters) table[static_cast<std::size_t>(c)] = follow;
  };
  set(";,()[]{}:@.#", Follow::kAlone);
  set("=!/%^~", Follow::kEquals);
  set("-", Follow::kArrow);
  set("+&|", Follow::kTwice);
  set("*<>", Follow::kTwiceEquals);
  return table;
}();

// The length of the punctuation at the cursor; 0 where none stands.
std::size_t punctuation(const TextCursor& cursor) {
  const char a = cursor.peek(), b = cursor.peek(1);
  const auto index = static_cast<unsigned char>(a);
  const Follow follow = index < kFollow.size() ? kFollow[index] : Follow::kNothing;
  if (follow <= Follow::kAlone) return follow == Follow::kAlone ? 1 : 0;
  if (follow == Follow::kTwiceEquals && b == a) return cursor.peek(2) == '=' ? 3 : 2;
  const bool goes_on =
      b == '=' || (follow == Follow::kArrow && b == '>') || (follow == Follow::kTwice && b == a);
  return goes_on ? 2 : 1;
}

constexpr std::string_view kUnits[] = {"dt", "ns", "us", "ms", "s", "\xC2\xB5s", "\xCE\xBCs"};

}  // namespace

void Lexer::skip_line() {
  const std::string_view text = source().text;
  cursor_.move_to(std::min(text.find('\n', token_.offset), text.size()), token_.line);
  advance();
}

// 0x1F 0b10 0o17, or a number with _ between digits and perhaps a unit or im, also behind blanks
void Lexer::number() {
  const std::size_t begin = cursor_.offset();
  const char base = static_cast<char>(cursor_.peek(1) | 0x20);
  if (cursor_.peek() == '0' && (base == 'x' || base == 'b' || base == 'o')) {
    token_.kind = TokenKind::kInteger;
    token_.text = cursor_.take_name();
    return;
  }
  bool is_real = false;
  token_.text = cursor_.take_number(is_real);
  token_.kind = is_real ? TokenKind::kReal : TokenKind::kInteger;
  const char behind = cursor_.peek();
  if (behind != ' ' && behind != '\t' && !cursor_.at_letter()) return;
  const std::size_t end = cursor_.offset();
  while (cursor_.peek() == ' ' || cursor_.peek() == '\t') cursor_.take(1);
  const std::size_t unit = cursor_.offset();
  if (!cursor_.at_letter()) return;
  const std::string_view word = cursor_.take_name();
  if (contains(kUnits, word)) {
    token_.kind = TokenKind::kTiming;
    token_.text = source().text.substr(begin, cursor_.offset() - begin);
  } else if (word == "im") {
    token_.kind = TokenKind::kImaginary;
  } else if (unit == end) {
    fail_at(source(), unit, "a letter directly after a number");
  } else {
    cursor_.move_to(unit, cursor_.line());  // the word of a statement, as in `for i in 0 x`
  }
}

void Lexer::advance() {
  if (!cursor_.begin(token_)) return;
  const char c = cursor_.peek();
  if (cursor_.at_letter() || c == '$') {
    token_.kind = TokenKind::kIdentifier;
    token_.text = cursor_.take_name();
    return;
  }
  if (cursor_.at_digit() || (c == '.' && cursor_.at_digit(1))) return number();
  if (c == '"' || c == '\'') {
    token_.kind = TokenKind::kString;
    token_.text = cursor_.take_string();
    return;
  }
  const std::size_t length = punctuation(cursor_);
  if (length == 0) {
    fail_at(source(), cursor_.offset(),
            concat("the character '", std::string_view(&c, 1), "' has no meaning here"));
  }
  token_.kind = TokenKind::kPunctuation;
  token_.text = cursor_.take(length);
}

Token Lexer::expect(std::string_view punctuation) {
  if (!token_.is(punctuation)) fail_expected(concat("'", punctuation, "'"));
  return take();
}

Token Lexer::expect_identifier(const char* what) {
  if (token_.kind != TokenKind::kIdentifier) fail_expected(what);
  return take();
}

void Lexer::fail_expected(const std::string& what) const {
  fail_at(source(), token_.offset, concat("expected ", what, ", found ", describe(token_)));
}

}  // namespace tilewave::language::qasm3
