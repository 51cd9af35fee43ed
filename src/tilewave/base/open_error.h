// What a file that cannot be opened for reading says about whose fault it is.
#pragma once

#include <cerrno>

#include "tilewave/error.h"

namespace tilewave {

/// The exit code by errno: memory and open files are resources of this machine, all else is wrong
/// with the name or the file.
inline ExitCode code_of_open(int error) {
  return error == ENOMEM || error == EMFILE || error == ENFILE ? ExitCode::kResources
                                                               : ExitCode::kInput;
}

}  // namespace tilewave
