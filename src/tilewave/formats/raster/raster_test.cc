// Rasters: what is written comes back, and damaged files are refused with one clear line.
#include "tilewave/formats/raster/raster.h"

#include <png.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <tuple>

#include "gtest/gtest.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"

namespace tilewave::formats::raster_test {
namespace {

std::string path_of(const std::string& name) {
  const auto folder = std::filesystem::temp_directory_path() / "tilewave_raster_test";
  std::filesystem::create_directories(folder);
  return (folder / name).string();
}

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// The writer stays open until close().
std::unique_ptr<RasterWriter> write(const std::string& path, const RasterInfo& info,
                                    const std::vector<unsigned char>& data) {
  auto writer = create_raster(path, info);
  writer->write_rows(data.data(), info.height);
  return writer;
}

std::string input_error(const std::string& path, const RasterInfo* raw = nullptr) {
  return error_of(
      [&] {
        const auto reader = open_raster(path, raw);
        std::vector<char> row(static_cast<std::size_t>(reader->info().row_bytes()));
        for (std::int64_t y = 0; y < reader->info().height; ++y) reader->read_rows(row.data(), 1);
      },
      ExitCode::kInput);
}

TEST(Raster, ComesBackAsWritten) {
  struct Row {
    const char* name;
    SampleType type;
  };
  for (const Row& row : {Row{"a.png", SampleType::kUint8},
                         {"b.png", SampleType::kUint16},
                         {"c.tif", SampleType::kUint8},
                         {"d.tif", SampleType::kFloat32},
                         {"e.tif", SampleType::kInt16},
                         {"f.npy", SampleType::kFloat32},
                         {"g.npy", SampleType::kUint16},
                         {"h.pgm", SampleType::kUint8},
                         {"i.pgm", SampleType::kUint16},
                         {"j.raw", SampleType::kFloat64},
                         {"k.npy", SampleType::kFloat16},
                         {"l.npy", SampleType::kInt8},
                         {"m.npy", SampleType::kInt64},
                         {"n.tif", SampleType::kUint64},
                         {"o.tif", SampleType::kInt8},
                         {"p.raw", SampleType::kInt64}}) {
    RasterInfo info;
    info.width = 37;
    info.height = 300;
    info.type = row.type;
    std::vector<unsigned char> data(static_cast<std::size_t>(info.row_bytes() * info.height));
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<unsigned char>(i * 7 + i / 251);
    const std::string path = path_of(row.name);
    const auto writer = create_raster(path, info);
    writer->write_rows(data.data(), 100);
    writer->write_rows(data.data() + 100 * info.row_bytes(), 200);
    writer->close();
    const auto reader = open_raster(path, &info);
    EXPECT_EQ(reader->info().width, 37) << row.name;
    EXPECT_EQ(reader->info().height, 300) << row.name;
    EXPECT_EQ(reader->info().type, row.type) << row.name;
    std::vector<unsigned char> back(data.size());
    reader->read_rows(back.data(), 7);
    reader->read_rows(back.data() + 7 * info.row_bytes(), 293);
    EXPECT_EQ(back, data) << row.name;
  }
}

TEST(Raster, GeoreferenceIsCarried) {
  RasterInfo info;
  info.width = info.height = 4;
  info.tags = {{33550, {30, 30, 0}, ""},
               {34735, {1, 1, 0, 1, 1024, 0, 1, 1}, ""},
               {34737, {}, "WGS 84|"},
               {42113, {}, "255"}};
  write(path_of("geo.tif"), info, std::vector<unsigned char>(16))->close();
  const auto reader = open_raster(path_of("geo.tif"));
  ASSERT_EQ(reader->info().tags.size(), 4u);
  EXPECT_EQ(reader->info().tags[0].numbers, info.tags[0].numbers);
  EXPECT_EQ(reader->info().tags[1].numbers, info.tags[1].numbers);
  EXPECT_EQ(reader->info().tags[2].text, "WGS 84|");
  EXPECT_EQ(reader->info().nodata, 255.0);
}

TEST(Raster, DamagedFilesAreRefused) {
  for (const char* name : {"bad.png", "bad.tif", "bad.npy", "bad.pgm"}) {
    const std::string path = path_of(name);
    put(path, "");
    EXPECT_NE(input_error(path), "no error") << name << " empty";
    put(path, "this is no picture at all, whatever it is called");
    EXPECT_NE(input_error(path), "no error") << name << " wrong magic";
    EXPECT_NE(input_error(path_of("missing") + name), "no error") << name << " missing";
  }
  RasterInfo info;
  info.width = info.height = 64;
  std::vector<unsigned char> pixels(64 * 64);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<unsigned char>(i * i * 31 >> 3);
  for (const char* name : {"cut.png", "cut.tif", "cut.npy", "cut.pgm", "cut.raw"}) {
    const std::string path = path_of(name);
    write(path, info, pixels)->close();
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    EXPECT_NE(input_error(path, &info), "no error") << name;
  }
  EXPECT_THROW(open_raster(path_of("x.jpg")), Error);
  EXPECT_THROW(open_raster(path_of("cut.raw")), Error);  // its size is not known
  info.type = SampleType::kFloat32;
  EXPECT_THROW(create_raster(path_of("f.png"), info), Error);
}

TEST(Raster, AnUnfinishedFileLeavesNothing) {
  RasterInfo info;
  info.width = info.height = 8;
  const std::string path = path_of("never.tif");
  { const auto writer = create_raster(path, info); }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Raster, TheStudysContainer) {
  const std::string path = path_of("data.bin");
  const auto number = [](std::int32_t n) {
    return std::string(reinterpret_cast<const char*>(&n), 4);
  };
  put(path, number(3) + number(2) + "abcdef" + number(1) + number(1) + "z");
  StudyReader reader(path);
  for (const std::string want : {"abcdef", "z"}) {
    const auto record = reader.next();
    ASSERT_NE(record, nullptr);
    std::string got(want.size(), ' ');
    record->read_rows(got.data(), record->info().height);
    EXPECT_EQ(got, want);
  }
  EXPECT_EQ(reader.next(), nullptr);
  StudyWriter writer(path_of("results.csv"));
  const auto record = writer.begin(2, 1);
  const float values[] = {0.5f, 2.685951f};
  record->write_rows(values, 1);
  record->close();
  writer.close();
  std::string line;
  std::getline(std::ifstream(path_of("results.csv")), line);
  EXPECT_EQ(line, "2,1,0.50000,2.68595,");
  put(path, number(3) + number(-2) + "abcdef");
  EXPECT_THROW(StudyReader(path).next(), Error);
  // the size is compared with the file before anyone takes memory for it
  for (const auto& [w, h, left] : {std::tuple{0x7fffffff, 0x7fffffff, 100}, {3, 3, 8}, {9, 1, 0}}) {
    put(path, number(1) + number(1) + "z" + number(w) + number(h) +
                  std::string(static_cast<std::size_t>(left), 'x'));
    StudyReader cut(path);
    const auto first = cut.next();
    char one;
    first->read_rows(&one, 1);
    const std::string message = error_of([&] { cut.next(); }, ExitCode::kInput);
    EXPECT_TRUE(has(message, "record 2 of"));
    EXPECT_TRUE(has(message, std::to_string(left) + " are left"));
  }
  put(path, "");
  EXPECT_THROW(StudyReader(path).next(), Error);
}

TEST(Raster, MetadataOfValuesIsDropped) {
  const auto kept = [](const std::string& xml) {
    RasterInfo info;
    info.tags = {{33550, {30, 30, 0}, ""}, {42112, {}, xml}, {42113, {}, "255"}};
    info.nodata = 255;
    info.alpha = 1;
    info.masked = true;
    describe_new_values(info, "nan");
    EXPECT_FALSE(info.nodata || info.masked || info.alpha >= 0);
    EXPECT_EQ(info.tags.front().tag, 33550u);
    EXPECT_EQ(info.tags.back().tag, 42113u);
    EXPECT_EQ(info.tags.back().text, "nan");
    return info.tags.size() == 3 ? info.tags[1].text : "";
  };
  const std::string start = "<GDALMetadata>\n  ", end = "</GDALMetadata>\n";
  const std::string place = "<Item name=\"PROJECT\">land &amp; sea</Item>\n  ";
  const std::string nested =
      "<Item name=\"A\" domain=\"xml:X\"><Item name=\"in\" sample=\"0\">5</Item></Item>\n  ";
  const std::string values =
      "<Item name=\"STATISTICS_MAXIMUM\" sample=\"0\">8</Item>\n  "
      "<Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.01</Item>\n  "
      "<Item sample='2' name='DESCRIPTION' role='description'>NIR</Item>\n  "
      "<Item name=\"STATISTICS_MEAN\">4</Item><Item name=\"NODATA_VALUES\">0 0</Item>"
      "<Item name=\"UNITTYPE\" sample=\"1\"/>";
  EXPECT_EQ(kept(start + values + end), "");
  EXPECT_TRUE(has(kept(start + place + values + nested + end), "land &amp; sea"));
  EXPECT_TRUE(has(kept(start + place + values + nested + end), nested));
  for (const char* word : {"STATISTICS", "SCALE", "NIR", "NODATA", "UNITTYPE"})
    EXPECT_EQ(kept(start + values + place + values + end).find(word), std::string::npos) << word;
  EXPECT_EQ(kept(start + place + "<Item name=\"broken\">"), "");
  RasterInfo plain;  // nothing was declared and nothing lies anywhere
  describe_new_values(plain, "nan");
  EXPECT_TRUE(plain.tags.empty());
}

TEST(Raster, WhatLiesBesideAReplacedFileGoes) {
  for (const char* name :
       {"replaced.tif", "replaced.npy", "replaced.png", "replaced.pgm", "replaced.raw"}) {
    RasterInfo info;
    info.width = info.height = 4;
    const std::string path = path_of(name);
    const std::vector<unsigned char> zeros(16, 0), sevens(16, 7);
    for (const char* ending : {".aux.xml", ".ovr"}) std::ofstream(path + ending) << "old";
    write(path_of("mask.tif"), info, zeros)->close();  // which hides everything
    std::filesystem::rename(path_of("mask.tif"), path + ".msk");
    auto writer = write(path, info, sevens);
    EXPECT_TRUE(std::filesystem::exists(path + ".msk")) << name;  // until the new file is there
    writer->close();
    for (const char* ending : {".aux.xml", ".ovr", ".msk"})
      EXPECT_FALSE(std::filesystem::exists(path + ending)) << name << ending;
    EXPECT_FALSE(open_raster(path, &info)->info().masked) << name;
    std::filesystem::create_directory(path + ".msk");
    SCOPED_TRACE(name);
    expect_error([&] { write(path, info, sevens)->close(); }, ".msk: cannot be removed",
                 ExitCode::kResources);
    std::filesystem::remove(path + ".msk");
  }
}

TEST(Raster, NamesMayBeAsLongAsTheSystemAllows) {
  RasterInfo info;
  info.width = info.height = 4;
  for (const char* ending : {".tif", ".npy", ".png", ".pgm", ".raw"}) {
    for (const std::size_t size :
         {247u, 248u, 249u, 251u, 252u, 255u}) {  // 8 of .aux.xml, 4 of .msk
      const std::string path = path_of(std::string(size - std::strlen(ending), 'n').append(ending));
      const std::vector<unsigned char> pixels(16, 7);
      write(path, info, pixels)->close();
      std::vector<unsigned char> back(16);
      open_raster(path, &info)->read_rows(back.data(), 4);
      EXPECT_EQ(back, pixels) << size << ending;
      std::filesystem::remove(path);
    }
  }
}

// A PNG by the library: `more` sets what it declares beside its pixels.
std::string write_png(const std::string& name, int width, int height, int depth, int colour_type,
                      const std::vector<std::vector<unsigned char>>& rows,
                      const std::function<void(png_structp, png_infop)>& more,
                      int interlace = PNG_INTERLACE_NONE) {
  const std::string path = path_of(name);
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), depth,
               colour_type, interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  more(png, info);
  png_write_info(png, info);
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass) {
    for (const auto& row : rows) png_write_row(png, row.data());
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
  return path;
}

TEST(Raster, TransparentPixelsOfAPngHoldNoData) {
  struct Row {
    int depth, type, channel;
    std::vector<unsigned char> row;  // three pixels
    std::vector<int> values, valid;
  };
  const auto check = [](const std::string& path, const Row& r) {
    SCOPED_TRACE(std::to_string(r.depth) + " " + std::to_string(r.type));
    const auto reader = open_raster(path, nullptr, r.channel);
    ASSERT_EQ(reader->info().channels, 1);
    ASSERT_EQ(reader->info().masked, !r.valid.empty());
    std::uint16_t wide[3];
    std::uint8_t bytes[3];
    reader->read_rows(r.depth == 16 ? static_cast<void*>(wide) : bytes, 1);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(r.depth == 16 ? wide[k] : bytes[k], r.values[k]);
      if (r.valid.empty()) continue;
      EXPECT_EQ(reader->valid()[k], r.valid[k]) << k;
    }
  };
  const auto nothing = [](png_structp, png_infop) {};
  const auto declare = [](int depth, int type) {
    return [=](png_structp png, png_infop info) {
      if (type == PNG_COLOR_TYPE_PALETTE) {
        png_color colours[4] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {9, 9, 9}};
        png_set_PLTE(png, info, colours, 4);
        png_byte alphas[] = {255, 0, 100};
        png_set_tRNS(png, info, alphas, 3, nullptr);
      } else {
        png_color_16 colour{};
        colour.gray = static_cast<png_uint_16>(depth == 16 ? 0x0102 : 2);
        colour.red = 1;
        colour.green = 2;
        colour.blue = 3;
        png_set_tRNS(png, info, nullptr, 0, &colour);
      }
    };
  };
  for (const int interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
    for (const Row& r :
         {Row{8, PNG_COLOR_TYPE_GRAY_ALPHA, -1, {5, 255, 6, 0, 7, 1}, {5, 6, 7}, {1, 0, 1}},
          Row{8, PNG_COLOR_TYPE_GRAY_ALPHA, 1, {5, 255, 6, 0, 7, 1}, {255, 0, 1}, {}},
          Row{8,
              PNG_COLOR_TYPE_RGB_ALPHA,
              2,
              {1, 2, 3, 0, 4, 5, 6, 9, 7, 8, 9, 255},
              {3, 6, 9},
              {0, 1, 1}},
          Row{16,
              PNG_COLOR_TYPE_GRAY_ALPHA,
              -1,
              {1, 2, 0, 0, 0, 9, 0, 1, 2, 2, 1, 0},
              {258, 9, 514},
              {0, 1, 1}}}) {
      check(write_png("alpha.png", 3, 1, r.depth, r.type, {r.row}, nothing, interlace), r);
    }
    for (const Row& r :
         {Row{8, PNG_COLOR_TYPE_GRAY, -1, {1, 2, 3}, {1, 2, 3}, {1, 0, 1}},
          Row{16, PNG_COLOR_TYPE_GRAY, -1, {0, 2, 1, 2, 2, 1}, {2, 258, 513}, {1, 0, 1}},
          Row{2, PNG_COLOR_TYPE_GRAY, -1, {0b01101100}, {1, 2, 3}, {1, 0, 1}},
          Row{8, PNG_COLOR_TYPE_PALETTE, -1, {1, 2, 3}, {1, 2, 3}, {0, 1, 1}},
          Row{8, PNG_COLOR_TYPE_RGB, 1, {1, 2, 3, 1, 2, 4, 1, 3, 3}, {2, 2, 3}, {0, 1, 1}}}) {
      check(write_png("trns.png", 3, 1, r.depth, r.type, {r.row}, declare(r.depth, r.type),
                      interlace),
            r);
    }
  }
}

