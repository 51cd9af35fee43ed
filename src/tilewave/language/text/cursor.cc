#include "tilewave/language/text/cursor.h"

#include <algorithm>

namespace tilewave::language {

bool TextCursor::skip_comment() {
  const std::string_view text = source_->text;
  if (peek(1) == '/') {
    next_ = std::min(text.find('\n', next_), text.size());
    return true;
  }
  if (peek(1) != '*' || !rules_.block_comments) return false;
  const std::size_t close = text.find("*/", next_ + 2);
  if (close == std::string_view::npos) fail_at(*source_, next_, "this comment is not closed");
  const std::string_view inside = text.substr(next_, close - next_);
  line_ += static_cast<std::uint32_t>(std::count(inside.begin(), inside.end(), '\n'));
  next_ = close + 2;
  return true;
}

bool TextCursor::skip_digits() {
  const std::size_t from = next_;
  while (at_digit() || (rules_.digit_groups && next_ > from && peek() == '_' && at_digit(1))) {
    ++next_;
  }
  return next_ > from;
}

std::string_view TextCursor::take_number(bool& is_real) {
  const std::size_t begin = next_;
  bool any = skip_digits();
  is_real = false;
  if (peek() == '.') {
    ++next_;
    any |= skip_digits();
    is_real = true;
  }
  if (!any) fail_at(*source_, begin, "a number needs digits beside its point");
  if (peek() == 'e' || peek() == 'E') {
    ++next_;
    if (peek() == '+' || peek() == '-') ++next_;
    if (!skip_digits()) fail_at(*source_, next_, "the exponent of a number needs digits");
    is_real = true;
  }
  return source_->text.substr(begin, next_ - begin);
}

std::string_view TextCursor::take_string() {
  const std::string_view text = source_->text;
  const std::size_t close = text.find_first_of(peek() == '"' ? "\"\n" : "'\n", next_ + 1);
  if (close == std::string_view::npos || text[close] == '\n') {
    fail_at(*source_, next_, "this string is not closed on its line");
  }
  const std::string_view inside = text.substr(next_ + 1, close - next_ - 1);
  next_ = close + 1;
  return inside;
}

}  // namespace tilewave::language
