#include "tilewave/base/error.h"

#include <cstring>

namespace tilewave {

NoCudaError::NoCudaError()
    : Error(ExitCode::kResources,
            "this build has no CUDA back end: use --device cpu, or build it with CUDA (cmake "
            "--preset cuda, or pip install . -C cmake.define.TW_CUDA=ON)") {}

void detail::throw_check_failure(const char* condition, const char* file, int line,
                                 const std::string& message) {
  const char* name = std::strstr(file, "tilewave/");
  throw Error(ExitCode::kInternal, message + " (check '" + condition + "' failed at " +
                                       (name ? name : file) + ":" + std::to_string(line) +
                                       "; this is a defect, please report it)");
}

}  // namespace tilewave
