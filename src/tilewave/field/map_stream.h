// A map from file to file, in bands of rows. Used by the command line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tilewave/field/device_set.h"
#include "tilewave/field/map.h"
#include "tilewave/io/raster.h"

namespace tilewave::field {

struct MapJob {
  MapExpression expression = MapExpression::parse("v");
  MapOptions options;
  DeviceSet devices{.automatic = false, .cpu = true, .cuda = {}};
  bool verify = false;
  /// float32, float16 or uint8 (rounded, clamped to 0..255).
  io::SampleType output = io::SampleType::kFloat32;
  std::int64_t band_bytes = std::int64_t{64} << 20;
  std::function<void(double fraction, double remaining_s)> on_progress;
};

struct MapSummary {
  std::string processors;  ///< which, and for auto why
  std::int64_t width = 0, height = 0;
  std::int64_t missing = 0;    ///< pixels that hold what the file declares as no data: NaN
  std::int64_t nonfinite = 0;  ///< other results that are NaN or infinite
  MapError error;              ///< with verify
  double read_s = 0, compute_s = 0, write_s = 0;
};

/// Every channel of the input must be the only one. 64-bit floats are refused: they would lose
/// digits.
MapSummary run_map(const MapJob& job, io::RasterReader& in, io::RasterWriter& out);

}  // namespace tilewave::field
