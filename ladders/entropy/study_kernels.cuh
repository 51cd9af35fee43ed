// The device versions of the study and two steps beyond: a version is a choice of where ln n comes
// from, what counts, what computes and how the image is read. A thread a pixel, blocks of 32 x 32.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace study {

using Byte = std::uint8_t;

constexpr int kClasses = 16, kRadius = 2, kCells = 25;

// An image's rows in device memory, addressed by the row of the whole image; rows y_begin .. y_end
// are asked for. out[y * width + x].
struct Job {
  const float* floats;
  const Byte* bytes;
  cudaTextureObject_t texture, logs_texture;
  float* out;
  int width, height, y_begin, y_end;
};

__device__ __forceinline__ int population(const Job& j, int x, int y) {
  return (min(x, kRadius) + 1 + min(j.width - 1 - x, kRadius)) *
         (min(y, kRadius) + 1 + min(j.height - 1 - y, kRadius));
}

// ---- where ln n comes from ----

// ln n for n = 0 .. 25, 0 for 0.
template <class T>
struct LogTable {
  T at[kCells + 1] = {0.0,
                      0.0,
                      0.6931471805599453,
                      1.0986122886681098,
                      1.3862943611198906,
                      1.6094379124341003,
                      1.791759469228055,
                      1.9459101490553132,
                      2.0794415416798357,
                      2.1972245773362196,
                      2.302585092994046,
                      2.3978952727983707,
                      2.4849066497880004,
                      2.5649493574615367,
                      2.6390573296152584,
                      2.70805020110221,
                      2.772588722239781,
                      2.833213344056216,
                      2.8903717578961645,
                      2.9444389791664403,
                      2.995732273553991,
                      3.044522437723423,
                      3.091042453358316,
                      3.1354942159291497,
                      3.1780538303479458,
                      3.2188758248682006};
};
__constant__ constexpr LogTable<double> constant_logs{};
__device__ LogTable<double> device_logs{};

template <class T>
struct Computed {
  __device__ explicit Computed(const Job&) {}
  __device__ T operator()(int n) const { return n == 0 ? T{0} : log(static_cast<T>(n)); }
};
struct ComputedFast {
  __device__ explicit ComputedFast(const Job&) {}
  __device__ float operator()(int n) const { return n == 0 ? 0.0f : __logf(static_cast<float>(n)); }
};
template <class T>
struct InRegisters {
  LogTable<T> table;
  __device__ explicit InRegisters(const Job&) {}
  __device__ T operator()(int n) const { return table.at[n]; }
};
struct InShared {
  double* table;
  __device__ explicit InShared(const Job&) {
    __shared__ double shared[kCells + 1];
    table = shared;
    if (threadIdx.y == 0 && threadIdx.x <= kCells)
      table[threadIdx.x] = threadIdx.x == 0 ? 0.0 : log(static_cast<double>(threadIdx.x));
    __syncthreads();
  }
  __device__ double operator()(int n) const { return table[n]; }
};
struct InConstant {
  __device__ explicit InConstant(const Job&) {}
  __device__ double operator()(int n) const { return constant_logs.at[n]; }
};
struct InDevice {
  __device__ explicit InDevice(const Job&) {}
  __device__ double operator()(int n) const { return device_logs.at[n]; }
};
struct InTexture {
  cudaTextureObject_t table;
  __device__ explicit InTexture(const Job& j) : table(j.logs_texture) {}
  __device__ float operator()(int n) const { return tex1Dfetch<float>(table, n); }
};

// ---- how the image is read ----

struct FromFloats {
  static __device__ int at(const Job& j, int x, int y) {
    return static_cast<int>(j.floats[y * j.width + x]);
  }
};
struct FromTexture {
  static __device__ int at(const Job& j, int x, int y) {
    return static_cast<int>(tex2D<float>(j.texture, x, y));
  }
};
struct FromBytes {
  static __device__ int at(const Job& j, int x, int y) { return j.bytes[y * j.width + x]; }
};

// ---- the versions of the study on the device: a thread a pixel, blocks of 32 x 32 ----

template <class Counter, class Real, class Logs>
__device__ __forceinline__ float entropy_of(const Counter* counts, int n, const Logs& logs) {
  Real h = logs(n);
  const Real inverse = Real{1} / n;
  for (int i = 0; i < kClasses; ++i) h -= static_cast<Real>(logs(counts[i])) * counts[i] * inverse;
  return static_cast<float>(h);
}

template <class Counter, class Real, class Logs, class Image>
__global__ void __launch_bounds__(1024, 1) window(Job j) {
  const Logs logs(j);
  const int x = blockIdx.x * 32 + threadIdx.x, y = j.y_begin + blockIdx.y * 32 + threadIdx.y;
  if (x >= j.width || y >= j.y_end) return;
  Counter counts[kClasses] = {};
  for (int dy = -kRadius; dy <= kRadius; ++dy) {
    if (y + dy < 0 || y + dy >= j.height) continue;
    for (int dx = -kRadius; dx <= kRadius; ++dx) {
      if (x + dx >= 0 && x + dx < j.width) ++counts[Image::at(j, x + dx, y + dy)];
    }
  }
  j.out[y * j.width + x] = entropy_of<Counter, Real>(counts, population(j, x, y), logs);
}

