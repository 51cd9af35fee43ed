#include "tilewave/base/concat.h"

namespace tilewave {

std::string concat(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all += part;
  return all;
}

}  // namespace tilewave
