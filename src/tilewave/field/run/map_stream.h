// A map from file to file, in bands of rows. Used by the command line.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tilewave/field/map.h"
#include "tilewave/formats/raster/raster.h"
#include "tilewave/settings/device.h"

namespace tilewave::field {

struct MapJob {
  MapExpression expression = MapExpression::parse("v");
  MapOptions options;
  DeviceSet devices = DeviceSet::cpu();
  bool verify = false;
  std::optional<double> nodata;  ///< of the input; none: only what a mask hides is missing
  bool rounds = false;           ///< values that 32-bit floats do not hold are rounded to them
  /// float32, float16 or uint8: rounded, clamped to 0..255; to 0..254 where the input may have
  /// missing pixels, which are 255.
  formats::SampleType output = formats::SampleType::kFloat32;
  std::function<void(double fraction, double remaining_s)> on_progress;
};

struct MapSummary {
  std::string processors;  ///< which, and for auto why
  std::int64_t width = 0, height = 0;
  std::int64_t missing = 0;    ///< pixels without data: NaN, or 255 in bytes
  std::int64_t nonfinite = 0;  ///< other results that are NaN or infinite
  MapError error;              ///< with verify
  double read_s = 0, compute_s = 0, write_s = 0;
};

/// Whether pixels of such an input may hold no data.
inline bool may_miss(const MapJob& job, const formats::RasterInfo& input) {
  return job.nodata.has_value() || input.masked;
}

/// Runs one image of one channel. Throws Error(kInput) for a value that is not exact as a 32-bit
/// float, unless job.rounds.
MapSummary run_map(const MapJob& job, formats::RasterReader& in, formats::RasterWriter& out);

}  // namespace tilewave::field
