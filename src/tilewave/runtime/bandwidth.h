// The limit that bench compares with: how fast this machine changes a large array in place.
#pragma once

#include <cstddef>

namespace tilewave::runtime {

/// Bytes a second (read + written) of x *= c over an array of doubles of `num_bytes`, in place, on
/// `num_threads` threads: the median of seven sweeps after a first that touches the memory.
double measure_scale_bandwidth(std::size_t num_bytes, int num_threads);

/// The same on a CUDA device. Throws Error(kResources) where there is no such device or not that
/// much memory free.
double measure_device_bandwidth(int device, std::size_t num_bytes);

}  // namespace tilewave::runtime
