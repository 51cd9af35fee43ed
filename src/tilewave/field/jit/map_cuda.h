// Maps on a CUDA device: the expression becomes a kernel compiled at run time. The driver and the
// compiler (NVRTC) are loaded when first used, so any build can do it; where one is missing the
// error says which and what to do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tilewave/field/map.h"

namespace tilewave::field {

/// CUDA source of `map_kernel` and `look_up_kernel`, and how the first is launched.
struct MapKernel {
  std::string source;
  unsigned threads = 256;  // a block
  unsigned values = 4;     // a thread; look_up_kernel: always 256 threads of 4
};

/// `width` decides whether the residues of ix follow from a thread's lane; `once`: the number of
/// repetitions is 1; `overlaps`: launches may start before the one ahead has ended (compute
/// capability 9.0).
MapKernel make_map_kernel(const MapExpression& expression, MapPrecision precision,
                          std::int64_t width, bool once, bool overlaps = false);

class MapCuda {
 public:
  /// Compiles for `device`. Throws Error(kResources) where driver, device or compiler is missing.
  MapCuda(const MapExpression& expression, const MapOptions& options, std::int64_t width,
          int device);
  ~MapCuda();
  MapCuda(const MapCuda&) = delete;
  MapCuda& operator=(const MapCuda&) = delete;

  /// As map_cpu: rows [y_begin, y_end) in place, host memory.
  void run(std::int64_t y_begin, std::int64_t y_end, float* values);
  /// The same for pixels [first, first + count) in reading order; first is a multiple of 16. Not
  /// for kLut.
  void run_flat(std::int64_t first, std::int64_t count, float* values);
  /// kLut for pixels in reading order, of an array whose domain is proven by `table`.
  void look_up_flat(const MapTable& table, std::int64_t first, std::int64_t count, float* values);

  /// The same on data already on the device (16-byte aligned), on `stream` (a CUstream); does not
  /// wait. From compute capability 9.0 on, a launch starts while the one before in the stream ends.
  void run_on_device(std::int64_t first, std::int64_t count, float* values, void* stream);
  /// kLut on the device; the table is copied when it is not the one of the call before.
  void look_up_on_device(const MapTable& table, std::int64_t first, std::int64_t count,
                         float* values, void* stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewave::field
