// Texts of several parts.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace tilewave {

namespace detail {

template <class Part>
void append(std::string& text, const Part& part) {
  if constexpr (std::is_convertible_v<const Part&, std::string_view>) {
    text += std::string_view(part);
  } else if constexpr (std::is_same_v<Part, char>) {
    text += part;
  } else {
    static_assert(std::is_integral_v<Part> && !std::is_same_v<Part, bool>);
    text += std::to_string(part);
  }
}

}  // namespace detail

/// The parts behind each other: texts, characters, whole numbers.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

}  // namespace tilewave
