// Costs measured on this machine, kept between runs: one line a kind of device and of costs in
// $XDG_CACHE_HOME/tilewave/cuda_costs (or ~/.cache/tilewave/cuda_costs): a key, then numbers.
// Delete the file to measure again.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilewave/runtime/machine.h"

namespace tilewave::runtime {

/// "<model>/<driver>/<program version>/<what>": changes with all that the costs depend on.
std::string cost_key(const CudaDevice& device, const std::string& what);

/// The numbers of `key` in the file's text: none when it has no line with exactly `count` positive
/// numbers.
std::optional<std::vector<double>> find_costs(const std::string& text, const std::string& key,
                                              std::size_t count);
std::string print_costs(const std::string& key, std::span<const double> costs);

/// The file; empty where the user has no folder for it.
std::string cost_file();
/// A folder beside it, for what else is kept; empty likewise.
std::string cache_folder(const std::string& name);

/// Read from the file, or measured and added to it; read once a process. A file that cannot be
/// written is none.
std::vector<double> cached_costs(const std::string& key, std::size_t count,
                                 const std::function<std::vector<double>()>& measure);

}  // namespace tilewave::runtime
