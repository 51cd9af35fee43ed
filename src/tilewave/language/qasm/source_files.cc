#include "tilewave/language/qasm/source_files.h"

#include <sys/stat.h>

#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/language/qasm/gate_libraries.h"
#include "tilewave/language/qasm/version.h"

namespace tilewave::language {
namespace {

constexpr int kMaxDepth = 16, kMaxIncludes = 4096;
constexpr std::uint64_t kMaxBytes = 1ull << 30;  // of all included texts

constexpr std::string_view kUnlike = "a program in OpenQASM";

template <class... Parts>
[[noreturn]] void fail(const Parts&... problem) {
  tilewave::fail(ExitCode::kInput, problem...);
}

}  // namespace

const TextSource& SourceFiles::start(TextSource source) {
  // what has no file was typed by who reads the message
  if (!source.name.starts_with('<') && !starts_like_qasm(source.text, true))
    source.unlike = kUnlike;
  check_is_text(source);
  return sources_.emplace_back(std::move(source));
}

bool SourceFiles::is_library(std::string_view name) const { return contains(libraries_, name); }

const TextSource* SourceFiles::include(const TextSource& by, std::size_t offset,
                                       std::string_view name) {
  if (is_library(name)) {  // its gates are rows of the gate table
    if (name != "hqslib1.inc" || has_hqslib1_) return nullptr;
    has_hqslib1_ = true;  // which adds some
    ++depth_;
    return &sources_.emplace_back(TextSource{"built-in gates", kHqslib1Gates});
  }
  try {
    return &enter(by, name);
  } catch (const Error& error) {
    fail_at(by, offset, error.what(), error.code());
  }
}

const TextSource& SourceFiles::enter(const TextSource& by, std::string_view name) {
  if (includes_ == Includes::kRefused) {
    fail("'", name,
         "' is not read: this run takes programs that include no files "
         "(--no-include, include=False)");
  }
  if (depth_ == kMaxDepth) fail("files include each other more than 16 deep");
  if (++count_ > kMaxIncludes) {
    fail("the program includes more than ", kMaxIncludes, " files: does a file include itself?");
  }
  const std::string path = path_beside(by.name, name);
  struct stat info {};
  if (path == "-" ||
      (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))) {
    fail(path, ": only a file can be included, not a device or the standard input");
  }
  std::string text = read_text_file(path);
  bytes_ += text.size();
  if (bytes_ > kMaxBytes) {
    fail("the program includes more than ", in_bytes(kMaxBytes), " of text");
  }
  const std::string& kept = texts_.emplace_back(std::move(text));
  const TextSource& source = sources_.emplace_back(
      TextSource{path, kept, starts_like_qasm(kept, false) ? std::string_view() : kUnlike});
  if (!source.text.empty()) check_is_text(source);
  included_.push_back(path);
  ++depth_;
  return source;
}

const TextSource& SourceFiles::of(std::string_view place) const {
  for (const TextSource& s : sources_) {
    if (place.data() >= s.text.data() && place.data() <= s.text.data() + s.text.size()) return s;
  }
  return sources_.front();
}

}  // namespace tilewave::language
