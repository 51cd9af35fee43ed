// Errors of single shots in rows of frames. Row r of a batch is `units` words from r * units on: x of
// slot s is row 2 s, z row 2 s + 1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewave/stabilizer/frame_ops.h"

namespace tilewave::stabilizer {

// Multiplies the Pauli (bit 0: X, bit 1: Z of the logical error; axes say how they are stored) into
// one shot, without branches: which Pauli it is cannot be foreseen.
// `frames` and `units` are copies: the compiler must assume that a store changes members of Batch.
[[gnu::always_inline]] inline void flip(std::uint32_t* frames, std::size_t units,
                                        std::uint32_t slot, std::uint32_t stored,
                                        std::uint32_t unit, std::uint32_t bit) {
  std::uint32_t* x = frames + 2 * slot * units + unit;
  x[0] ^= bit & (0u - (stored & 1));
  x[units] ^= bit & (0u - (stored >> 1));
}
[[gnu::always_inline]] inline void hit(std::uint32_t* frames, std::size_t units,
                                       std::uint32_t target, std::uint32_t xz, std::uint32_t unit,
                                       std::uint32_t bit) {
  flip(frames, units, slot_of(target), stored_xz(target, xz), unit, bit);
}

}  // namespace tilewave::stabilizer
