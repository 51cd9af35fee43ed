// Files of Stim's language and of shots: see stim_files.h.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tilewave/base/error.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/base/open_error.h"
#include "tilewave/base/units.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/write_pieces.h"

namespace tilewave::cli {

namespace {

constexpr std::size_t kSurelyFits = std::size_t{1} << 28;  // bytes of a text, read without a look

}  // namespace

StimFile::StimFile(const std::string& path, const char* mode) {
  const std::string_view how = mode;
  const bool reading = how[0] == 'r';
  owned_ = !path.empty() && path != "-";
  name_ = owned_ ? path : reading ? "<stdin>" : "<stdout>";
  if (!owned_) {
    file_ = reading ? stdin : stdout;
  } else if (how == "whole") {
    whole_ = std::make_unique<WholeFile>(path);
    const int copy = fcntl(whole_->descriptor(), F_DUPFD_CLOEXEC, 0);
    file_ = copy < 0 ? nullptr : fdopen(copy, "wb");
  } else if (how == "wb" || how == "w+b") {
    open_for_shots(path, how == "w+b");
  } else {
    file_ = std::fopen(path.c_str(), mode);
  }
  if (!file_) {
    const int error = errno;
    fail(reading ? code_of_open(error) : ExitCode::kResources, "cannot open '", path,
         "': ", std::strerror(error));
  }
}

StimFile::~StimFile() {
  if (owned_) std::fclose(file_);
  if (is_created_ && !has_begun_) ::unlink(name_.c_str());
}

void StimFile::open_for_shots(const std::string& path, bool also_read) {
  const int flags = (also_read ? O_RDWR : O_WRONLY) | O_CREAT | O_CLOEXEC;
  int descriptor = ::open(path.c_str(), flags | O_EXCL, 0666);
  is_created_ = descriptor >= 0;
  if (descriptor < 0 && errno == EEXIST) descriptor = ::open(path.c_str(), flags, 0666);
  if (descriptor >= 0) file_ = fdopen(descriptor, also_read ? "w+b" : "wb");
  has_begun_ = false;
}

void StimFile::begin() {
  if (std::exchange(has_begun_, true)) return;
  struct stat status {};
  const bool is_file = fstat(fileno(file_), &status) == 0 && S_ISREG(status.st_mode);
  if (is_file && ftruncate(fileno(file_), 0) != 0) {
    fail(ExitCode::kResources, "cannot write '", name_, "': ", why_not_written(errno));
  }
}

void StimFile::done() {
  flush();
  if (whole_) whole_->commit();
}

std::string StimFile::read_all() {
  std::string text;
  const auto make_room = [&](std::size_t size) {
    if (size <= kSurelyFits || size <= runtime::available_host_bytes()) return text.reserve(size);
    fail_memory(name_, ": a text of ", in_bytes(size),
                " or more does not fit this machine's memory: is it the right file?");
  };
  struct stat status {};
  if (fstat(fileno(file_), &status) == 0 && S_ISREG(status.st_mode))
    make_room(static_cast<std::size_t>(status.st_size));
  char buffer[65536];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, file_)) {
    if (text.size() + n > text.capacity()) make_room(2 * (text.size() + n));
    text.append(buffer, n);
  }
  if (std::ferror(file_))
    fail(ExitCode::kInput, "cannot read '", name_, "': ", std::strerror(errno));
  return text;
}

void StimFile::write(const char* bytes, std::size_t count) {
  constexpr std::size_t kManyBytes = std::size_t{8} << 20;
  begin();
  if (count >= kManyBytes && runtime::takes_pieces(fileno(file_))) {
    flush();  // then the position is that of the next byte
    if (const auto at = position()) return write_pieces(*at, bytes, count);
  }
  if (std::fwrite(bytes, 1, count, file_) != count) {
    fail(ExitCode::kResources, "cannot write '", name_, "': ", why_not_written(errno));
  }
}

void StimFile::write_pieces(std::uint64_t at, const char* bytes, std::size_t count) {
  const runtime::WrittenPieces done = runtime::write_pieces(fileno(file_), at, bytes, count);
  const bool moved = fseeko(file_, static_cast<off_t>(at + done.num_bytes), SEEK_SET) == 0;
  if (!done.error && moved) return;
  const int error = done.error ? done.error : errno;
  cut(at + done.num_bytes);
  fail(ExitCode::kResources, "cannot write '", name_, "': ", why_not_written(error));
}

void StimFile::flush() {
  begin();
  if (std::fflush(file_) != 0) {
    fail(ExitCode::kResources, "cannot write '", name_, "': ", why_not_written(errno));
  }
}

std::optional<std::uint64_t> StimFile::position() {
  struct stat status;
  if (fstat(fileno(file_), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const off_t at = lseek(fileno(file_), 0, SEEK_CUR);  // nothing is buffered behind a flush
  if (at < 0) return std::nullopt;
  return static_cast<std::uint64_t>(at);
}

void StimFile::cut(std::uint64_t position) {
  if (ftruncate(fileno(file_), static_cast<off_t>(position)) == 0)
    lseek(fileno(file_), static_cast<off_t>(position), SEEK_SET);
}

void StimFile::go_on_at(std::uint64_t position) {
  if (std::fflush(file_) != 0 || ftruncate(fileno(file_), static_cast<off_t>(position)) != 0 ||
      fseeko(file_, static_cast<off_t>(position), SEEK_SET) != 0) {
    fail(ExitCode::kResources, "cannot write '", name_, "': ", why_not_written(errno));
  }
}

}  // namespace tilewave::cli
