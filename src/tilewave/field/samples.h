// Samples of a raster, whatever their type: visited, compared with a declared value, and made of
// floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tilewave/io/half.h"
#include "tilewave/io/raster.h"

namespace tilewave::field {

inline double as_double(io::Half h) { return static_cast<double>(io::to_float(h)); }
template <class T>
double as_double(T v) {
  return static_cast<double>(v);
}

/// Calls f with `data` as a pointer to samples of the type.
template <class F>
void with_type(io::SampleType type, const void* data, F&& f) {
  switch (type) {
    case io::SampleType::kUint8:
      return f(static_cast<const std::uint8_t*>(data));
    case io::SampleType::kInt8:
      return f(static_cast<const std::int8_t*>(data));
    case io::SampleType::kUint16:
      return f(static_cast<const std::uint16_t*>(data));
    case io::SampleType::kInt16:
      return f(static_cast<const std::int16_t*>(data));
    case io::SampleType::kUint32:
      return f(static_cast<const std::uint32_t*>(data));
    case io::SampleType::kInt32:
      return f(static_cast<const std::int32_t*>(data));
    case io::SampleType::kUint64:
      return f(static_cast<const std::uint64_t*>(data));
    case io::SampleType::kInt64:
      return f(static_cast<const std::int64_t*>(data));
    case io::SampleType::kFloat16:
      return f(static_cast<const io::Half*>(data));
    case io::SampleType::kFloat32:
      return f(static_cast<const float*>(data));
    case io::SampleType::kFloat64:
      return f(static_cast<const double*>(data));
  }
}

/// The value as a sample of the type holds it: -9999.9 in 32-bit floats is -9999.900390625. What
/// would become infinite stays, and is no sample.
inline double as_sample(io::SampleType type, double value) {
  double rounded = value;
  if (type == io::SampleType::kFloat16) rounded = as_double(io::to_half(static_cast<float>(value)));
  if (type == io::SampleType::kFloat32) rounded = static_cast<double>(static_cast<float>(value));
  return std::isfinite(rounded) ? rounded : value;
}

/// The nearest whole number of 0..most (255 at most), halves up; v is a number. Adding 0.5 would
/// round 0.49999997 up.
inline std::uint8_t to_byte(float v, float most) {
  return static_cast<std::uint8_t>(std::clamp(v, 0.0f, most) + 0.49999997f);
}

}  // namespace tilewave::field
