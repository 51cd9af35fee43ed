// What all shots of a near-Clifford program share, on the CPU and on GPUs: the program, the rows'
// engine, what each Born bit flips, and the outcomes of shots with no sign set.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tilewave/stabilizer/frame_program.h"
#include "tilewave/stabilizer/near_clifford/program.h"
#include "tilewave/stabilizer/near_clifford/row_span.h"
#include "tilewave/stabilizer/sparse_program.h"

namespace tilewave::stabilizer {

/// The bits that must be zero, by when they are known.
struct ZeroChecks {
  BitRow first;                 ///< those that no Born bit flips any more
  BitRow all;                   ///< all
  std::vector<RowSpan> behind;  ///< the Born bits; empty where nothing is known then
};

struct NearCliffordTables {
  /// `frames`: the program of the engine that makes the rows of program.frame; where a shot may take
  /// long, its units become smaller. `reference` is added to the bits of every shot; nothing where
  /// it is empty.
  NearCliffordTables(NearCliffordProgram program, std::variant<SparseProgram, FrameProgram> frames,
                     BitRow reference);

  /// Rows get so many words, zeros behind the bits.
  void widen(std::size_t words);
  ZeroChecks checks_for(const BitRow& must_be_zero) const;
  /// The program, and how many ways its outcomes have without a sign.
  std::string explain() const;

  NearCliffordProgram program;
  std::variant<SparseProgram, FrameProgram> frames;
  BitRow reference, signs;
  std::size_t words = 0;         ///< of a row
  double most_block_shots = 0;   ///< that a block should have
  std::vector<RowSpan> columns;  ///< of Born bits
  /// The outcomes of shots with no sign set: what their Born bits flip, and up to which uniform number
  /// each is drawn, the first for every 1/kGuides of the way. Empty where there are too many.
  std::vector<BitRow> leaves;
  std::vector<double> leaf_ends;
  std::vector<std::uint32_t> guides;
  static constexpr int kLog2Guides = 10;

 private:
  void make_leaves();
};

}  // namespace tilewave::stabilizer
