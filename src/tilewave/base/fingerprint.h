// Numbers that stand for values: equal values have equal ones, others the same with a chance of
// 2^-64. Not meant to withstand anybody who looks for such a pair.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace tilewave {

constexpr std::uint64_t mix(std::uint64_t h, std::uint64_t word) {
  h = (h ^ word) * 0x9E3779B97F4A7C15u;
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93u;
  return h ^ h >> 29;
}

/// Of a list of values, in order.
class Fingerprint {
 public:
  Fingerprint& add(std::uint64_t word) {
    value_ = mix(value_, word);
    return *this;
  }
  Fingerprint& add(double number) { return add(std::bit_cast<std::uint64_t>(number)); }
  Fingerprint& add(std::string_view text) {
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    return add(static_cast<std::uint64_t>(text.size()));
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 1;
};

}  // namespace tilewave
