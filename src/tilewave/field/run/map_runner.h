// A map on a set of processors: the CPU, or one or several CUDA devices taking pieces of the array
// in reading order. The CPU and a device never share an array: their functions may differ in the
// last bit (1 ulp), so the result would depend on the cut. `auto` compares measured seconds.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tilewave/field/jit/map_cuda.h"
#include "tilewave/field/map.h"
#include "tilewave/settings/device.h"

namespace tilewave::field {

class MapRunner {
 public:
  /// For arrays of about `num_pixels` in all. Throws Error(kUsage) for cpu+cuda, Error(kResources)
  /// where a device is missing.
  MapRunner(const MapExpression& expression, const MapOptions& options, std::int64_t width,
            std::int64_t num_pixels, const DeviceSet& set);
  ~MapRunner();

  /// As map_cpu.
  void run(std::int64_t y_begin, std::int64_t y_end, float* values);

  /// The processors and, for auto, why.
  std::string explain() const;

 private:
  const MapExpression& expression_;
  MapOptions options_;
  std::int64_t width_;
  DeviceSet set_;
  std::string reason_;
  std::vector<std::unique_ptr<MapCuda>> devices_;
};

}  // namespace tilewave::field
