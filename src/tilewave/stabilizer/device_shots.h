// Shots that stay in the memory of a GPU.
#pragma once

#include <cstdint>
#include <memory>

namespace tilewave::stabilizer {

/// Shots [first, first + count) of the sequence of a seed.
struct ShotRange {
  std::uint64_t seed = 0, first = 0, count = 0;
};

/// Bits [first, first + count) of every shot.
struct BitRange {
  std::uint64_t first = 0, count = 0;
};

/// How shots lie in device memory.
enum class DeviceLayout : std::uint8_t {
  kPacked,   ///< a row a shot, eight bits a byte
  kBytes,    ///< a row a shot, a byte of 0 or 1 a bit
  kBitRows,  ///< a row a bit: shot s at bit s % 8 of byte s / 8, zeros behind the last
  kLists,    ///< the ones of every shot, ascending; offsets of every shot's first one, and the end
};

/// A part of every shot in device memory. Later calls of the source use that of `memory` and `offsets`
/// again, or it is freed; both wait for the work of the device, whoever reads them still.
struct DeviceShots {
  int device = 0;
  std::uint64_t shots = 0;
  std::shared_ptr<void> memory;
  std::uint64_t rows = 0, row_bytes = 0;  ///< without gaps; kLists: `rows` numbers of 32 bits
  std::shared_ptr<void> offsets;          ///< kLists: of 64 bits, shots + 1 of them
};

}  // namespace tilewave::stabilizer
