// How the amplitudes of a tile move between the state and the tile buffer.
//
// A chunk is a run of 2^load_bits low positions. Everything that only renames basis states is part
// of the movement and costs no step: the pass's permutation and X on store, and controlled X at the
// start and at the end of its actions. All of these are affine over the bits of an index, so a
// place in the tile is  table[chunk] ^ table[place inside the chunk] ^ (sum over bits outside the
// tile).
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "tilewave/statevec/cpu/address.h"
#include "tilewave/statevec/cpu/block.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::cpu {

/// Place of tile element `slot_index` in elements: row << 7 | column. XOR-linear.
std::uint32_t place_of(std::uint64_t slot_index, bool is_double);

struct Addressing {
  enum class Store : std::uint8_t {
    kStraight,  ///< an output chunk is a chunk of the tile
    kGather,
  };
  /// (bit outside the tile, what it adds to places)
  using Outside = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

  std::uint64_t number = 0;  ///< of these tables; no others ever have it
  int num_slots = 0;
  int load_bits = 0;
  std::vector<std::uint64_t> load_offset;  ///< memory index of each chunk, relative to the tile
  std::vector<std::uint32_t> load_place;   ///< in the tile, in elements
  std::vector<bool> load_zero;             ///< known to be zero: not read
  std::uint64_t low_zero = 0;              ///< positions inside a chunk known to be zero
  Outside load_outside;

  Store store = Store::kStraight;
  std::vector<std::uint64_t> store_offset;
  std::vector<std::uint32_t> store_place;
  std::vector<std::int32_t> inside;  ///< source of each place inside an output chunk
  Outside store_outside;

  static std::uint32_t sum(const Outside& outside, std::uint64_t base) {
    std::uint32_t place = 0;
    for (const auto& [bit, adds] : outside) place ^= base & bit ? adds : 0;
    return place;
  }
};

/// The chunks of the tile at `base` (a physical index) on load and on store.
template <class T>
Chunks load_chunks(const Addressing& at, std::uint64_t base) {
  return {.base = Address<T>::of(base),
          .offset = at.load_offset.data(),
          .place = at.load_place.data(),
          .shift = Addressing::sum(at.load_outside, base),
          .count = at.load_offset.size(),
          .bits = at.load_bits,
          .halves = at.num_slots <= kSmallTileBits<T>};
}
template <class T>
Chunks store_chunks(const Addressing& at, std::uint64_t base) {
  return {.base = Address<T>::of(base),
          .offset = at.store_offset.data(),
          .place = at.store_place.data(),
          .shift = Addressing::sum(at.store_outside, base),
          .count = at.store_offset.size(),
          .bits = at.load_bits,
          .table = at.store == Addressing::Store::kStraight ? nullptr : at.inside.data(),
          .movement = at.number};
}

/// X on `target` where bit `control` has `value`: part of the movement.
struct FreeFlip {
  std::uint64_t control = 0, target = 0;
  bool value = false;

  std::uint64_t operator()(std::uint64_t index) const {
    return ((index & control) != 0) == value ? index ^ target : index;
  }
};

struct Movement {
  int load_bits = 0;                  ///< low positions that are a chunk
  bool low_stays = true;              ///< those are not permuted on store
  std::array<int, 64> source{};       ///< position p of the output comes from position source[p]
  std::vector<FreeFlip> first, last;  ///< on load, on store
};

/// Takes the actions out of `pass` that become part of its movement. terms: those of the plan.
Movement take_movement(Pass& pass, const std::vector<PhaseTerm>& terms, bool is_double);

/// The tables of a pass's movement.
Addressing make_addressing(const Pass& pass, const Movement& movement, bool is_double);

}  // namespace tilewave::statevec::cpu
