#include "tilewave/base/read_double.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tilewave {
namespace {

// Whether the magnitude of a number in decimal notation, not zero, is below one.
bool is_below_one(std::string_view text) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, e);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.find_first_of("123456789");
  // The power of ten of the first digit that is not zero.
  auto power = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  if (first < point) --power;
  std::int64_t exponent = 0;
  const std::size_t at = e + (e + 1 < text.size() && text[e + 1] == '+' ? 2 : 1);
  if (at < text.size() &&
      std::from_chars(text.data() + at, text.data() + text.size(), exponent).ec != std::errc{})
    return text[at] == '-';  // far out of range
  return exponent < -power;  // the sum may be out of range
}

}  // namespace

ReadNumber read_double(std::string_view text) {
  ReadNumber out;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.value);
  if (error == std::errc::invalid_argument) return out;
  out.size = static_cast<std::size_t>(end - text.data());
  if (error != std::errc::result_out_of_range) return out;
  out.is_too_large = !is_below_one(text.substr(0, out.size));
  const double size = out.is_too_large ? std::numeric_limits<double>::infinity() : 0;
  out.value = std::copysign(size, text[0] == '-' ? -1 : 1);
  return out;
}

ReadNumber read_signed_double(std::string_view text) {
  const bool has_plus = text.starts_with('+') && !text.starts_with("+-");
  ReadNumber out = read_double(text.substr(has_plus ? 1 : 0));
  if (has_plus && out.size > 0) ++out.size;
  return out;
}

std::optional<double> whole_double(std::string_view text) {
  const ReadNumber number = read_signed_double(text);
  if (text.empty() || number.size != text.size()) return std::nullopt;
  return number.value;
}

std::string write_double(double value, std::chars_format format, int precision) {
  char text[400];  // the largest double has 309 digits before its point
  const auto [end, error] = std::to_chars(text, text + sizeof text, value, format, precision);
  return error == std::errc{} ? std::string(text, end) : std::string();
}

}  // namespace tilewave
