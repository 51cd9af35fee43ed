// Samples of any type to class codes: as they are, by a range cut into K equal bins, or by a table
// of values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tilewave/field/class_table.h"
#include "tilewave/formats/raster/raster.h"

namespace tilewave::field {

struct Quantisation {
  enum class Kind : std::uint8_t { kIdentity, kRange, kClasses };
  Kind kind = Kind::kIdentity;
  int levels = 16;
  /// kRange: [low, high] in `levels` equal bins, `high` in the last; values outside fall into the
  /// end bins.
  double low = 0, high = 0;
  /// kClasses: `levels` is at least the number of classes.
  ClassTable classes;
  /// This value (besides NaN) means no data, rounded as the file's samples are.
  std::optional<double> nodata;
};

/// Turns rows of samples into codes; no data becomes `levels`.
class Quantiser {
 public:
  /// For an image of one channel. Throws Error(kUsage) for a range or a table that it cannot hold.
  Quantiser(const Quantisation& how, const formats::RasterInfo& info);

  /// One row to 8, 16 or 32-bit codes, and the number of its values that lie outside of kRange's
  /// range. `valid`: a byte a pixel, 0 for no data; null: all hold data. Throws Error(kInput) with
  /// the pixel for a value that has no class.
  template <class Code>
  std::int64_t convert(const void* row, const std::uint8_t* valid, std::int64_t y,
                       Code* codes) const;

 private:
  int code_of(double value) const;  ///< kNone, or a code, perhaps with kOutside
  [[noreturn]] void refuse(double value, std::int64_t x, std::int64_t y) const;

  static constexpr int kNone = -1, kOutside = 1 << 20;
  Quantisation how_;
  formats::RasterInfo info_;
  std::map<double, int> classes_;    ///< as samples of the file
  std::vector<std::int32_t> table_;  ///< codes of all 8- or 16-bit values
};

/// The range holding all valid values, or all but the given percentages below and above, by a pass
/// over the file of one channel (exact for 8 and 16-bit samples; other types: from up to 2^22
/// evenly spread samples). Throws Error(kInput) when no value is valid.
struct ValueRange {
  double low = 0, high = 0;
};
ValueRange find_range(formats::RasterReader& reader, std::optional<double> nodata,
                      double percent_low, double percent_high);

}  // namespace tilewave::field
