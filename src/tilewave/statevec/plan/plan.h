// The plan of a unitary circuit on a state vector: an immutable, printable list of passes over the
// state.
//
// A pass brings k physical index bits ("active" positions) onto a faster level, applies every
// action of the pass to each group of 2^k amplitudes, and stores the group back to the same
// addresses with its bits in any order.
//
// Words: a *qubit* is a bit of the circuit; a *position* is a bit of the physical index. A Layout
// maps one to the other:
//   amplitude of basis state x = physical[ sum over qubits q of bit(x ^ flips, q) << position[q] ].
// Positions in `known_zero` hold 0 for every amplitude that can be non-zero; memory where such a
// bit is 1 is undefined: it is never read and is written only when the state is materialised.
//
// A state on 2^shard_bits ranks: the top shard_bits positions choose the rank, the others are
// local. Passes have local positions active only; an Exchange moves bits between both kinds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tilewave/base/complex.h"
#include "tilewave/settings/names.h"
#include "tilewave/statevec/plan/precision.h"
#include "tilewave/statevec/plan/rewrites.h"

namespace tilewave::statevec {

constexpr int kMaxQubits = 48;  ///< more cannot be held by any machine this program runs on

enum class ActionKind : std::uint8_t {
  kLift,  ///< [[1, -t], [t, 1]] on one target, after its 1-half is multiplied by e^{2 pi i
          ///< pre_turns / 2^64}; the common factor 1/sqrt(1+t^2) is part of the pass's scale. Never
          ///< controlled. |t| <= 1.
  kFlip,  ///< X on one target under at least one control
  kRotate,  ///< a real 2x2 matrix on one target under controls
  kMatrix,  ///< a complex 2^k x 2^k matrix on k targets, possibly under controls
  kPhase,   ///< a phase polynomial: every term multiplies by e^{2 pi i turns / 2^64} where all bits
            ///< of its mask are 1
};

/// One step on a group of amplitudes. In a Plan every bit is a physical position.
struct Action {
  ActionKind kind = ActionKind::kPhase;
  std::uint8_t num_targets = 0;
  std::array<std::uint8_t, kMaxTargets> targets{};  ///< bit k of a matrix index is targets[k]
  std::uint64_t control_mask = 0;  ///< acts where (index & control_mask) == control_value
  std::uint64_t control_value = 0;
  std::array<double, 4> m{};    ///< kLift: {t}; kRotate: row-major 2x2
  std::uint64_t pre_turns = 0;  ///< kLift
  /// kPhase: in Plan::terms; kMatrix: in Plan::matrices (row-major, 4^k entries).
  std::uint32_t first = 0;
  std::uint32_t count = 0;  ///< kPhase: number of terms

  std::uint64_t target_mask() const {
    std::uint64_t mask = 0;
    for (int k = 0; k < num_targets; ++k) mask |= std::uint64_t{1} << targets[k];
    return mask;
  }
};

/// e^{2 pi i turns / 2^64} where all bits of mask are 1; mask 0 is a global phase.
struct PhaseTerm {
  std::uint64_t mask = 0;
  std::uint64_t turns = 0;
};

struct Pass {
  /// Ascending positions; the row bits 0..row_bits-1 are always among them.
  std::vector<std::uint8_t> active;
  /// After the store, what was at active[i] is at dest[i] (a permutation of active).
  std::vector<std::uint8_t> dest;
  /// X on these positions, after the move (used to restore the identity layout).
  std::uint64_t store_flips = 0;
  std::uint64_t known_zero_before = 0;  ///< positions known to be 0 when the pass loads
  std::uint64_t known_zero_after = 0;   ///< positions known to be 0 after its store
  std::vector<Action> actions;          ///< in order; every target is active
  cplx scale{1, 0};                     ///< every amplitude is multiplied by it on store
  std::uint32_t num_gates = 0;          ///< rewritten gates executed here
  double bytes = 0;                     ///< read + written
  double flops = 0;                     ///< real operations, a multiply-add counts two
  double predicted_s = 0;
};

/// Bits of the physical index change places between ranks. In order: relabels and swaps exchange
/// the two positions of a pair, flips invert. Only swaps move amplitudes: with k of them, rank a's
/// part b and rank b's part a change places, for all k-bit numbers a and b. A flip of a position
/// known to be zero ends that knowledge.
struct Exchange {
  using Pair = std::pair<std::uint8_t, std::uint8_t>;
  std::uint32_t before_pass = 0;  ///< index in Plan::passes; their number for one at the end
  std::vector<Pair> relabels;     ///< two shard positions: ranks change names
  std::vector<Pair> swaps;        ///< a local and a shard position
  std::uint64_t flips = 0;        ///< X on shard positions: ranks change names
  std::uint64_t known_zero_before = 0;
  std::uint64_t known_zero_after = 0;
  double bytes = 0;  ///< sent by all ranks together
  double predicted_s = 0;
};

/// Where each qubit lives. See the head of this file.
struct Layout {
  std::array<std::uint8_t, 64> position{};
  /// Over qubits: the state holds the amplitude of x at the place of x ^ flips.
  std::uint64_t flips = 0;

  static Layout identity();
  /// The physical index of basis state `index` of n qubits.
  std::uint64_t physical(std::uint64_t index, int num_qubits) const;
  /// The basis state held at a physical index.
  std::uint64_t logical(std::uint64_t physical_index, int num_qubits) const;
  /// Where the bits of these qubits are.
  std::uint64_t positions(std::uint64_t qubits) const;
  bool is_identity(int num_qubits) const;
};

/// A way in which the planner made a plan of the circuit, and what that plan is predicted to take.
struct PlanCandidate {
  Rewrites way;  ///< of those that are chosen for a whole plan; empty: greedy
  std::uint32_t num_passes = 0;
  double predicted_s = 0;
};

struct Plan {
  int num_qubits = 0;
  Precision precision = Precision::kDouble;
  int tile_qubits = 0;  ///< active positions a pass may have
  int row_bits = 0;     ///< low positions active in every pass
  bool from_zeros = false;
  int shard_bits = 0;  ///< top positions that choose the rank
  std::vector<Pass> passes;
  std::vector<Exchange> exchanges;  ///< in order
  std::vector<PhaseTerm> terms;
  std::vector<cplx> matrices;
  Layout layout_before, layout_after;
  std::uint64_t known_zero_after = 0;  ///< positions
  std::uint64_t num_circuit_gates = 0;
  double predicted_s = 0;
  Rewrites rewrites;              ///< those it holds
  Effort effort = Effort::kOnce;  ///< that it was made with: once or repeated
  /// What the planner chose from, this plan first; empty where there was one candidate. Where the
  /// way was remembered from an earlier plan of the same structure, these are the candidates then.
  std::vector<PlanCandidate> candidates;
};

/// A table of the passes (active positions, gates, bytes, flops, predicted time), the rewrites that the
/// plan holds and the candidates that it was chosen from.
std::string explain(const Plan& plan);

}  // namespace tilewave::statevec