// v9: a block reads 32 x 32 cells into shared memory and answers the inner 28 x 28.
constexpr int kTile = 32, kInner = kTile - 2 * kRadius;
__global__ void __launch_bounds__(1024, 1) tiled(Job j) {
  __shared__ signed char tile[kTile][kTile];
  const InRegisters<float> logs(j);
  const int x = blockIdx.x * kInner + threadIdx.x - kRadius;
  const int y = j.y_begin + blockIdx.y * kInner + threadIdx.y - kRadius;
  const bool inside = x >= 0 && x < j.width && y >= 0 && y < j.height && y < j.y_end + kRadius;
  tile[threadIdx.y][threadIdx.x] = inside ? FromFloats::at(j, x, y) : -1;
  __syncthreads();
  const int tx = threadIdx.x, ty = threadIdx.y;
  if (tx < kRadius || tx >= kTile - kRadius || ty < kRadius || ty >= kTile - kRadius) return;
  if (x >= j.width || y >= j.y_end) return;
  signed char counts[kClasses] = {};
  for (int dy = -kRadius; dy <= kRadius; ++dy) {
    for (int dx = -kRadius; dx <= kRadius; ++dx) {
      const int c = tile[ty + dy][tx + dx];
      if (c >= 0) ++counts[c];
    }
  }
  j.out[y * j.width + x] = entropy_of<signed char, double>(counts, population(j, x, y), logs);
}

// The study's other way to several GPUs: each counts four of the sixteen classes everywhere.
// parts[part][y][x] = sum over its classes of n ln n; added up at the end.
constexpr int kParts = 4;
__global__ void __launch_bounds__(1024, 1) class_part(Job j, int part, float* parts) {
  const InConstant logs(j);
  const int x = blockIdx.x * 32 + threadIdx.x, y = j.y_begin + blockIdx.y * 32 + threadIdx.y;
  if (x >= j.width || y >= j.y_end) return;
  unsigned counts = 0;  // four bytes
  for (int dy = -kRadius; dy <= kRadius; ++dy) {
    if (y + dy < 0 || y + dy >= j.height) continue;
    for (int dx = -kRadius; dx <= kRadius; ++dx) {
      if (x + dx < 0 || x + dx >= j.width) continue;
      const int c = FromFloats::at(j, x + dx, y + dy) - 4 * part;
      if (c >= 0 && c < 4) counts += 1u << (8 * c);
    }
  }
  double sum = 0;
  for (int c = 0; c < 4; ++c) {
    const int n = (counts >> (8 * c)) & 255;
    sum += n * logs(n);
  }
  parts[y * j.width + x] = static_cast<float>(sum);
}
__global__ void add_parts(Job j, const float* parts) {
  const InConstant logs(j);
  const int x = blockIdx.x * 32 + threadIdx.x, y = j.y_begin + blockIdx.y * 32 + threadIdx.y;
  if (x >= j.width || y >= j.y_end) return;
  const std::int64_t plane = std::int64_t{j.width} * j.height, at = y * j.width + x;
  double sum = 0;
  for (int k = 0; k < kParts; ++k) sum += parts[k * plane + at];
  const int n = population(j, x, y);
  j.out[at] = static_cast<float>(logs(n) - sum / n);
}

// ---- beyond the study: no array is indexed by what is known at run time only ----

// Sixteen counters as the bytes of two 64-bit registers: a shift past the end counts nothing.
template <class Image>
__global__ void __launch_bounds__(1024, 1) packed_counters(Job j) {
  __shared__ float terms[kCells + 1];  // n ln n
  if (threadIdx.y == 0 && threadIdx.x <= kCells)
    terms[threadIdx.x] = static_cast<float>(threadIdx.x * constant_logs.at[threadIdx.x]);
  __syncthreads();
  const int x = blockIdx.x * 32 + threadIdx.x, y = j.y_begin + blockIdx.y * 32 + threadIdx.y;
  if (x >= j.width || y >= j.y_end) return;
  std::uint64_t low = 0, high = 0;
  for (int dy = -kRadius; dy <= kRadius; ++dy) {
    if (y + dy < 0 || y + dy >= j.height) continue;
    for (int dx = -kRadius; dx <= kRadius; ++dx) {
      if (x + dx < 0 || x + dx >= j.width) continue;
      const int c = Image::at(j, x + dx, y + dy);
      const std::uint64_t one = std::uint64_t{1} << (8 * (c & 7));
      low += c < 8 ? one : 0;
      high += c < 8 ? 0 : one;
    }
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) sum += terms[(low >> (8 * k)) & 255] + terms[(high >> (8 * k)) & 255];
  const int n = population(j, x, y);
  j.out[y * j.width + x] = static_cast<float>(constant_logs.at[n]) - sum / static_cast<float>(n);
}

}  // namespace study
