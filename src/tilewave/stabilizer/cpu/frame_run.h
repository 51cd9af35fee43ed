// The frame engine on the CPU: one batch of shots through a frame program. Rows are arrays of
// 512-bit vectors; every operation runs over the whole row before the next, so a batch is sized to
// keep the rows in the second-level cache.
#pragma once

#include <cstdint>

#include "tilewave/runtime/memory.h"
#include "tilewave/stabilizer/frame_program.h"

namespace tilewave::stabilizer {

/// Working memory of one thread, reused from batch to batch.
class FrameBatch {
 public:
  /// `num_shots` is a multiple of 512.
  FrameBatch(const FrameProgram& program, std::uint32_t num_shots);

  std::uint32_t num_shots() const { return num_shots_; }
  std::uint32_t row_words() const { return num_shots_ / 64; }

  /// Runs shots [32 * first_unit, 32 * first_unit + num_shots) of the seed. `sweep`: rows of sweep
  /// bits, row_words() each, or null for zeros.
  void run(std::uint64_t seed, std::uint64_t first_unit, const std::uint64_t* sweep = nullptr);

  /// Output rows after run(): records or detectors then observables, row_words() u64 each.
  const std::uint64_t* output() const;
  std::uint64_t* output();

  /// Bytes a batch of this many shots takes.
  static std::uint64_t bytes_for(const FrameProgram& program, std::uint64_t num_shots);

 private:
  const FrameProgram& program_;
  std::uint32_t num_shots_;
  runtime::HostBuffer frames_, leaked_, units_leaked_, records_, outputs_, scratch_;
};

}  // namespace tilewave::stabilizer
