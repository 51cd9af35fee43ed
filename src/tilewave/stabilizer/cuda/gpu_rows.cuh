// What all GPU engines do with finished rows: copy them to the host under the next kernel, count
// them, or keep those of some shots, on the host or on the device.
#pragma once

#include <functional>

#include "tilewave/stabilizer/cuda/device_buffer.cuh"
#include "tilewave/stabilizer/cuda/gpu_run.h"
#include "tilewave/stabilizer/cuda/kept_rows.cuh"

namespace tilewave::stabilizer {

/// Blocks of which shots [from, to), counted from the first block's first one, are wanted.
struct KeptStretch {
  std::uint64_t seed, first_block, num_blocks;
  std::uint64_t from, to;
};

class GpuRows : public GpuRun {
 public:
  std::uint64_t row_stride() const override { return packed_bits_ ? packed_bytes() : stride_; }
  void pack(std::uint64_t num_bits) override;
  GpuTimes fill(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                std::uint8_t* rows) override;
  GpuTimes count(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                 std::uint64_t num_bits, std::vector<std::uint64_t>& counts) override;
  GpuTimes pairs(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                 std::uint64_t num_bits, std::vector<std::uint64_t>& table) override;
  void discard(const std::vector<std::uint64_t>& must_be_zero) override;
  std::uint64_t count_kept(const ShotRange& shots, std::vector<std::uint64_t>& ones) override;
  std::uint64_t fill_kept(const ShotRange& shots, std::uint8_t* rows) override;
  std::vector<DeviceShots> keep_on_device(const ShotRange& shots,
                                          const std::vector<BitRange>& parts,
                                          DeviceLayout layout) override;

  /// For an engine that goes on with the rows of another one: those of blocks, at most
  /// blocks_at_once(), in that one's buffer.
  std::uint32_t* make_rows(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                           int buffer, cudaStream_t stream) {
    launch(seed, first_block, num_blocks, rows_[buffer].get(), buffer, stream);
    return rows_[buffer].get();
  }
  std::uint64_t blocks_at_once() const { return at_once_; }
  std::uint64_t row_words() const { return stride_ / 4; }

 protected:
  /// Sets the sizes; two buffers of `blocks_at_once` blocks are kept. Rows are copied to the host
  /// `blocks_to_copy` at a time, behind which the next are made (0: blocks_at_once).
  void reserve(std::uint64_t num_bits, std::uint64_t block_shots, std::uint64_t blocks_at_once,
               std::uint64_t blocks_to_copy = 0);
  /// Bytes between rows on the device, a multiple of 4.
  std::uint64_t made_stride() const { return stride_; }
  /// Writes the rows of blocks to device memory on a stream.
  virtual void launch(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                      std::uint32_t* rows, int buffer, cudaStream_t stream) = 0;
  /// Adds the ones of the first `num_bits` bits of blocks to `counts` without making rows; false
  /// where there is no such way.
  virtual bool launch_count(std::uint64_t /*seed*/, std::uint64_t /*first_block*/,
                            std::uint64_t /*num_blocks*/, std::uint64_t /*num_bits*/,
                            unsigned long long* /*counts*/, int /*buffer*/,
                            cudaStream_t /*stream*/) {
    return false;
  }
  /// The same as launch() with zeros for shots that are not wanted or discarded, and bit s % 32 of
  /// kept[s / 32] set for the others.
  virtual void launch_kept(const KeptStretch& stretch, std::uint32_t* rows, std::uint32_t* kept,
                           int buffer, cudaStream_t stream);
  /// The bits of discard() have changed.
  virtual void set_mask(const std::vector<std::uint64_t>& must_be_zero);
  std::uint64_t kept_words() const { return at_once_ * shots_ / 32; }

 private:
  // Calls step(done, blocks, buffer, stream) for stretches of at most `at_once` blocks.
  GpuTimes run(std::uint64_t num_blocks, std::uint64_t at_once,
               const std::function<void(std::uint64_t, std::uint64_t, int, cudaStream_t)>& step);
  std::uint64_t packed_bytes() const { return (packed_bits_ + 7) / 8; }
  // Copies rows without gaps to packed_[buffer].
  void start_packing(const std::uint32_t* rows, std::uint64_t num_shots, int buffer,
                     cudaStream_t stream);
  void start_count(std::uint64_t num_shots, std::uint64_t num_bits, unsigned long long* counts,
                   int buffer, cudaStream_t stream);
  // Gives the kept rows of stretches of at most `at_once` blocks, one behind the other in device
  // memory, to take(rows, count, stream), in order.
  std::uint64_t each_kept(
      const ShotRange& shots, std::uint64_t at_once,
      const std::function<void(const std::uint32_t*, std::uint64_t, int, cudaStream_t)>& take);
  std::vector<KeptStretch> stretches(const ShotRange& shots, std::uint64_t at_once) const;
  void need_kept();
  int device_ = 0;
  std::uint64_t packed_bits_ = 0;  // 0: rows are given as they are made
  std::uint64_t num_bits_ = 0, shots_ = 0, stride_ = 0, at_once_ = 0, to_copy_ = 0;
  DeviceBuffer<std::uint32_t> rows_[2], packed_[2];
  // Where shots are kept.
  std::vector<std::uint64_t> must_be_zero_;
  DeviceBuffer<std::uint32_t> mask_, kept_[2], closed_[2];
  RowOffsets offsets_[2];
};

/// The engines on the calling thread's device.
std::unique_ptr<GpuRows> make_gpu_rows(const SparseProgram& program);
std::unique_ptr<GpuRows> make_gpu_rows(const FrameProgram& program,
                                       const std::vector<std::uint64_t>& flips);

}  // namespace tilewave::stabilizer
