// The engines on one GPU, with the bits of the CPU. The frame engine is an interpreter compiled
// once: a block of threads holds the frames of its shots in shared memory (global memory for
// circuits too large), lanes are units of 32 shots, and the workers of a lane share the disjoint
// targets of each operation. The sparse engine draws the events of a unit with all threads of a
// block. The near-Clifford engine takes its rows from either.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tilewave/stabilizer/device_shots.h"
#include "tilewave/stabilizer/frame_program.h"
#include "tilewave/stabilizer/near_clifford/tables.h"
#include "tilewave/stabilizer/sparse_program.h"

namespace tilewave::stabilizer {

/// Times of a GPU run in seconds, for --explain and the bench.
struct GpuTimes {
  double kernels_s = 0, total_s = 0;
};

class GpuRun {
 public:
  virtual ~GpuRun() = default;
  /// Shots of one block; runs work on whole blocks.
  virtual std::uint64_t block_shots() const = 0;
  /// Bytes between rows: a multiple of 4, or those of a packed row.
  virtual std::uint64_t row_stride() const = 0;
  /// From now on fill() gives rows of the first `num_bits` bits, ceil(num_bits / 8) bytes each
  /// without gaps.
  virtual void pack(std::uint64_t num_bits) = 0;
  /// Rows of `num_blocks` blocks to host memory; copies and kernels overlap.
  virtual GpuTimes fill(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                        std::uint8_t* rows) = 0;
  /// The same without leaving the device: adds the ones of the first `num_bits` bits to `counts`.
  virtual GpuTimes count(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                         std::uint64_t num_bits, std::vector<std::uint64_t>& counts) = 0;
  /// The same for pairs of bits: entry b (b + 1) / 2 + a for a <= b.
  virtual GpuTimes pairs(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                         std::uint64_t num_bits, std::vector<std::uint64_t>& table) = 0;

  /// From now on the functions below discard shots with one of these bits (b at word b / 64) set;
  /// empty: none.
  virtual void discard(const std::vector<std::uint64_t>& must_be_zero) = 0;
  /// Adds the ones of all bits over the kept shots to `ones`; returns how many are kept.
  virtual std::uint64_t count_kept(const ShotRange& shots, std::vector<std::uint64_t>& ones) = 0;
  /// Rows of the kept shots, in order, to host memory; returns how many.
  virtual std::uint64_t fill_kept(const ShotRange& shots, std::uint8_t* rows) = 0;
  /// The same in device memory, a part each. All is written when it returns.
  virtual std::vector<DeviceShots> keep_on_device(const ShotRange& shots,
                                                  const std::vector<BitRange>& parts,
                                                  DeviceLayout layout) = 0;
};

/// Throws Error(kResources) when this build or machine has no GPU. `flips`: a row of constant flips
/// (reference).
std::unique_ptr<GpuRun> make_gpu_run(const FrameProgram& program,
                                     const std::vector<std::uint64_t>& flips, int device = 0);
std::unique_ptr<GpuRun> make_gpu_run(const SparseProgram& program, int device = 0);
/// Throws Error(kUsage) as well, where a shot has too many active qubits.
std::unique_ptr<GpuRun> make_gpu_run(std::shared_ptr<const NearCliffordTables> tables,
                                     int device = 0);

/// Page-locked host memory, which GPUs copy to at full speed. `device`: whose context it is made in.
class PinnedBuffer {
 public:
  PinnedBuffer(int device, std::size_t num_bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  std::uint8_t* data() const { return data_; }
  std::size_t num_bytes() const { return num_bytes_; }

 private:
  std::size_t num_bytes_;
  std::uint8_t* data_ = nullptr;
};

}  // namespace tilewave::stabilizer
