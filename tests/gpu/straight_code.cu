// What multiply-adds, and nothing else, reach of the rate of a device's units: 32 numbers a thread
// in a loop of so many KiB of straight code, and short loops by where the operands come from.
//   straight_code        lines on the standard output
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

namespace {

constexpr int kNumbers = 32;
constexpr int kInstructionBytes = 16;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "straight_code: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

/// When a block ran, on the clock of its multiprocessor.
struct Span {
  unsigned long long first, last;
  unsigned multiprocessor;
};

/// Notes the span of this block, whose first thread began at `first`: before any arithmetic, since
/// blocks that wait for a unit reach theirs late.
__device__ void end_span(Span* spans, long long first) {
  __syncthreads();
  if (threadIdx.x) return;
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  spans[blockIdx.x] = {static_cast<unsigned long long>(first),
                       static_cast<unsigned long long>(clock64()), multiprocessor};
}

/// Cycles that a multiprocessor took for all of its blocks, the median one.
double cycles_of(const Span* spans, int blocks) {
  std::vector<Span> host(static_cast<std::size_t>(blocks));
  check(cudaMemcpy(host.data(), spans, host.size() * sizeof host[0], cudaMemcpyDeviceToHost));
  std::map<unsigned, Span> all;
  for (const Span& s : host) {
    Span& own = all.try_emplace(s.multiprocessor, s).first->second;
    own.first = std::min(own.first, s.first);
    own.last = std::max(own.last, s.last);
  }
  std::vector<double> cycles;
  for (const auto& [multiprocessor, s] : all)
    cycles.push_back(static_cast<double>(s.last - s.first));
  std::nth_element(cycles.begin(), cycles.begin() + static_cast<std::ptrdiff_t>(cycles.size() / 2),
                   cycles.end());
  return cycles[cycles.size() / 2];
}

/// So much shared memory that no more blocks share a multiprocessor.
template <int Blocks, class Kernel>
int shared_for(Kernel kernel) {
  constexpr int kShared = 200 * 1024 / Blocks;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
  return kShared;
}

/// `Every`: rounds of 32 instructions between two barriers of the block; 0: none.
template <class T, int KiB, int Threads, int Blocks, int Every>
__global__ void __launch_bounds__(Threads, Blocks)
    multiply_adds(T* out, Span* spans, int repeats, T f) {
  const long long first = clock64();
  constexpr int kRounds = KiB * 1024 / kInstructionBytes / kNumbers;
  T a[kNumbers];
#pragma unroll
  for (int j = 0; j < kNumbers; ++j) a[j] = static_cast<T>(threadIdx.x + j) * f;
#pragma unroll 1
  for (int i = 0; i < repeats; ++i) {
#pragma unroll
    for (int k = 0; k < kRounds; ++k) {
      if constexpr (Every > 0) {
        if (k % Every == 0) __syncthreads();
      }
#pragma unroll
      for (int j = 0; j < kNumbers; ++j) a[j] += (k & 1 ? f : -f) * a[j ^ (1 << k % 5)];
    }
  }
  end_span(spans, first);
  T sum = 0;
#pragma unroll
  for (int j = 0; j < kNumbers; ++j) sum += a[j];
  out[blockIdx.x * Threads + threadIdx.x] = sum;
}

template <class T, int KiB, int Threads, int Blocks, int Every = 0>
void time_code(int multiprocessors, void* out, Span* spans) {
  const auto kernel = multiply_adds<T, KiB, Threads, Blocks, Every>;
  const int shared = shared_for<Blocks>(kernel);
  const int blocks = multiprocessors * Blocks, repeats = 4000 / KiB;
  for (int k = 0; k < 2; ++k) {
    kernel<<<blocks, Threads, shared>>>(static_cast<T*>(out), spans, repeats, T(1e-3));
    check(cudaGetLastError());
  }
  constexpr double kSchedulers = 4, kCyclesEach = sizeof(T) == 8 ? 2 : 1;
  constexpr double kEach = KiB * 1024 / kInstructionBytes;
  const double issued = repeats * kEach * (Blocks * Threads / 32 / kSchedulers) * kCyclesEach;
  std::printf("%s %3d KiB, %d x %3d threads, barrier every %3d instructions: %.2f\n",
              sizeof(T) == 8 ? "fp64" : "fp32", KiB, Blocks, Threads, Every * kNumbers,
              issued / cycles_of(spans, blocks));
}

enum class Factor { kOneRegister, kRegisters, kArgument };

/// x += f y with f in a register that all instructions read, in one of its own, or an argument.
template <class T, Factor From, int Threads, int Blocks>
__global__ void __launch_bounds__(Threads, Blocks)
    operands(T* out, Span* spans, int repeats, T argument, const T* memory) {
  const long long first = clock64();
  constexpr int kPairs = sizeof(T) == 8 ? 20 : 32, kRounds = 16;
  T x[kPairs], y[kPairs];
  const T f = memory[threadIdx.x];
#pragma unroll
  for (int j = 0; j < kPairs; ++j) x[j] = y[j] = f * static_cast<T>(j + 1);
#pragma unroll 1
  for (int i = 0; i < repeats; ++i) {
#pragma unroll
    for (int k = 0; k < kRounds; ++k) {
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
        const T factor = From == Factor::kArgument      ? argument
                         : From == Factor::kOneRegister ? f
                                                        : y[(j + 7) % kPairs];
        x[j] = fma(factor, y[j], x[j]);  // not a product made before the loop
      }
    }
  }
  end_span(spans, first);
  T sum = 0;
#pragma unroll
  for (int j = 0; j < kPairs; ++j) sum += x[j] + y[j];
  out[blockIdx.x * Threads + threadIdx.x] = sum;
}

