// Samples of any type to class codes: as they are, by a range cut into K equal bins, or by a table
// of values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tilewave/io/raster.h"

namespace tilewave::field {

struct Quantisation {
  enum class Kind : std::uint8_t { kIdentity, kRange, kClasses };
  Kind kind = Kind::kIdentity;
  int levels = 16;
  /// kRange: [low, high] in `levels` equal bins, `high` in the last; values outside fall into the
  /// end bins.
  double low = 0, high = 0;
  /// kClasses: value -> class; a class >= levels means no data.
  std::map<double, int> classes;
  /// This value (besides NaN) means no data, rounded as the file's samples are.
  std::optional<double> nodata;
};

/// Reads lines "value,class" (class empty or "nodata": no data); '#' starts a comment, a first line
/// of words is a header. Throws Error(kInput) with the line.
std::map<double, int> read_class_table(const std::string& path);

/// Turns rows of samples into 16-bit codes; no data becomes `levels`.
class Quantiser {
 public:
  /// `channel` of `info.channels` is read.
  Quantiser(const Quantisation& how, const io::RasterInfo& info, int channel);

  /// One row. Throws Error(kInput) with the pixel for a value that has no class.
  void convert(const void* row, std::int64_t y, std::uint16_t* codes) const;

 private:
  int code_of(double value) const;  ///< -1: no class
  template <class T>
  void convert_row(const T* row, std::int64_t y, std::uint16_t* codes) const;
  [[noreturn]] void refuse(double value, std::int64_t x, std::int64_t y) const;

  Quantisation how_;
  io::RasterInfo info_;
  int channel_;
  std::vector<std::int32_t> table_;  ///< codes of all 8- or 16-bit values
};

/// The range holding all valid values, or all but the given percentages below and above, by a pass
/// over the file (exact for 8 and 16-bit samples; other types: from up to 2^22 evenly spread
/// samples). Throws Error(kInput) when no value is valid.
struct ValueRange {
  double low = 0, high = 0;
};
ValueRange find_range(io::RasterReader& reader, int channel, std::optional<double> nodata,
                      double percent_low, double percent_high);

}  // namespace tilewave::field
