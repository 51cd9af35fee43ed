#include "tilewave/field/footprint.h"

#include <algorithm>
#include <string>

#include "tilewave/base/error.h"

namespace tilewave::field {
namespace {
constexpr int kMaxSide = 4096;

void check_side(int w, int h) {
  if (w < 1 || h < 1 || w > kMaxSide || h > kMaxSide) {
    fail(ExitCode::kUsage, "window ", w, "x", h, " is out of range: each side must be 1..",
         kMaxSide);
  }
}
}  // namespace

Footprint Footprint::rectangle(int w, int h) {
  check_side(w, h);
  Footprint f;
  f.width_ = w;
  f.height_ = h;
  f.num_cells_ = std::int64_t{w} * h;
  for (int y = 0; y < h; ++y) f.spans_.push_back({y - f.top(), -f.left(), w - f.left()});
  return f;
}

Footprint Footprint::disk(int radius) {
  check_side(2 * radius + 1, 2 * radius + 1);
  const int side = 2 * radius + 1;
  std::vector<std::uint8_t> cells(static_cast<std::size_t>(side) * side);
  for (int y = -radius; y <= radius; ++y) {
    for (int x = -radius; x <= radius; ++x) {
      cells[static_cast<std::size_t>(y + radius) * side + (x + radius)] =
          x * x + y * y <= radius * radius;
    }
  }
  return from_mask(cells, side, side);
}

Footprint Footprint::from_mask(const std::vector<std::uint8_t>& cells, int w, int h) {
  check_side(w, h);
  Footprint f;
  f.width_ = w;
  f.height_ = h;
  for (int y = 0; y < h; ++y) {
    const std::uint8_t* row = cells.data() + static_cast<std::size_t>(y) * w;
    for (int x = 0; x < w;) {
      if (row[x] == 0) {
        ++x;
        continue;
      }
      const int begin = x;
      while (x < w && row[x] != 0) ++x;
      f.spans_.push_back({y - f.top(), begin - f.left(), x - f.left()});
      f.num_cells_ += x - begin;
    }
  }
  if (f.num_cells_ == 0) {
    fail(ExitCode::kInput, "the window mask has no cell set: give a picture with non-zero pixels");
  }
  return f;
}

Footprint Footprint::transposed() const {
  std::vector<std::uint8_t> cells(static_cast<std::size_t>(width_) *
                                  static_cast<std::size_t>(height_));
  for (const Span& span : spans_) {
    for (int dx = span.dx_begin; dx < span.dx_end; ++dx)
      cells[static_cast<std::size_t>(dx + left()) * static_cast<std::size_t>(height_) +
            static_cast<std::size_t>(span.dy + top())] = 1;
  }
  return from_mask(cells, height_, width_);
}

Footprint Footprint::within(std::int64_t reach_x, std::int64_t reach_y) const {
  Footprint f;
  f.width_ = static_cast<int>(std::min<std::int64_t>(width_, 2 * reach_x + 1));
  f.height_ = static_cast<int>(std::min<std::int64_t>(height_, 2 * reach_y + 1));
  for (Span span : spans_) {
    if (span.dy < -f.top() || span.dy > f.bottom()) continue;
    span.dx_begin = std::max(span.dx_begin, -f.left());
    span.dx_end = std::min(span.dx_end, f.right() + 1);
    if (span.dx_begin >= span.dx_end) continue;
    f.spans_.push_back(span);
    f.num_cells_ += span.dx_end - span.dx_begin;
  }
  return f;
}

}  // namespace tilewave::field
