// The program of the frame engine: what a shot's frame goes through, compiled once and interpreted
// on every machine. One-qubit Cliffords and swaps are compiled away: a qubit is a slot (two rows of
// bits, x and z) under a permutation of the Paulis, and every later operation is written in the
// slot's own axes. At the end of a loop body the permutation is brought back to that of its start.
//
// Noise with many targets of one probability is an operation of its own. Single places of noise,
// each perhaps with its own probability, gather in lists of sites: Paulis in frames commute, so a
// list takes what lies between the same gates, whatever it is called.
//
// Layout: `ops` are fixed-size; operands are u32 in one pool. A unit is 32 shots; rows hold units
// side by side. Every operation that draws has its own tick per execution.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewave/base/host_device.h"
#include "tilewave/stabilizer/noise.h"
#include "tilewave/stabilizer/stab_program.h"

namespace tilewave::stabilizer {

/// Noise is cut into streams of so many expected events a unit: more waste draws, fewer leave the
/// threads of a GPU idle.
constexpr double kStreamEvents = 2;

enum class FrameCode : std::uint8_t {
  kControlled,       ///< pairs of slots; `sub` = 3 * (a - 1) + (b - 1)
  kMeasure,          ///< slots into the next records; `sub` = basis
  kCoin,             ///< slots; multiplies Pauli `sub` in for a random half of the shots
  kClear,            ///< slots; frames become the identity
  kRecordFlip,       ///< the last `count` records, probability
  kPad,              ///< `count` records that no shot flips
  kPauli1,           ///< (slot | x axis << 28 | z axis << 30); thresholds
  kPauli2,           ///< pairs of the same
  kCorrelated,       ///< (slot | Pauli << 28); `sub`: 1 continues a chain
  kHerald,           ///< as kPauli1; one record each
  kSites,            ///< `count` sites from `first` on; `ticks` streams from `channel` on
  kFeedback,         ///< (slot, lookback); `sub` = Pauli
  kSweep,            ///< (slot, sweep bit); `sub` = Pauli
  kDetector,         ///< `count` detectors, each: number of records, lookbacks
  kObservable,       ///< index, then lookbacks
  kObservablePauli,  ///< (observable, slot); `sub` = Pauli
  kPermute,          ///< slots; stored x becomes `sub` & 3, stored z becomes `sub` >> 2
  kSwap,             ///< pairs of slots
  // of leakage (cpu/leakage_run.h): with a channel, for all shots
  kLeak,       ///< (slot | LeakScramble << 28); leaks
  kLeakPair,   ///< pairs of the same; both, the first, the second
  kUnleaked1,  ///< as kPauli1, where the slot is not leaked
  kUnleaked2,  ///< as kPauli2, where neither is
  kFalseFlag,  ///< slots of the last `count` records: flips them where it is not leaked
  // with thresholds from leak_thresholds[channel] on, for leaked shots
  kSeal,             ///< slots; they come back
  kSpread,           ///< pairs of slots where one is leaked: 01 both, 01 moves, 10 both, 10 moves
  kScrambleSpread,   ///< kScramblePartner, then kSpread, with one draw
  kLeaked1,          ///< as kPauli1, where the slot is leaked
  kLeaked2,          ///< as kPauli2; 15 thresholds each where the second, the first, both are
  kMissedFlag,       ///< slots of the last `count` records: flips them where it is leaked
  kScramble,         ///< slots; a uniformly random Pauli where leaked
  kScramblePartner,  ///< pairs of slots; of the one where the other is leaked
  kFlag,             ///< slots into the next records: is it leaked
  kLoop,             ///< loops[first] iterations of the operations up to its kLoopEnd
  kLoopEnd,          ///< `first`: the operation behind its kLoop
  kGateSpread,  ///< of leakage: kScrambleSpread of the first slot as source, then of the second
};

struct FrameOp {
  FrameCode code;
  std::uint8_t sub = 0;
  std::uint32_t ticks = 0;    ///< random streams this operation takes
  std::uint32_t first = 0;    ///< in operands
  std::uint32_t count = 0;    ///< targets
  std::uint32_t channel = 0;  ///< in channels
  /// Of noise: so many targets share a stream; streams are drawn side by side.
  std::uint32_t segment = 0;
};

/// What happens at a site, and its operands.
enum class SiteKind : std::uint8_t {
  kPauli1,    ///< as that of FrameCode
  kPauli2,    ///< two of them
  kRecord,    ///< the lookback of the record that flips
  kHerald,    ///< the lookback of its record, then as kPauli1
  kLeak,      ///< as that of FrameCode
  kLeakPair,  ///< as that of FrameCode
  kProduct,   ///< for every branch the number of factors, then (slot | Pauli << 28)
};
struct FrameSite {
  std::uint32_t first = 0;    ///< in operands
  std::uint32_t channel = 0;  ///< in site_channels
  SiteKind kind = SiteKind::kPauli1;
};

/// A noise channel: the total probability and the cumulated branches in units of 2^-24.
struct FrameChannel {
  double probability = 0;
  double inv_log = 0;  ///< 1 / log(1 - probability)
  std::uint32_t num_branches = 0;
  std::uint32_t upto[16] = {};  ///< branch k is chosen by bits in [upto[k-1], upto[k])
  bool equal = false;           ///< all branches are as likely: branch (bits * num_branches) >> 24
};

/// The branch that 24 random bits choose.
TW_HD std::uint32_t equal_branch(std::uint32_t num_branches, std::uint32_t bits) {
  return (bits * num_branches) >> 24;
}
TW_HD std::uint32_t listed_branch(const FrameChannel& c, std::uint32_t bits) {
  std::uint32_t k = 0;
  while (k + 1 < c.num_branches && bits >= c.upto[k]) ++k;
  return k;
}
TW_HD std::uint32_t branch_of(const FrameChannel& c, std::uint32_t bits) {
  return c.equal ? equal_branch(c.num_branches, bits) : listed_branch(c, bits);
}

/// Where a record lies among `ring` rows, a power of two. Rows of kRecords are the records.
template <class Index>
TW_HD Index ring_row(Index record, Index ring) {
  return record & (ring - 1);
}

/// Operations on leaked shots alone: slots of a layer, at most one random stream.
constexpr bool is_of_leaked_shots(FrameCode code) {
  return (code >= FrameCode::kSeal && code <= FrameCode::kFlag) || code == FrameCode::kGateSpread;
}
/// Any operation on the third row of slots.
constexpr bool is_of_leakage(FrameCode code) {
  return (code >= FrameCode::kLeak && code <= FrameCode::kFlag) || code == FrameCode::kGateSpread;
}

enum class FrameOutput : std::uint8_t { kRecords, kDetectors };

struct FrameProgram {
  std::vector<FrameOp> ops;
  std::vector<std::uint32_t> operands;
  std::vector<FrameChannel> channels;
  std::vector<std::uint64_t> loops;
  std::vector<FrameSite> sites;
  std::vector<double> site_ends;  ///< of every site, within its stream
  std::vector<SiteRate> site_rates;
  std::vector<SiteStream> site_streams;
  std::vector<FrameChannel> site_channels;  ///< branches only: sites have their probabilities
  /// Cumulated probabilities in units of 2^-64 that operations on leaked shots compare with.
  std::vector<std::uint64_t> leak_thresholds;
  bool has_leakage = false;  ///< slots have a third row, the shots in which they are leaked
  std::uint32_t num_slots = 0;
  std::uint64_t num_records = 0;  ///< all that are measured
  /// Records kept: all for kRecords, else a power of two that covers every lookback.
  std::uint64_t ring_rows = 0;
  std::uint64_t num_detectors = 0;
  std::uint64_t num_observables = 0;
  std::uint64_t num_sweep_bits = 0;
  FrameOutput output = FrameOutput::kDetectors;

  std::uint64_t num_rows_out() const {
    return output == FrameOutput::kRecords ? num_records : num_detectors + num_observables;
  }
};

/// Compiles. Coins are kept only where some output depends on them (needed_coins.h).
FrameProgram compile_frames(const StabProgram& program, FrameOutput output);

/// One line an operation, for --explain.
std::string describe(const FrameProgram& program);

}  // namespace tilewave::stabilizer
