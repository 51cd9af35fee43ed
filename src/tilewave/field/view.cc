#include "tilewave/field/view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tilewave/base/error.h"
#include "tilewave/base/read_double.h"
#include "tilewave/formats/raster/raster.h"

namespace tilewave::field {
namespace {

using Colour = std::array<std::uint8_t, 3>;
constexpr Colour kWhite{255, 255, 255}, kBlack{0, 0, 0}, kGrey{160, 160, 160};
constexpr int kBarHeight = 14, kMargin = 6, kGlyphWidth = 6, kGlyphHeight = 7;

// A dark-blue to yellow ramp of even steps in lightness, by its corner colours.
Colour colour_of(double share) {
  constexpr double kCorners[][3] = {{48, 18, 80},   {62, 74, 137},  {38, 130, 142},
                                    {53, 183, 121}, {180, 222, 44}, {253, 231, 37}};
  constexpr int kLast = static_cast<int>(std::size(kCorners)) - 1;
  const double at = std::clamp(share, 0.0, 1.0) * kLast;
  const int corner = std::min(static_cast<int>(at), kLast - 1);
  Colour c{};
  for (int k = 0; k < 3; ++k) {
    const double v =
        kCorners[corner][k] + (at - corner) * (kCorners[corner + 1][k] - kCorners[corner][k]);
    c[static_cast<std::size_t>(k)] = static_cast<std::uint8_t>(std::lround(v));
  }
  return c;
}

// 5 x 7 glyphs, one byte a row, for numbers.
const std::uint8_t* glyph(char c) {
  static constexpr std::uint8_t kGlyphs[][7] = {
      {14, 17, 19, 21, 25, 17, 14}, {4, 12, 4, 4, 4, 4, 14},  {14, 17, 1, 2, 4, 8, 31},
      {31, 2, 4, 2, 1, 17, 14},     {2, 6, 10, 18, 31, 2, 2}, {31, 16, 30, 1, 1, 17, 14},
      {6, 8, 16, 30, 17, 17, 14},   {31, 1, 2, 4, 8, 8, 8},   {14, 17, 17, 14, 17, 17, 14},
      {14, 17, 17, 15, 1, 2, 12},   {0, 0, 0, 0, 0, 12, 12},  {0, 0, 0, 31, 0, 0, 0},
      {0, 0, 14, 17, 31, 16, 14},   {0, 4, 4, 31, 4, 4, 0}};
  if (c >= '0' && c <= '9') return kGlyphs[c - '0'];
  return c == '.' ? kGlyphs[10] : c == '-' ? kGlyphs[11] : c == 'e' ? kGlyphs[12] : kGlyphs[13];
}

}  // namespace

ViewBuilder::ViewBuilder(std::int64_t width, std::int64_t height, double low, double high)
    : width_(width), low_(low), high_(high) {
  step_ = std::max<std::int64_t>(1, (std::max(width, height) + kMostPixels - 1) / kMostPixels);
  view_width_ = (width + step_ - 1) / step_;
  view_height_ = (height + step_ - 1) / step_;
  samples_.resize(static_cast<std::size_t>(view_width_ * view_height_),
                  std::numeric_limits<float>::quiet_NaN());
}

void ViewBuilder::add_rows(const float* values, std::int64_t y, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i) {
    if ((y + i) % step_ != 0) continue;
    float* to = samples_.data() + (y + i) / step_ * view_width_;
    for (std::int64_t x = 0; x < view_width_; ++x) to[x] = values[i * width_ + x * step_];
  }
}

void ViewBuilder::write(const std::string& path) const {
  if (formats::raster_format_of(path) != formats::RasterFormat::kPng) {
    throw Error(ExitCode::kUsage, path + ": a view is written as .png");
  }
  const std::int64_t width = std::max<std::int64_t>(view_width_, 160);  // room for the scale
  const std::int64_t height = view_height_ + 3 * kMargin + kBarHeight + kGlyphHeight;
  std::vector<Colour> pixels(static_cast<std::size_t>(width * height), kWhite);
  const auto put = [&](std::int64_t x, std::int64_t y, Colour c) {
    pixels[static_cast<std::size_t>(y * width + x)] = c;
  };
  for (std::int64_t y = 0; y < view_height_; ++y) {
    for (std::int64_t x = 0; x < view_width_; ++x) {
      const double v = static_cast<double>(samples_[static_cast<std::size_t>(y * view_width_ + x)]);
      put(x, y, std::isnan(v) ? kGrey : colour_of((v - low_) / (high_ - low_)));
    }
  }
  const std::int64_t bar_y = view_height_ + kMargin, bar_width = width - 2 * kMargin;
  for (std::int64_t x = 0; x < bar_width; ++x) {
    for (int y = 0; y < kBarHeight; ++y) {
      put(kMargin + x, bar_y + y,
          colour_of(static_cast<double>(x) / static_cast<double>(bar_width - 1)));
    }
  }
  const auto write_number = [&](double value, int place) {  // place 0: left, 1: middle, 2: right
    const std::string text = write_double(value, std::chars_format::general, 4);
    const int n = static_cast<int>(text.size());
    const std::int64_t start = kMargin + place * (bar_width - n * kGlyphWidth) / 2;
    for (int k = 0; k < n; ++k) {
      for (int y = 0; y < kGlyphHeight; ++y) {
        for (int x = 0; x < 5; ++x) {
          if (glyph(text[k])[y] >> (4 - x) & 1)
            put(start + k * kGlyphWidth + x, bar_y + kBarHeight + kMargin + y, kBlack);
        }
      }
    }
  };
  write_number(low_, 0);
  write_number((low_ + high_) / 2, 1);
  write_number(high_, 2);
  formats::RasterInfo info;
  info.width = width;
  info.height = height;
  info.channels = 3;
  const auto writer = formats::create_raster(path, info);
  writer->write_rows(pixels.data(), height);
  writer->close();
}

}  // namespace tilewave::field
