// A picture of a field for people: colours from dark blue to yellow, grey where there is no value,
// and a scale with its two ends written below. At most kMostPixels on a side: larger fields are
// sampled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewave::field {

class ViewBuilder {
 public:
  static constexpr std::int64_t kMostPixels = 2048;

  /// A field of width x height; `low` and `high` are the ends of the scale.
  ViewBuilder(std::int64_t width, std::int64_t height, double low, double high);
  /// Rows [y, y + rows) of the field.
  void add_rows(const float* values, std::int64_t y, std::int64_t rows);
  /// Writes the picture as PNG.
  void write(const std::string& path) const;

 private:
  std::int64_t width_, step_, view_width_, view_height_;
  double low_, high_;
  std::vector<float> samples_;
};

}  // namespace tilewave::field
