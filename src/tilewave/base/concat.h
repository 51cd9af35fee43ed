// Texts from parts.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace tilewave {

/// The parts one after the other.
inline std::string concat(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all += part;
  return all;
}

}  // namespace tilewave
