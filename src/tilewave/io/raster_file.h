// What the raster formats share: errors that name the file, and an output file that appears only
// when whole.
#pragma once

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

 private:
  std::string path_, part_;
  FileHandle file_;
  bool done_ = false;
};

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
