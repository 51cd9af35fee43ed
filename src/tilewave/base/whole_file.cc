// See whole_file.h.
#include "tilewave/base/whole_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tilewave/base/error.h"

namespace tilewave {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kOneWrite = std::size_t{1} << 30;  // one call of the system takes < 2 GiB
constexpr std::size_t kGathered = std::size_t{1} << 16;
constexpr int kMostLinks = 40;  // as many as the system follows
constexpr int kMostTries = 100;

// Names of files that are not committed. Whoever takes a name out of its slot owns it: a handler
// takes it to unlink the file, the file's owner to free it.
constexpr int kSlots = 64;
std::atomic<char*> unfinished[kSlots];

int remember(char* name) {
  for (int k = 0; k < kSlots; ++k) {
    char* none = nullptr;
    if (unfinished[k].compare_exchange_strong(none, name)) return k;
  }
  return -1;  // so many at once: this one is removed by its destructor alone
}

void forget(int slot, char* name) {
  if (slot >= 0 && !unfinished[slot].exchange(nullptr)) return;  // a handler has it
  std::free(name);
}

// "" where there is nothing, and the file itself where it is no link. Links that run in a circle
// stay what they are: opening them tells.
std::string target_of(const std::string& path) {
  fs::path at = path;
  std::error_code problem;
  for (int k = 0; k < kMostLinks && fs::is_symlink(fs::symlink_status(at, problem)); ++k) {
    const fs::path next = fs::read_symlink(at, problem);
    if (problem) break;
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return at.string();
}

char* random_name(const std::string& target) {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) return nullptr;
  char name[64];
  std::snprintf(name, sizeof name, ".tilewave-%016llx.part", static_cast<unsigned long long>(bits));
  const std::size_t folder = target.rfind('/') + 1;  // 0 where there is none
  return ::strdup((target.substr(0, folder) + name).c_str());
}

[[noreturn]] void fail_at(const std::string& path, const std::string& why) {
  throw Error(ExitCode::kResources, path + ": cannot write: " + why);
}

std::string describe(int error, std::uint64_t num_bytes) {
  std::string text = std::strerror(error);
  if (error == EFBIG) text += " (a limit of the process, ulimit -f, or of the file system)";
  if (error == EISDIR) text += ": name a file";
  if (error != ENOSPC && error != EDQUOT) return text;
  if (num_bytes > 0) text += " (the file needs " + std::to_string(num_bytes) + " bytes)";
  return text + ": free space or name a file on another disk";
}

}  // namespace

WholeFile::WholeFile(std::string path, std::uint64_t num_bytes)
    : path_(std::move(path)), num_bytes_(num_bytes) {
  struct stat info {};
  const bool exists = ::stat(path_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    open_direct();
    return;
  }
  target_ = target_of(path_);
  struct stat target {};
  // a link of /proc to an open file that has no name any more
  if (exists && (::stat(target_.c_str(), &target) != 0 || target.st_ino != info.st_ino ||
                 target.st_dev != info.st_dev))
    open_direct();
  else
    open_part();
}

void WholeFile::open_direct() {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd_ < 0) fail(errno);
}

void WholeFile::open_part() {
  for (int k = 0; k < kMostTries && fd_ < 0; ++k) {
    char* name = random_name(target_);
    if (!name) fail(errno);
    const int slot = remember(name);  // first, so that a signal meets no file without a slot
    fd_ = ::open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd_ >= 0) {
      part_ = name, slot_ = slot;
      return;
    }
    const int error = errno;
    forget(slot, name);
    if (error != EEXIST) fail(error);
  }
  fail(EEXIST);
}

WholeFile::~WholeFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!part_) return;
  ::unlink(part_);
  forget(slot_, part_);
}

void WholeFile::fail(const std::string& why) const { fail_at(path_, why); }
void WholeFile::fail(int error) const { fail(describe(error, num_bytes_)); }

int WholeFile::try_write(const void* data, std::size_t num_bytes) noexcept {
  const auto* from = static_cast<const std::byte*>(data);
  if (num_bytes < kGathered) {
    if (small_.size() + num_bytes > kGathered) {
      if (const int error = flush()) return error;
    }
    try {
      small_.reserve(kGathered);
      small_.insert(small_.end(), from, from + num_bytes);
    } catch (...) {
      return ENOMEM;
    }
    return 0;
  }
  if (const int error = flush()) return error;
  while (num_bytes > 0) {
    const ssize_t done = ::write(fd_, from, std::min(num_bytes, kOneWrite));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    from += done;
    num_bytes -= static_cast<std::size_t>(done);
  }
  return 0;
}

int WholeFile::flush() noexcept {
  for (std::size_t at = 0; at < small_.size();) {
    const ssize_t done = ::write(fd_, small_.data() + at, small_.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    at += static_cast<std::size_t>(done);
  }
  small_.clear();
  return 0;
}

void WholeFile::write(const void* data, std::size_t num_bytes) {
  if (const int error = try_write(data, num_bytes)) fail(error);
}

void WholeFile::commit(Sync sync) {
  TW_CHECK(fd_ >= 0, path_ + ": the file is in place already");
  if (const int error = flush()) fail(error);
  if (sync == Sync::kYes && part_ && ::fsync(fd_) != 0) fail(errno);
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0) fail(errno);
  if (!part_) return;
  if (std::rename(part_, target_.c_str()) != 0) fail(errno);
  forget(slot_, std::exchange(part_, nullptr));
}

void write_whole_file(const std::string& path, std::string_view text) {
  WholeFile file(path, text.size());
  file.write(text);
  file.commit();
}

void check_writable(const std::string& path, std::uint64_t num_bytes) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
    return;  // opening a pipe twice would disturb its reader
  const WholeFile file(path, num_bytes);
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < num_bytes)
    file.fail(EFBIG);
  struct statvfs disk {};
  if (::fstatvfs(file.descriptor(), &disk) == 0 && disk.f_frsize > 0 && disk.f_blocks > 0 &&
      disk.f_bavail < num_bytes / disk.f_frsize)
    file.fail(ENOSPC);
}

void remove_unfinished_files() noexcept {
  for (std::atomic<char*>& slot : unfinished) {
    if (const char* name = slot.exchange(nullptr)) ::unlink(name);
  }
}

}  // namespace tilewave
