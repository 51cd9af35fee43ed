// TIFF files as GDAL and others write them: colours as luma and chroma, planes, blocks left out,
// samples of fewer bits, masks and alpha channels, metadata. Written here with the library itself.
#include <tiffio.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>
#include <type_traits>

#include "gtest/gtest.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/formats/raster/raster.h"
#include "tilewave/formats/raster/sample_types.h"
#include "tilewave/formats/raster/tiff_files_test.h"

namespace tilewave::formats::raster_tiff_test {
namespace {

// JPEG keeps plain areas of 32 pixels within a few grey values, and their colours apart.
TEST(Tiff, LumaAndChromaComeAsColours) {
  const auto colour = [](std::uint32_t x, std::uint32_t y, int c) -> std::uint64_t {
    constexpr int kColours[2][2][3] = {{{200, 30, 90}, {10, 220, 40}},
                                       {{60, 70, 240}, {128, 128, 0}}};
    return static_cast<std::uint64_t>(kColours[y / 32 % 2][x / 32 % 2][c]);
  };
  for (const std::uint32_t tile : {0u, 64u, 32u}) {
    for (const int sampling : {1, 2}) {
      Layout l;
      l.width = 150;
      l.height = 130;
      l.channels = 3;
      l.tile = tile;
      l.rows_per_strip = 32;
      l.compression = COMPRESSION_JPEG;
      l.photometric = PHOTOMETRIC_YCBCR;
      const std::string path = write("ycbcr.tif", l, colour, always, [&](TIFF* t) {
        TIFFSetField(t, TIFFTAG_YCBCRSUBSAMPLING, sampling, sampling);
      });
      const Read all = read(path);
      ASSERT_EQ(all.info.channels, 3);
      for (int c = 0; c < 3; ++c) {
        const Read one = read(path, c);
        ASSERT_EQ(one.info.channels, 1);
        for (std::uint32_t y = 0; y < l.height; ++y) {
          for (std::uint32_t x = 0; x < l.width; ++x) {
            ASSERT_EQ(one.at<std::uint8_t>(x, y), all.at<std::uint8_t>(x, y, c));
            // chroma is interpolated between areas
            if (x % 32 < 3 || x % 32 > 28 || y % 32 < 3 || y % 32 > 28) continue;
            ASSERT_NEAR(one.at<std::uint8_t>(x, y), static_cast<double>(colour(x, y, c)), 6)
                << tile << " " << sampling << " (" << x << ", " << y << ")";
          }
        }
      }
    }
  }
  // without JPEG the library hands out packed chroma
  Layout l;
  l.width = l.height = 64;
  l.channels = 3;
  l.photometric = PHOTOMETRIC_YCBCR;
  for (const std::uint32_t tile : {0u, 64u}) {
    l.tile = tile;
    l.rows_per_strip = 64;
    const auto nothing = [](std::uint32_t, std::uint32_t) { return false; };
    const std::string path = write("packed.tif", l, colour, nothing, [&](TIFF* t) {
      TIFFSetField(t, TIFFTAG_YCBCRSUBSAMPLING, 2, 2);
      std::vector<unsigned char> block(64 * 64 * 3 / 2);
      const auto size = static_cast<tmsize_t>(block.size());
      tile > 0 ? TIFFWriteRawTile(t, 0, block.data(), size)
               : TIFFWriteRawStrip(t, 0, block.data(), size);
    });
    EXPECT_TRUE(has(error_of(path), "YCbCr"));
  }
}

TEST(Tiff, OtherEncodingsOfColourAreRefusedByName) {
  Layout l;
  l.width = l.height = 8;
  const struct {
    int photometric, channels;
    const char* name;
  } cases[] = {{PHOTOMETRIC_SEPARATED, 4, "CMYK"},
               {PHOTOMETRIC_CIELAB, 3, "L*a*b*"},
               {PHOTOMETRIC_ICCLAB, 3, "L*a*b*"}};
  for (const auto& c : cases) {
    l.photometric = static_cast<std::uint16_t>(c.photometric);
    l.channels = static_cast<std::uint16_t>(c.channels);
    const std::string error = error_of(write("colours.tif", l, [](auto, auto, int) { return 5u; }));
    EXPECT_TRUE(has(error, c.name));
  }
}

TEST(Tiff, EveryKindOfSampleInEveryLayout) {
  struct Row {
    int bits, format;
    SampleType type;
  };
  for (const Row& row :
       {Row{1, SAMPLEFORMAT_UINT, SampleType::kUint8},
        Row{2, SAMPLEFORMAT_UINT, SampleType::kUint8},
        Row{4, SAMPLEFORMAT_UINT, SampleType::kUint8},
        Row{7, SAMPLEFORMAT_UINT, SampleType::kUint8},
        Row{12, SAMPLEFORMAT_UINT, SampleType::kUint16},
        Row{8, SAMPLEFORMAT_UINT, SampleType::kUint8}, Row{8, SAMPLEFORMAT_INT, SampleType::kInt8},
        Row{16, SAMPLEFORMAT_UINT, SampleType::kUint16},
        Row{16, SAMPLEFORMAT_INT, SampleType::kInt16},
        Row{16, SAMPLEFORMAT_IEEEFP, SampleType::kFloat16},
        Row{32, SAMPLEFORMAT_UINT, SampleType::kUint32},
        Row{32, SAMPLEFORMAT_IEEEFP, SampleType::kFloat32},
        Row{64, SAMPLEFORMAT_UINT, SampleType::kUint64},
        Row{64, SAMPLEFORMAT_INT, SampleType::kInt64},
        Row{64, SAMPLEFORMAT_IEEEFP, SampleType::kFloat64}}) {
    const auto sample = [&](std::uint32_t x, std::uint32_t y, int c) {
      const std::uint64_t mixed =
          (x * 7919u + y * 104729u + static_cast<unsigned>(c) * 31u) * 0x9E3779B97F4A7C15ull;
      return row.bits == 64 ? mixed : mixed >> 20 & ((std::uint64_t{1} << row.bits) - 1);
    };
    for (const int channels : {1, 3}) {
      for (const bool planes : {false, true}) {
        for (const std::uint32_t tile : {0u, 16u}) {
          Layout l;
          l.bits = row.bits;
          l.format = row.format;
          l.channels = channels;
          l.planes = planes;
          l.tile = tile;
          l.compression = row.bits % 8 == 0 ? COMPRESSION_ADOBE_DEFLATE : COMPRESSION_NONE;
          const std::string path = write("sample.tif", l, sample);
          const std::string what = std::to_string(row.bits) + " bits, format " +
                                   std::to_string(row.format) + ", " + std::to_string(channels) +
                                   (planes ? " planes" : " together") + ", tiles of " +
                                   std::to_string(tile);
          const Read all = read(path);
          ASSERT_EQ(all.info.type, row.type) << what;
          ASSERT_EQ(all.info.channels, channels) << what;
          for (int c = 0; c < channels; ++c) {
            const Read one = read(path, c);
            const std::size_t size = sample_bytes(row.type);
            for (std::uint32_t y = 0; y < l.height; ++y) {
              for (std::uint32_t x = 0; x < l.width; ++x) {
                const std::uint64_t want = sample(x, y, c);
                const std::size_t pixel = y * l.width + x;
                ASSERT_EQ(std::memcmp(one.bytes.data() + pixel * size, &want, size), 0)
                    << what << " channel " << c << " (" << x << ", " << y << ")";
                ASSERT_EQ(
                    std::memcmp(all.bytes.data() + (pixel * static_cast<std::size_t>(channels) +
                                                    static_cast<std::size_t>(c)) *
                                                       size,
                                &want, size),
                    0)
                    << what << " channel " << c << " (" << x << ", " << y << ")";
              }
            }
          }
        }
      }
    }
  }
  Layout l;
  l.bits = 24;
  EXPECT_TRUE(
      has(error_of(write("24.tif", l, [](auto, auto, int) { return 5u; })), "gdal_translate"));
}

void set_nodata(TIFF* t, const char* text) {
  static const TIFFFieldInfo field[] = {
      {42113, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("RasterNodata")}};
  TIFFMergeFieldInfo(t, field, 1);
  TIFFSetField(t, 42113, text);
}

TEST(Tiff, BlocksLeftOutHoldWhatIsDeclared) {
  struct Row {
    int bits, format;
    const char* nodata;
    double want;
  };
  const auto there = [](std::uint32_t x, std::uint32_t y) { return y == 16 && x < 16; };
  for (const Row& row :
       {Row{8, SAMPLEFORMAT_UINT, "", 0},
        Row{8, SAMPLEFORMAT_UINT, "255", 255},
        Row{8, SAMPLEFORMAT_UINT, "-9999", 0},
        Row{8, SAMPLEFORMAT_UINT, "256", 255},
        Row{8, SAMPLEFORMAT_UINT, "nan", 0},
        Row{8, SAMPLEFORMAT_UINT, "6.7", 7},
        Row{8, SAMPLEFORMAT_INT, "-128", -128},
        Row{8, SAMPLEFORMAT_INT, " +7", 7},
        Row{8, SAMPLEFORMAT_INT, "+-7", 0},
        Row{8, SAMPLEFORMAT_INT, "200", 127},
        Row{16, SAMPLEFORMAT_UINT, "65535", 65535},
        Row{16, SAMPLEFORMAT_UINT, "1e5", 65535},
        Row{16, SAMPLEFORMAT_INT, "-9999", -9999},
        Row{16, SAMPLEFORMAT_INT, "-1e30", -32768},
        Row{32, SAMPLEFORMAT_UINT, "4294967295", 4294967295.0},
        Row{32, SAMPLEFORMAT_INT, "-2147483648", -2147483648.0},
        Row{32, SAMPLEFORMAT_INT, "1e10", 2147483647.0},
        Row{64, SAMPLEFORMAT_UINT, "18446744073709551615", 18446744073709551615.0},
        Row{64, SAMPLEFORMAT_INT, "-9223372036854775808", -9223372036854775808.0},
        Row{64, SAMPLEFORMAT_INT, "inf", 9223372036854775807.0},
        Row{16, SAMPLEFORMAT_IEEEFP, "-2", -2},
        Row{16, SAMPLEFORMAT_IEEEFP, "", 0},
        Row{16, SAMPLEFORMAT_IEEEFP, "1e6", HUGE_VAL},
        Row{16, SAMPLEFORMAT_IEEEFP, "nan", NAN},
        Row{32, SAMPLEFORMAT_IEEEFP, "-9999.9", static_cast<double>(-9999.9f)},
        Row{32, SAMPLEFORMAT_IEEEFP, "nan", NAN},
        Row{32, SAMPLEFORMAT_IEEEFP, "inf", HUGE_VAL},
        Row{32, SAMPLEFORMAT_IEEEFP, "1e300", static_cast<double>(FLT_MAX)},
        Row{64, SAMPLEFORMAT_IEEEFP, "-1.7976931348623157e+308", -1.7976931348623157e+308}}) {
    for (const std::uint32_t tile : {0u, 16u}) {
      for (const bool planes : {false, true}) {
        Layout l;
        l.bits = row.bits;
        l.format = row.format;
        l.tile = tile;
        l.channels = planes ? 2 : 1;
        l.planes = planes;
        const std::string path = write(
            "sparse.tif", l, [](auto, auto, int) { return 0u; }, there,
            [&](TIFF* t) {
              if (row.nodata[0] != '\0') set_nodata(t, row.nodata);
            });
        const Read r = read(path, 0);
        for (std::uint32_t y = 0; y < l.height; ++y) {
          for (std::uint32_t x = 0; x < l.width; ++x) {
            double got = 0;
            with_type(r.info.type, nullptr, [&](const auto* of_type) {
              using T = std::remove_cvref_t<decltype(*of_type)>;
              if constexpr (std::is_same_v<T, Half>) {
                got = static_cast<double>(to_float(r.at<Half>(x, y)));
              } else {
                got = static_cast<double>(r.at<T>(x, y));
              }
            });
            const double want = y / 16 == 1 && (tile == 0 || x < 16) ? 0 : row.want;
            ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
                << row.nodata << " (" << x << ", " << y << "): " << got;
          }
        }
      }
    }
  }
}

std::uint64_t ramp(std::uint32_t x, std::uint32_t y, int c) {
  return x + 3 * y + static_cast<unsigned>(c);
}
bool hidden(std::uint32_t x, std::uint32_t y) { return x > 10 && x < 20 && y < 30; }

TEST(Tiff, MasksHidePixels) {
  for (const int bits : {1, 8}) {
    Layout l, mask;
    mask.bits = bits;
    mask.photometric = PHOTOMETRIC_MASK;
    const auto shown = [&](std::uint32_t x, std::uint32_t y, int) {
      return hidden(x, y) ? 0u : bits == 1 ? 1u : 255u;
    };
    const std::string path = path_of("mask.tif");
    {
      const Handle t(TIFFOpen(path.c_str(), "w"));
      describe(t.get(), l);
      fill(t.get(), l, ramp, always);
      TIFFWriteDirectory(t.get());
      Layout half = mask;  // of an overview: not this one
      half.width = 19;
      half.height = 25;
      TIFFSetField(t.get(), TIFFTAG_SUBFILETYPE, FILETYPE_MASK | FILETYPE_REDUCEDIMAGE);
      describe(t.get(), half);
      fill(
          t.get(), half, [](auto, auto, int) { return 0u; }, always);
      TIFFWriteDirectory(t.get());
      TIFFSetField(t.get(), TIFFTAG_SUBFILETYPE, FILETYPE_MASK);
      describe(t.get(), mask);
      fill(t.get(), mask, shown, always);
    }
    const Read r = read(path);
    EXPECT_TRUE(r.info.masked);
    EXPECT_EQ(r.info.pages, 1);
    for (std::uint32_t y = 0; y < l.height; ++y) {
      for (std::uint32_t x = 0; x < l.width; ++x) {
        ASSERT_EQ(r.at<std::uint8_t>(x, y), ramp(x, y, 0) % 256);
        ASSERT_EQ(r.is_valid(x, y), !hidden(x, y)) << x << " " << y;
      }
    }
    // a file beside the image does the same, for any format
    RasterInfo info;
    info.width = l.width;
    info.height = l.height;
    const std::string plain = path_of("beside.npy");
    const auto writer = create_raster(plain, info);
    writer->write_rows(r.bytes.data(), info.height);
    writer->close();
    std::filesystem::rename(write("beside.tif", mask, shown), plain + ".msk");
    const Read beside = read(plain);
    EXPECT_EQ(beside.valid, r.valid);
    mask.width = 36;
    std::filesystem::rename(write("beside.tif", mask, shown), plain + ".msk");
    EXPECT_TRUE(has(error_of(plain), "beside.npy.msk"));
    std::filesystem::remove(plain + ".msk");
    EXPECT_FALSE(read(plain).info.masked);
  }
}

TEST(Tiff, AlphaChannelsHidePixels) {
  for (const int channels : {2, 4}) {
    for (const bool planes : {false, true}) {
      for (const int bits : {8, 16}) {
        Layout l;
        l.channels = channels;
        l.planes = planes;
        l.bits = bits;
        l.photometric = channels == 4 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
        const std::string path = write(
            "alpha.tif", l,
            [&](std::uint32_t x, std::uint32_t y, int c) -> std::uint64_t {
              return c + 1 < channels ? ramp(x, y, c) % 256
                     : hidden(x, y)   ? 0
                     : x % 2 == 0     ? 1
                                      : 200;
            },
            always,
            [](TIFF* t) {
              const std::uint16_t kind = EXTRASAMPLE_UNASSALPHA;
              TIFFSetField(t, TIFFTAG_EXTRASAMPLES, 1, &kind);
            });
        const Read all = read(path);
        if (channels == 2) {
          EXPECT_EQ(all.info.channels, 1);  // the channel beside alpha is the only one to take
        } else {
          EXPECT_EQ(all.info.channels, 4);
          EXPECT_EQ(all.info.alpha, 3);
        }
        for (int c = 0; c < channels; ++c) {
          const Read r = read(path, c);
          EXPECT_EQ(r.info.masked, c + 1 < channels);  // alpha itself is all there
          for (std::uint32_t y = 0; y < l.height; ++y) {
            for (std::uint32_t x = 0; x < l.width; ++x) {
              ASSERT_EQ(r.is_valid(x, y), c + 1 == channels || !hidden(x, y));
              if (c + 1 == channels) continue;
              ASSERT_EQ(bits == 8 ? r.at<std::uint8_t>(x, y) : r.at<std::uint16_t>(x, y),
                        ramp(x, y, c) % 256);
            }
          }
        }
        EXPECT_TRUE(has(error_of(path, channels, ExitCode::kUsage), "--channel"));
      }
    }
  }
}

// Zero has two signs among floats.
TEST(Tiff, AlphaOfMinusZeroHidesPixels) {
  struct Row {
    int bits;
    std::uint64_t one, minus;
  };
  for (const Row& row : {Row{16, 0x3C00, 0x8000}, Row{32, 0x3F800000, 0x80000000},
                         Row{64, 0x3FF0000000000000, 0x8000000000000000}}) {
    Layout l;
    l.channels = 2;
    l.bits = row.bits;
    l.format = SAMPLEFORMAT_IEEEFP;
    const std::string path = write(
        "minus.tif", l,
        [&](std::uint32_t x, std::uint32_t, int c) {
          return c == 0 || x % 3 == 0 ? row.one : x % 3 == 1 ? row.minus : 0;
        },
        always,
        [](TIFF* t) {
          const std::uint16_t kind = EXTRASAMPLE_UNASSALPHA;
          TIFFSetField(t, TIFFTAG_EXTRASAMPLES, 1, &kind);
        });
    const Read r = read(path);
    for (std::uint32_t x = 0; x < l.width; ++x) ASSERT_EQ(r.is_valid(x, 5), x % 3 == 0) << x;
  }
}

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
        Row{COMPRESSION_LZW, 64, {{TIFFTAG_TILEWIDTH, 1 << 15}, {TIFFTAG_TILELENGTH, 1 << 15}}}}) {
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

}  // namespace
}  // namespace tilewave::formats::raster_tiff_test
