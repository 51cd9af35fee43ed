#include "tilewave/field/device_set.h"

#include "tilewave/base/error.h"
#include "tilewave/runtime/device_list.h"

namespace tilewave::field {

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
  const auto cuda = runtime::parse_cuda_devices(rest);
  if (!cuda)
    throw Error(ExitCode::kUsage, flag + " " + text + ": unknown device: use " + kDeviceSetForms);
  set.cuda = *cuda;
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
