#include "tilewave/statevec/tile/pass_ways.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tilewave::statevec::tile {
namespace {

namespace fs = std::filesystem;

bool operator==(const Way& a, const Way& b) {
  return a.fold == b.fold && a.seed == b.seed && a.through_shared == b.through_shared &&
         a.tables == b.tables;
}

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("tilewave_ways_" + std::to_string(getpid()))) {}
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(PassWays, are_there_again_in_another_process) {
  const Folder folder;
  const std::vector<PassWays::Pass> passes = {{{true, 0, false, true}, Way{false, 149, true, true}},
                                              {{false, 17, true, false}, std::nullopt}};
  PassWays(folder.path()).keep("a", passes);
  PassWays later(folder.path());
  for (int k = 0; k < 2; ++k) {  // from the folder, then from memory
    const auto found = later.find("a", 2);
    ASSERT_TRUE(found);
    for (std::size_t p = 0; p < 2; ++p) {
      EXPECT_TRUE((*found)[p].interpreted == passes[p].interpreted) << p;
      ASSERT_EQ((*found)[p].compiled.has_value(), passes[p].compiled.has_value());
    }
    EXPECT_TRUE(*(*found)[0].compiled == *passes[0].compiled);
  }
  EXPECT_FALSE(later.find("b", 2));
  EXPECT_FALSE(later.find("a", 3)) << "of another plan";
}

TEST(PassWays, files_that_are_broken_or_cannot_be_written_are_none) {
  const Folder folder;
  PassWays(folder.path()).keep("a", {{{}, Way{}}});
  for (const auto& file : fs::directory_iterator(folder.path())) {
    std::fstream out(file.path(), std::ios::in | std::ios::out);
    out.seekp(-4, std::ios::end);
    out << "9";
  }
  EXPECT_FALSE(PassWays(folder.path()).find("a", 1));
  const runtime::FileCache files(folder.path());
  for (const char* text : {"compiled 0 101\n", "interpreted 0 10\n", "interpreted 0 123\n",
                           "other 0 101 0 101\n", ""}) {
    files.keep("b", text);
    EXPECT_FALSE(PassWays(folder.path()).find("b", 1)) << text;
  }
  PassWays nowhere("");
  nowhere.keep("a", {{{}, {}}});
  EXPECT_TRUE(nowhere.find("a", 1)) << "in this process";
  EXPECT_FALSE(nowhere.find("b", 1));
}

}  // namespace
}  // namespace tilewave::statevec::tile
