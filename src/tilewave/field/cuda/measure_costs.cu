// What entropy costs on a CUDA device: its kernels and copies timed on an image of 4096 x 4096
// pixels.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "tilewave/field/cuda/device_buffer.cuh"
#include "tilewave/field/cuda/entropy_cuda.h"

namespace tilewave::field {

CudaCosts measure_cuda_costs(int device) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  CudaCosts costs;
  auto start = Clock::now();
  check(cudaSetDevice(device), "choose the device");
  constexpr std::int64_t kSide = 4096;
  EntropyOptions small, large;
  large.levels = 200;
  large.window = Footprint::rectangle(11, 11);
  EntropyCuda packed(EntropyPlan(small, kSide, kSide), device);
  DeviceBuffer in, out;
  constexpr std::size_t kPixels = kSide * kSide;
  auto* codes = in.reserve<std::uint8_t>(kPixels);
  auto* result = out.reserve<float>(kPixels);
  check(cudaMemset(codes, 3, kPixels), "fill the image");
  const Region all{0, kSide, 0, kSide};
  const auto kernel_s = [&](EntropyCuda& e) {
    e.run_on_device(codes, kSide, all, result, kSide, nullptr);
    check(cudaDeviceSynchronize(), "finish the entropy on the device");
    const auto begin = Clock::now();
    e.run_on_device(codes, kSide, all, result, kSide, nullptr);
    check(cudaDeviceSynchronize(), "finish the entropy on the device");
    return since(begin) / static_cast<double>(kPixels);
  };
  std::vector<float> host(kPixels, 1.0f);  // both copies touch the same pages
  check(cudaMemcpy(result, host.data(), kPixels * 4, cudaMemcpyHostToDevice),
        "copy to or from the device");
  costs.start_s = since(start);
  costs.packed_s = kernel_s(packed);
  EntropyCuda rolling(EntropyPlan(large, kSide, kSide), device);
  // random classes: equal ones cancel
  std::uint32_t state = 1;
  std::vector<std::uint8_t> random(kPixels);
  for (auto& c : random) {
    state = state * 1664525u + 1013904223u;
    c = static_cast<std::uint8_t>((state >> 24) % 200);
  }
  start = Clock::now();
  check(cudaMemcpy(codes, random.data(), kPixels, cudaMemcpyHostToDevice),
        "copy to or from the device");
  check(cudaMemcpy(result, host.data(), kPixels * 4, cudaMemcpyHostToDevice),
        "copy to or from the device");
  costs.in_bytes_per_s = 5.0 * kPixels / since(start);
  costs.update_s = kernel_s(rolling) / 11;
  start = Clock::now();
  check(cudaMemcpy(host.data(), result, kPixels * 4, cudaMemcpyDeviceToHost),
        "copy to or from the device");
  costs.out_bytes_per_s = 4.0 * kPixels / since(start);
  const Region pixel{0, 1, 0, 1};
  const CodeRows<std::uint8_t> rows{random.data(), kSide, kSide, kSide, 0, kSide};
  packed.run(rows, pixel, host.data(), 1);
  start = Clock::now();
  packed.run(rows, pixel, host.data(), 1);
  costs.call_s = since(start);
  return costs;
}

}  // namespace tilewave::field
