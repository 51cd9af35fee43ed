// Shots made on GPUs, behind the interface of all samplers (ShotSource).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tilewave/stabilizer/cuda/gpu_run.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {

/// `make(device)` readies a device; `engine` and `program` are what engine() and explain() tell.
std::unique_ptr<ShotSource> make_gpu_source(const std::vector<int>& devices,
                                            const std::function<std::unique_ptr<GpuRun>(int)>& make,
                                            std::uint64_t num_bits, std::string engine,
                                            std::string program);

}  // namespace tilewave::stabilizer
