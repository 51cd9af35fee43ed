// Which processors a field runs on, as people write it: cpu, cuda, cuda:1, cuda:0-3, cuda:0,2,
// cpu+cuda:0 (sharing), auto.
#pragma once

#include <string>
#include <vector>

namespace tilewave::field {

struct DeviceSet {
  bool automatic = false;
  bool cpu = false;
  std::vector<int> cuda;  ///< indices of devices, each once
  bool on_cuda() const { return !cuda.empty(); }
};

/// One sentence of what may be written, for help and errors.
extern const char* const kDeviceSetForms;

/// Throws Error(kUsage) for anything else; `flag` begins the message.
DeviceSet parse_device_set(const std::string& flag, const std::string& text);

std::string to_string(const DeviceSet& set);

}  // namespace tilewave::field
