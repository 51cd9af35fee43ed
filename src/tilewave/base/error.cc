#include "tilewave/base/error.h"

#include <cstring>

namespace tilewave::detail {

void throw_check_failure(const char* condition, const char* file, int line,
                         const std::string& message) {
  const char* name = std::strstr(file, "tilewave/");
  throw Error(ExitCode::kInternal, message + " (check '" + condition + "' failed at " +
                                       (name ? name : file) + ":" + std::to_string(line) +
                                       "; this is a defect, please report it)");
}

}  // namespace tilewave::detail
