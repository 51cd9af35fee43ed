// The character level shared by the readers of Stim's circuit and error-model languages: position
// for messages, spaces and comments, numbers, tags, argument lists.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/base/concat.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language {

/// Characters that tags hold behind a backslash only, as these letters.
inline constexpr std::string_view kTagEscaped = "\n\r\\]", kTagEscapes = "nrBC";

class StimScanner {
 public:
  StimScanner(std::string_view text, std::string_view file)
      : source_{std::string(file), without_byte_order_mark(text)}, text_(source_.text) {}

  /// Of a file whose first instruction has not the form of one, or a name that is none of `names`
  /// and near none, messages will show nothing: it is no `kind`.
  void hide_unless_like(std::string_view kind, std::span<const std::string_view> names);

  bool at_end() const { return pos_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[pos_]; }
  char take() { return text_[pos_++]; }
  std::size_t position() const { return pos_; }
  std::uint32_t line_of(std::size_t position) const;

  /// Skips blanks and, when `lines`, line ends; comments too.
  void skip(bool lines);
  bool at_line_end() const { return at_end() || peek() == '\n'; }
  /// Takes `c` or fails saying that `c` was expected.
  void expect(char c, std::string_view where);
  bool accept(char c);
  bool accept_word(std::string_view word);

  /// Letters, digits and underscores, in upper case.
  std::string read_name();
  std::string read_tag();
  /// `(a, b, ...)` or nothing.
  std::vector<double> read_args();
  /// A whole number up to `max`.
  std::uint64_t read_uint(std::uint64_t max, std::string_view what);

  /// Goes to the next instruction of a block that was opened at `opened`, `depth` blocks deep.
  /// False at its end: behind its brace, or at the end of the text when `depth` is 0.
  bool next_instruction(int depth, std::size_t opened);
  /// What stands between REPEAT and its body: `count {`.
  struct Repeat {
    std::uint64_t count;
    std::size_t count_at, brace;  // positions
  };
  Repeat read_repeat(int depth);

  /// Throws Error(kInput): `file:line:column: message`, the line, a caret under the position.
  template <class... Parts>
  [[noreturn]] void fail_at(std::size_t position, const Parts&... message) const {
    language::fail_at(source_, std::min(position, text_.size()), concat(message...));
  }
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... message) const {
    fail_at(pos_, message...);
  }

 private:
  static constexpr int kMaxNesting = 1000;

  TextSource source_;
  std::string_view text_;
  std::size_t pos_ = 0;
  mutable std::size_t line_pos_ = 0;  // where counting of lines has come to
  mutable std::uint32_t line_ = 1;
};

}  // namespace tilewave::language
