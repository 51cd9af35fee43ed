// Sampling shots of a circuit: make_shot_source() chooses the engine and the device, run_shots() puts
// shots in order from any number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilewave/formats/shots/byte_buffer.h"
#include "tilewave/settings/names.h"
#include "tilewave/stabilizer/device_shots.h"
#include "tilewave/stabilizer/fault_numbers.h"
#include "tilewave/stabilizer/sparse_program.h"
#include "tilewave/stabilizer/stab_program.h"

namespace tilewave::stabilizer {

using Engine = SamplingEngine;
/// kDetectors: detectors, then observables.
enum class ShotOutput : std::uint8_t { kRecords, kDetectors };

struct SampleOptions {
  ShotOutput output = ShotOutput::kDetectors;
  Engine engine = Engine::kAuto;
  std::uint64_t num_shots = 1;
  std::uint64_t seed = 0;
  std::uint64_t first_shot = 0;  ///< of the seed's endless sequence
  int num_threads = 0;           ///< 0: as many as the machine offers
  std::vector<int> gpus;         ///< the same shots, made on these GPUs; none: on the CPU
  bool reference = true;         ///< kRecords: false takes the noiseless shot as all zeros
  /// run_shots() keeps shots in which none of these bits (b at word b / 64) is set; empty: all.
  std::vector<std::uint64_t> must_be_zero;
  /// Shots with so many faults (fault_sites.h), drawn given that they have them.
  std::optional<FaultRange> faults;
};

class FaultRows;
struct ModelRows;

/// Makes the rows of shots; rows of one seed and shot are the same whatever the block or thread.
class ShotSource {
 public:
  virtual ~ShotSource() = default;
  virtual std::uint64_t num_bits() const = 0;
  /// Shots of a block: block b holds shots [b * block_shots(), ...).
  virtual std::uint64_t block_shots() const = 0;
  /// Blocks that the source can make at the same time, each for a thread of its own.
  virtual int devices() const { return 1; }
  /// Threads that are of use, and whose blocks together take a bounded part of the memory.
  virtual int most_threads() const { return std::numeric_limits<int>::max(); }
  /// Memory for rows, to which the source writes fastest. Throws Error(kResources).
  virtual std::shared_ptr<std::uint8_t[]> row_memory(std::size_t num_bytes);
  /// Asks for rows of the first `num_bits` bits alone, ceil(num_bits / 8) bytes each without gaps,
  /// in blocks as long as suits rows that leave as they are; false where the source does not make
  /// them. Otherwise blocks are short: threads share the work with their rows.
  virtual bool pack(std::uint64_t /*num_bits*/) { return false; }
  /// Writes a block's rows, row_stride() bytes apart. `thread` picks the working memory.
  virtual void fill(std::uint64_t seed, std::uint64_t block, int thread, std::uint8_t* rows) = 0;
  /// The same where only the block's shots [first, end) are asked for: the rows of others may be
  /// left out.
  virtual void fill_part(std::uint64_t seed, std::uint64_t block, std::uint64_t /*first*/,
                         std::uint64_t /*end*/, int thread, std::uint8_t* rows) {
    fill(seed, block, thread, rows);
  }
  /// Writes the rows of those of a block's shots [first, end) in which none of the bits of
  /// `must_be_zero` is set, one behind the other, row_stride() apart; returns how many. `rows` has
  /// room for the block.
  virtual std::uint64_t fill_kept(std::uint64_t seed, std::uint64_t block, std::uint64_t first,
                                  std::uint64_t end, int thread,
                                  const std::vector<std::uint64_t>& must_be_zero,
                                  std::uint8_t* rows);
  /// Adds whole blocks to a table of counts (see formats::ShotSummary) where they are made; false where
  /// the source has no such way and the rows must be asked for.
  virtual bool summarize(std::uint64_t /*seed*/, std::uint64_t /*first_block*/,
                         std::uint64_t /*num_blocks*/, bool /*pairs*/, std::uint64_t /*num_bits*/,
                         std::vector<std::uint64_t>& /*table*/) {
    return false;
  }
  /// Counts where shots are made: adds to `kept` how many of the shots have none of these bits set,
  /// and to `ones` the ones of every bit over them; false where the source has no such way and the
  /// rows must be asked for.
  virtual bool count_kept(const ShotRange& /*shots*/,
                          const std::vector<std::uint64_t>& /*must_be_zero*/,
                          std::uint64_t& /*kept*/, std::vector<std::uint64_t>& /*ones*/) {
    return false;
  }
  /// Shots that stay in the memory of the source's GPU, a part each; those with a bit of
  /// `must_be_zero` set are left out. Throws Error(kUsage) where the source is not one GPU.
  virtual std::vector<DeviceShots> keep_on_device(const ShotRange& shots,
                                                  const std::vector<BitRange>& parts,
                                                  DeviceLayout layout,
                                                  const std::vector<std::uint64_t>& must_be_zero);
  /// Where the options named a number of faults: how they are drawn, which may be changed between
  /// calls; else null.
  virtual FaultRows* faults() { return nullptr; }
  /// "frame" or "sparse".
  virtual std::string engine() const = 0;
  virtual std::string explain() const = 0;
  std::uint64_t row_bytes() const { return (num_bits() + 7) / 8; }
  virtual std::uint64_t row_stride() const { return row_bytes(); }
};

/// Picks the engine by cost (or as told) and compiles for it; a program with rotations takes the
/// near-Clifford engine, whose rows the engine chosen makes. Throws Error(kResources) where the
/// circuit is too large for the engine, Error(kUsage) where what options ask for does not go together.
std::unique_ptr<ShotSource> make_shot_source(const StabProgram& program,
                                             const SampleOptions& options);
/// The threads that fill blocks of a source where a caller asks for so many; 0: all.
int threads_for(const ShotSource& source, int requested);
/// The same of an error model, by the sparse engine. Throws Error(kUsage) as above.
std::unique_ptr<ShotSource> make_shot_source(const ModelRows& model, const SampleOptions& options);

/// Receives shots in order: `bytes` is what `format` made of the rows.
struct ShotPipeline {
  /// Called by any thread: turns rows (row_stride() apart) into bytes; may be slow. Returns the
  /// bytes, in `buffer` or in the rows themselves, which it may overwrite.
  std::function<std::span<const char>(std::uint8_t* rows, std::size_t num_shots,
                                      formats::ByteBuffer& buffer)>
      format;
  /// Called in order, one at a time; `num_shots` counts those that were not kept as well. Returns
  /// false to stop.
  std::function<bool(std::span<const char> bytes, std::size_t num_shots)> write;
};

/// Runs the shots [first_shot, first_shot + num_shots) through the pipeline. Returns how many were
/// written.
std::uint64_t run_shots(ShotSource& source, const SampleOptions& options,
                        const ShotPipeline& pipeline);

}  // namespace tilewave::stabilizer
