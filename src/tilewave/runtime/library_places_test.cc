#include "tilewave/runtime/library_places.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tilewave::runtime {
namespace {

using Places = std::vector<std::string>;
constexpr const char* kVariable = "LIBRARY_OF_THIS_TEST";

TEST(LibraryPlaces, TheVariableNamesTheOnlyPlace) {
  setenv(kVariable, "/somewhere/libm.so", 1);
  EXPECT_EQ(library_places(kVariable, "libm.so.6", {"nvidia/lib"}, {"/opt/lib"}),
            Places{"/somewhere/libm.so"});
  setenv(kVariable, "", 1);  // as if it were not there
  EXPECT_EQ(library_places(kVariable, "libm.so.6", {}, {"/opt/lib"}),
            (Places{"libm.so.6", "/opt/lib/libm.so.6"}));
  unsetenv(kVariable);
}

// This program is in no Python package: nothing beside it is taken, and nothing of the current directory.
TEST(LibraryPlaces, OnlyAPackageHasNeighbours) {
  unsetenv(kVariable);
  const auto places = library_places(kVariable, "libm.so.6", {"..", "."}, {});
  EXPECT_EQ(places, Places{"libm.so.6"});
  EXPECT_TRUE(program_file().is_absolute());
}

// Passes and maps look for NVRTC in the same places, and the variable is for both.
TEST(LibraryPlaces, OfNvrtc) {
  const char* const before = std::getenv("TILEWAVE_NVRTC");
  const std::string kept = before ? before : "";
  unsetenv("TILEWAVE_NVRTC");
  EXPECT_EQ(nvrtc_places({13, 12}),
            (Places{"libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13", "libnvrtc.so.12",
                    "/usr/local/cuda/lib64/libnvrtc.so.12"}));
  setenv("TILEWAVE_NVRTC", "/somewhere/libnvrtc.so", 1);
  EXPECT_EQ(nvrtc_places({13, 12}), Places{"/somewhere/libnvrtc.so"});
  before ? setenv("TILEWAVE_NVRTC", kept.c_str(), 1) : unsetenv("TILEWAVE_NVRTC");
}

TEST(LibraryPlaces, TheFirstThatCanBeOpenedIsTaken) {
  std::string why = "before";
  EXPECT_NE(open_first({"/nonexistent/a.so", "libm.so.6"}, &why), nullptr);
  EXPECT_EQ(why, "");
  EXPECT_EQ(open_first({"/nonexistent/a.so", "/nonexistent/b.so"}, &why), nullptr);
  EXPECT_NE(why.find("/nonexistent/a.so"), std::string::npos) << why;
  EXPECT_EQ(why.find("b.so"), std::string::npos) << why;
}

}  // namespace
}  // namespace tilewave::runtime
