// A kernel that traps: from then on every call of this process on the device fails.
#include <cuda_runtime.h>

namespace {
__global__ void trap() { asm volatile("trap;"); }
}  // namespace

int trap_device() {
  if (cudaSetDevice(0) != cudaSuccess) return -1;
  trap<<<1, 1>>>();
  return static_cast<int>(cudaDeviceSynchronize());
}
