// What is fuzzed: every reader of bytes that a stranger may have written, and what plans and runs
// circuits. A target looks at some bytes and must come back, or throw an Error that tells the
// user of the input; anything else, and any report of a sanitizer, is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewave::fuzz {

struct Target {
  const char* name;
  void (*run)(std::span<const std::uint8_t> bytes);
};

std::span<const Target> language_targets();
std::span<const Target> file_targets();
std::span<const Target> run_targets();

/// Numbers out of the bytes, zeros behind their end.
class Draw {
 public:
  explicit Draw(std::span<const std::uint8_t> bytes) : rest_(bytes) {}
  bool is_done() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t b = rest_.front();
    rest_ = rest_.subspan(1);
    return b;
  }
  std::uint64_t below(std::uint64_t count) { return (byte() | byte() << 8) % count; }
  double angle() {
    const std::uint8_t b = byte();
    return b % 4 == 0 ? 0.7853981633974483 * (b / 4 % 8) : (b - 127) * 0.04 + byte() * 1e-4;
  }
  std::span<const std::uint8_t> rest() const { return rest_; }

 private:
  std::span<const std::uint8_t> rest_;
};

/// Ends the process with a message: a finding.
[[noreturn]] void found(const std::string& what);

inline std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The bytes as a file without a name, for readers of paths.
class NamelessFile {
 public:
  explicit NamelessFile(std::span<const std::uint8_t> bytes);
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;
  ~NamelessFile();
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  int descriptor() const { return fd_; }

 private:
  int fd_;
};

}  // namespace tilewave::fuzz
