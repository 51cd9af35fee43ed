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
#include <vector>

#include "tilewave/stabilizer/cpu/fault_rows.h"
#include "tilewave/stabilizer/cpu/wide_rows.h"
#include "tilewave/stabilizer/near_clifford/history_tree.h"
#include "tilewave/stabilizer/near_clifford/tables.h"

namespace tilewave::stabilizer {

class NearCliffordSampler {
 public:
  /// With `faults`, of the frame program, rows have a given number of faults; the tables' rows are
  /// then those of its coins.
  NearCliffordSampler(NearCliffordTables tables, int num_threads,
                      std::shared_ptr<const FaultRows> faults = nullptr);
  ~NearCliffordSampler();
  NearCliffordSampler(const NearCliffordSampler&) = delete;
  NearCliffordSampler& operator=(const NearCliffordSampler&) = delete;

  std::uint64_t num_bits() const { return tables_.program.num_bits; }
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

  void make_rows(Worker& w, std::uint64_t seed, std::uint64_t block) const;
  bool finish_shot(Worker& w, const ZeroChecks* checks, std::uint64_t seed, std::uint64_t shot,
                   std::uint64_t* row) const;
  template <std::size_t kWords>
  std::uint64_t finish_rows(Worker& w, const ZeroChecks* checks, std::uint64_t seed,
                            std::uint64_t first_shot, std::uint64_t first, std::uint64_t end,
                            std::uint8_t* out) const;
  static std::uint64_t born_bits(std::uint64_t seed, std::uint64_t shot, std::uint32_t born);
  const BitRow& draw_leaf(std::uint64_t bits) const;

  NearCliffordTables tables_;
  std::shared_ptr<const FaultRows> faults_;
  const NearCliffordProgram& program_ = tables_.program;
  std::uint64_t block_shots_ = 0;
  std::optional<WideTables> wide_;  // where the sparse engine makes rows of few words
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace tilewave::stabilizer
