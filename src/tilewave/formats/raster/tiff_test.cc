// TIFF files as GDAL and others write them: colours as luma and chroma, planes, blocks left out,
// samples of fewer bits, masks and alpha channels, metadata. Written here with the library itself.
#include <tiffio.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <filesystem>
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

}  // namespace
}  // namespace tilewave::formats::raster_tiff_test
