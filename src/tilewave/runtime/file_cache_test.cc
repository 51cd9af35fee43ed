#include "tilewave/runtime/file_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>

namespace tilewave::runtime {
namespace {

namespace fs = std::filesystem;

class FileCacheTest : public testing::Test {
 protected:
  fs::path folder_ = fs::temp_directory_path() / ("tilewave_kept_" + std::to_string(getpid()));
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  static std::string text_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  static void write(const fs::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  }
};

TEST_F(FileCacheTest, gives_back_what_was_kept) {
  const FileCache cache(folder_);
  EXPECT_FALSE(cache.find("one"));
  const std::string bytes("a\0b\nc", 5);
  cache.keep("one", bytes);
  cache.keep("two", "");
  EXPECT_EQ(cache.find("one"), bytes);
  EXPECT_EQ(cache.find("two"), "");
  EXPECT_FALSE(cache.find("three"));
  cache.keep("one", "later");
  EXPECT_EQ(cache.find("one"), "later");
}

TEST_F(FileCacheTest, broken_files_and_other_identities_are_none) {
  const FileCache cache(folder_);
  cache.keep("one", "some bytes");
  const fs::path file = cache.file_of("one");
  const std::string whole = text_of(file);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write(file, whole.substr(0, length));
    EXPECT_FALSE(cache.find("one")) << length;
  }
  std::string changed = whole;
  changed.back() ^= 1;
  write(file, changed);
  EXPECT_FALSE(cache.find("one"));
  write(cache.file_of("two"), whole);  // as if both had the same hash
  EXPECT_FALSE(cache.find("two"));
  write(file, "tilewave kept bytes 1\n18446744073709551615 18446744073709551615 0\n");
  EXPECT_FALSE(cache.find("one"));
  cache.keep("one", "again");
  EXPECT_EQ(cache.find("one"), "again");
}

TEST_F(FileCacheTest, the_oldest_make_room) {
  const FileCache cache(folder_, 8);
  for (int k = 0; k < 30; ++k) cache.keep("identity " + std::to_string(k), "x");
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& file : fs::directory_iterator(folder_)) ++count;
  EXPECT_LE(count, 8u);
  EXPECT_TRUE(cache.find("identity 29"));
}

TEST_F(FileCacheTest, parts_of_processes_that_were_killed_go_after_an_hour) {
  const FileCache cache(folder_);
  cache.keep("one", "x");
  const fs::path fresh = folder_ / ".tilewave-17.part", old = folder_ / ".tilewave-18.part",
                 other = folder_ / "notes.txt";
  for (const fs::path& file : {fresh, old, other}) write(file, "half");
  for (const fs::path& file : {old, other}) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  cache.keep("two", "x");
  EXPECT_TRUE(fs::exists(fresh));  // it may be written now
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(cache.find("one"));
}

TEST_F(FileCacheTest, no_folder_and_one_that_cannot_be_written_keep_nothing) {
  const FileCache none{fs::path()};
  none.keep("one", "x");
  EXPECT_FALSE(none.find("one"));
  write(folder_, "a file in its place");
  const FileCache blocked(folder_);
  blocked.keep("one", "x");
  EXPECT_FALSE(blocked.find("one"));
}

}  // namespace
}  // namespace tilewave::runtime
