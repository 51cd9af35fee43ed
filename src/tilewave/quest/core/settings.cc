// See settings.h.
#include "tilewave/quest/core/settings.h"

#include <cstdlib>

#include "tilewave/base/error.h"

namespace tilewave::quest {

const Settings& settings() {
  static const Settings instance = [] {
    Settings s;
    if (const char* device = std::getenv("TILEWAVE_DEVICE"); device && *device) s.device = device;
    if (const char* threads = std::getenv("TILEWAVE_THREADS"); threads && *threads) {
      char* end = nullptr;
      const long count = std::strtol(threads, &end, 10);
      if (*end || count < 1 || count > 4096) {
        throw Error(ExitCode::kUsage, std::string("TILEWAVE_THREADS is '") + threads +
                                          "': use a whole number from 1 to 4096");
      }
      s.num_threads = static_cast<int>(count);
    }
    return s;
  }();
  return instance;
}

}  // namespace tilewave::quest
