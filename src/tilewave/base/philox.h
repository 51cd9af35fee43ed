// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11). A draw is a pure function of
// a 128-bit counter and a 64-bit key, so any thread, device or rank can compute any draw, and the
// same seed gives the same bytes everywhere.
#pragma once

#include <cstdint>

#include "tilewave/base/host_device.h"

namespace tilewave {

struct Philox4x32 {
  std::uint32_t v[4];
};

/// Ten rounds of Philox on `counter` under `key`.
TW_HD constexpr Philox4x32 philox4x32(Philox4x32 counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter.v[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter.v[2];
    counter = {{static_cast<std::uint32_t>(p1 >> 32) ^ counter.v[1] ^ key0,
                static_cast<std::uint32_t>(p1),
                static_cast<std::uint32_t>(p0 >> 32) ^ counter.v[3] ^ key1,
                static_cast<std::uint32_t>(p0)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// 64 random bits keyed by (seed, stream, index): one draw of the stream.
TW_HD constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream,
                                          std::uint64_t index) {
  const Philox4x32 r =
      philox4x32({{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                   static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}},
                 static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  return (std::uint64_t{r.v[1]} << 32) | r.v[0];
}

/// A uniform double in [0, 1) with 53 random bits.
TW_HD constexpr double random_uniform(std::uint64_t seed, std::uint64_t stream,
                                      std::uint64_t index) {
  return static_cast<double>(random_bits(seed, stream, index) >> 11) * 0x1p-53;
}

}  // namespace tilewave
