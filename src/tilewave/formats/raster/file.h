// What the raster formats share: errors that name the file, and masks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/base/whole_file.h"
#include "tilewave/formats/raster/raster.h"

namespace tilewave::formats::detail {

template <class... Parts>
[[noreturn]] void raster_input_error(const std::string& path, const Parts&... why) {
  fail(ExitCode::kInput, path, ": cannot read the raster: ", why...);
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FileHandle = std::unique_ptr<std::FILE, CloseFile>;

FileHandle open_for_reading(const std::string& path);

/// Bytes from here to the end; -1 where it is no regular file.
std::int64_t bytes_left(std::FILE* file);

/// valid[i] = 0 where sample i of a mask is 0, of either sign.
void hide_zeros(const void* samples, SampleType type, std::size_t n, std::uint8_t* valid);

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

}  // namespace tilewave::formats::detail
