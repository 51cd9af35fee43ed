// Output files that appear under their name only when they are whole. The bytes go to a new file in
// the same folder, ".tilewave-<16 random hex digits>.part", which commit() renames to the name that
// was asked for. Nobody else can hold that name: it is drawn at random and created with O_EXCL and
// O_NOFOLLOW. Two processes that write one file do not meet; the last one to finish wins.
//
// - A symbolic link is followed once, when the file is opened: its target is replaced, in the
//   target's folder.
// - The new file has the permissions of the one it replaces, which has to be writable, and its
//   owner and group where the process may give them.
// - What is no regular file (a pipe, a device) is written directly. So is a descriptor of this
//   process (/dev/stdout, /dev/fd/3), from where it stands: what a shell has put before stays.
// - A file that is not committed is removed: by the destructor, and where a program calls
//   remove_unfinished_files() when a signal ends it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct stat;

namespace tilewave {

class WholeFile {
 public:
  /// `num_bytes`: what will be written, for the message of a full disk; 0: not known. Throws
  /// Error(kResources) where the file cannot be created.
  explicit WholeFile(std::string path, std::uint64_t num_bytes = 0);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile();

  const std::string& path() const { return path_; }
  /// For libraries that write by themselves; it stays this object's.
  int descriptor() const { return fd_; }

  /// Appends bytes. Throws Error(kResources).
  void write(const void* data, std::size_t num_bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// The same for callers that no exception may pass: 0, or the number of the error (errno).
  int try_write(const void* data, std::size_t num_bytes) noexcept;

  enum class Sync : std::uint8_t { kNo, kYes };
  /// Puts the file in place, with `sync` after its bytes have reached the disk. Throws
  /// Error(kResources).
  void commit(Sync sync = Sync::kNo);

  /// Throws Error(kResources): "PATH: cannot write: why".
  [[noreturn]] void fail(const std::string& why) const;
  /// The same for an errno.
  [[noreturn]] void fail(int error) const;

 private:
  int flush() noexcept;
  void open_device();
  void open_descriptor(int descriptor);
  void open_part(const struct stat* replaced);  // null where there is nothing

  std::string path_, target_;
  std::uint64_t num_bytes_;
  char* part_ = nullptr;  // of the file beside it; null where it is written directly
  int slot_ = -1;         // where a signal's handler finds `part_`
  int fd_ = -1;
  std::vector<std::byte> small_;  // small pieces, gathered
};

/// The whole of a small file. Throws as WholeFile does.
void write_whole_file(const std::string& path, std::string_view text);

/// Throws Error(kResources) where `path` cannot be created, or where its disk or the process's
/// limit of file sizes (ulimit -f) has no room for `num_bytes`. Leaves nothing behind; pipes and
/// devices are not opened.
void check_writable(const std::string& path, std::uint64_t num_bytes);

/// Removes every file of this process that is not committed. Safe in a signal's handler; the
/// process has to end thereafter.
void remove_unfinished_files() noexcept;

}  // namespace tilewave
