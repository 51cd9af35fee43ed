#include "tilewave/stabilizer/diagram/svg.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tilewave/base/read_double.h"

namespace tilewave::stabilizer {
namespace {

std::string number(double value) {
  const double rounded = std::round(value * 100) / 100;
  return write_double(rounded == 0 ? 0 : rounded, std::chars_format::general, 10);
}

// The bytes of the UTF-8 character that begins a text, 0 where none does that XML may hold.
std::size_t xml_character(std::string_view text) {
  const auto byte = [&](std::size_t k) {
    return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\n' ? 1 : 0;
  const std::size_t bytes = first < 0xC2   ? 0
                            : first < 0xE0 ? 2
                            : first < 0xF0 ? 3
                            : first < 0xF5 ? 4
                                           : 0;
  std::uint32_t code = first & (0xFFU >> (bytes + 1));
  for (std::size_t k = 1; k < bytes; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(k) & 0x3F);
  }
  const bool too_long = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  const bool none = code == 0xFFFE || code == 0xFFFF;
  return too_long || surrogate || none || code > 0x10FFFF ? 0 : bytes;
}

// What XML has another meaning for, or no place for at all.
void escape(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const std::size_t bytes = xml_character(text);
    switch (text.front()) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        if (bytes > 0) {
          out += text.substr(0, bytes);
        } else {
          out += static_cast<unsigned char>(text.front()) < 0x20 ? " " : "\xEF\xBF\xBD";  // U+FFFD
        }
    }
    text.remove_prefix(bytes > 0 ? bytes : 1);
  }
}

}  // namespace

void Svg::attribute(std::string_view name, double value) {
  out_.append(" ").append(name).append("=\"").append(number(value)) += '"';
}

void Svg::paint(const Paint& p) {
  out_.append(" fill=\"").append(p.fill) += '"';
  if (p.stroke != "none") {
    out_.append(" stroke=\"").append(p.stroke) += '"';
    if (p.width != 1) attribute("stroke-width", p.width);
    if (!p.dashes.empty()) out_.append(" stroke-dasharray=\"").append(p.dashes) += '"';
  }
  if (p.opacity != 1) attribute("fill-opacity", p.opacity);
}

void Svg::end(std::string_view element, std::string_view title) {
  if (title.empty()) {
    out_ += "/>\n";
    return;
  }
  out_ += "><title>";
  escape(title, out_);
  out_.append("</title></").append(element) += ">\n";
}

void Svg::line(Point a, Point b, const Paint& p) {
  out_ += "<line";
  attribute("x1", a.x), attribute("y1", a.y), attribute("x2", b.x), attribute("y2", b.y);
  paint(p);
  end("line", "");
}

void Svg::box(Point corner, double width, double height, double radius, const Paint& p,
              std::string_view title) {
  out_ += "<rect";
  attribute("x", corner.x), attribute("y", corner.y);
  attribute("width", width), attribute("height", height);
  if (radius > 0) attribute("rx", radius);
  paint(p);
  end("rect", title);
}

void Svg::circle(Point centre, double radius, const Paint& p, std::string_view title) {
  out_ += "<circle";
  attribute("cx", centre.x), attribute("cy", centre.y), attribute("r", radius);
  paint(p);
  end("circle", title);
}

void Svg::polygon(std::span<const Point> corners, const Paint& p, std::string_view title) {
  out_ += "<polygon points=\"";
  for (std::size_t k = 0; k < corners.size(); ++k)
    out_.append(k ? " " : "").append(number(corners[k].x)).append(",").append(number(corners[k].y));
  out_ += '"';
  paint(p);
  end("polygon", title);
}

void Svg::lens(Point a, Point b, double bulge, const Paint& p, std::string_view title) {
  const double length = std::max(1e-9, std::hypot(b.x - a.x, b.y - a.y));
  const Point middle{(a.x + b.x) / 2, (a.y + b.y) / 2};
  const Point off{-(b.y - a.y) / length * bulge, (b.x - a.x) / length * bulge};
  const auto point = [](double x, double y) { return number(x) + "," + number(y); };
  out_.append("<path d=\"M").append(point(a.x, a.y));
  out_.append(" Q").append(point(middle.x + off.x, middle.y + off.y) + " " + point(b.x, b.y));
  out_.append(" Q").append(point(middle.x - off.x, middle.y - off.y) + " " + point(a.x, a.y));
  out_ += "Z\"";
  paint(p);
  end("path", title);
}

void Svg::text(Point at, std::string_view text, double size, std::string_view colour,
               TextAnchor anchor, std::string_view title) {
  constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  out_ += "<text";
  attribute("x", at.x), attribute("y", at.y + 0.35 * size), attribute("font-size", size);
  out_.append(" text-anchor=\"").append(kAnchors[static_cast<int>(anchor)]);
  out_.append("\" fill=\"").append(colour);
  out_ += "\" stroke=\"white\" stroke-width=\"2.5\" stroke-opacity=\"0.8\" paint-order=\"stroke\">";
  if (!title.empty()) {
    out_ += "<title>";
    escape(title, out_);
    out_ += "</title>";
  }
  escape(text, out_);
  out_ += "</text>\n";
}

std::string Svg::finish(double width, double height) const {
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) +
                    "\" height=\"" + number(height) + "\" viewBox=\"0 0 " + number(width) + " " +
                    number(height) + "\" font-family=\"sans-serif\">\n";
  out += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  return out + out_ + "</svg>\n";
}

double text_width(std::string_view text, double size) {
  // letters that follow the first byte of their encoding are not counted
  const auto letters =
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  return 0.62 * size * static_cast<double>(letters);
}

}  // namespace tilewave::stabilizer
