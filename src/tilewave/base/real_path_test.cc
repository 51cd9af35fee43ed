#include "tilewave/base/real_path.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace tilewave {
namespace {

namespace fs = std::filesystem;

TEST(RealPath, FollowsLinksToWhatDoesNotExistYet) {
  const fs::path at =
      fs::canonical(fs::temp_directory_path()) / ("tilewave_real_path_" + std::to_string(getpid()));
  fs::create_directories(at / "there");
  std::ofstream(at / "there" / "file") << "x";
  fs::create_symlink("later", at / "folder_link");
  fs::create_symlink(at / "there", at / "there_link");
  fs::create_symlink("../later/file", at / "there" / "file_link");
  fs::create_symlink("loop", at / "loop");
  struct Case {
    const char *path, *leads_to;
  };
  for (const Case& c : {Case{"there/file", "there/file"},
                        {"./there//file", "there/file"},
                        {"there/../there/file", "there/file"},
                        {"there_link/file", "there/file"},
                        {"later/file", "later/file"},
                        {"later/./x/../file", "later/file"},
                        {"folder_link/file", "later/file"},
                        {"there_link/file_link", "later/file"},
                        {"there_link/../later", "later"},
                        {"loop", "loop"},
                        {"there/", "there"}}) {
    EXPECT_EQ(real_path((at / c.path).string()), at / c.leads_to) << c.path;
  }
  EXPECT_EQ(real_path("x/y"), fs::current_path() / "x" / "y");
  EXPECT_EQ(real_path("/.."), "/");
  fs::remove_all(at);
}

}  // namespace
}  // namespace tilewave
