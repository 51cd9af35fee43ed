// Phases whose factors depend on the tile, the warp, the thread: how the factors are made, and the
// operations that apply them, for host and device.
#pragma once

#include "tilewave/statevec/tile/ops.h"

namespace tilewave::statevec::tile {

/// The factors made for this tile and chunk, and who asks.
template <class T>
struct PhaseContext {
  const Complex<T>* linear;   ///< [entry * warps + warp]
  const Complex<T>* general;  ///< [thread]: the last one made
  std::uint32_t thread;
  int thread_bits;
};

/// A general factor of one thread; `row` are the entry's rows of this tile.
template <class T>
TW_HD Complex<T> general_factor(const GeneralEntry& entry, const std::uint64_t* row,
                                const std::byte* tables, std::uint32_t thread, int thread_bits,
                                std::uint32_t tile) {
  std::uint64_t angle = row[0];
  for (int b = 0; b < thread_bits; ++b)
    angle += row[1 + b] & (std::uint64_t{0} - (thread >> b & 1));
  if (entry.thread_table != kNone) {
    angle += table<std::uint64_t>(tables, entry.thread_table)[thread];
  }
  const MixedTerm* mixed = table<MixedTerm>(tables, entry.mixed_first);
  for (std::uint32_t k = 0; k < entry.mixed_count; ++k) {
    const MixedTerm m = mixed[k];
    if ((thread & m.thread_mask) == m.thread_mask && (tile & m.tile_mask) == m.tile_mask) {
      angle += m.turns;
    }
  }
  return turn<T>(angle);
}

/// W of a phase; `lanes` are its lane factors.
template <class T>
TW_HD Complex<T> phase_factor(OpWord head, const std::byte* payload, const Complex<T>* lanes,
                              const PhaseContext<T>& c) {
  const FactorClass kind = head.factor();
  Complex<T> w = *reinterpret_cast<const Complex<T>*>(payload);
  if (kind != FactorClass::kConstant) {
    w = kind == FactorClass::kGeneral
            ? c.general[c.thread]
            : c.linear[((head.index() & ~kWholeLanes) << (c.thread_bits - kLaneBits)) +
                       (c.thread >> kLaneBits)];
    if (kind == FactorClass::kLinear) {
      const bool whole = head.index() & kWholeLanes;
      w = w * lanes[c.thread & (whole ? 31 : (1 << kLaneSplit) - 1)];
      w = w * lanes[whole ? 32 : (1 << kLaneSplit) + (c.thread >> kLaneSplit & 7)];
    }
  }
  return w;
}

/// Bytes of the pair factors of a phase on one bit.
template <int RB, class T>
TW_HD constexpr int pair_bytes() {
  return ((RB - 1) * static_cast<int>(sizeof(Complex<T>)) + 15) / 16 * 16;
}

template <int R, int RB, std::uint32_t Kind, class T>
TW_HD void phase_by(Complex<T> (&a)[1 << RB], Complex<T> w, const Complex<T>* pairs) {
  if constexpr (Kind == kPhase) {
    phase_bit<R, RB>(a, w);
  } else {
    phase_tree<R, RB - 2, Kind == kPhaseUpper ? R : 0, 0>(
        w, pairs, [&](int j, Complex<T> own) { multiply(a[j], own); });
  }
}

/// A phase and a lift, as butterflies y = x + w y, x -= s y with y in the 1-half: six
/// multiply-adds a pair instead of eight. Kind: kPhaseLift and those after it.
template <int R, int RB, std::uint32_t Kind, class T>
TW_HD void butterflies(Complex<T> (&a)[1 << RB], Complex<T> w, const Complex<T>* pairs, T s) {
  const auto one = [&](int j, Complex<T> own) {
    Complex<T>&x = a[j & ~(1 << R)], &y = a[j];
    add_product(x, own, y);
    x = {x.re - s * y.re, x.im - s * y.im};
  };
  constexpr int kHighest = Kind == kPhaseLift ? -1 : RB - 2;
  constexpr int kLowest = Kind == kPhaseLift ? RB - 1 : Kind == kPhaseUpperLift ? R : 0;
  phase_tree<R, kHighest, kLowest, 0>(w, pairs, one);
}

/// A phase on one bit: W, and its factors of pairs in the payload.
template <class T>
struct BitFactors {
  Complex<T> w;
  const Complex<T>* pairs;
};
template <int RB, bool HasPairs, class T>
TW_HD BitFactors<T> bit_factors(OpWord head, const std::byte* payload, const PhaseContext<T>& c) {
  const std::byte* pairs = payload + 32;
  const std::byte* lanes = pairs + (HasPairs ? pair_bytes<RB, T>() : 0);
  return {phase_factor(head, payload, reinterpret_cast<const Complex<T>*>(lanes), c),
          reinterpret_cast<const Complex<T>*>(pairs)};
}

template <int R, int RB, std::uint32_t Kind, class T>
TW_HD void bit_phase(Complex<T> (&a)[1 << RB], OpWord head, const std::byte* payload,
                     const PhaseContext<T>& c) {
  const LiftNumbers<T> next = lift_numbers<T>(payload + 16);
  const BitFactors<T> f = bit_factors<RB, Kind != kPhase>(head, payload, c);
  phase_by<R, RB, Kind>(a, f.w, f.pairs);
  if (head.then_lift()) lift<R, RB>(a, next);
}

/// The factor of a phase and lift: see kPhaseLift.
template <class T>
TW_HD Complex<T> lifted_factor(OpWord head, Complex<T> w, T g) {
  return head.factor() == FactorClass::kConstant ? w : Complex<T>{w.re * g, w.im * g};
}

template <int R, int RB, std::uint32_t Kind, class T>
TW_HD void phase_and_lift(Complex<T> (&a)[1 << RB], OpWord head, const std::byte* payload,
                          const PhaseContext<T>& c) {
  const BitFactors<T> f = bit_factors<RB, Kind != kPhaseLift>(head, payload, c);
  const auto* numbers = reinterpret_cast<const T*>(payload + 16);
  butterflies<R, RB, Kind>(a, lifted_factor(head, f.w, numbers[0]), f.pairs, numbers[1]);
}

/// One factor of a tile: an entry of the linear tables of a chunk for one warp.
template <class T>
TW_HD Complex<T> linear_value(std::uint32_t tile_bits, std::uint32_t linear_tables,
                              const std::byte* tables, std::uint32_t entry, std::uint32_t warp,
                              std::uint32_t num_warps, std::uint32_t tile) {
  const std::uint32_t groups = num_groups(tile_bits);
  const Complex<T>* at =
      table<Complex<T>>(tables, linear_tables) + entry * ((groups << kGroupBits) + num_warps);
  Complex<T> value = at[(groups << kGroupBits) + warp];
  for (std::uint32_t g = 0; g < groups; ++g) {
    value = value * at[g << kGroupBits | (tile >> g * kGroupBits & ((1u << kGroupBits) - 1))];
  }
  return value;
}

/// The same in two steps: fetched early, multiplied when needed.
template <class T>
struct LinearParts {
  Complex<T> part[kMaxGroups + 1];

