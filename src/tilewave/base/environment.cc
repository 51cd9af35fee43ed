#include "tilewave/base/environment.h"

#include <cmath>
#include <cstdlib>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/base/read_double.h"

namespace tilewave {

double seconds_from(const char* variable, double fallback) {
  const char* const text = std::getenv(variable);
  if (!text || !*text) return fallback;
  const std::optional<double> value = whole_double(text);
  if (value && *value > 0 && std::isfinite(*value)) return *value;
  throw Error(ExitCode::kUsage, std::string(variable) + " is '" + text +
                                    "': use a number of seconds above 0, as in 600 or 0.5");
}

}  // namespace tilewave
