// Samples of a raster, whatever their type: visited, compared with a declared value, and made of
// floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tilewave/formats/raster/half.h"
#include "tilewave/formats/raster/raster.h"
#include "tilewave/formats/raster/sample_types.h"

namespace tilewave::field {

inline double as_double(formats::Half h) { return static_cast<double>(formats::to_float(h)); }
template <class T>
double as_double(T v) {
  return static_cast<double>(v);
}

using formats::with_type;

/// The value as a sample of the type holds it: -9999.9 in 32-bit floats is -9999.900390625. What
/// would become infinite stays, and is no sample.
inline double as_sample(formats::SampleType type, double value) {
  double rounded = value;
  if (type == formats::SampleType::kFloat16)
    rounded = as_double(formats::to_half(static_cast<float>(value)));
  if (type == formats::SampleType::kFloat32)
    rounded = static_cast<double>(static_cast<float>(value));
  return std::isfinite(rounded) ? rounded : value;
}

/// The nearest whole number of 0..most (255 at most), halves up; v is a number. Adding 0.5 would
/// round 0.49999997 up.
inline std::uint8_t to_byte(float v, float most) {
  return static_cast<std::uint8_t>(std::clamp(v, 0.0f, most) + 0.49999997f);
}

}  // namespace tilewave::field
