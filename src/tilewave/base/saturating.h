// Sums and products of counts that stay at the largest number where it would be exceeded: what is
// compared with a limit does not wrap round below it.
#pragma once

#include <cstdint>

namespace tilewave {

constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t c = 0;
  return __builtin_add_overflow(a, b, &c) ? ~std::uint64_t{0} : c;
}
constexpr std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t c = 0;
  return __builtin_mul_overflow(a, b, &c) ? ~std::uint64_t{0} : c;
}

}  // namespace tilewave
