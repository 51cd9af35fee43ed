#include "tilewave/field/device_set.h"

#include <algorithm>
#include <charconv>

#include "tilewave/base/error.h"

namespace tilewave::field {
namespace {

constexpr int kMostDevices = 64;

// A whole number at `at`, which moves past it; -1 if there is none.
int number_at(const std::string& text, std::size_t& at) {
  int value = -1;
  const char* first = text.data() + at;
  const auto [last, status] = std::from_chars(first, text.data() + text.size(), value);
  if (status != std::errc() || value < 0 || value >= kMostDevices || *first == '-') return -1;
  at += static_cast<std::size_t>(last - first);
  return value;
}

// "0", "0-3", "0,2" after "cuda:"; false for anything else.
bool parse_indices(const std::string& text, std::vector<int>& indices) {
  for (std::size_t at = 0;;) {
    const int first = number_at(text, at);
    if (first < 0) return false;
    int last = first;
    if (at < text.size() && text[at] == '-') last = number_at(text, ++at);
    if (last < first) return false;
    for (int i = first; i <= last; ++i) {
      if (std::find(indices.begin(), indices.end(), i) != indices.end()) return false;
      indices.push_back(i);
    }
    if (at == text.size()) return true;
    if (text[at++] != ',') return false;
  }
}

}  // namespace

const char* const kDeviceSetForms =
    "cpu, cuda, cuda:<index>, cuda:<first>-<last>, cuda:<index>,<index>, cpu+cuda:<...>, or auto";

DeviceSet parse_device_set(const std::string& flag, const std::string& text) {
  DeviceSet set;
  std::string rest = text;
  if (rest == "auto") {
    set.automatic = true;
    return set;
  }
  if (rest == "cpu" || rest.starts_with("cpu+")) {
    set.cpu = true;
    rest.erase(0, 4);
    if (text == "cpu") return set;
  }
  if (rest == "cuda") {
    set.cuda = {0};
    return set;
  }
  if (!rest.starts_with("cuda:") || !parse_indices(rest.substr(5), set.cuda)) {
    throw Error(ExitCode::kUsage, flag + " " + text + ": unknown device: use " + kDeviceSetForms);
  }
  return set;
}

std::string to_string(const DeviceSet& set) {
  if (set.automatic) return "auto";
  std::string text = set.cpu ? "cpu" : "";
  for (std::size_t i = 0; i < set.cuda.size(); ++i) {
    text += i > 0 ? "," : set.cpu ? "+cuda:" : "cuda:";
    text += std::to_string(set.cuda[i]);
  }
  return text;
}

}  // namespace tilewave::field
