// For tests only: processes whose kernels are compiled by fake_compiler.cc.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace tilewave {

/// The fake compiler and a folder of its own for kernels; processes that a test starts inherit it.
class Surroundings : public testing::Environment {
 public:
  void SetUp() override {
    setenv("TILEWAVE_NVRTC", FAKE_COMPILER, 1);
    setenv("TILEWAVE_JIT", "auto", 1);
    if (const char* of_parent = std::getenv("TILEWAVE_TEST_FOLDER")) {
      folder = of_parent;
    } else {
      folder =
          std::filesystem::temp_directory_path() / ("tilewave_jit_" + std::to_string(getpid()));
      std::filesystem::create_directories(folder);
      setenv("TILEWAVE_TEST_FOLDER", folder.c_str(), 1);
      owns = true;
    }
    setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  }
  void TearDown() override {
    if (owns) std::filesystem::remove_all(folder);
  }
  static inline std::filesystem::path folder;
  bool owns = false;
};

}  // namespace tilewave
