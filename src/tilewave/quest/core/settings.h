// What the environment variables TILEWAVE_DEVICE and TILEWAVE_THREADS say; read once.
#pragma once

#include <string>

namespace tilewave::quest {

struct Settings {
  std::string device = "auto";
  int num_threads = 0;  ///< 0: OpenMP's default
};

/// Throws Error(kUsage) for a count of threads that is none.
const Settings& settings();

}  // namespace tilewave::quest
