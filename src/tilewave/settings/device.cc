#include "tilewave/settings/device.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/settings/words.h"

namespace tilewave {

namespace {

constexpr int kMostDevices = 64;  // of a machine

// What follows "cuda": nothing, or numbers and ranges of numbers.
std::optional<std::vector<int>> parse_indices(std::string_view text) {
  if (text.empty()) return std::vector<int>{0};
  const char *at = text.data(), *const end = text.data() + text.size();
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

}  // namespace

std::string device_words() {
  return "auto, cpu, cuda, cuda:<index>, cuda:<first>-<last> or cuda:<index>,<index>";
}

DeviceSet DeviceSet::cpu() {
  DeviceSet set;
  set.is_auto_ = false;
  set.has_cpu_ = true;
  return set;
}

DeviceSet DeviceSet::cuda(std::vector<int> indices) {
  TW_CHECK(!indices.empty(), "a set of devices has one at least");
  DeviceSet set;
  set.is_auto_ = false;
  set.cuda_ = std::move(indices);
  return set;
}

DeviceSet DeviceSet::cpu_and_cuda(std::vector<int> indices) {
  DeviceSet set = cuda(std::move(indices));
  set.has_cpu_ = true;
  return set;
}

DeviceSet DeviceSet::parse(std::string_view text) {
  const std::string lower = lower_case(text);
  std::string_view rest = lower;
  if (rest == "auto") return automatic();
  if (rest == "cpu") return cpu();
  const bool has_cpu = rest.starts_with("cpu+");
  if (has_cpu) rest.remove_prefix(4);
  for (const std::string_view word : {"cuda", "gpu"}) {
    if (!rest.starts_with(word)) continue;
    auto indices = parse_indices(rest.substr(word.size()));
    if (!indices) continue;
    DeviceSet set = has_cpu ? cpu_and_cuda(std::move(*indices)) : cuda(std::move(*indices));
    set.is_numbered_ = rest.size() > word.size();
    return set;
  }
  fail(ExitCode::kUsage, "unknown device ", quoted(text), ": use ", device_words());
}

std::string DeviceSet::text() const {
  if (is_auto_) return "auto";
  std::string text = has_cpu_ ? "cpu" : "";
  if (!is_numbered_) return text + (has_cpu_ ? "+cuda" : "cuda");
  for (std::size_t k = 0; k < cuda_.size(); ++k) {
    text += k > 0 ? "," : has_cpu_ ? "+cuda:" : "cuda:";
    text += std::to_string(cuda_[k]);
  }
  return text;
}

void need_one_kind(const DeviceSet& devices) {
  if (devices.has_cpu() && !devices.cuda().empty()) {
    fail(ExitCode::kUsage, "device '", devices.text(),
         "': only rasters and maps are shared by a CPU and GPUs: use ", device_words());
  }
}

}  // namespace tilewave
