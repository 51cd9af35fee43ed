// TIFF files of any layout, written with the library itself, and what the reader makes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/formats/raster/raster.h"

struct tiff;  // libtiff's, whose header belongs to source files
using TIFF = tiff;

namespace tilewave::formats::raster_tiff_test {

struct CloseTiff {
  void operator()(TIFF* t) const;
};
using Handle = std::unique_ptr<TIFF, CloseTiff>;

struct Layout {
  std::uint32_t width = 37, height = 50;
  int channels = 1, bits = 8, format = 1, compression = 1,
      photometric = 1;  // as libtiff numbers them: unsigned, none, 0 is black
  bool planes = false;
  std::uint32_t tile = 0, rows_per_strip = 16;
};

// Sample c of pixel (x, y), as unsigned bits.
using Sample = std::function<std::uint64_t(std::uint32_t x, std::uint32_t y, int c)>;
// Whether a block, whose upper left pixel is (x, y), is written.
using IsThere = std::function<bool(std::uint32_t x, std::uint32_t y)>;

inline std::uint64_t ramp(std::uint32_t x, std::uint32_t y, int c) {
  return x + 3 * y + static_cast<unsigned>(c);
}

inline bool always(std::uint32_t, std::uint32_t) { return true; }

std::string path_of(const std::string& name);

/// Sets the tags of a directory.
void describe(TIFF* t, const Layout& l);

/// The pixels of a directory whose tags are set; blocks that are not there are left out.
void fill(TIFF* t, const Layout& l, const Sample& sample, const IsThere& is_there);

/// A file with one directory; `more` sets further tags. Returns its path.
std::string write(
    const std::string& name, const Layout& l, const Sample& sample,
    const IsThere& is_there = always, const std::function<void(TIFF*)>& more = [](TIFF*) {});

struct Read {
  RasterInfo info;
  std::vector<unsigned char> bytes;
  std::vector<std::uint8_t> valid;  // empty: all hold data
  template <class T>
  T at(std::int64_t x, std::int64_t y, int c = 0) const {
    T value;
    std::memcpy(&value,
                bytes.data() + static_cast<std::size_t>((y * info.width + x) * info.channels + c) *
                                   sizeof value,
                sizeof value);
    return value;
  }
  bool is_valid(std::int64_t x, std::int64_t y) const {
    return valid.empty() || valid[static_cast<std::size_t>(y * info.width + x)] != 0;
  }
};

/// In pieces of a few rows.
Read read(const std::string& path, int channel = -1);

/// What the reader says of a file; "": nothing is wrong.
std::string error_of(const std::string& path, int channel = -1, ExitCode code = ExitCode::kInput);

}  // namespace tilewave::formats::raster_tiff_test
