// What both GPU engines do with finished rows: copy them to the host under the next kernel, or
// count them.
#pragma once

#include <functional>

#include "tilewave/stabilizer/cuda/device_buffer.cuh"
#include "tilewave/stabilizer/cuda/gpu_run.h"

namespace tilewave::stabilizer {

class GpuRows : public GpuRun {
 public:
  std::uint64_t row_stride() const override { return stride_; }
  GpuTimes fill(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                std::uint8_t* rows) override;
  GpuTimes count(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                 std::uint64_t num_bits, std::vector<std::uint64_t>& counts) override;
  GpuTimes pairs(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                 std::uint64_t num_bits, std::vector<std::uint64_t>& table) override;

 protected:
  /// Sets the sizes; two buffers of `blocks_at_once` blocks are kept.
  void reserve(std::uint64_t num_bits, std::uint64_t block_shots, std::uint64_t blocks_at_once);
  /// Writes the rows of blocks to device memory on a stream.
  virtual void launch(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                      std::uint32_t* rows, int buffer, cudaStream_t stream) = 0;

 private:
  GpuTimes run(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
               const std::function<void(std::uint64_t, std::uint64_t, int, cudaStream_t)>& finish);
  std::uint64_t num_bits_ = 0, shots_ = 0, stride_ = 0, at_once_ = 0;
  DeviceBuffer<std::uint32_t> rows_[2];
};

}  // namespace tilewave::stabilizer
