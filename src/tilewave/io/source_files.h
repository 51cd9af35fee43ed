// The files of one program: the one it starts with and those that it includes. Texts stay where
// they are as long as this, so that names can be views into them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/io/text_source.h"

namespace tilewave::io {

/// Whether a program may read other files. The libraries of gates are built in and always there.
enum class Includes : std::uint8_t { kAllowed, kRefused };

class SourceFiles {
 public:
  explicit SourceFiles(Includes includes) : includes_(includes) {}

  /// The first file. Throws Error(kInput) where it is no text.
  const TextSource& start(TextSource source);

  /// Reads what `name` is, looked up beside the file `by`; to be followed by leave() when its
  /// statements are done. Throws Error(kInput), a problem without a place, for a file that cannot
  /// be read, that is no file of its own (the standard input, a device), where there are too many,
  /// and where none is allowed.
  const TextSource& enter(const TextSource& by, std::string_view name);
  void leave() { --depth_; }

  /// The file whose text `place` points into; the first one where it points elsewhere.
  const TextSource& of(std::string_view place) const;

  /// The paths of the files that were entered; a file as often as it was.
  const std::vector<std::string>& included() const { return included_; }

 private:
  Includes includes_;
  std::deque<TextSource> sources_;
  std::deque<std::string> texts_;
  std::vector<std::string> included_;
  int depth_ = 0, count_ = 0;
  std::uint64_t bytes_ = 0;  // of all included texts
};

}  // namespace tilewave::io
