#include "tilewave/base/units.h"

#include "tilewave/base/read_double.h"

namespace tilewave {
namespace {

constexpr double kMost = 1e6;  // beyond, digits say nothing

// Three digits, and all of those before the point: 1.23, 12.3, 1023; up to a million.
std::string in_digits(double value) {
  if (!(value <= kMost)) return "more than 1000000";
  return value < 999.5 ? write_double(value, std::chars_format::general, 3)
                       : write_double(value, std::chars_format::fixed, 0);
}

}  // namespace

std::string in_units(double value, const char* unit) {
  const char* prefixes[] = {"", "k", "M", "G", "T", "P"};
  int k = 0;
  for (; value >= 999.5 && k < 5; ++k) value /= 1000;
  const std::string prefixed = std::string(prefixes[k]) + unit;
  return in_digits(value) + (prefixed.empty() ? "" : " ") + prefixed;
}

std::string nine_digits(double value) { return write_double(value, std::chars_format::general, 9); }

std::string counted(std::uint64_t count, std::string_view what) {
  return std::to_string(count).append(" ").append(what).append(count == 1 ? "" : "s");
}

std::string in_bytes(std::uint64_t bytes) {
  double value = static_cast<double>(bytes);
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int k = 0;
  for (; value >= 1024 && k < 5; ++k) value /= 1024;
  return in_digits(value) + " " + units[k];
}

std::string in_time(double seconds) {
  if (seconds < 0.9995e-3) return in_digits(seconds * 1e6) + " us";
  if (seconds < 0.9995) return in_digits(seconds * 1e3) + " ms";
  return in_digits(seconds) + " s";
}

}  // namespace tilewave
