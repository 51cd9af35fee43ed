// A place in a text that moves forward: what the lexers of both OpenQASM languages are made of.
// Blanks, comments, names, numbers and strings are found here; which of them are words of a
// language, and its punctuation, the lexers know.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tilewave/base/concat.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language {

namespace detail {

enum : std::uint8_t { kOther, kBlank, kDigit, kLetter, kBeyond };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> c{};
  for (const unsigned char b : {' ', '\t', '\r', '\f', '\v'}) c[b] = kBlank;
  for (std::size_t b = '0'; b <= '9'; ++b) c[b] = kDigit;
  for (std::size_t b = 'a'; b <= 'z'; ++b) c[b] = kLetter;
  for (std::size_t b = 'A'; b <= 'Z'; ++b) c[b] = kLetter;
  for (std::size_t b = 0x80; b < 256; ++b) c[b] = kBeyond;
  c['_'] = kLetter;
  return c;
}
inline constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

inline std::uint8_t class_of(char c) { return kClasses[static_cast<unsigned char>(c)]; }

}  // namespace detail

/// Which spellings a language has beyond the common ones.
struct TextRules {
  bool block_comments = false;  ///< /* */
  bool utf8_names = false;      ///< letters beyond ASCII
  bool digit_groups = false;    ///< 1_000
};

class TextCursor {
 public:
  /// `source` must outlive the cursor.
  TextCursor(const TextSource& source, TextRules rules) : source_(&source), rules_(rules) {
    if (source.text.starts_with("\xEF\xBB\xBF")) next_ = 3;  // byte order mark
  }

  const TextSource& source() const { return *source_; }
  std::size_t offset() const { return next_; }
  std::uint32_t line() const { return line_; }
  bool at_end() const { return next_ >= source_->text.size(); }
  /// The character `ahead` of the place; NUL behind the end.
  char peek(std::size_t ahead = 0) const {
    const std::string_view text = source_->text;
    return next_ + ahead < text.size() ? text[next_ + ahead] : '\0';
  }

  bool at_letter() const {
    const std::uint8_t c = detail::class_of(peek());
    return c == detail::kLetter || (c == detail::kBeyond && rules_.utf8_names);
  }
  bool at_digit(std::size_t ahead = 0) const {
    return detail::class_of(peek(ahead)) == detail::kDigit;
  }

  /// Skips to the next token and writes into it where that begins. False: none is left, and the
  /// token is the end of the text.
  template <class Token>
  bool begin(Token& token) {
    skip_blanks();
    token.offset = next_;
    token.line = line_;
    if (!at_end()) return true;
    token.kind = decltype(token.kind)::kEnd;
    token.text = {};
    return false;
  }

  /// Skips blanks and comments.
  void skip_blanks() {
    while (next_ < source_->text.size()) {
      const char c = source_->text[next_];
      if (c == '\n') {
        ++line_, ++next_;
      } else if (detail::class_of(c) == detail::kBlank) {
        ++next_;
      } else if (c != '/' || !skip_comment()) {
        return;
      }
    }
  }

  /// The next `count` characters.
  std::string_view take(std::size_t count) {
    next_ += count;
    return source_->text.substr(next_ - count, count);
  }
  /// A letter, then letters and digits; the first character is taken as one.
  std::string_view take_name() {
    const std::string_view text = source_->text;
    const std::uint8_t most = rules_.utf8_names ? detail::kBeyond : detail::kLetter;
    std::size_t k = next_ + 1;
    for (; k < text.size(); ++k) {
      const std::uint8_t c = detail::class_of(text[k]);
      if (c < detail::kDigit || c > most) break;
    }
    return take(k - next_);
  }
  /// digits [. digits] [e [sign] digits], with digits on at least one side of the point; `is_real`
  /// where there is a point or an exponent.
  std::string_view take_number(bool& is_real);
  /// The text between the quotes, which are on one line.
  std::string_view take_string();

  /// Goes back to `offset`, where `line` was the line, or on to it.
  void move_to(std::size_t offset, std::uint32_t line) { next_ = offset, line_ = line; }

 private:
  bool skip_comment();
  bool skip_digits();

  const TextSource* source_;
  TextRules rules_;
  std::size_t next_ = 0;
  std::uint32_t line_ = 1;
};

/// What a token is called in a message: the end of the file, a string, or its text.
template <class Token>
std::string describe(const Token& token) {
  using Kind = decltype(token.kind);
  if (token.kind == Kind::kEnd) return "the end of the file";
  if (token.kind == Kind::kString) return "a string";
  return concat("'", token.text.substr(0, 40), "'");
}

}  // namespace tilewave::language
