// Files that a program makes again when they are gone: each holds the bytes that belong to an
// identity, a text that says everything they depend on. What is read back is checked: the whole
// identity, the length and a checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tilewave::runtime {

std::uint64_t hash_of(std::string_view bytes);  ///< FNV-1a

class FileCache {
 public:
  /// No folder: nothing is kept. From `most_files` on the oldest quarter makes room for new ones.
  explicit FileCache(std::filesystem::path folder, std::size_t most_files = 400)
      : folder_(std::move(folder)), most_files_(most_files) {}

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path file_of(const std::string& identity) const;
  /// None where no whole file of exactly this identity is there.
  std::optional<std::string> find(const std::string& identity) const;
  /// A folder that cannot be written is none. Processes may keep the same one at the same time.
  void keep(const std::string& identity, const std::string& bytes) const;

 private:
  std::filesystem::path folder_;
  std::size_t most_files_;
};

}  // namespace tilewave::runtime
