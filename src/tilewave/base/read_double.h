// Numbers in texts, read and written with a point whatever the locale says that a program has set:
// one in which "0.5" reads as 0 is no reason for another result.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tilewave {

struct ReadNumber {
  double value = 0;      ///< 0 where it is too small for a double, infinite where it is too large
  std::size_t size = 0;  ///< characters that it takes; 0: there is no number
  bool is_too_large = false;
};

/// The decimal number, inf or nan that the text begins with, nearest double; a minus may stand in
/// front, neither blanks nor a plus.
ReadNumber read_double(std::string_view text);

/// The same where a plus, which counts in the size, may stand in front, but no plus and a minus.
ReadNumber read_signed_double(std::string_view text);

/// The number that the whole text is; a plus may stand in front.
std::optional<double> whole_double(std::string_view text);

/// As printf writes it with %.*g, %.*f or %.*e in the C locale.
std::string write_double(double value, std::chars_format format, int precision);

}  // namespace tilewave
