// The error of a program, for tests.
#pragma once

#include <string>

#include "tilewave/base/thrown_test.h"
#include "tilewave/language/qasm3/qasm3.h"

namespace tilewave::language::qasm3_test {

/// The first line of the message that reading the program called "f" ends with, or "no error".
inline std::string error(const std::string& text) {
  return first_line(error_of([&] { parse_qasm3(text, "f"); }, ExitCode::kInput));
}

}  // namespace tilewave::language::qasm3_test