template <class T, Factor From>
void time_operands(int multiprocessors, void* out, Span* spans, const char* name) {
  constexpr bool kDouble = sizeof(T) == 8;
  constexpr int kThreads = kDouble ? 128 : 256, kBlocks = kDouble ? 3 : 2;
  constexpr int kRepeats = 200, kInstructions = kRepeats * 16 * (kDouble ? 20 : 32);
  const std::vector<T> ones(kThreads, T(1));
  check(cudaMemcpy(out, ones.data(), kThreads * sizeof(T), cudaMemcpyHostToDevice));
  const auto kernel = operands<T, From, kThreads, kBlocks>;
  const int shared = shared_for<kBlocks>(kernel), blocks = multiprocessors * kBlocks;
  for (int k = 0; k < 2; ++k) {
    kernel<<<blocks, kThreads, shared>>>(static_cast<T*>(out) + kThreads, spans, kRepeats, T(1e-3),
                                         static_cast<const T*>(out));
    check(cudaGetLastError());
  }
  const double warps = kBlocks * kThreads / 32 / 4.0;  // of a scheduler
  std::printf("%s %s: %.2f cycles\n", kDouble ? "fp64" : "fp32", name,
              cycles_of(spans, blocks) / (kInstructions * warps));
}

template <class T>
void time_all_operands(int multiprocessors, void* out, Span* spans) {
  time_operands<T, Factor::kOneRegister>(multiprocessors, out, spans, "x += f y");
  time_operands<T, Factor::kRegisters>(multiprocessors, out, spans, "x += z y");
  time_operands<T, Factor::kArgument>(multiprocessors, out, spans, "x += argument y");
}

template <int... KiB>
void time_all(int multiprocessors, void* out, Span* spans) {
  (time_code<float, KiB, 256, 2>(multiprocessors, out, spans), ...);
  (time_code<double, KiB, 128, 3>(multiprocessors, out, spans), ...);
}

}  // namespace

int main() {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0));
  void* out = nullptr;
  Span* spans = nullptr;
  check(cudaMalloc(&out, std::size_t{64} << 20));
  check(cudaMalloc(&spans, std::size_t{1} << 20));
  const int m = device.multiProcessorCount;
  std::printf("%s, share of the peak\n", device.name);
  time_all<16, 32, 40, 48, 64, 80, 96, 112>(m, out, spans);
  time_code<float, 80, 256, 1>(m, out, spans);
  time_code<float, 80, 128, 2>(m, out, spans);
  time_code<float, 80, 512, 1>(m, out, spans);
  time_code<float, 80, 512, 1, 4>(m, out, spans);
  time_all_operands<float>(m, out, spans);
  time_all_operands<double>(m, out, spans);
}
