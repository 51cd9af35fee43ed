// Numbers that stand for values: equal values have equal ones, others the same with a chance of
// 2^-64. Not meant to withstand anybody who looks for such a pair.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
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

/// Of many bytes, at the speed of memory: four chains of words take turns.
inline std::uint64_t fingerprint_of(std::span<const std::byte> bytes) {
  std::uint64_t lanes[4] = {1, 2, 3, 4};
  const auto word = [&](std::size_t at) {
    std::uint64_t w = 0;
    std::memcpy(&w, bytes.data() + at, bytes.size() - at < sizeof w ? bytes.size() - at : sizeof w);
    return w;
  };
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) {
    for (std::size_t k = 0; k < 4; ++k) lanes[k] = mix(lanes[k], word(at + 8 * k));
  }
  std::uint64_t h = bytes.size();
  for (; at < bytes.size(); at += 8) h = mix(h, word(at));
  for (const std::uint64_t lane : lanes) h = mix(h, lane);
  return h;
}

}  // namespace tilewave
