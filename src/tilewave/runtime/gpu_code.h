// Which code for GPUs a build holds, and what of it runs on a device: the driver takes machine code
// of the device's own compute capability X.Y or of an X.Z with Z < Y, else it compiles PTX of any
// capability up to the device's. Code named with "a" runs on exactly that capability, with "f" on
// those of its family, which have the same X.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewave::runtime {

struct GpuCode {
  int capability = 0;        ///< ten times X, and Y: 90 for 9.0
  bool is_ptx = false;       ///< compiled by the driver, not yet machine code
  char only_for = '\0';      ///< 'a', 'f', or 0: see above
  std::string text() const;  ///< "sm_90", "compute_90"

  bool operator==(const GpuCode&) const = default;
};

/// As CMake lists architectures: "80-real;90-virtual;100a-real" (or with commas), and "90" for both kinds. Throws
/// Error(kInternal) where an entry is none.
std::vector<GpuCode> parse_gpu_code(std::string_view list);

/// What this build was compiled for; empty without CUDA.
const std::vector<GpuCode>& built_gpu_code();

/// What the driver takes for a device of this compute capability, where anything runs on it.
std::optional<GpuCode> gpu_code_for(const std::vector<GpuCode>& all, int major, int minor);

/// For people: "machine code for sm_80, sm_90; PTX for compute_90 and later".
std::string gpu_code_text(const std::vector<GpuCode>& all);

}  // namespace tilewave::runtime
