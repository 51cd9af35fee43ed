// Shots in every format.
#include "tilewave/formats/shots/shots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tilewave/base/error.h"

namespace tilewave::formats {
namespace {

TEST(Shots, every_format_reads_back) {
  ShotLayout layout;
  layout.measurements = 300, layout.detectors = 270, layout.observables = 3;
  std::vector<std::uint8_t> rows(128 * layout.bytes());
  for (std::size_t k = 0; k < rows.size(); ++k)
    rows[k] = k % 7 == 0 ? static_cast<std::uint8_t>(k * 37) : 0;
  for (std::size_t s = 0; s < 128; ++s) rows[(s + 1) * layout.bytes() - 1] &= 0x1F;
  std::fill_n(rows.begin(), layout.bytes(), 0);  // a shot without ones
  for (ShotFormat format : {ShotFormat::k01, ShotFormat::kB8, ShotFormat::kR8, ShotFormat::kPtb64,
                            ShotFormat::kHits, ShotFormat::kDets}) {
    ByteBuffer bytes;
    ShotFormatter(format, layout).append(rows.data(), layout.bytes(), 128, bytes);
    std::FILE* file = std::tmpfile();
    ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    std::rewind(file);
    std::vector<std::uint8_t> back;
    ShotReader reader(file, "shots", format, layout);
    EXPECT_EQ(reader.read(1024, back), 128u);
    EXPECT_EQ(back, rows) << static_cast<int>(format);
    std::fclose(file);
  }
}

// What is cut off, out of range or no number is an error, never other bits or fewer shots.
TEST(Shots, damaged_files_are_refused) {
  ShotLayout layout;
  layout.measurements = 3;
  // a group of ptb64 has 24 bytes
  const std::pair<ShotFormat, std::string> files[] = {
      {ShotFormat::k01, "01"},
      {ShotFormat::k01, "0101\n"},
      {ShotFormat::k01, "012\n"},
      {ShotFormat::kR8, "\x05"},
      {ShotFormat::kR8, "\x02"},
      {ShotFormat::kPtb64, "12345"},
      {ShotFormat::kPtb64, std::string(25, '1')},
      {ShotFormat::kPtb64, std::string(32, '1')},
      {ShotFormat::kHits, "3\n"},
      {ShotFormat::kHits, "18446744073709551616\n"},
      {ShotFormat::kHits, "1"},
      {ShotFormat::kHits, "1,\n"},
      {ShotFormat::kHits, ",1\n"},
      {ShotFormat::kHits, "0,,1\n"},
      {ShotFormat::kHits, "0 1\n"},
      {ShotFormat::kHits, "1\r2\n"},
      {ShotFormat::kDets, "sho"},
      {ShotFormat::kDets, "shotM0\n"},
      {ShotFormat::kDets, "shot M0M1"},
      {ShotFormat::kDets, "shot M3\n"},
      {ShotFormat::kDets, "shot D0\n"},
      {ShotFormat::kDets, "shot M18446744073709551616\n"}};
  for (const auto& [format, text] : files) {
    std::FILE* file = std::tmpfile();
    ASSERT_EQ(std::fwrite(text.data(), 1, text.size(), file), text.size());
    std::rewind(file);
    std::vector<std::uint8_t> rows;
    ShotReader reader(file, "shots", format, layout);
    EXPECT_THROW(reader.read(1024, rows), Error) << static_cast<int>(format) << ' ' << text;
    std::fclose(file);
  }
  std::FILE* folder = std::fopen(".", "rb");
  std::vector<std::uint8_t> rows;
  ShotReader reader(folder, "folder", ShotFormat::kB8, layout);
  EXPECT_THROW(reader.read(1024, rows), Error);
  std::fclose(folder);
}

TEST(Shots, r8_ends_every_shot_with_a_terminator) {
  ShotLayout layout;
  layout.detectors = 256;
  std::vector<std::uint8_t> row(32);
  ByteBuffer bytes;
  const ShotFormatter format(ShotFormat::kR8, layout);
  format.append(row.data(), 32, 1, bytes);
  EXPECT_EQ(std::string(bytes.data(), bytes.size()), "\xFF\x01");
  row[31] = 0x80;
  bytes.clear();
  format.append(row.data(), 32, 1, bytes);
  EXPECT_EQ(std::string(bytes.data(), bytes.size()), std::string("\xFF\0\0", 3));
}

}  // namespace
}  // namespace tilewave::formats
