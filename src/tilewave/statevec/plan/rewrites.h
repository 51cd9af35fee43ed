// What planning may do beyond greedy passes of one size. Each rewrite is chosen where it is
// predicted to be faster. A plan says which of them it holds; tests force and forbid each in turn,
// so that none is run for the first time by a user whose circuit it pays for.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace tilewave::statevec {

enum class Rewrite : std::uint8_t {
  kSearched,     ///< a schedule found by annealing
  kWideTile,     ///< passes have CostModel::wide_tile_qubits
  kNarrowed,     ///< with as few such passes as annealing finds
  kOneMore,      ///< with a pass more than it can do with
  kSplit,        ///< a pass in parts that keep amplitudes in the range of the numbers
  kMergedMoves,  ///< neighbours that only move rows are one pass
  kTakenMoves,   ///< a pass that only moves rows does flips and moves of its neighbours
  kSmallTile,    ///< a pass has fewer active positions than the others
  kDeferred,     ///< the last pass before an exchange is part of those after it
  kHandedOver,   ///< a pass before an exchange places the wires that leave
};
constexpr int kNumRewrites = 10;

/// A word for reports.
const char* name_of(Rewrite rewrite);

/// A set of them.
class Rewrites {
 public:
  constexpr Rewrites() = default;
  constexpr Rewrites(std::initializer_list<Rewrite> list) {
    for (const Rewrite r : list) add(r);
  }
  constexpr bool has(Rewrite r) const { return bits_ >> static_cast<int>(r) & 1; }
  constexpr void add(Rewrite r) { bits_ |= 1u << static_cast<int>(r); }
  constexpr void add(Rewrites others) { bits_ |= others.bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr std::uint32_t bits() const { return bits_; }
  /// Their names with commas between.
  std::string text() const;

 private:
  std::uint32_t bits_ = 0;
};

/// What decides about a rewrite that is possible: nothing but this, or else what it is predicted to
/// save.
struct RewriteChoice {
  Rewrites forced;
  Rewrites forbidden;

  bool allows(Rewrite r) const { return !forbidden.has(r); }
  bool forces(Rewrite r) const { return forced.has(r); }
};

}  // namespace tilewave::statevec
