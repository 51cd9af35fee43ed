// What a thread of the GPU's frame machine works on at a time: four words of a row.
#pragma once

#include <cstdint>

namespace tilewave::stabilizer {

/// 128 shots of a row.
struct alignas(16) Words {
  std::uint32_t v[4];
};
__device__ __forceinline__ Words operator^(const Words& a, const Words& b) {
  return {{a.v[0] ^ b.v[0], a.v[1] ^ b.v[1], a.v[2] ^ b.v[2], a.v[3] ^ b.v[3]}};
}
__device__ __forceinline__ Words& operator^=(Words& a, const Words& b) { return a = a ^ b; }

}  // namespace tilewave::stabilizer
