// Sliding kernel (K too large for that): a warp slides one window along a row. The cells that enter
// and leave are dealt to its lanes, which count them by atomics in shared memory; an atomic returns
// the count before, so the changes of the sum telescope to the exact value whatever the order.
#pragma once

#include "tilewave/field/cuda/entropy_device.cuh"
#include "tilewave/runtime/cuda/lane_sums.cuh"

namespace tilewave::field::device {

/// One cell of the window that changes when it moves one pixel right, relative to the new pixel.
struct Cell {
  std::int16_t dx, dy;
};

/// A warp a row segment of `segment` pixels. cells: `all` of the window, then `changes` entering,
/// then `changes` leaving.
template <class Code, class Sum>
__global__ void entropy_sliding_kernel(const Code* __restrict__ image, float* __restrict__ out,
                                       Geometry g, Tables t, const Cell* __restrict__ cells,
                                       int all, int changes, int4 extent, int segment) {
  extern __shared__ std::int32_t histograms[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  std::int32_t* counts = histograms + static_cast<std::int64_t>(warp) * (g.levels + 1);
  const std::int64_t segments = (g.x_end - g.x_begin + segment - 1) / segment;
  const std::int64_t job = std::int64_t{blockIdx.x} * warps + warp;
  const std::int64_t y = g.y_begin + job / segments;
  if (y >= g.y_end) return;
  const std::int64_t x_first = g.x_begin + job % segments * segment;
  const std::int64_t x_last = min(x_first + segment, g.x_end);
  for (int i = lane; i <= g.levels; i += 32) counts[i] = 0;
  __syncwarp();
  const Sum* const sums = sums_of<Sum>(t);
  Sum sum = 0;  // of sums[n] over all classes, the invalid one included
  for (std::int64_t x = x_first; x < x_last; ++x) {
    Sum change = 0;
    const Cell* enter = x == x_first ? cells : cells + all;
    const int entering = x == x_first ? all : changes;
    for (int i = lane; i < entering; i += 32) {
      const int n = atomicAdd(&counts[border_code(image, g, x + enter[i].dx, y + enter[i].dy)], 1);
      change += sums[n + 1] - sums[n];
    }
    __syncwarp();
    if (x > x_first) {
      const Cell* leave = cells + all + changes;
      for (int i = lane; i < changes; i += 32) {
        const int n =
            atomicSub(&counts[border_code(image, g, x + leave[i].dx, y + leave[i].dy)], 1);
        change -= sums[n] - sums[n - 1];
      }
    }
    __syncwarp();
    sum += runtime::cuda::sum_of_lanes(change);
    if (lane == 0) {
      const std::int32_t invalid = counts[g.levels];
      const std::int32_t count = g.border == kStudy
                                     ? study_population(x, extent.x, extent.y, g.width) *
                                           study_population(y, extent.z, extent.w, g.height)
                                     : t.max_count - invalid;
      float h = entropy(t, sum - sums[invalid], count);
      if (g.border == kValid && leaves_image(g, x, y, extent.x, extent.y, extent.z, extent.w)) {
        h = __int_as_float(0x7fc00000);
      }
      out[(y - g.y_begin) * g.out_stride + x] = h;
    }
    __syncwarp();
  }
}

}  // namespace tilewave::field::device
