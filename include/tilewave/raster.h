// Local entropy of rasters and elementwise maps of arrays.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/error.h"

namespace tilewave {

/// A row-major image.
template <class Pixel>
struct Image {
  std::span<const Pixel> pixels;  ///< width * height
  std::int64_t width = 0, height = 0;
};

struct LocalEntropyOptions {
  int window = 5;              ///< odd: pixels a side of the square window
  int levels = 16;             ///< classes are 0 to levels - 1; larger values are no data
  double base = 0;             ///< of the logarithm; 0: natural
  int threads = 0;             ///< 0: all cores
  std::string device = "cpu";  ///< as in SessionOptions, or "cpu+cuda": both share the image
};

/// Shannon entropy of the classes in a window around each pixel (the window shrinks at the edges);
/// NaN where it holds none. The same bits on every machine.
std::vector<float> local_entropy(Image<std::uint8_t> image,
                                 const LocalEntropyOptions& options = {});
std::vector<float> local_entropy(Image<std::uint16_t> image,
                                 const LocalEntropyOptions& options = {});

struct MapOptions {
  int repeat = 1;              ///< the expression is applied so often
  int threads = 0;             ///< 0: all cores
  std::string device = "cpu";  ///< as in SessionOptions
};

/// out = expression(v, ix, iy, idx) in 32-bit floats: the value, its column and row, and iy * width
/// + ix. Throws Error(kUsage) with the place for an expression that cannot be read.
std::vector<float> map(std::string_view expression, Image<float> image,
                       const MapOptions& options = {});

}  // namespace tilewave
