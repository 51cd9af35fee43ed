// Errors: always-on checks, thrown with an exit code and the place in the source. The message is
// one line: what is wrong (why it matters): what to do. Modules below the front ends never print or
// exit. Front ends do: cli/main.cc and, for programs of the QuEST API, quest/core/error_handler.cc
// print the message and end the process with the code; Python raises an exception.
#pragma once

#include <string>

#include "tilewave/base/concat.h"
#include "tilewave/error.h"

namespace tilewave {

/// What a build without the CUDA back end throws where a device is asked for: kResources, and how
/// to get one with it.
class NoCudaError : public Error {
 public:
  NoCudaError();
};

namespace detail {
[[noreturn]] void throw_check_failure(const char* condition, const char* file, int line,
                                      const std::string& message);
}

/// Throws an Error whose message is the parts behind each other: texts, characters, whole numbers.
template <class... Parts>
[[noreturn]] void fail(ExitCode code, const Parts&... parts) {
  throw Error(code, concat(parts...));
}

}  // namespace tilewave

/// Always-on check of an invariant of this program: throws Error(kInternal) with file and line.
#define TW_CHECK(condition, message)                                                      \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      ::tilewave::detail::throw_check_failure(#condition, __FILE__, __LINE__, (message)); \
    }                                                                                     \
  } while (false)
