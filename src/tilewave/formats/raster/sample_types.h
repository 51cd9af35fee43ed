// The C++ types of a raster's samples.
#pragma once

#include <cstdint>

#include "tilewave/formats/raster/half.h"
#include "tilewave/formats/raster/raster.h"

namespace tilewave::formats {

/// Calls f with `data` as a pointer to samples of the type.
template <class F>
void with_type(SampleType type, const void* data, F&& f) {
  switch (type) {
    case SampleType::kUint8:
      return f(static_cast<const std::uint8_t*>(data));
    case SampleType::kInt8:
      return f(static_cast<const std::int8_t*>(data));
    case SampleType::kUint16:
      return f(static_cast<const std::uint16_t*>(data));
    case SampleType::kInt16:
      return f(static_cast<const std::int16_t*>(data));
    case SampleType::kUint32:
      return f(static_cast<const std::uint32_t*>(data));
    case SampleType::kInt32:
      return f(static_cast<const std::int32_t*>(data));
    case SampleType::kUint64:
      return f(static_cast<const std::uint64_t*>(data));
    case SampleType::kInt64:
      return f(static_cast<const std::int64_t*>(data));
    case SampleType::kFloat16:
      return f(static_cast<const Half*>(data));
    case SampleType::kFloat32:
      return f(static_cast<const float*>(data));
    case SampleType::kFloat64:
      return f(static_cast<const double*>(data));
  }
}

}  // namespace tilewave::formats
