// A drawing in SVG: shapes with their colours in attributes, so that several drawings may stand in
// one page. Lengths are pixels, y grows downwards. What is drawn later lies above.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilewave::stabilizer {

struct Point {
  double x = 0, y = 0;
};

/// Of a shape; empty: none.
struct Paint {
  std::string_view fill = "none", stroke = "none";
  double width = 1, opacity = 1;
  std::string_view dashes = "";
};

enum class TextAnchor : std::uint8_t { kStart, kMiddle, kEnd };

class Svg {
 public:
  void line(Point a, Point b, const Paint& paint);
  /// `title`, shown when the mouse is over it, may be empty; here and below.
  void box(Point corner, double width, double height, double radius, const Paint& paint,
           std::string_view title = "");
  void circle(Point centre, double radius, const Paint& paint, std::string_view title = "");
  void polygon(std::span<const Point> corners, const Paint& paint, std::string_view title = "");
  /// Between two points, bulging to both sides.
  void lens(Point a, Point b, double bulge, const Paint& paint, std::string_view title = "");
  /// `size` of the font; the letters' middle is at `at`, with a white seam over what they cross.
  void text(Point at, std::string_view text, double size, std::string_view colour,
            TextAnchor anchor = TextAnchor::kMiddle, std::string_view title = "");
  /// The drawing, with a white ground of this size.
  std::string finish(double width, double height) const;
  std::size_t num_bytes() const { return out_.size(); }

 private:
  void paint(const Paint& paint);
  void end(std::string_view element, std::string_view title);
  void attribute(std::string_view name, double value);

  std::string out_;
};

/// About how wide a text is.
double text_width(std::string_view text, double size);

}  // namespace tilewave::stabilizer
