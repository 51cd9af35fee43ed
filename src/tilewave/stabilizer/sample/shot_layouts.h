// Shots for memory in the layouts that decoders take beside packed rows.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {

/// Shots [first, first + count) of the sequence of a seed.
struct ShotStretch {
  std::uint64_t seed = 0, first = 0, count = 0;
  int num_threads = 0;  ///< 0: as many as the machine offers
};

/// A row for each of the source's bits: ceil(count / 8) bytes, shot s at bit s % 8 of byte s / 8,
/// zeros behind the last. Throws as fill_shots().
std::vector<std::uint8_t> sample_bit_rows(ShotSource& source, const ShotStretch& shots);

/// The ones of shot s: hits[offsets[s] .. offsets[s + 1]), ascending.
struct ShotLists {
  std::vector<std::int64_t> offsets;
  std::vector<std::uint32_t> hits;
};
/// Of the first `num_bits` bits of the source. Throws as fill_shots(), and Error(kResources) from
/// 2^32 bits on.
ShotLists sample_lists(ShotSource& source, const ShotStretch& shots, std::uint64_t num_bits);

}  // namespace tilewave::stabilizer
