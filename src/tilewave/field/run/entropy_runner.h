// Entropy on a set of processors: the CPU, one or several CUDA devices, or both sharing an image.
//
// The longer axis of a region is cut into pieces, one a processor; pieces overlap in what they read
// and in nothing they write, so there is nothing to exchange and the bits are those of one
// processor. GPUs get equal pieces, the CPU what the costs say.
//
// `auto` compares seconds: measured ones of the CPU (this plan on a sample) against those of the
// device (copies in and out of pageable memory, kernel, start of the context), which are measured
// once and kept in a file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tilewave/field/cuda/entropy_cuda.h"
#include "tilewave/field/entropy.h"
#include "tilewave/settings/device.h"

namespace tilewave::field {

/// A device must promise this share of the time before `auto` leaves the CPU, or takes several.
inline constexpr double kWorthwhile = 0.85;
/// Seconds: below this the CPU is done before a device could be asked.
inline constexpr double kNeverAsk = 0.02;

/// The costs of a device: read from the file of the user's cache (runtime/cost_cache.h), or measured
/// (a second) and added to it.
CudaCosts cached_cuda_costs(int device);

/// What is known about the processors when `auto` chooses.
struct EntropyCosts {
  double cpu_s = 0;      ///< a pixel, all threads
  int num_devices = 0;   ///< alike
  bool started = false;  ///< the devices' contexts exist: start_s is not paid
  CudaCosts cuda;
  int update_columns = 0;  ///< of the rolling kernel: columns of the window; 0: packed kernel
  int code_bytes = 1;
};

/// The choice and why, one line.
struct EntropyChoice {
  DeviceSet set = DeviceSet::cpu();
  std::string reason;
  double cpu_s = 0, cuda_s = 0;  ///< predicted
};

/// Pure: for tests, and for `auto`.
EntropyChoice choose_processors(const EntropyCosts& costs, std::int64_t num_pixels);

/// Cut points of `total` in proportion to `weights` (positive), multiples of `grain` inside.
std::vector<std::int64_t> cut_axis(std::int64_t total, const std::vector<double>& weights,
                                   std::int64_t grain);

class EntropyRunner {
 public:
  /// Throws Error(kResources) where a device is missing. `auto` decides here, for the whole image.
  EntropyRunner(const EntropyPlan& plan, const DeviceSet& set);
  ~EntropyRunner();

  /// As entropy_cpu. 32-bit codes are for the CPU.
  template <class Code>
  void run(const CodeRows<Code>& codes, const Region& region, float* out, std::int64_t out_stride);

  const DeviceSet& set() const { return set_; }
  /// Plan, processors and, for auto, why.
  std::string explain() const;

 private:
  const EntropyPlan& plan_;
  DeviceSet set_;
  std::string reason_;
  std::vector<std::unique_ptr<EntropyCuda>> devices_;
  std::vector<double> weights_;  ///< of the devices, then of the CPU if it takes part
};

}  // namespace tilewave::field
