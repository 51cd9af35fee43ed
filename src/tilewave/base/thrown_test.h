// Errors in tests: what a call throws.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "tilewave/error.h"

namespace tilewave {

/// Whether these words stand in a text.
inline ::testing::AssertionResult has(std::string_view text, std::string_view words) {
  if (text.find(words) != text.npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no '" << words << "' in\n" << text;
}

/// The message of the Error that `call()` throws, which has this code if one is given; "no error"
/// where there is none.
template <class F>
std::string error_of(F&& call, std::optional<ExitCode> code = {},
                     const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const ::testing::ScopedTrace where(file, line, "the call that throws");
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code.value_or(error.code())) << error.what();
    return error.what();
  }
  return "no error";
}

/// Expects `call()` to throw an Error with `words` in its message, and of this code if one is given.
template <class F>
void expect_error(F&& call, std::string_view words, std::optional<ExitCode> code = {},
                  const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const ::testing::ScopedTrace where(file, line, "the call that throws");
  const std::string message = error_of(call, code, file, line);
  EXPECT_NE(message, "no error") << words;
  EXPECT_TRUE(has(message, words));
}

/// A message without the source text below it.
inline std::string first_line(const std::string& message) {
  return message.substr(0, message.find('\n'));
}

}  // namespace tilewave
