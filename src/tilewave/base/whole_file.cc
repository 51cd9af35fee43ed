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
#include <poll.h>
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

// The descriptor of this process that a link in /proc stands for; -1: none.
int descriptor_of(const fs::path& link) {
  const std::string name = link.filename().string();
  if (name.empty() || name.size() > 9 || name.find_first_not_of("0123456789") != name.npos)
    return -1;
  std::error_code problem;
  const std::string folder = fs::canonical(link.parent_path(), problem).string();
  const bool is_own =
      folder.starts_with("/proc/" + std::to_string(::getpid()) + "/") && folder.ends_with("/fd");
  return is_own ? std::stoi(name) : -1;
}

struct Target {
  std::string path;
  int descriptor = -1;  // of this process; -1: none
};

// Where links lead, and the path itself where it is no link. Links that run in a circle stay what
// they are: opening them tells.
Target target_of(const std::string& path) {
  fs::path at = path;
  std::error_code problem;
  for (int k = 0; k < kMostLinks && fs::is_symlink(fs::symlink_status(at, problem)); ++k) {
    if (const int descriptor = descriptor_of(at); descriptor >= 0) return {path, descriptor};
    const fs::path next = fs::read_symlink(at, problem);
    if (problem) break;
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return {at.string()};
}

// 0, or the number of the error.
int write_all(int fd, const std::byte* from, std::size_t num_bytes) noexcept {
  while (num_bytes > 0) {
    const ssize_t done = ::write(fd, from, std::min(num_bytes, kOneWrite));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) {  // a pipe that does not wait by itself
      pollfd room{fd, POLLOUT, 0};
      (void)::poll(&room, 1, -1);
      continue;
    }
    if (done < 0) return errno;
    from += done;
    num_bytes -= static_cast<std::size_t>(done);
  }
  return 0;
}

char* random_name(const std::string& target) {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) return nullptr;
  char name[64];
  std::snprintf(name, sizeof name, ".tilewave-%016llx.part", static_cast<unsigned long long>(bits));
  const std::size_t folder = target.rfind('/') + 1;  // 0 where there is none
  return ::strdup((target.substr(0, folder) + name).c_str());
}

// Some file systems have no permissions to give, and not every owner can be.
void take_permissions(int fd, const struct stat& from) {
  if (::fchown(fd, from.st_uid, from.st_gid) != 0) (void)!::fchown(fd, -1u, from.st_gid);
  (void)::fchmod(fd, from.st_mode & 0777u);
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

// Whether a path leads to a file that is not at its target. Another writer may put a new file there
// between two looks: then the looks begin anew.
bool is_nameless(const std::string& path, const std::string& target) {
  struct stat before {
  }, there{}, after{};
  bool is_there = false;
  do {
    if (::stat(path.c_str(), &before) != 0) return false;
    is_there = ::stat(target.c_str(), &there) == 0;
    if (::stat(path.c_str(), &after) != 0) return false;
  } while (!is_same(before, after) || before.st_ctim.tv_sec != after.st_ctim.tv_sec ||
           before.st_ctim.tv_nsec != after.st_ctim.tv_nsec);
  return !is_there || !is_same(before, there);
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
  Target target = target_of(path_);
  if (target.descriptor >= 0) {
    open_descriptor(target.descriptor);
    return;
  }
  if (exists && !S_ISREG(info.st_mode)) {
    open_device();
    return;
  }
  target_ = std::move(target.path);
  if (exists && is_nameless(path_, target_))
    fail("it leads to a file that another process has open, without a name: name a file");
  // ENOENT: somebody has removed it since, and a new file is no less welcome.
  if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0 && errno != ENOENT)
    fail(errno);
  open_part(exists ? &info : nullptr);
}

void WholeFile::open_device() {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd_ < 0) fail(errno);
}

void WholeFile::open_descriptor(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0) fail(errno);
  if ((flags & O_ACCMODE) == O_RDONLY) fail(EBADF);
  fd_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (fd_ < 0) fail(errno);
}

void WholeFile::open_part(const struct stat* replaced) {
  for (int k = 0; k < kMostTries && fd_ < 0; ++k) {
    char* name = random_name(target_);
    if (!name) fail(errno);
    const int slot = remember(name);  // first, so that a signal meets no file without a slot
    fd_ = ::open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, replaced ? 0600 : 0666);
    if (fd_ >= 0) {
      part_ = name, slot_ = slot;
      if (replaced) take_permissions(fd_, *replaced);
      return;
    }
    const int error = errno;
    forget(slot, name);
    if (replaced && (error == EACCES || error == EPERM || error == EROFS)) {
      fail(std::strerror(error) +
           std::string(" in its folder, where the new file is made before it replaces this one: "
                       "name a file in another folder"));
    }
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
  return write_all(fd_, from, num_bytes);
}

int WholeFile::flush() noexcept {
  const int error = write_all(fd_, small_.data(), small_.size());
  if (!error) small_.clear();
  return error;
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
