// Texts from parts.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace tilewave {

/// The parts one after the other.
std::string concat(std::initializer_list<std::string_view> parts);

}  // namespace tilewave
