// Samples to classes: tables of any classes, masks and declared values before anything is checked,
// every type of sample.
#include "tilewave/field/quantise.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/field/samples.h"

namespace tilewave::field {
namespace {

ClassTable table_of(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / "tilewave_quantise_test.csv";
  std::ofstream(path, std::ios::binary) << text;
  return read_class_table(path.string());
}

template <class T>
std::vector<std::uint32_t> codes_of(const Quantisation& how, formats::SampleType type,
                                    const std::vector<T>& row,
                                    const std::uint8_t* valid = nullptr) {
  formats::RasterInfo info;
  info.width = static_cast<std::int64_t>(row.size());
  info.height = 1;
  info.type = type;
  std::vector<std::uint32_t> codes(row.size());
  Quantiser(how, info).convert(row.data(), valid, 0, codes.data());
  return codes;
}

using Codes = std::vector<std::uint32_t>;

TEST(ClassTable, ReadsWhatPeopleWrite) {
  for (const char* text :
       {"10,10\n20,20\n30,30\n", "\xEF\xBB\xBFvalue,class\r\n10,10\r\n20,20\r\n30,30\r\n",
        "\"10\",\"10\"\n \"20\" , 20 \n30,30", "# land cover\n\n10,10 # water\n20,20\n30,30\n",
        "1e1,10\n20.0,20\n30,30\n"}) {
    const ClassTable t = table_of(text);
    EXPECT_EQ(t.classes, (std::vector<int>{10, 20, 30})) << text;
    EXPECT_EQ(t.index, (std::map<double, int>{{10, 0}, {20, 1}, {30, 2}})) << text;
    EXPECT_EQ(t.index_of(30), 2);
    EXPECT_EQ(t.index_of(25), -1);
  }
  const ClassTable t = table_of("11,523\n12,\n13,nodata\n14,523\n15,65535\n");
  EXPECT_EQ(t.classes, (std::vector<int>{523, 65535}));
  EXPECT_EQ(t.index, (std::map<double, int>{{11, 0}, {12, -1}, {13, -1}, {14, 0}, {15, 1}}));
}

TEST(ClassTable, RefusesWhatIsNoPair) {
  for (const char* text : {"0-4,1\n", "10\n", "10;1\n", "10,1,water\n", "10,1.5\n", "10,-1\n",
                           "10,65536\n", "nan,1\n", "10,1\n10,2\n", "", "# nothing\n",
                           "10,nodata\n", "a,b\nc,d\n", "0x,1\n", "10,1\n\"20,2\n"}) {
    EXPECT_NE(error_of([&] { table_of(text); }, ExitCode::kInput), "no error") << text;
  }
  expect_error([&] { table_of("10,1\n0-4,1\n"); }, "line 2: '0-4,1'", ExitCode::kInput);
  expect_error([&] { table_of(std::string(100000, '0')); }, "4096", ExitCode::kInput);
  expect_error([] { read_class_table("/dev/zero"); }, "4096", ExitCode::kInput);
}

TEST(Quantiser, ClassesOfAnyNumberAreCodesInARow) {
  Quantisation how;
  how.kind = Quantisation::Kind::kClasses;
  how.classes = table_of("10,10\n20,200\n30,30\n40,10\n50,nodata\n");
  how.levels = 3;
  EXPECT_EQ(codes_of<std::uint8_t>(how, formats::SampleType::kUint8, {10, 20, 30, 40, 50}),
            (Codes{0, 2, 1, 0, 3}));
  EXPECT_EQ(codes_of<std::int64_t>(how, formats::SampleType::kInt64, {10, 20, 30, 40, 50}),
            (Codes{0, 2, 1, 0, 3}));
  expect_error(
      [&] {
        codes_of<std::uint8_t>(how, formats::SampleType::kUint8, {10, 7});
      },
      "pixel (1, 0) holds 7");
  // two values of the table that the samples cannot tell apart
  how.classes = table_of("0.1,1\n0.1000000001,2\n");
  expect_error([&] { codes_of<float>(how, formats::SampleType::kFloat32, {0.1f}); },
               "another value of another class");
  EXPECT_EQ(codes_of<double>(how, formats::SampleType::kFloat64, {0.1, 0.1000000001}),
            (Codes{0, 1}));
}

TEST(Quantiser, WhatHoldsNoDataNeedsNoClass) {
  Quantisation how;
  how.nodata = -9223372036854775808.0;
  const std::uint8_t valid[] = {1, 1, 0, 1};
  EXPECT_EQ(codes_of<std::int64_t>(how, formats::SampleType::kInt64,
                                   {3, std::numeric_limits<std::int64_t>::min(), 1000, 15}, valid),
            (Codes{3, 16, 16, 15}));
  how.nodata = 18446744073709551615.0;
  EXPECT_EQ(codes_of<std::uint64_t>(how, formats::SampleType::kUint64,
                                    {3, 18446744073709551615u, 1u << 31, 15}, valid),
            (Codes{3, 16, 16, 15}));
  how.nodata = -128;
  EXPECT_EQ(codes_of<std::int8_t>(how, formats::SampleType::kInt8, {3, -128, -5, 15}, valid),
            (Codes{3, 16, 16, 15}));
  expect_error(
      [&] {
        codes_of<std::int8_t>(how, formats::SampleType::kInt8, {3, -128, -5, 15});
      },
      "pixel (2, 0) holds -5");
}

TEST(Quantiser, CountsWhatLiesOutsideOfARange) {
  Quantisation how;
  how.kind = Quantisation::Kind::kRange;
  how.low = 2;
  how.high = 98;
  formats::RasterInfo info;
  info.width = 5;
  info.height = 1;
  info.type = formats::SampleType::kFloat32;
  std::uint8_t codes[5];
  const float values[] = {-3, 2, 98, 98.5f, NAN};
  EXPECT_EQ(Quantiser(how, info).convert(values, nullptr, 0, codes), 2);
  EXPECT_EQ(codes[0], 0);
  EXPECT_EQ(codes[2], 15);
  EXPECT_EQ(codes[3], 15);
  EXPECT_EQ(codes[4], 16);
  info.type = formats::SampleType::kUint8;
  const std::uint8_t bytes[] = {0, 1, 2, 98, 255};
  EXPECT_EQ(Quantiser(how, info).convert(bytes, nullptr, 0, codes), 3);
}

TEST(Samples, BytesAreTheNearest) {
  EXPECT_EQ(to_byte(0.49999997f, 255), 0);
  EXPECT_EQ(to_byte(0.5f, 255), 1);
  EXPECT_EQ(to_byte(-3.0f, 255), 0);
  EXPECT_EQ(to_byte(INFINITY, 254), 254);
  for (int k = 0; k < 255; ++k) {
    const float half = static_cast<float>(k) + 0.5f;
    EXPECT_EQ(to_byte(half, 255), k + 1);
    EXPECT_EQ(to_byte(std::nextafter(half, 0.0f), 255), k);
    EXPECT_EQ(to_byte(static_cast<float>(k), 255), k);
  }
}

}  // namespace
}  // namespace tilewave::field
