#include "tilewave/runtime/file_cache.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/base/whole_file.h"

namespace tilewave::runtime {

namespace fs = std::filesystem;

namespace {

constexpr char kMagic[] = "tilewave kept bytes 1";
constexpr char kExtension[] = ".kept", kPart[] = ".part";
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

/// Written by a process that ended before they were whole.
constexpr std::chrono::hours kOldPart{1};

void make_room(const fs::path& folder, std::size_t most_files) {
  std::error_code ignored;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  const fs::file_time_type now = fs::file_time_type::clock::now();
  for (fs::directory_iterator file(folder, ignored), end; file != end; file.increment(ignored)) {
    const fs::path& path = file->path();
    const fs::file_time_type written = fs::last_write_time(path, ignored);
    if (path.extension() == kExtension) {
      files.emplace_back(written, path);
    } else if (path.extension() == kPart && now - written > kOldPart) {
      fs::remove(path, ignored);
    }
  }
  if (files.size() < most_files) return;
  std::sort(files.begin(), files.end());
  for (std::size_t k = 0; k < (most_files + 3) / 4 && k < files.size(); ++k)
    fs::remove(files[k].second, ignored);
}

}  // namespace

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

fs::path FileCache::file_of(const std::string& identity) const {
  if (folder_.empty()) return {};
  std::ostringstream name;
  name << std::hex << hash_of(identity) << kExtension;
  return folder_ / name.str();
}

std::optional<std::string> FileCache::find(const std::string& identity) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream in(file_of(identity), std::ios::binary);
  std::string magic;
  if (!std::getline(in, magic) || magic != kMagic) return std::nullopt;
  std::size_t identity_size = 0, size = 0;
  std::uint64_t check = 0;
  if (!(in >> identity_size >> size >> check) || in.get() != '\n') return std::nullopt;
  if (identity_size != identity.size() || size > kMostBytes) return std::nullopt;
  std::string kept(identity_size, '\0'), bytes(size, '\0');
  in.read(kept.data(), static_cast<std::streamsize>(identity_size));
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!in || kept != identity || hash_of(bytes) != check) return std::nullopt;
  return bytes;
}

void FileCache::keep(const std::string& identity, const std::string& bytes) const {
  if (folder_.empty() || bytes.size() > kMostBytes) return;
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  make_room(folder_, most_files_);
  const fs::path to = file_of(identity);
  std::ostringstream out;
  out << kMagic << '\n'
      << identity.size() << ' ' << bytes.size() << ' ' << hash_of(bytes) << '\n'
      << identity << bytes;
  try {
    write_whole_file(to.string(), out.str());
  } catch (const Error&) {  // it is made again next time
  }
}

}  // namespace tilewave::runtime
