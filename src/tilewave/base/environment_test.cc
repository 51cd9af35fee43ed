// Seconds in environment variables, and what is refused.
#include "tilewave/base/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tilewave/base/thrown_test.h"

namespace tilewave {
namespace {

TEST(Environment, seconds_are_whole_numbers_of_text) {
  constexpr const char* kName = "TILEWAVE_MEET_S";
  ::unsetenv(kName);
  EXPECT_EQ(seconds_from(kName, 25), 25);
  for (const auto& [text, value] :
       {std::pair{"", 25.}, {"10", 10.}, {"0.5", 0.5}, {"1e3", 1000.}}) {
    ::setenv(kName, text, 1);
    EXPECT_EQ(seconds_from(kName, 25), value) << text;
  }
  for (const char* text : {"10m", "abc", "0", "-1", "inf", "nan", " 5", "5 "}) {
    ::setenv(kName, text, 1);
    EXPECT_EQ(error_of([] { seconds_from(kName, 25); }, ExitCode::kUsage),
              std::string(kName) + " is '" + text +
                  "': use a number of seconds above 0, as in 600 or 0.5");
  }
  ::unsetenv(kName);
}

}  // namespace
}  // namespace tilewave
