// TIFF files whose tags are not those of a plain image: what is refused by name, damaged headers, runs of
// PackBits across rows, and the metadata that is carried over.
#include <tiffio.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

#include "gtest/gtest.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/formats/raster/raster.h"
#include "tilewave/formats/raster/sample_types.h"
#include "tilewave/formats/raster/tiff_files_test.h"

namespace tilewave::formats::raster_tiff_test {
namespace {

// The file with other values for some of its tags.
void claim(const std::string& path, const std::map<std::uint16_t, std::uint32_t>& values) {
  std::string bytes(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::uint32_t directory;
  std::uint16_t entries, tag;
  std::memcpy(&directory, bytes.data() + 4, 4);
  std::memcpy(&entries, bytes.data() + directory, 2);
  for (std::uint32_t k = 0; k < entries; ++k) {
    char* const entry = bytes.data() + directory + 2 + 12 * k;
    std::memcpy(&tag, entry, 2);
    if (!values.contains(tag)) continue;
    const std::uint16_t kind = TIFF_LONG;
    std::memcpy(entry + 2, &kind, 2);
    std::memcpy(entry + 8, &values.at(tag), 4);
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

// Whether or not the library has that codec: the error does not say that the file is damaged.
TEST(Tiff, JbigIsRefusedByName) {
  Layout l;
  l.width = l.height = l.rows_per_strip = 64;
  const std::string path = write("jbig.tif", l, ramp);
  claim(path, {{TIFFTAG_COMPRESSION, COMPRESSION_JBIG}});
  const std::string error = error_of(path);
  EXPECT_TRUE(has(error, "JBIG"));
  EXPECT_EQ(error.find("damaged"), std::string::npos) << error;
}

TEST(Tiff, UnknownCompressionIsNoDamage) {
  Layout l;
  l.width = l.height = l.rows_per_strip = 64;
  const std::string path = write("scheme.tif", l, ramp);
  claim(path, {{TIFFTAG_COMPRESSION, 32769}});
  EXPECT_TRUE(has(error_of(path), "compression (scheme 32769)"));
}

// The file, written with LZW, with PackBits as its compression.
void claim_packbits(const std::string& path) {
  std::string bytes(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const bool big_end_first = bytes[0] == 'M';
  const std::string tag =
      big_end_first ? std::string("\x01\x03\x00\x03", 4) : std::string("\x03\x01\x03\x00", 4);
  const std::size_t at = bytes.find(tag), size = bytes[2] == 43 || bytes[3] == 43 ? 12 : 8;
  ASSERT_NE(at, std::string::npos);
  bytes[at + size] = static_cast<char>(big_end_first ? 0x80 : 0x05);  // 32773
  bytes[at + size + 1] = static_cast<char>(big_end_first ? 0x05 : 0x80);
  std::ofstream(path, std::ios::binary) << bytes;
}

// Writers that take a strip for one text of bytes let runs cross its rows.
TEST(Tiff, RunsOfPackBitsMayCrossRows) {
  struct Row {
    std::uint32_t width, height, rows_per_strip;
    int bits;
  };
  for (const Row& row : {Row{8, 16, 16, 1}, Row{37, 50, 16, 8}, Row{37, 50, 50, 16},
                         Row{5, 300, 0xFFFFFFFF, 4}, Row{300, 7, 3, 1}}) {
    Layout l;
    l.width = row.width;
    l.height = row.height;
    l.rows_per_strip = row.rows_per_strip;
    l.bits = row.bits;
    l.compression = COMPRESSION_PACKBITS;
    const std::uint32_t rows = std::min(l.rows_per_strip, l.height);
    const std::uint32_t row_bytes = (l.width * static_cast<std::uint32_t>(l.bits) + 7) / 8;
    // bytes of the strips: runs of 128, of a value that changes every 200
    const auto byte = [](std::uint32_t at) {
      return static_cast<unsigned char>(at / 200 * 37 + 9);
    };
    const auto nothing = [](std::uint32_t, std::uint32_t) { return false; };
    const std::string path = write("runs.tif", l, ramp, nothing, [&](TIFF* t) {
      for (std::uint32_t y = 0; y < l.height; y += rows) {
        const std::uint32_t size = std::min(rows, l.height - y) * row_bytes;
        std::vector<unsigned char> coded;
        for (std::uint32_t at = 0, n = 0; at < size; at += n) {
          for (n = 1; n < 128 && at + n < size && byte(at + n) == byte(at);) ++n;
          coded.push_back(static_cast<unsigned char>(257 - n));  // 256 is no run: of one byte, 0
          if (n == 1) coded.back() = 0;
          coded.push_back(byte(at));
        }
        TIFFWriteRawStrip(t, TIFFComputeStrip(t, y, 0), coded.data(),
                          static_cast<tmsize_t>(coded.size()));
      }
    });
    const Read r = read(path);
    for (std::uint32_t y = 0; y < l.height; ++y) {
      for (std::uint32_t x = 0; x < l.width; ++x) {
        const std::uint32_t bit = x * static_cast<std::uint32_t>(l.bits);
        const std::uint32_t at = y % rows * row_bytes + bit / 8;
        std::uint64_t want = byte(at);
        if (l.bits < 8)
          want = want >> (8 - bit % 8 - static_cast<std::uint32_t>(l.bits)) & ((1u << l.bits) - 1);
        if (l.bits == 16) want |= static_cast<std::uint64_t>(byte(at + 1)) << 8;
        ASSERT_EQ(l.bits == 16 ? r.at<std::uint16_t>(x, y) : r.at<std::uint8_t>(x, y), want)
            << l.bits << " bits (" << x << ", " << y << ")";
      }
    }
    const auto size = std::filesystem::file_size(path);
    claim(path, {{TIFFTAG_IMAGEWIDTH, 1 << 20}});  // more than the runs could hold
    EXPECT_TRUE(has(error_of(path), "damaged")) << size;
  }
}

// The library would hand the differences out as pixels.
TEST(Tiff, PredictorsThatTheLibraryIgnoresAreRefused) {
  for (const char* mode : {"w", "wb", "w8l", "w8b"}) {
    for (const int predictor : {1, 2, 3}) {
      Layout l;
      l.width = l.height = l.rows_per_strip = 64;
      const std::string path = path_of("predictor.tif");
      {
        const Handle t(TIFFOpen(path.c_str(), mode));
        describe(t.get(), l);
        TIFFSetField(t.get(), TIFFTAG_COMPRESSION, COMPRESSION_LZW);
        TIFFSetField(t.get(), TIFFTAG_PREDICTOR, predictor);
        // runs of PackBits that the directory will name: a byte of its own 64 times in each of 64
        std::vector<unsigned char> coded;
        for (int k = 0; k < 64; ++k)
          coded.insert(coded.end(), {193, static_cast<unsigned char>(k)});
        TIFFWriteRawStrip(t.get(), 0, coded.data(), static_cast<tmsize_t>(coded.size()));
      }
      claim_packbits(path);
      if (predictor == 1) {
        EXPECT_EQ(read(path).at<std::uint8_t>(3, 20), 20) << mode;
      } else {
        const std::string error = error_of(path);
        EXPECT_TRUE(has(error, "PackBits"));
        EXPECT_TRUE(has(error, "predictor " + std::to_string(predictor)));
      }
    }
  }
}

TEST(Tiff, SlicesOfAVolumeAreRefused) {
  Layout l;
  l.width = l.height = l.rows_per_strip = 64;
  const std::string path =
      write("volume.tif", l, ramp, always, [](TIFF* t) { TIFFSetField(t, TIFFTAG_IMAGEDEPTH, 1); });
  EXPECT_EQ(error_of(path), "no error");
  claim(path, {{TIFFTAG_IMAGEDEPTH, 4}});
  EXPECT_TRUE(has(error_of(path), "4 slices"));
}

// The metadata of a file is that of what is written for it; how a program found several images in it
// is not.
TEST(Tiff, MetadataAndOrientationAreCarried) {
  const std::map<std::uint32_t, std::string> texts = {{TIFFTAG_IMAGEDESCRIPTION, "a field of rye"},
                                                      {TIFFTAG_ARTIST, "A. N. Other"},
                                                      {TIFFTAG_COPYRIGHT, "2026"},
                                                      {TIFFTAG_SOFTWARE, "by hand"},
                                                      {TIFFTAG_DATETIME, "2026:11:27 10:11:12"},
                                                      {TIFFTAG_MAKE, "maker"},
                                                      {TIFFTAG_DOCUMENTNAME, "field.tif"}};
  Layout l;
  for (const char* description :
       {"a field of rye", "ImageJ=1.53\nimages=3", "{\"shape\": [3, 4]}"}) {
    const std::string path = write("tags.tif", l, ramp, always, [&](TIFF* t) {
      for (const auto& [tag, text] : texts) TIFFSetField(t, tag, text.c_str());
      TIFFSetField(t, TIFFTAG_IMAGEDESCRIPTION, description);
      TIFFSetField(t, TIFFTAG_XRESOLUTION, 300.0);
      TIFFSetField(t, TIFFTAG_YRESOLUTION, 150.5);
      TIFFSetField(t, TIFFTAG_RESOLUTIONUNIT, RESUNIT_CENTIMETER);
      TIFFSetField(t, TIFFTAG_ORIENTATION, ORIENTATION_RIGHTTOP);
    });
    RasterInfo info = open_raster(path)->info();
    info.type = SampleType::kFloat32;
    info.tags.push_back({50844, std::vector<double>(92, 0.25), ""});
    describe_new_values(info, "nan");
    const std::string out = path_of("tags_out.tif");
    const auto writer = create_raster(out, info);
    const std::vector<float> values(l.width * l.height);
    writer->write_rows(values.data(), l.height);
    writer->close();
    const RasterInfo again = open_raster(out)->info();
    ASSERT_FALSE(again.tags.empty());
    EXPECT_EQ(again.tags.front().numbers, std::vector<double>(92, 0.25));
    const Handle t(TIFFOpen(out.c_str(), "r"));
    for (const auto& [tag, text] : texts) {
      const char* got = nullptr;
      const bool there = TIFFGetField(t.get(), tag, &got) == 1;
      if (tag == TIFFTAG_IMAGEDESCRIPTION && description != text) {
        EXPECT_FALSE(there) << got;
      } else {
        ASSERT_TRUE(there) << tag;
        EXPECT_EQ(got, text);
      }
    }
    float x = 0, y = 0;
    std::uint16_t unit = 0, orientation = 0;
    EXPECT_EQ(TIFFGetField(t.get(), TIFFTAG_XRESOLUTION, &x), 1);
    EXPECT_EQ(TIFFGetField(t.get(), TIFFTAG_YRESOLUTION, &y), 1);
    EXPECT_EQ(TIFFGetField(t.get(), TIFFTAG_RESOLUTIONUNIT, &unit), 1);
    EXPECT_EQ(TIFFGetField(t.get(), TIFFTAG_ORIENTATION, &orientation), 1);
    EXPECT_EQ(std::tuple(x, y, unit, orientation),
              std::tuple(300.0f, 150.5f, RESUNIT_CENTIMETER, ORIENTATION_RIGHTTOP));
  }
  // such tags do not make a picture a raster that declares its missing values
  const std::string path = write("tags.tif", l, ramp, always,
                                 [](TIFF* t) { TIFFSetField(t, TIFFTAG_SOFTWARE, "by hand"); });
  RasterInfo info = open_raster(path)->info();
  describe_new_values(info, "nan");
  ASSERT_EQ(info.tags.size(), 1u);
  EXPECT_EQ(info.tags[0].text, "by hand");
}

// A few hundred bytes that claim gigabytes are refused before those are taken.
TEST(Tiff, HeadersAreNotBelieved) {
  constexpr std::uint32_t kMost = 0x7fffffff;
  struct Row {
    int compression;
    std::uint32_t tile;
    std::map<std::uint16_t, std::uint32_t> claims;
  };
  for (const Row& row :
       {Row{COMPRESSION_NONE, 0, {{TIFFTAG_IMAGEWIDTH, 16384}}},
        Row{COMPRESSION_NONE,
            0,
            {{TIFFTAG_IMAGEWIDTH, kMost},
             {TIFFTAG_IMAGELENGTH, kMost},
             {TIFFTAG_ROWSPERSTRIP, kMost}}},
        Row{COMPRESSION_ADOBE_DEFLATE, 0, {{TIFFTAG_IMAGEWIDTH, kMost}}},
        Row{COMPRESSION_NONE, 64, {{TIFFTAG_TILEWIDTH, 128}}},
        Row{COMPRESSION_ADOBE_DEFLATE,
            64,
            {{TIFFTAG_TILEWIDTH, 1 << 15}, {TIFFTAG_TILELENGTH, 1 << 15}}},
        Row{COMPRESSION_LZW, 64, {{TIFFTAG_TILEWIDTH, 1 << 15}, {TIFFTAG_TILELENGTH, 1 << 15}}},
        Row{COMPRESSION_NONE,  // a codec whose tiles of one value are as small as their headers
            64,
            {{TIFFTAG_COMPRESSION, COMPRESSION_LZMA},
             {TIFFTAG_TILEWIDTH, 1 << 15},
             {TIFFTAG_TILELENGTH, 1 << 15}}}}) {
    Layout l;
    l.width = l.height = l.rows_per_strip = 64;
    l.compression = row.compression;
    l.tile = row.tile;
    const std::string path = write("claim.tif", l, ramp);
    EXPECT_EQ(error_of(path), "no error");
    claim(path, row.claims);
    SCOPED_TRACE(std::to_string(row.compression) + " " + std::to_string(row.tile));
    expect_error([&] { open_raster(path); }, "truncated or damaged", ExitCode::kInput);
  }
}

// A row of 640 MiB of tiles, of which one is there: the others take no memory.
TEST(Tiff, LargeTilesMayBeLeftOut) {
  Layout l;
  l.tile = 4096;
  l.width = 40 * l.tile;
  l.height = 2;
  l.compression = COMPRESSION_ADOBE_DEFLATE;
  const auto nothing = [](auto, auto, int) { return 0u; };
  EXPECT_EQ(error_of(write("wide.tif", l, nothing, [](auto x, auto) { return x == 0; })),
            "no error");
}

}  // namespace
}  // namespace tilewave::formats::raster_tiff_test
