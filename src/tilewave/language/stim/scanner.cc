#include "tilewave/language/stim/scanner.h"

#include <charconv>

#include "tilewave/base/read_double.h"

namespace tilewave::language {
namespace {
bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
}  // namespace

std::uint32_t StimScanner::line_of(std::size_t position) const {
  if (position < line_pos_) line_pos_ = 0, line_ = 1;
  line_ += static_cast<std::uint32_t>(
      std::count(text_.begin() + line_pos_, text_.begin() + position, '\n'));
  line_pos_ = position;
  return line_;
}

void StimScanner::skip(bool lines) {
  while (!at_end()) {
    const char c = text_[pos_];
    if (c == '#') {
      while (!at_line_end()) ++pos_;
    } else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
      ++pos_;
    } else {
      break;
    }
  }
}

void StimScanner::hide_unless_like(std::string_view kind, std::span<const std::string_view> names) {
  if (source_.name.starts_with('<')) return;  // who typed it reads the message
  const std::size_t begin = pos_;
  skip(true);
  const std::string name = read_name();
  bool is_like = !name.empty() || at_end() || peek() == '}';
  if (!name.empty() && !contains(names, name)) is_like &= !nearest_name(name, names).empty();
  char closing = 0;  // of a tag or of arguments, which may hold more
  for (; is_like && !at_line_end() && peek() != '#'; ++pos_) {
    const char c = peek();
    if (closing) {
      if (c == closing) closing = 0;
    } else if (c == '[' || c == '(') {
      closing = c == '[' ? ']' : ')';
    } else {
      constexpr std::string_view kOfTargets = "0123456789XYZxyz!*-^,DLdlrecswp \t\r{}";
      is_like = kOfTargets.find(c) != std::string_view::npos;
    }
  }
  pos_ = begin;
  if (!is_like) source_.unlike = kind;
}

bool StimScanner::accept(char c) {
  if (at_end() || text_[pos_] != c) return false;
  ++pos_;
  return true;
}

bool StimScanner::accept_word(std::string_view word) {
  if (text_.substr(pos_, word.size()) != word) return false;
  pos_ += word.size();
  return true;
}

void StimScanner::expect(char c, std::string_view where) {
  if (!accept(c)) fail("expected '", c, "' ", where);
}

std::string StimScanner::read_name() {
  const std::size_t first = pos_;
  while (!at_end() && is_name_char(text_[pos_])) ++pos_;
  std::string name(text_.substr(first, pos_ - first));
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

std::string StimScanner::read_tag() {
  std::string tag;
  if (!accept('[')) return tag;
  const std::size_t first = pos_ - 1;
  while (true) {
    if (at_line_end()) fail_at(first, "the tag is not closed on its line: add ']'");
    char c = take();
    if (c == ']') return tag;
    if (c == '\\') {
      const char e = at_end() ? '\0' : take();
      const std::size_t escape = kTagEscapes.find(e);
      if (escape == std::string_view::npos) {
        fail_at(pos_ - 1,
                "unknown escape in a tag: use \\n, \\r, \\B (backslash) or \\C (closing bracket)");
      }
      c = kTagEscaped[escape];
    }
    tag += c;
  }
}

std::vector<double> StimScanner::read_args() {
  std::vector<double> args;
  if (!accept('(')) return args;
  while (true) {
    skip(false);
    if (args.empty() && accept(')')) return args;
    const ReadNumber number = read_signed_double(text_.substr(pos_));
    if (number.is_too_large) fail("the number is too large");
    if (number.size == 0) fail("expected a number");
    pos_ += number.size;
    args.push_back(number.value);
    skip(false);
    if (accept(')')) return args;
    if (!accept(',')) fail("expected ',' or ')' after an argument");
  }
}

std::uint64_t StimScanner::read_uint(std::uint64_t max, std::string_view what) {
  const std::size_t first = pos_;
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text_.data() + pos_, text_.data() + text_.size(), value);
  if (error == std::errc::invalid_argument) fail("expected ", what);
  if (error != std::errc{} || value > max) {
    fail_at(first, std::string(what) + " is too large: the largest is " + std::to_string(max));
  }
  pos_ = static_cast<std::size_t>(end - text_.data());
  return value;
}

bool StimScanner::next_instruction(int depth, std::size_t opened) {
  skip(true);
  if (at_end()) {
    if (depth) fail_at(opened, "the block is not closed: add '}'");
    return false;
  }
  if (peek() != '}') return true;
  if (!depth) fail("'}' closes no block");
  take();
  return false;
}

StimScanner::Repeat StimScanner::read_repeat(int depth) {
  Repeat r;
  skip(false);
  r.count_at = pos_;
  r.count = read_uint(~std::uint64_t{0}, "the number of repetitions");
  skip(false);
  r.brace = pos_;
  expect('{', "after the number of repetitions");
  if (depth >= kMaxNesting) fail_at(r.brace, "blocks are nested too deeply");
  return r;
}

}  // namespace tilewave::language