// A header's size, interlaced or not, is compared with what the file can hold.
TEST(Raster, HeadersOfOtherFormatsAreNotBelieved) {
  for (const int interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
    const auto path = write_png(
        "claim.png", 3, 1, 8, PNG_COLOR_TYPE_GRAY, {{1, 2, 3}}, [](png_structp, png_infop) {},
        interlace);
    std::string bytes(std::filesystem::file_size(path), '\0');
    std::ifstream(path, std::ios::binary)
        .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    for (const std::size_t at : {16u, 20u})
      bytes.replace(at, 4, std::string("\x7f\xff\xff\xff", 4));
    std::uint32_t crc = 0xffffffffu;  // of the header
    for (std::size_t k = 12; k < 29; ++k) {
      crc ^= static_cast<unsigned char>(bytes[k]);
      for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    for (std::size_t k = 0; k < 4; ++k) bytes[29 + k] = static_cast<char>(~crc >> (24 - 8 * k));
    put(path, bytes);
    EXPECT_TRUE(has(input_error(path), "2147483647 x 2147483647 pixels cannot come from"));
  }
  // wider than the library's own limit of a million, and honest
  RasterInfo wide;
  wide.width = 1'200'000;
  wide.height = 1;
  const std::vector<unsigned char> row(1'200'000, 7);
  write(path_of("wide.png"), wide, row)->close();
  EXPECT_EQ(input_error(path_of("wide.png")), "no error");
  RasterInfo raw;
  raw.width = raw.height = std::int64_t{1} << 32;
  put(path_of("claim.raw"), "");
  EXPECT_TRUE(has(input_error(path_of("claim.raw"), &raw), "more than any file holds"));
  put(path_of("claim.pgm"), "P5\n999999999 999999999\n65535\nxx");
  EXPECT_TRUE(has(input_error(path_of("claim.pgm")), "truncated"));
  for (const char* shape : {"(4294967296, 4294967296)", "(1073741824, 1073741824, 8)",
                            "(0, 18446744073709551615)", "(3, 5)"}) {
    std::string header =
        "{'descr': '<f8', 'fortran_order': False, 'shape': " + std::string(shape) + ", }";
    header.append(117 - header.size(), ' ');
    put(path_of("claim.npy"), std::string("\x93NUMPY\1\0", 8) + "v" + '\0' + header + "\nabc");
    EXPECT_NE(input_error(path_of("claim.npy")), "no error") << shape;
  }
}

}  // namespace
}  // namespace tilewave::formats::raster_test
