// Local Shannon entropy of a raster of class codes: for each pixel, over the valid cells of a
// window around it,
//   H = ln N - (1/N) sum_i n_i ln n_i          (n_i cells of class i, N = sum n_i, 0 ln 0 = 0)
// in any logarithm base. Counts are integers and n ln n is a table of integers (entropy_tables.h),
// so the result has the same bits for every algorithm, tile, thread count and device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tilewave/field/entropy_tables.h"
#include "tilewave/field/footprint.h"

namespace tilewave::field {

/// What a window sees beyond the edge of the image.
enum class Border {
  kCrop,      ///< nothing: the population shrinks
  kReflect,   ///< the image mirrored about its edge: c b a | a b c
  kNearest,   ///< the edge value repeated
  kConstant,  ///< one given class
  kValid,  ///< as crop, but pixels whose window (all of a mask's picture) leaves the image give NaN
  kStudy2020  ///< as crop, with the 2020 study's population: one too many at the far edges
};

/// How the histogram is kept; every one gives the same bits.
enum class EntropyAlgorithm {
  kAuto,     ///< by the cost model
  kNaive,    ///< counts every window from scratch
  kNibble,   ///< K <= 16, rectangles of at most 31 cells: 16 packed 4-bit column counts rolled down
  kPlane,    ///< K <= 64, rectangles from 32 cells: a plane of counts a class, rolled down
  kSliding,  ///< any shape and K: window histogram slid along the row, sum updated cell by cell
  kColumn,   ///< rectangles, K <= 256: column histograms rolled down, window slid by whole columns
};

struct EntropyOptions {
  Footprint window = Footprint::rectangle(5, 5);
  int levels = 16;      ///< classes K, 2..65536; codes >= K are invalid (no data)
  double log_base = 0;  ///< 0: natural; otherwise finite and above 1
  Border border = Border::kCrop;
  int constant_code = 0;  ///< for kConstant: a class, 0..levels - 1
  double min_valid = 0;   ///< NaN where fewer than min_valid * cells(window) cells are valid
  EntropyAlgorithm algorithm = EntropyAlgorithm::kAuto;
  int threads = 0;  ///< at most; 0: all. Little work takes fewer (work_threads.h)
};

/// Rows [row_begin, row_end) of an image of `height` rows: data[0] is pixel (0, row_begin).
template <class Code>
struct CodeRows {
  const Code* data = nullptr;
  std::int64_t stride = 0;  ///< in elements
  std::int64_t width = 0, height = 0;
  std::int64_t row_begin = 0, row_end = 0;
};

/// Pixels [x_begin, x_end) x [y_begin, y_end) of the image.
struct Region {
  std::int64_t x_begin = 0, x_end = 0, y_begin = 0, y_end = 0;
  std::int64_t width() const { return x_end - x_begin; }
  std::int64_t height() const { return y_end - y_begin; }
};

/// Everything that does not depend on the pixels; immutable. Throws Error(kUsage) for what cannot
/// be run.
class EntropyPlan {
 public:
  EntropyPlan(const EntropyOptions& options, std::int64_t width, std::int64_t height);

  const EntropyOptions& options() const { return options_; }
  /// options().window without cells that lie outside of the image for every pixel, where such count
  /// for nothing.
  const Footprint& window() const { return window_; }
  std::int64_t width() const { return width_; }
  std::int64_t height() const { return height_; }
  const EntropyTables& tables() const { return tables_; }
  /// The algorithm that runs on the CPU: the forced one, or the cheapest by the cost model.
  EntropyAlgorithm cpu_algorithm() const { return algorithm_; }
  /// Expected time of that, ns a pixel on one core.
  double cpu_ns() const { return cpu_ns_; }
  /// Bytes that hold every class and one value more, for "no data": 1, 2 or 4.
  int code_bytes() const { return options_.levels <= 255 ? 1 : options_.levels <= 65535 ? 2 : 4; }

  /// N is pop_x(x) * pop_y(y) wherever every cell inside the image is valid (rectangles only).
  bool separable_population() const { return window_.is_rectangle(); }
  std::int32_t population_x(std::int64_t x) const;
  std::int32_t population_y(std::int64_t y) const;

  /// Rows of input that rows [y_begin, y_end) of output need, inside the image.
  std::int64_t needed_begin(std::int64_t y_begin) const;
  std::int64_t needed_end(std::int64_t y_end) const;
  /// Pixels of input that a region of output needs, inside the image.
  Region needed(const Region& region) const;

  /// One line: algorithm, window, levels, population, unit.
  std::string explain() const;

 private:
  EntropyOptions options_;
  Footprint window_;
  std::int64_t width_, height_;
  EntropyTables tables_;
  EntropyAlgorithm algorithm_;
  double cpu_ns_;
};

const char* algorithm_name(EntropyAlgorithm algorithm);
/// None where no border has this name.
std::optional<Border> border_named(std::string_view name);

/// Entropy of a region on the CPU into out, which points at its upper left pixel (floats,
/// out_stride from row to row). `codes` must hold the rows of plan.needed(region). 8-bit codes
/// serve K <= 256, 16-bit ones K <= 65536, 32-bit ones (instantiated as well) any.
template <class Code>
void entropy_cpu(const EntropyPlan& plan, const CodeRows<Code>& codes, const Region& region,
                 float* out, std::int64_t out_stride);

/// The same for whole rows [y_begin, y_end).
template <class Code>
void entropy_cpu(const EntropyPlan& plan, const CodeRows<Code>& codes, std::int64_t y_begin,
                 std::int64_t y_end, float* out, std::int64_t out_stride) {
  entropy_cpu(plan, codes, Region{0, plan.width(), y_begin, y_end}, out, out_stride);
}

}  // namespace tilewave::field
