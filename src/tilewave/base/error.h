// Errors: always-on checks, thrown with an exit code and the place in the source. The message is
// one line: what is wrong (why it matters): what to do. Rooms below the front ends never print or
// exit. Front ends do: cli/main.cc and, for programs of the QuEST API, quest/core/error_handler.cc
// print the message and end the process with the code; Python raises an exception.
#pragma once

#include <stdexcept>
#include <string>

namespace tilewave {

/// Exit codes of the command line, carried by every Error.
enum class ExitCode : int {
  kOk = 0,
  kInternal = 1,       ///< a defect in this program
  kUsage = 2,          ///< flags or arguments
  kResources = 3,      ///< memory, devices, disk
  kInput = 4,          ///< an input file or text
  kVerification = 5,   ///< a result failed its check
  kCommunication = 6,  ///< another rank or device failed
};

/// The exception every room throws. what() is the one line a user reads.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// What a build without the CUDA back end throws where a device is asked for: kResources, and how to
/// get one with it.
class NoCudaError : public Error {
 public:
  NoCudaError();
};

namespace detail {
[[noreturn]] void throw_check_failure(const char* condition, const char* file, int line,
                                      const std::string& message);
}

}  // namespace tilewave

/// Always-on check of an invariant of this program: throws Error(kInternal) with file and line.
#define TW_CHECK(condition, message)                                                      \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      ::tilewave::detail::throw_check_failure(#condition, __FILE__, __LINE__, (message)); \
    }                                                                                     \
  } while (false)
