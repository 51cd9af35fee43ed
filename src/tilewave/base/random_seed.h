// Seeds where nobody gives one.
#pragma once

#include <cstdint>
#include <random>

namespace tilewave {

/// 64 bits from the operating system.
inline std::uint64_t draw_seed() {
  std::random_device entropy;
  return (std::uint64_t{entropy()} << 32) | entropy();
}

}  // namespace tilewave
