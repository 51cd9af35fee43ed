#include "tilewave/base/units.h"

#include <cstdio>

namespace tilewave {

std::string in_units(double value, const char* unit) {
  const char* prefixes[] = {"", "k", "M", "G", "T", "P"};
  int k = 0;
  for (; value >= 1000 && k < 5; ++k) value /= 1000;
  char text[48];
  std::snprintf(text, sizeof text, "%.3g %s%s", value, prefixes[k], unit);
  return text;
}

std::string in_bytes(std::uint64_t bytes) {
  double value = static_cast<double>(bytes);
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int k = 0;
  for (; value >= 1024 && k < 5; ++k) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", value, units[k]);
  return text;
}

std::string in_time(double seconds) {
  char text[32];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof text, "%.3g us", seconds * 1e6);
  } else if (seconds < 1) {
    std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.3g s", seconds);
  }
  return text;
}

}  // namespace tilewave
