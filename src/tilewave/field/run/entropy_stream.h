// From file to file: rows are read, quantised, run and written in bands with their halo, so memory
// does not grow with the height of the image. Used by the command line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tilewave/field/entropy.h"
#include "tilewave/field/quantise.h"
#include "tilewave/formats/raster/raster.h"
#include "tilewave/settings/device.h"

namespace tilewave::field {

struct EntropyJob {
  EntropyOptions options;
  Quantisation quantisation;
  /// float32, float16, or uint8: round(254 * H / log K), 255 where there is no value.
  formats::SampleType output = formats::SampleType::kFloat32;
  DeviceSet devices = DeviceSet::cpu();
  std::string view_path;  ///< a colour picture with its scale; empty: none
  std::function<void(double fraction, double remaining_s)> on_progress;
};

struct EntropySummary {
  std::string plan;
  std::int64_t width = 0, height = 0;
  std::int64_t valid_pixels = 0;
  double mean = 0, least = 0, most = 0;  ///< over valid pixels; of no meaning without any
  std::int64_t outside = 0;              ///< values outside of a given range: in its end classes
  double read_s = 0, compute_s = 0, write_s = 0;
};

/// Runs one image of one channel.
EntropySummary run_entropy(const EntropyJob& job, formats::RasterReader& in,
                           formats::RasterWriter& out);

}  // namespace tilewave::field
