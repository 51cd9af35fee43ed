// Entropy on one CUDA device. The result has the same bits as entropy_cpu.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tilewave/field/entropy.h"
#include "tilewave/runtime/machine.h"

namespace tilewave::field {

/// What a device costs; measured once (measure_cuda_costs).
struct CudaCosts {
  double start_s = 0;          ///< context, first kernel: once a process
  double call_s = 0;           ///< a run of one pixel
  double in_bytes_per_s = 0;   ///< from pageable host memory
  double out_bytes_per_s = 0;  ///< to pageable host memory
  double packed_s = 0;         ///< a pixel of the packed kernel (5x5, 16 classes)
  double update_s = 0;         ///< a pixel and column of the window, rolling kernel
};

/// Whether a device would run its packed kernel: 3x3 and 5x5 windows of at most 16 classes.
inline bool packed_kernel_serves(const EntropyPlan& plan) {
  const Footprint& w = plan.window();
  return w.is_rectangle() && w.width() == w.height() && (w.width() == 3 || w.width() == 5) &&
         plan.options().levels <= 16;
}

/// Whether a device can run a plan: it holds the histogram of a warp in shared memory, or none.
inline bool cuda_serves(const EntropyPlan& plan, const runtime::CudaDevice& device) {
  const std::uint64_t histogram_bytes = 4 * (static_cast<std::uint64_t>(plan.options().levels) + 1);
  return device.has_code && plan.code_bytes() <= 2 &&
         (packed_kernel_serves(plan) || histogram_bytes <= device.shared_bytes);
}

class EntropyCuda {
 public:
  /// Throws Error(kResources) where this build or machine has no such device.
  EntropyCuda(const EntropyPlan& plan, int device);
  ~EntropyCuda();
  EntropyCuda(const EntropyCuda&) = delete;
  EntropyCuda& operator=(const EntropyCuda&) = delete;

  /// As entropy_cpu; returns when `out` is complete.
  void run(const CodeRows<std::uint8_t>& codes, const Region& region, float* out,
           std::int64_t out_stride);
  void run(const CodeRows<std::uint16_t>& codes, const Region& region, float* out,
           std::int64_t out_stride);

  /// Data already on the device: codes of the rows and columns plan.needed(region), the first at
  /// codes[0] with `pitch` codes a row; the region's pixels to out, out_stride floats a row; on
  /// `stream` (a cudaStream_t). Returns without waiting.
  void run_on_device(const std::uint8_t* codes, std::int64_t pitch, const Region& region,
                     float* out, std::int64_t out_stride, void* stream);
  void run_on_device(const std::uint16_t* codes, std::int64_t pitch, const Region& region,
                     float* out, std::int64_t out_stride, void* stream);

  int device() const;
  /// "packed", "rolling" or "sliding".
  const char* kernel() const;
  std::string explain() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// How many devices there are; 0 in a build without CUDA.
int num_cuda_devices();
/// Runs small copies and kernels on the device; a second the first time in a process.
CudaCosts measure_cuda_costs(int device);
/// Makes host memory fast to copy from and to (page-locked); false where it cannot.
bool pin_host_memory(void* data, std::size_t num_bytes);
void unpin_host_memory(void* data);

}  // namespace tilewave::field
