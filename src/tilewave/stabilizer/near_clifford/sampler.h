// Shots of a near-Clifford program on the CPU. A block of shots is made in three steps: the frame
// program's rows, by the sparse or the frame engine; then shot by shot the Born bits of its history
// (history_tree.h), each of which flips its column of the row; then the circuit's own bits.
//
// With post-selection a shot is given up as soon as a chosen detector is set: before any amplitude
// where no Born bit flips the detector, else right behind the last Born bit that does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tilewave/stabilizer/cpu/wide_rows.h"
#include "tilewave/stabilizer/frame_program.h"
#include "tilewave/stabilizer/near_clifford/history_tree.h"
#include "tilewave/stabilizer/near_clifford/program.h"
#include "tilewave/stabilizer/sparse_program.h"

namespace tilewave::stabilizer {

/// Bits of a row, sixty-four a word.
using BitRow = std::vector<std::uint64_t>;

class NearCliffordSampler {
 public:
  /// `frames`: the program of the engine that makes the rows of program.frame. `reference` is added
  /// to the bits of every shot; nothing where it is empty.
  NearCliffordSampler(NearCliffordProgram program, std::variant<SparseProgram, FrameProgram> frames,
                      BitRow reference, int num_threads);
  ~NearCliffordSampler();

  std::uint64_t num_bits() const { return program_.num_bits; }
  std::uint64_t row_bytes() const { return (num_bits() + 7) / 8; }
  std::uint64_t block_shots() const { return block_shots_; }

  /// Writes the rows of a block's shots [first, end), row_bytes() apart. With `must_be_zero`, only
  /// those of shots in which none of these bits is set, one behind the other. Returns how many. Up to
  /// seven bytes behind the last row may be written.
  std::uint64_t fill(std::uint64_t seed, std::uint64_t block, std::uint64_t first,
                     std::uint64_t end, int thread, const BitRow* must_be_zero, std::uint8_t* rows);

  std::string explain() const;

 private:
  struct Worker;
  struct Checks;

  void make_rows(Worker& w, std::uint64_t seed, std::uint64_t block) const;
  bool finish_shot(Worker& w, const Checks* checks, std::uint64_t seed, std::uint64_t shot,
                   std::uint64_t* row) const;
  template <std::size_t kWords>
  std::uint64_t finish_rows(Worker& w, const Checks* checks, std::uint64_t seed,
                            std::uint64_t first_shot, std::uint64_t first, std::uint64_t end,
                            std::uint8_t* out) const;
  Checks checks_for(const BitRow& must_be_zero) const;
  void make_leaves();
  static std::uint64_t born_bits(std::uint64_t seed, std::uint64_t shot, std::uint32_t born);
  const BitRow& draw_leaf(std::uint64_t bits) const;

  NearCliffordProgram program_;
  std::variant<SparseProgram, FrameProgram> frames_;
  std::uint64_t words_ = 0, block_shots_ = 0;
  std::vector<RowSpan> columns_;  // of Born bits
  BitRow reference_, signs_;
  std::optional<WideTables> wide_;  // where the sparse engine makes rows of few words
  // The outcomes of shots with no sign set: what their Born bits flip, and up to which uniform number
  // each is drawn, the first for every 1/kGuides of the way. Empty where there are too many.
  std::vector<BitRow> leaves_;
  std::vector<double> leaf_ends_;
  std::vector<std::uint32_t> guides_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace tilewave::stabilizer
