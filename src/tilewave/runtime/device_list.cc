#include "tilewave/runtime/device_list.h"

#include <algorithm>
#include <charconv>

namespace tilewave::runtime {

namespace {
constexpr int kMostDevices = 64;  // of a machine
}

std::optional<std::vector<int>> parse_cuda_devices(std::string_view name) {
  constexpr std::string_view kCuda = "cuda";
  if (name.substr(0, kCuda.size()) != kCuda) return std::nullopt;
  if (name == kCuda) return std::vector<int>{0};
  const char *at = name.data() + kCuda.size(), *const end = name.data() + name.size();
  const auto number = [&]() -> std::optional<int> {
    int value = 0;
    const char* const first = at;
    if (first == end || *first < '0' || *first > '9') return std::nullopt;
    const auto [behind, error] = std::from_chars(first, end, value);
    if (error != std::errc{} || value >= kMostDevices) return std::nullopt;
    at = behind;
    return value;
  };
  std::vector<int> devices;
  for (char separator = ':'; at != end; separator = ',') {
    if (*at++ != separator) return std::nullopt;
    const std::optional<int> first = number();
    std::optional<int> last = first;
    if (first && at != end && *at == '-') {
      ++at;
      last = number();
    }
    if (!first || !last || *last < *first) return std::nullopt;
    for (int k = *first; k <= *last; ++k) {
      if (std::find(devices.begin(), devices.end(), k) != devices.end()) return std::nullopt;
      devices.push_back(k);
    }
  }
  return devices;
}

}  // namespace tilewave::runtime
