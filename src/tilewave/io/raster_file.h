// What the raster formats share: errors that name the file, and an output file that appears only
// when whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "tilewave/io/raster.h"

namespace tilewave::io::detail {

[[noreturn]] void raster_input_error(const std::string& path, const std::string& why);

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FileHandle = std::unique_ptr<std::FILE, CloseFile>;

FileHandle open_for_reading(const std::string& path);

/// Bytes from here to the end; -1 where it is no regular file.
std::int64_t bytes_left(std::FILE* file);

/// Writes to `path`.part and renames it on commit(); removes it otherwise.
class PartFile {
 public:
  explicit PartFile(const std::string& path);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  const std::string& path() const { return path_; }
  const std::string& part_path() const { return part_; }
  std::FILE* file() const { return file_.get(); }
  void open();  ///< for formats that write through stdio
  void write(const void* data, std::size_t num_bytes);
  void commit();
  [[noreturn]] void fail(const std::string& why) const;
  /// The same for what a library reports: with the system's reason where it left one in `error`.
  [[noreturn]] void fail(int error, const std::string& why) const;

 private:
  std::string path_, part_;
  FileHandle file_;
  bool done_ = false;
};

/// valid[i] = 0 where sample i of a mask is 0.
void hide_zeros(const std::byte* samples, std::size_t sample_bytes, std::size_t n,
                std::uint8_t* valid);

/// One channel of several: the reader of all gives its rows one by one.
std::unique_ptr<RasterReader> take_channel(std::unique_ptr<RasterReader> all, int channel);
/// The rows of `image` with a mask beside them, in a TIFF file of the same size.
std::unique_ptr<RasterReader> with_mask_file(std::unique_ptr<RasterReader> image,
                                             const std::string& mask_path);

std::unique_ptr<RasterReader> open_png(const std::string& path);
std::unique_ptr<RasterReader> open_tiff(const std::string& path);
std::unique_ptr<RasterReader> open_npy(const std::string& path);
std::unique_ptr<RasterReader> open_pgm(const std::string& path);
std::unique_ptr<RasterReader> open_raw(const std::string& path, const RasterInfo& info);

std::unique_ptr<RasterWriter> create_png(const std::string& path, const RasterInfo& info);
std::unique_ptr<RasterWriter> create_tiff(const std::string& path, const RasterInfo& info);
std::unique_ptr<RasterWriter> create_npy(const std::string& path, const RasterInfo& info);
std::unique_ptr<RasterWriter> create_pgm(const std::string& path, const RasterInfo& info);
std::unique_ptr<RasterWriter> create_raw(const std::string& path, const RasterInfo& info);

}  // namespace tilewave::io::detail
