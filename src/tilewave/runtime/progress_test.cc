#include "tilewave/runtime/progress.h"

#include <string>

#include <gtest/gtest.h>

namespace tilewave::runtime {
namespace {

std::string drawn(bool enabled, double fraction, double remaining_s) {
  std::FILE* file = std::tmpfile();
  {
    ProgressBar bar(file, enabled);
    bar.update(fraction, remaining_s);
  }
  std::rewind(file);
  std::string text;
  for (int c; (c = std::fgetc(file)) != EOF;) text.push_back(static_cast<char>(c));
  std::fclose(file);
  return text;
}

TEST(Progress, ShowsShareAndRemainingTime) {
  const std::string text = drawn(true, 0.25, 65);
  EXPECT_NE(text.find(" 25%"), std::string::npos) << text;
  EXPECT_NE(text.find("1:05 left"), std::string::npos) << text;
  EXPECT_NE(text.find("[##########..."), std::string::npos) << text;
}

TEST(Progress, StaysSilentForShortRunsAndWhenDisabled) {
  EXPECT_EQ(drawn(true, 0.5, 1.0), "");
  EXPECT_EQ(drawn(false, 0.5, 100), "");
}

TEST(Progress, IsNotWantedInAFile) {
  std::FILE* file = std::tmpfile();
  EXPECT_FALSE(wants_progress(file));
  std::fclose(file);
}

}  // namespace
}  // namespace tilewave::runtime
