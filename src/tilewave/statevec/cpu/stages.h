// Which phase terms and lifts of a block go through it together.
//
// A layer is phase terms, then lifts on different bits. Circuits such as the QFT have many layers
// of one lift, and a sweep over the block for each costs more than its arithmetic. A stage takes
// several layers: first terms of any kind, then a chain of links on the bits inside rows (lifts and
// terms of these bits only: each row stays in registers) and beside it sweeps over the row number's
// bits (lifts on a few bits and terms of rows only: a group of rows stays in registers). Both
// commute, so only a term with bits of both kinds ends a stage. A term waits until a lift on one of
// its bits comes: terms with bits inside rows, which need tables, then meet in few stages.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tilewave/statevec/cpu/block.h"

namespace tilewave::statevec::cpu {

/// e^{2 pi i turns / 2^64} where all bits are 1: bits inside a row, of the row number, and
/// positions outside the block.
struct SplitTerm {
  std::uint32_t low = 0, rows = 0;
  std::uint64_t outside = 0;
  std::uint64_t turns = 0;

  std::uint32_t inside() const { return low | rows << kLowBits; }
};
using SplitTerms = std::vector<SplitTerm>;

/// Terms without row bits, then lifts inside rows.
struct StageLink {
  SplitTerms terms;
  LayerStep<double> lifts;
};

/// Terms of rows, then for each k a lift on bits[k] by t[k] and terms of the rows of a group: their
/// row bits are among `bits`.
struct StageSweep {
  SplitTerms before;
  int num_bits = 0;
  std::array<int, kSweepBits> bits{};
  std::array<double, kSweepBits> t{};
  std::uint32_t reflected = 0;  ///< bit k: the lift on bits[k]
  std::array<SplitTerms, kSweepBits> after;

  std::uint32_t mask() const;  ///< of its bits, over row bits
  bool is_plain() const;       ///< no terms
  LayerStep<double> lifts() const;
};

struct Stage {
  SplitTerms terms;
  LayerStep<double> lifts;  ///< on any bits
  std::vector<StageLink> links;
  std::vector<StageSweep> sweeps;

  bool has_inside() const;       ///< something that goes row by row
  std::uint32_t lifted() const;  ///< low bits, then row bits
  std::uint32_t phased() const;
};

/// Gathers terms and lifts in order: layers, then stages.
class Stages {
 public:
  void add(const SplitTerms& terms);
  void add_lift(int place, double t);  ///< place: low bits, then row bits
  /// What has to come before a step that changes the bits of `targets` and looks at those of
  /// `controls`.
  std::vector<Stage> take_before(std::uint32_t targets, std::uint32_t controls);
  /// Everything.
  std::vector<Stage> take();

 private:
  void close_layer();
  void reflect(LayerStep<double>& lifts);
  bool joins(const SplitTerms& due, const LayerStep<double>& lifts) const;
  void join(const SplitTerms& due, const LayerStep<double>& lifts);
  void open(SplitTerms due, const LayerStep<double>& lifts);
  void add_sweeps(SplitTerms terms, const LayerStep<double>& lifts);
  bool place_rest();
  std::vector<Stage> take_stages();

  std::vector<Stage> stages_;  // the last one is open
  SplitTerms waiting_;         // those of the layer included
  LayerStep<double> lifts_;    // of the layer
};

}  // namespace tilewave::statevec::cpu
