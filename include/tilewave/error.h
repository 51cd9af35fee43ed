// What every call of this library throws.
#pragma once

#include <stdexcept>
#include <string>

namespace tilewave {

/// What kind of problem an Error reports. The values are the exit codes of the command line.
enum class ExitCode : int {
  kOk = 0,             ///< no problem; no Error has it
  kInternal = 1,       ///< a defect in this library
  kUsage = 2,          ///< arguments
  kResources = 3,      ///< memory, devices, disk
  kInput = 4,          ///< an input file or text
  kVerification = 5,   ///< a result failed its check
  kCommunication = 6,  ///< another process or device failed
};

/// What every call of this library throws when it cannot do what it was asked. what() begins with a
/// line that says what is wrong (why it matters): what to do. Where something in a text is wrong (a
/// circuit, an observable, an expression of map) that line begins with the place, and where it helps
/// two more lines follow: the line of the text, and carets below what is meant. There is no line
/// break at the end.
class Error : public std::runtime_error {
 public:
  /// An error of this kind, whose what() is `message`.
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  /// The kind of problem.
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace tilewave
