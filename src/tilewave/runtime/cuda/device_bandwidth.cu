// The limit bench compares with on a device: x *= c over a large array in place, a thread 16 bytes.
#include <algorithm>
#include <vector>

#include "tilewave/runtime/bandwidth.h"
#include "tilewave/runtime/cuda/memory.h"

namespace tilewave::runtime {

namespace {

__global__ void __launch_bounds__(256) scale_kernel(double2* x, std::size_t count, double c) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  double2 v = x[i];
  v.x *= c;
  v.y *= c;
  x[i] = v;
}

}  // namespace

double measure_device_bandwidth(int device, std::size_t num_bytes) {
  cuda::use_device(device);
  const cuda::Stream stream;
  cuda::DeviceArena arena(num_bytes, "the array that measures the device's memory");
  const std::size_t count = num_bytes / sizeof(double2);
  auto* x = arena.take<double2>(count);
  cuda::check(cuda::driver().fill(x, 0x3c, num_bytes, stream.get()), "fill device memory");
  std::vector<double> s;
  for (int k = 0; k < 8; ++k) {
    cuda::Event before, after;
    before.record(stream);
    cuda::launch(scale_kernel, dim3(static_cast<unsigned>((count + 255) / 256)), dim3(256), 0,
                 stream, x, count, 1.000001);
    after.record(stream);
    const double taken = after.seconds_since(before);
    if (k) s.push_back(taken);  // the first brings the kernel to the device
  }
  std::nth_element(s.begin(), s.begin() + 3, s.end());
  return 2 * static_cast<double>(num_bytes) / s[3];
}

}  // namespace tilewave::runtime
