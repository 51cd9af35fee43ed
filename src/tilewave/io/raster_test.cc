// Rasters: what is written comes back, and damaged files are refused with one clear line.
#include "tilewave/io/raster.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "tilewave/base/error.h"

namespace tilewave::io {
namespace {

std::string path_of(const std::string& name) {
  const auto folder = std::filesystem::temp_directory_path() / "tilewave_raster_test";
  std::filesystem::create_directories(folder);
  return (folder / name).string();
}

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string input_error(const std::string& path, const RasterInfo* raw = nullptr) {
  try {
    const auto reader = open_raster(path, raw);
    std::vector<char> row(static_cast<std::size_t>(reader->info().row_bytes()));
    for (std::int64_t y = 0; y < reader->info().height; ++y) reader->read_rows(row.data(), 1);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kInput) << e.what();
    return e.what();
  }
  return "";
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
                         {"k.npy", SampleType::kFloat16}}) {
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
    EXPECT_FALSE(std::filesystem::exists(path + ".part"));
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
  info.geo_tags = {{33550, {30, 30, 0}, ""},
                   {34735, {1, 1, 0, 1, 1024, 0, 1, 1}, ""},
                   {34737, {}, "WGS 84|"},
                   {42113, {}, "255"}};
  const unsigned char pixels[16] = {};
  const auto writer = create_raster(path_of("geo.tif"), info);
  writer->write_rows(pixels, 4);
  writer->close();
  const auto reader = open_raster(path_of("geo.tif"));
  ASSERT_EQ(reader->info().geo_tags.size(), 4u);
  EXPECT_EQ(reader->info().geo_tags[0].numbers, info.geo_tags[0].numbers);
  EXPECT_EQ(reader->info().geo_tags[1].numbers, info.geo_tags[1].numbers);
  EXPECT_EQ(reader->info().geo_tags[2].text, "WGS 84|");
  EXPECT_EQ(reader->info().nodata, 255.0);
}

TEST(Raster, DamagedFilesAreRefused) {
  for (const char* name : {"bad.png", "bad.tif", "bad.npy", "bad.pgm"}) {
    const std::string path = path_of(name);
    put(path, "");
    EXPECT_NE(input_error(path), "") << name << " empty";
    put(path, "this is no picture at all, whatever it is called");
    EXPECT_NE(input_error(path), "") << name << " wrong magic";
    EXPECT_NE(input_error(path_of("missing") + name), "") << name << " missing";
  }
  RasterInfo info;
  info.width = info.height = 64;
  std::vector<unsigned char> pixels(64 * 64);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<unsigned char>(i * i * 31 >> 3);
  for (const char* name : {"cut.png", "cut.tif", "cut.npy", "cut.pgm", "cut.raw"}) {
    const std::string path = path_of(name);
    const auto writer = create_raster(path, info);
    writer->write_rows(pixels.data(), 64);
    writer->close();
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    EXPECT_NE(input_error(path, &info), "") << name;
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
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
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
  put(path, "");
  EXPECT_THROW(StudyReader(path).next(), Error);
}

}  // namespace
}  // namespace tilewave::io
