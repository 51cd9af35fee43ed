// Local entropy of rasters and elementwise maps of arrays.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/error.h"

namespace tilewave {

/// A view of a row-major image: the pixel of column x and row y is pixels[y * width + x].
template <class Pixel>
struct Image {
  std::span<const Pixel> pixels;  ///< width * height of them, which must outlive the call
  std::int64_t width = 0;         ///< in pixels, at least 1
  std::int64_t height = 0;        ///< in pixels, at least 1
};

/// How local entropy is computed.
struct LocalEntropyOptions {
  int window = 5;              ///< odd: pixels a side of the square window
  int levels = 16;             ///< classes are 0 to levels - 1 (2 to 65536 levels; at most 65535
                               ///< for pixels of 16 bits); larger values are no data
  double base = 0;             ///< of the logarithm, greater than 1; 0: natural
  int threads = 0;             ///< 0: all cores
  std::string device = "cpu";  ///< as in SessionOptions, or "cpu+cuda": both share the image
};

/// The Shannon entropy of the classes in a window around each pixel, width * height values in the
/// order of the pixels: in nats, or in the unit of the chosen base. The window shrinks at the
/// edges; where it holds no class, the value is NaN. The bits are the same on every machine. Throws
/// Error(kUsage) for a size that is not that of the pixels or options out of range, and
/// Error(kResources) for a device that is not there.
std::vector<float> local_entropy(Image<std::uint8_t> image,
                                 const LocalEntropyOptions& options = {});
/// The same of classes of 16 bits.
std::vector<float> local_entropy(Image<std::uint16_t> image,
                                 const LocalEntropyOptions& options = {});

/// How an expression is applied.
struct MapOptions {
  int repeat = 1;              ///< how often, each time to the results of the time before
  int threads = 0;             ///< 0: all cores
  std::string device = "cpu";  ///< as in SessionOptions
};

/// Computes expression(v, ix, iy, idx) for every pixel, in 32-bit floats: v is its value, ix its
/// column, iy its row and idx = iy * width + ix. Returns width * height values in the order of the
/// pixels. Throws Error(kUsage) with the place for an expression that cannot be read, for a size
/// that is not that of the pixels and for threads out of 0 to 4096, and Error(kResources) for a
/// device that is not there.
std::vector<float> map(std::string_view expression, Image<float> image,
                       const MapOptions& options = {});

}  // namespace tilewave
