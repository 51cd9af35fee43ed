// The shape of a window: a rectangle of cells, some of them in, placed relative to the pixel it
// belongs to. Every row of the shape is kept as spans of consecutive cells, so sliding one pixel to
// the right means one cell in and one cell out for each span.
#pragma once

#include <cstdint>
#include <vector>

namespace tilewave::field {

class Footprint {
 public:
  /// w x h cells; the pixel sits at (w / 2, h / 2).
  static Footprint rectangle(int w, int h);
  /// x^2 + y^2 <= radius^2.
  static Footprint disk(int radius);
  /// Non-zero cells of a w x h picture; the pixel sits at (w / 2, h / 2). Throws Error(kInput) when
  /// all are zero.
  static Footprint from_mask(const std::vector<std::uint8_t>& cells, int w, int h);

  /// Consecutive cells of row dy: dx in [dx_begin, dx_end), all relative to the pixel.
  struct Span {
    int dy, dx_begin, dx_end;
  };

  /// Without the cells more than reach_x columns or reach_y rows from the pixel.
  Footprint within(std::int64_t reach_x, std::int64_t reach_y) const;

  /// Rows and columns exchanged.
  Footprint transposed() const;

  int width() const { return width_; }
  int height() const { return height_; }
  int left() const { return width_ / 2; }  ///< cells left of the pixel
  int right() const { return width_ - 1 - width_ / 2; }
  int top() const { return height_ / 2; }
  int bottom() const { return height_ - 1 - height_ / 2; }
  std::int64_t num_cells() const { return num_cells_; }
  bool is_rectangle() const { return num_cells_ == std::int64_t{width_} * height_; }
  const std::vector<Span>& spans() const { return spans_; }

 private:
  int width_ = 0, height_ = 0;
  std::int64_t num_cells_ = 0;
  std::vector<Span> spans_;
};

}  // namespace tilewave::field
