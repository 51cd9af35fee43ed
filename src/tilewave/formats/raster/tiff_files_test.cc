#include "tilewave/formats/raster/tiff_files_test.h"
#include "tilewave/base/thrown_test.h"

#include <tiffio.h>

#include <algorithm>
#include <filesystem>

#include "gtest/gtest.h"

namespace tilewave::formats::raster_tiff_test {
namespace {

void put_bits(std::vector<unsigned char>& to, std::size_t at, int bits, std::uint64_t value) {
  if (bits % 8 == 0) {
    std::memcpy(to.data() + at * static_cast<std::size_t>(bits) / 8, &value,
                static_cast<std::size_t>(bits) / 8);
    return;
  }
  for (int k = 0; k < bits; ++k) {  // the highest first
    const std::size_t bit = at * static_cast<std::size_t>(bits) + static_cast<std::size_t>(k);
    if (value >> (bits - 1 - k) & 1)
      to[bit / 8] = static_cast<unsigned char>(to[bit / 8] | 0x80u >> bit % 8);
  }
}

}  // namespace

void CloseTiff::operator()(TIFF* t) const { TIFFClose(t); }

std::string path_of(const std::string& name) {
  const auto folder = std::filesystem::temp_directory_path() / "tilewave_raster_tiff_test";
  std::filesystem::create_directories(folder);
  return (folder / name).string();
}

void describe(TIFF* t, const Layout& l) {
  TIFFSetField(t, TIFFTAG_IMAGEWIDTH, l.width);
  TIFFSetField(t, TIFFTAG_IMAGELENGTH, l.height);
  TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, l.channels);
  TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, l.bits);
  TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, l.format);
  TIFFSetField(t, TIFFTAG_COMPRESSION, l.compression);
  TIFFSetField(t, TIFFTAG_PHOTOMETRIC, l.photometric);
  TIFFSetField(t, TIFFTAG_PLANARCONFIG, l.planes ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
  if (l.compression == COMPRESSION_JPEG && l.photometric == PHOTOMETRIC_YCBCR)
    TIFFSetField(t, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  if (l.tile > 0) {
    TIFFSetField(t, TIFFTAG_TILEWIDTH, l.tile);
    TIFFSetField(t, TIFFTAG_TILELENGTH, l.tile);
  } else {
    TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, l.rows_per_strip);
  }
}

void fill(TIFF* t, const Layout& l, const Sample& sample, const IsThere& is_there) {
  const int in_plane = l.planes ? 1 : l.channels;
  const std::uint32_t w = l.tile > 0 ? l.tile : l.width, h = l.tile > 0 ? l.tile : l.rows_per_strip;
  for (int plane = 0; plane < (l.planes ? l.channels : 1); ++plane) {
    for (std::uint32_t y = 0; y < l.height; y += h) {
      for (std::uint32_t x = 0; x < l.width; x += w) {
        if (!is_there(x, y)) continue;
        const std::uint32_t rows = l.tile > 0 ? h : std::min(h, l.height - y);
        const std::size_t row_bytes =
            (static_cast<std::size_t>(w) * static_cast<std::size_t>(in_plane * l.bits) + 7) / 8;
        std::vector<unsigned char> block(row_bytes * rows);
        for (std::uint32_t j = 0; j < rows; ++j) {
          std::vector<unsigned char> row(row_bytes);
          for (std::uint32_t i = 0; i < w; ++i) {
            for (int c = 0; c < in_plane; ++c) {
              const std::uint32_t px = std::min(x + i, l.width - 1),
                                  py = std::min(y + j, l.height - 1);
              put_bits(row,
                       i * static_cast<std::uint32_t>(in_plane) + static_cast<std::uint32_t>(c),
                       l.bits, sample(px, py, l.planes ? plane : c));
            }
          }
          std::copy(row.begin(), row.end(),
                    block.begin() + static_cast<std::ptrdiff_t>(j * row_bytes));
        }
        const auto s = static_cast<std::uint16_t>(plane);
        const auto size = static_cast<tmsize_t>(block.size());
        ASSERT_GE(l.tile > 0
                      ? TIFFWriteEncodedTile(t, TIFFComputeTile(t, x, y, 0, s), block.data(), size)
                      : TIFFWriteEncodedStrip(t, TIFFComputeStrip(t, y, s), block.data(), size),
                  0);
      }
    }
  }
}

std::string write(const std::string& name, const Layout& l, const Sample& sample,
                  const IsThere& is_there, const std::function<void(TIFF*)>& more) {
  const std::string path = path_of(name);
  const Handle t(TIFFOpen(path.c_str(), "w"));
  describe(t.get(), l);
  more(t.get());
  fill(t.get(), l, sample, is_there);
  return path;
}

Read read(const std::string& path, int channel) {
  const auto reader = open_raster(path, nullptr, channel);
  Read out{reader->info(), {}, {}};
  const auto row = static_cast<std::size_t>(out.info.row_bytes());
  out.bytes.resize(row * static_cast<std::size_t>(out.info.height));
  for (std::int64_t y = 0; y < out.info.height; y += 7) {
    const std::int64_t n = std::min<std::int64_t>(7, out.info.height - y);
    reader->read_rows(out.bytes.data() + static_cast<std::size_t>(y) * row, n);
    EXPECT_EQ(reader->valid() != nullptr, out.info.masked);
    if (reader->valid() != nullptr)
      out.valid.insert(out.valid.end(), reader->valid(), reader->valid() + n * out.info.width);
  }
  return out;
}

std::string error_of(const std::string& path, int channel, ExitCode code) {
  return tilewave::error_of([&] { read(path, channel); }, code);
}

}  // namespace tilewave::formats::raster_tiff_test
