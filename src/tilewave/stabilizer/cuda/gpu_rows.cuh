// What all GPU engines do with finished rows: copy them to the host under the next kernel, count
// them, or keep those of some shots, on the host or on the device.
#pragma once

#include <functional>

#include "tilewave/stabilizer/cuda/bit_rows.cuh"
#include "tilewave/stabilizer/cuda/device_buffer.cuh"
#include "tilewave/stabilizer/cuda/device_pool.h"
#include "tilewave/stabilizer/cuda/gpu_run.h"
#include "tilewave/stabilizer/cuda/kept_rows.cuh"

namespace tilewave::stabilizer {

/// Blocks of which shots [from, to), counted from the first block's first one, are wanted.
struct KeptStretch {
  std::uint64_t seed, first_block, num_blocks;
  std::uint64_t from, to;
};

constexpr std::uint64_t kArrayAlign = 256;  // bytes, where arrays begin

/// Where bits of shots go, rows `stride` bytes apart.
struct ArrayPart {
  BitRange bits;
  std::uint8_t* rows;
  std::uint64_t stride;
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
  /// launch() in two steps, for engines that make something else first: launch_unread() makes it, on a
  /// stream, and read_rows() writes the rows of blocks [first, first + num_blocks) of these, at most
  /// blocks_to_read() at a time, over the rows read before, and returns where they are.
  virtual void launch_unread(std::uint64_t seed, std::uint64_t first_block,
                             std::uint64_t num_blocks, int buffer, cudaStream_t stream) {
    launch(seed, first_block, num_blocks, rows_[buffer].get(), buffer, stream);
  }
  virtual const std::uint32_t* read_rows(std::uint64_t first, std::uint64_t /*num_blocks*/,
                                         int buffer, std::uint32_t* /*scratch*/,
                                         cudaStream_t /*stream*/) {
    return rows_[buffer].get() + first * shots_ * row_words();
  }
  virtual std::uint64_t blocks_to_read() const { return at_once_; }
  /// Bits of shots [from, from + count) of what launch_unread() made, as rows of a bit each, to `out`;
  /// false where read_rows() must be asked.
  virtual bool read_bits(const BitRange& /*bits*/, std::uint64_t /*from*/, std::uint64_t /*count*/,
                         const BitRowsOut& /*out*/, int /*buffer*/, cudaStream_t /*stream*/) {
    return false;
  }
  /// The same as packed rows; shot s of what was made is row s + offset of the array.
  virtual bool read_packed(const ArrayPart& /*part*/, std::uint64_t /*from*/,
                           std::uint64_t /*count*/, std::int64_t /*offset*/, int /*buffer*/,
                           cudaStream_t /*stream*/) {
    return false;
  }
  /// Whether launch_arrays() makes such arrays: there is a part, and none is of no bits.
  virtual bool makes_arrays(DeviceLayout /*layout*/, const ShotRange& /*shots*/,
                            const std::vector<ArrayPart>& /*parts*/) const {
    return false;
  }
  /// Writes shots of blocks straight to arrays, which begin at multiples of kArrayAlign; shot s of the
  /// blocks is shot s + offset of the arrays.
  virtual void launch_arrays(const KeptStretch& /*stretch*/, DeviceLayout /*layout*/,
                             std::int64_t /*offset*/, const std::vector<ArrayPart>& /*parts*/,
                             int /*buffer*/, cudaStream_t /*stream*/) {}
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
  // What each_kept() does with the rows of shots, in order, on a stream of its own: shots made next are
  // made meanwhile.
  struct Takers {
    // Gets kept rows, one behind the other in device memory.
    std::function<void(const std::uint32_t*, std::uint64_t, cudaStream_t)> rows;
    // If any: where nothing is discarded, asked before; false: it wants the rows.
    std::function<bool(const KeptStretch&, int, cudaStream_t)> unread = {};
    // If any: memory for all rows of the blocks, which are made or closed up there.
    std::uint32_t* all = nullptr;
  };
  // Works on stretches of at most `at_once` blocks; returns how many shots are kept. All is done when it
  // returns or throws.
  std::uint64_t each_kept(const ShotRange& shots, std::uint64_t at_once, const Takers& take);
  std::uint64_t work_on(const std::vector<KeptStretch>& all, const Takers& take);
  // Makes arrays that need no rows of words in between; false where it cannot.
  bool make_arrays(const ShotRange& shots, DeviceLayout layout, std::vector<ArrayPart> parts);
  // Calls `work`, of which all is done when it returns or throws.
  void finish_all(const std::function<void()>& work);
  void synchronize();
  std::vector<DeviceShots> keep_rows(const ShotRange& shots, const std::vector<BitRange>& parts,
                                     bool bytes);
  std::vector<DeviceShots> keep_bit_rows(const ShotRange& shots,
                                         const std::vector<BitRange>& parts);
  std::vector<DeviceShots> keep_lists(const ShotRange& shots, const std::vector<BitRange>& parts);
  // Blocks whose rows go to arrays while the next are made: few enough that the cache of the device has
  // most of them still, and that a call has several.
  std::uint64_t blocks_to_keep() const;
  std::vector<KeptStretch> stretches(const ShotRange& shots, std::uint64_t at_once) const;
  void need_kept();
  int device_ = 0;
  std::uint64_t packed_bits_ = 0;  // 0: rows are given as they are made
  std::uint64_t num_bits_ = 0, shots_ = 0, stride_ = 0, at_once_ = 0, to_copy_ = 0;
  DeviceBuffer<std::uint32_t> rows_[2], packed_[2];
  // Where shots are kept.
  std::vector<std::uint64_t> must_be_zero_;
  DeviceBuffer<std::uint32_t> mask_, kept_[2], closed_;
  RowOffsets offsets_[2];
  // Blocks are made on two streams in turn; what is made of their rows has room beside them, so it
  // starts first.
  DeviceStream streams_[2], out_{DeviceStream::Urgent{}};
  DeviceEvent made_[2], taken_[2];
  std::shared_ptr<DevicePool> pool_;
};

/// The engines on the calling thread's device.
std::unique_ptr<GpuRows> make_gpu_rows(const SparseProgram& program);
std::unique_ptr<GpuRows> make_gpu_rows(const FrameProgram& program,
                                       const std::vector<std::uint64_t>& flips);

}  // namespace tilewave::stabilizer