  TW_HD void fetch(const Complex<T>* tables, std::uint32_t tile_bits, std::uint32_t entry,
                   std::uint32_t warp, std::uint32_t num_warps, std::uint32_t tile) {
    const std::uint32_t groups = num_groups(tile_bits);
    const Complex<T>* at = tables + entry * ((groups << kGroupBits) + num_warps);
    part[kMaxGroups] = at[(groups << kGroupBits) + warp];
    TW_UNROLL
    for (std::uint32_t g = 0; g < kMaxGroups; ++g) {
      part[g] = {1, 0};
      if (g < groups) {
        part[g] = at[g << kGroupBits | (tile >> g * kGroupBits & ((1u << kGroupBits) - 1))];
      }
    }
  }
  TW_HD Complex<T> value() const {
    Complex<T> product = part[kMaxGroups];
    TW_UNROLL
    for (std::uint32_t g = 0; g < kMaxGroups; ++g) product = product * part[g];
    return product;
  }
};

/// One row of general angles of a tile; the terms on tile bits alone are added to row 0 by the
/// caller.
TW_HD std::uint64_t general_row(const ChunkHead& chunk, std::uint32_t row, std::uint32_t num_rows,
                                std::uint32_t tile) {
  const auto* turns =
      table<std::uint64_t>(reinterpret_cast<const std::byte*>(&chunk), chunk.general_turns) + row;
  std::uint64_t angle = 0;
  for (std::uint32_t b = 0; b < chunk.tile_bits; ++b, turns += num_rows) {
    angle += tile >> b & 1 ? *turns : 0;
  }
  return angle;
}

}  // namespace tilewave::statevec::tile
