// The costs of CUDA devices, kept between runs: one line a kind of device in
// $XDG_CACHE_HOME/tilewave/cuda_costs (or ~/.cache/tilewave/cuda_costs). Delete the file to measure
// again.
#pragma once

#include <string>

#include "tilewave/field/cuda/entropy_cuda.h"

namespace tilewave::field {

/// Read from the file, or measured (a second) and added to it. A file that cannot be written is
/// none.
CudaCosts cached_cuda_costs(int device);

/// The costs of `key` in the file's text; false if it has none. For tests.
bool find_cuda_costs(const std::string& text, const std::string& key, CudaCosts& costs);
std::string print_cuda_costs(const std::string& key, const CudaCosts& costs);

}  // namespace tilewave::field
