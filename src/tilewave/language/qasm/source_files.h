// The files of one program: the one it starts with and those that it includes. Texts stay where
// they are as long as this, so that names can be views into them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/language/qasm/reading.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language {

class SourceFiles {
 public:
  /// `libraries`: names of the libraries of gates that are built in, which a program includes
  /// without a file.
  SourceFiles(Includes includes, std::span<const std::string_view> libraries)
      : includes_(includes), libraries_(libraries) {}

  /// The first file. Throws Error(kInput) where it is no text.
  const TextSource& start(TextSource source);

  /// What `include "name"` at this offset of `by` reads: definitions of a library, the first time
  /// that it is included, or a file beside `by`; null where there is nothing to read. To be
  /// followed by leave() when its statements are done. Throws at the place Error(kInput) for a file
  /// that cannot be read, that is no file of its own (the standard input, a device), where there
  /// are too many, and where none is allowed; Error(kResources) where it does not fit memory.
  const TextSource* include(const TextSource& by, std::size_t offset, std::string_view name);
  void leave() { --depth_; }
  bool is_library(std::string_view name) const;

  /// The file whose text `place` points into; the first one where it points elsewhere.
  const TextSource& of(std::string_view place) const;

  /// The paths of the files that were entered; a file as often as it was.
  const std::vector<std::string>& included() const { return included_; }

 private:
  const TextSource& enter(const TextSource& by, std::string_view name);

  Includes includes_;
  std::span<const std::string_view> libraries_;
  bool has_hqslib1_ = false;  // its definitions were read
  std::deque<TextSource> sources_;
  std::deque<std::string> texts_;
  std::vector<std::string> included_;
  int depth_ = 0, count_ = 0;
  std::uint64_t bytes_ = 0;  // of all included texts
};

}  // namespace tilewave::language
