// The names of CUDA devices as people write them: `cuda`, `cuda:1`, `cuda:0-3`, `cuda:0,2`.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace tilewave::runtime {

/// The devices of a name, each once and in the order given; `cuda` is device 0. Nothing for any
/// other text.
std::optional<std::vector<int>> parse_cuda_devices(std::string_view name);

}  // namespace tilewave::runtime
