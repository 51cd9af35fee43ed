// Arrays as .npy files (format versions 1 to 3): a magic string, a Python dictionary with type and
// shape, then the numbers, last index fastest; little-endian as written, either order as read.
// Writing streams, so an array larger than memory can be written piece by piece; the file appears
// under its name only when it is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/base/whole_file.h"

namespace tilewave::formats {

enum class NpyType : std::uint8_t {
  kUint8,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat16,
  kInt8,
  kUint64,
  kInt64
};

/// Bytes of one element.
std::size_t npy_element_bytes(NpyType type);

struct NpyHeader {
  NpyType type = NpyType::kFloat64;
  std::vector<std::uint64_t> shape;  ///< empty for a single number
  std::uint64_t num_elements() const;
  std::uint64_t num_bytes() const { return num_elements() * npy_element_bytes(type); }
};

/// Writes one array through a WholeFile: an array that is not closed leaves nothing behind.
class NpyWriter {
 public:
  /// Throws Error(kResources) where the file cannot be created.
  NpyWriter(const std::string& path, NpyHeader header);
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  /// Appends elements as raw bytes. Throws Error(kResources) for a full disk, Error(kInternal) for
  /// more bytes than the shape holds.
  void write(std::span<const std::byte> bytes);
  template <class T>
  void write(std::span<const T> elements) {
    write(std::as_bytes(elements));
  }

  /// Syncs and puts the file in place. Throws Error(kInternal) where bytes are missing,
  /// Error(kResources) where the disk fails.
  void close();

 private:
  std::uint64_t remaining_;
  WholeFile file_;
};

/// Reads one array, whole or piece by piece.
class NpyReader {
 public:
  /// Throws Error(kInput) for a file that is missing, no .npy, of another element type, in Fortran
  /// order, or shorter than its shape says.
  explicit NpyReader(const std::string& path);
  NpyReader(const NpyReader&) = delete;
  NpyReader& operator=(const NpyReader&) = delete;
  ~NpyReader();

  const NpyHeader& header() const { return header_; }

  /// Fills `bytes`, whole elements, from element `first` on; several threads may call it.
  void read_at(std::uint64_t first, std::span<std::byte> bytes) const;

  /// Fills `bytes`, whole elements, with the next of the array.
  void read(std::span<std::byte> bytes);

 private:
  void read_bytes(std::span<std::byte> bytes);
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... why) const {
    tilewave::fail(ExitCode::kInput, path_, ": cannot read the array: ", why...);
  }
  void parse_header(const std::string& text);

  std::string path_;
  NpyHeader header_;
  std::uint64_t remaining_ = 0, begin_ = 0;  // bytes that are left, and before the elements
  bool big_endian_ = false;
  int fd_ = -1;
};

struct NpyArray {
  NpyHeader header;
  std::vector<std::byte> bytes;
};

/// The whole array. Throws as NpyReader does.
NpyArray read_npy(const std::string& path);

/// The whole array at once. Throws as NpyWriter does.
void write_npy(const std::string& path, const NpyHeader& header, std::span<const std::byte> bytes);

}  // namespace tilewave::formats
