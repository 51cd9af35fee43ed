// What both GPU engines do with finished rows: copy them to the host under the next kernel, or
// count them.
#pragma once

#include <functional>

#include "tilewave/stabilizer/cuda/device_buffer.cuh"
#include "tilewave/stabilizer/cuda/gpu_run.h"

namespace tilewave::stabilizer {

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

 private:
  // Calls step(done, blocks, buffer, stream) for stretches of at most `at_once` blocks.
  GpuTimes run(std::uint64_t num_blocks, std::uint64_t at_once,
               const std::function<void(std::uint64_t, std::uint64_t, int, cudaStream_t)>& step);
  std::uint64_t packed_bytes() const { return (packed_bits_ + 7) / 8; }
  // Copies the rows in rows_[buffer] without gaps to packed_[buffer].
  void start_packing(std::uint64_t num_shots, int buffer, cudaStream_t stream);
  int device_ = 0;
  std::uint64_t packed_bits_ = 0;  // 0: rows are given as they are made
  std::uint64_t num_bits_ = 0, shots_ = 0, stride_ = 0, at_once_ = 0, to_copy_ = 0;
  DeviceBuffer<std::uint32_t> rows_[2], packed_[2];
};

}  // namespace tilewave::stabilizer
