// Samples of a raster, whatever their type: visited, compared with a declared value, and made of
// floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tilewave/formats/raster/half.h"
#include "tilewave/formats/raster/raster.h"
#include "tilewave/formats/raster/sample_types.h"

namespace tilewave::field {

/// Of the band of rows, input and output, that is in memory at a time.
inline constexpr std::int64_t kBandBytes = std::int64_t{64} << 20;

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

/// `n` floats as samples of float32, float16 or uint8: of these 0..most, and `none` for NaN. Valid
/// until `store` changes.
inline const void* from_floats(formats::SampleType type, const float* values, std::size_t n,
                               float most, std::uint8_t none, std::vector<std::byte>& store) {
  if (type == formats::SampleType::kFloat32) return values;
  store.resize(n * formats::sample_bytes(type));
  if (type == formats::SampleType::kFloat16) {
    auto* to = reinterpret_cast<formats::Half*>(store.data());
    for (std::size_t i = 0; i < n; ++i) to[i] = formats::to_half(values[i]);
  } else {
    auto* to = reinterpret_cast<std::uint8_t*>(store.data());
    for (std::size_t i = 0; i < n; ++i)
      to[i] = std::isnan(values[i]) ? none : to_byte(values[i], most);
  }
  return store.data();
}

}  // namespace tilewave::field
