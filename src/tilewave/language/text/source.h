// Text that a person wrote: reading it whole, and errors that point into it. A problem is reported
// as `name:line:column: problem`, the source line and a caret below it; lines and columns count
// from 1, columns in characters (UTF-8), long lines are shown as a window around the caret.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tilewave/base/error.h"

namespace tilewave::language {

/// A named text. The text must outlive every view into it.
struct TextSource {
  std::string name;
  std::string_view text;
  /// Not empty: the text does not look like this, so messages show nothing of it. Whoever names a
  /// file by mistake, or includes one that is not his, learns no secrets.
  std::string_view unlike = {};
};

/// Reads a whole file, the standard input for "-". What is no regular file is read up to its first
/// NUL byte, behind which no text can be, so that /dev/zero ends. Throws Error(kInput) for a
/// missing or unreadable file or a directory, Error(kResources) for more than this machine's memory
/// holds.
std::string read_text_file(const std::string& path);

/// The path of a file that `current` includes: beside it unless `name` is absolute.
std::string path_beside(const std::string& current, std::string_view name);

/// The text as a terminal may show it: valid UTF-8 on one line, without control characters and
/// marks that turn the direction of writing.
std::string without_controls(std::string_view text);

/// The same for what a message says of an input: long words lose their middle, and so does the
/// text.
std::string printable(std::string_view text);

/// How a gate is applied, for who puts its qubits in parentheses as those of a subroutine:
/// `'rx' is a gate, applied as 'rx(angle) q;'`.
std::string gate_form(std::string_view name, std::size_t num_params, std::size_t num_qubits);

/// Throws Error(kInput), or another one (kResources: a MemoryError), that points at `offset` of the
/// source. The problem is made printable. Of a text that is unlike what it should be, only that is said.
[[noreturn]] void fail_at(const TextSource& source, std::size_t offset, const std::string& problem,
                          ExitCode code = ExitCode::kInput);

/// The text behind the mark of UTF-8 that some editors write in front.
std::string_view without_byte_order_mark(std::string_view text);

/// Throws where the text is empty or holds a NUL byte (a binary or UTF-16 file).
void check_is_text(const TextSource& source);

/// "a, b, c".
std::string comma_list(std::span<const std::string_view> words);

/// Whether a list of words holds this one.
inline bool contains(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The candidate nearest to `name` by edits, small and capital letters counting as the same where
/// all others are equal; an empty view where none is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// `: did you mean 'x'?`, or an empty string where no candidate is near, or where the nearest one
/// is the name itself.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

/// The same for a gate, which may have another name elsewhere: 'cnot' means 'cx'.
std::string did_you_mean_gate(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace tilewave::language
