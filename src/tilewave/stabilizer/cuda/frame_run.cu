// The frame engine on the GPU: one launch for a batch, whatever the circuit (frame_machine.cuh).
// Finished rows stay as [bit][unit] where they are counted, and are transposed where they leave.
#include <algorithm>

#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/stabilizer/cuda/bit_rows.cuh"
#include "tilewave/stabilizer/cuda/frame_layout.h"
#include "tilewave/stabilizer/cuda/frame_machine.cuh"
#include "tilewave/stabilizer/cuda/gpu_rows.cuh"
#include "tilewave/stabilizer/sampler_tuning.h"

namespace tilewave::stabilizer {
namespace {

constexpr int kMostThreads = 512;  // of a multiprocessor: 128 registers each, or some are spilled
constexpr std::size_t kBlockOverhead = 1 << 10;  // of shared memory

template <bool Spills, bool Records, bool Leaks>
__global__ void __launch_bounds__(kMostThreads, 1)
    run_frames(const __grid_constant__ FrameView v, std::uint64_t seed, std::uint64_t first_unit,
               std::uint32_t* out, std::uint32_t* spill, std::uint64_t state_words) {
  extern __shared__ uint4 shared[];
  const std::uint64_t first = std::uint64_t{blockIdx.x} << v.log_lanes;
  run_block<Spills, Records, Leaks>(
      v, seed, first_unit + first, out + first,
      spill + blockIdx.x * ((Spills ? state_words : 0) + (v.leaked << v.log_lanes)), state_words,
      reinterpret_cast<std::uint32_t*>(shared));
}

using Kernel = void (*)(FrameView, std::uint64_t, std::uint64_t, std::uint32_t*, std::uint32_t*,
                        std::uint64_t);
template <bool Spills, bool Records>
Kernel kernel_for(bool leaks) {
  return leaks ? run_frames<Spills, Records, true> : run_frames<Spills, Records, false>;
}
Kernel kernel_for(bool spills, bool records, bool leaks) {
  if (spills) return records ? kernel_for<true, true>(leaks) : kernel_for<true, false>(leaks);
  return records ? kernel_for<false, true>(leaks) : kernel_for<false, false>(leaks);
}

class GpuFrame : public GpuRows {
 public:
  GpuFrame(const FrameProgram& p, const std::vector<std::uint64_t>& flips)
      : operands_(p.operands),
        channels_(p.channels),
        sites_(p.sites),
        site_ends_(p.site_ends),
        site_rates_(p.site_rates),
        site_streams_(p.site_streams),
        site_channels_(p.site_channels),
        leak_thresholds_(p.leak_thresholds) {
    check_nesting(p);
    if (p.num_rows_out() >> 32)
      throw Error(ExitCode::kResources,
                  "a GPU makes fewer than 2^32 bits a shot: use --device cpu");
    const bool records = p.output == FrameOutput::kRecords;
    const FrameRows begins(p);
    const std::uint64_t rows = begins.end;
    // Lanes: as many as fit with room for some events; then blocks a multiprocessor, and what they
    // leave for events.
    constexpr std::size_t kFewEvents = 1024;
    // of a multiprocessor, so little less that one block may have all of it
    const std::size_t shared_bytes =
        runtime::cuda::properties_of(current_gpu()).sharedMemPerMultiprocessor - 2 * kBlockOverhead;
    const auto bytes = [&](std::uint32_t n, std::size_t room) {
      return (rows * n + words_beside(n, room, kStagedOps)) * 4 + kBlockOverhead;
    };
    while (lanes_ > 4 && bytes(lanes_, kFewEvents) > shared_bytes) lanes_ /= 2;
    const bool spills = bytes(lanes_, kFewEvents) > shared_bytes;
    if (spills) lanes_ = 32;
    state_words_ = rows * lanes_;
    spill_words_ = (spills ? state_words_ : 0) + begins.leaked * lanes_;
    const std::size_t least =
        spills ? words_beside(lanes_, kFewEvents, kStagedOps) * 4 + kBlockOverhead
               : bytes(lanes_, kFewEvents);
    const std::size_t blocks_each = std::clamp<std::size_t>(shared_bytes / least, 1, 8);
    const std::size_t most_events = kFewEvents + (shared_bytes / blocks_each - least) / 4;
    const FrameLayout layout(p, lanes_, static_cast<std::uint32_t>(most_events));
    threads_ = threads_for(p, static_cast<std::uint32_t>(kMostThreads / blocks_each));
    shared_bytes_ =
        ((spills ? 0 : state_words_) + words_beside(lanes_, layout.list_room, layout.ops.size())) *
        4;
    loops_ = DeviceBuffer<std::uint64_t>(layout.loops);
    ops_ = DeviceBuffer<DeviceOp>(layout.ops);
    detector_at_ = DeviceBuffer<std::uint32_t>(layout.detector_at);
    streams_ = DeviceBuffer<DrawStream>(layout.streams);
    windows_ = DeviceBuffer<DrawWindow>(layout.windows);
    kernel_ = kernel_for(spills, records, p.has_leakage);
    runtime::cuda::allow_shared(current_gpu(), reinterpret_cast<const void*>(kernel_),
                                shared_bytes_);
    reserve_rows(p);
    if (!flips.empty()) {
      std::vector<std::uint32_t> words(2 * flips.size());
      for (std::size_t k = 0; k < flips.size(); ++k)
        words[2 * k] = static_cast<std::uint32_t>(flips[k]),
                  words[2 * k + 1] = static_cast<std::uint32_t>(flips[k] >> 32);
      flips_ = DeviceBuffer<std::uint32_t>(words);
    }
    view_ = {ops_.get(),
             operands_.get(),
             channels_.get(),
             loops_.get(),
             detector_at_.get(),
             streams_.get(),
             windows_.get(),
             sites_.get(),
             site_ends_.get(),
             site_rates_.get(),
             site_streams_.get(),
             site_channels_.get(),
             leak_thresholds_.get(),
             begins.marks,
             begins.leaked,
             static_cast<std::uint32_t>(layout.ops.size()),
             p.num_slots,
             static_cast<std::uint32_t>(__builtin_ctz(lanes_)),
             layout.list_room,
             p.ring_rows,
             p.num_detectors,
             p.num_rows_out(),
             0};
  }
  std::uint64_t block_shots() const override { return kBlockShots; }

 protected:
  void launch(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
              std::uint32_t* rows, int buffer, cudaStream_t stream) override {
    make_bits(seed, first_block, num_blocks, buffer, stream);
    transpose_bit_rows(bits_of(0, num_blocks, buffer), rows, made_stride() / 4, stream);
  }
  void launch_unread(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                     int buffer, cudaStream_t stream) override {
    make_bits(seed, first_block, num_blocks, buffer, stream);
  }
  const std::uint32_t* read_rows(std::uint64_t first, std::uint64_t num_blocks, int buffer,
                                 std::uint32_t* scratch, cudaStream_t stream) override {
    transpose_bit_rows(bits_of(first, num_blocks, buffer), scratch, made_stride() / 4, stream);
    return scratch;
  }
  std::uint64_t blocks_to_read() const override {
    return std::max<std::uint64_t>(1, kGpuReadBytes / (kBlockShots * made_stride()));
  }
  bool read_bits(const BitRange& bits, std::uint64_t from, std::uint64_t count,
                 const BitRowsOut& out, int buffer, cudaStream_t stream) override {
    copy_bit_rows(bits_of(0, made_blocks_[buffer], buffer), bits.first, bits.count, from, count,
                  out, stream);
    return true;
  }
  bool read_packed(const ArrayPart& part, std::uint64_t from, std::uint64_t count,
                   std::int64_t offset, int buffer, cudaStream_t stream) override {
    pack_bit_rows(bits_of(0, made_blocks_[buffer], buffer), part.bits.first, part.bits.count, from,
                  from + count, {part.rows, part.stride, offset}, stream);
    return true;
  }
  // Rows of a bit as the kernel writes them: whole blocks, all bits in one array.
  bool makes_arrays(DeviceLayout layout, const ShotRange& shots,
                    const std::vector<ArrayPart>& parts) const override {
    if (layout != DeviceLayout::kBitRows || flips_.get()) return false;
    if (shots.first % kBlockShots != 0 || shots.count % kBlockShots != 0) return false;
    std::uint64_t rows = 0;
    for (const ArrayPart& p : parts) {
      if (p.bits.first != rows || p.rows != parts[0].rows + rows * p.stride) return false;
      rows += p.bits.count;
    }
    return rows == view_.num_rows;
  }
  void launch_arrays(const KeptStretch& s, DeviceLayout, std::int64_t offset,
                     const std::vector<ArrayPart>& parts, int buffer,
                     cudaStream_t stream) override {
    auto* const bits = reinterpret_cast<std::uint32_t*>(parts[0].rows) + offset / 32;
    run_kernel(s.seed, s.first_block, s.num_blocks, bits, parts[0].stride / 4, buffer, stream);
  }
  bool launch_count(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                    std::uint64_t num_bits, unsigned long long* counts, int buffer,
                    cudaStream_t stream) override {
    make_bits(seed, first_block, num_blocks, buffer, stream);
    BitRows bits = bits_of(0, num_blocks, buffer);
    bits.num_rows = num_bits;
    count_bit_rows(bits, counts, stream);
    return true;
  }

 private:
  static constexpr std::uint64_t kBlockShots = 1024, kUnits = kBlockShots / 32;

  static void check_nesting(const FrameProgram& p) {
    int depth = 0;
    for (const FrameOp& op : p.ops) {
      if (op.code == FrameCode::kLoopEnd) --depth;
      if (op.code == FrameCode::kLoop && ++depth > kMaxLoops)
        throw Error(ExitCode::kInput,
                    "the GPU runs at most 16 nested REPEAT blocks: use --device cpu");
    }
  }

  // So many that a mean operation has one or two quads of a target for each: every warp decodes
  // every operation.
  std::uint32_t threads_for(const FrameProgram& p, std::uint32_t most) const {
    double targets = 0, ops = 0;
    for (const FrameOp& op : p.ops) {
      if (op.code != FrameCode::kSites) targets += op.count, ++ops;  // their events are few
    }
    const double wanted = targets / std::max(1.0, ops) * (lanes_ / 4);
    std::uint32_t threads = 64;
    while (threads * 2 <= most && threads * 2 < wanted) threads *= 2;
    return threads;
  }

  // Launches of about a gigabyte that fill every multiprocessor a whole number of times.
  void reserve_rows(const FrameProgram& p) {
    const std::uint64_t num_rows = p.num_rows_out();
    const std::uint64_t block_bytes =
        std::max<std::uint64_t>(4, (num_rows + 31) / 32 * 4) * kBlockShots;
    int device = 0, processors = 1, resident = 1;
    check_cuda(cudaGetDevice(&device), "ask for the device");
    check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
               "ask for the multiprocessors");
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                   &resident, kernel_, static_cast<int>(threads_), shared_bytes_),
               "ask how many blocks fit");
    std::size_t free_bytes = 0, total_bytes = 0;
    check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "ask for the free memory");
    const std::uint64_t bytes = std::min<std::uint64_t>(std::uint64_t{1} << 30, free_bytes / 16);
    std::uint64_t blocks = std::max<std::uint64_t>(1, bytes / block_bytes);
    if (spill_words_)
      blocks = std::min<std::uint64_t>(
          blocks,
          std::max<std::uint64_t>(1, free_bytes / 8 / (spill_words_ * kUnits / lanes_ * 4)));
    const std::uint64_t wave = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(processors) *
               static_cast<std::uint64_t>(std::max(1, resident)) * lanes_ / kUnits);
    if (blocks > wave) blocks = blocks / wave * wave;
    reserve(num_rows, kBlockShots, blocks, wave);
    for (int k = 0; k < 2; ++k) {
      bits_[k] =
          DeviceBuffer<std::uint32_t>(std::max<std::uint64_t>(1, num_rows) * blocks * kUnits);
      if (spill_words_)
        spill_[k] = DeviceBuffer<std::uint32_t>(blocks * kUnits / lanes_ * spill_words_);
    }
  }

  // Of blocks [first, first + num_blocks) of those last made there.
  BitRows bits_of(std::uint64_t first, std::uint64_t num_blocks, int buffer) const {
    return {bits_[buffer].get() + first * kUnits, view_.num_rows, num_blocks * kUnits,
            made_blocks_[buffer] * kUnits, flips_.get()};
  }

  void make_bits(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                 int buffer, cudaStream_t stream) {
    made_blocks_[buffer] = num_blocks;
    run_kernel(seed, first_block, num_blocks, bits_[buffer].get(), num_blocks * kUnits, buffer,
               stream);
  }
  // To rows `pitch` units apart.
  void run_kernel(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                  std::uint32_t* bits, std::uint64_t pitch, int buffer, cudaStream_t stream) const {
    FrameView v = view_;
    v.num_units = pitch;
    kernel_<<<static_cast<unsigned>(num_blocks * kUnits / lanes_), threads_, shared_bytes_,
              stream>>>(v, seed, first_block * kUnits, bits, spill_[buffer].get(), state_words_);
  }

  DeviceBuffer<DeviceOp> ops_;
  DeviceBuffer<std::uint32_t> operands_;
  DeviceBuffer<FrameChannel> channels_;
  DeviceBuffer<FrameSite> sites_;
  DeviceBuffer<double> site_ends_;
  DeviceBuffer<SiteRate> site_rates_;
  DeviceBuffer<SiteStream> site_streams_;
  DeviceBuffer<FrameChannel> site_channels_;
  DeviceBuffer<std::uint64_t> loops_, leak_thresholds_;
  DeviceBuffer<std::uint32_t> detector_at_, flips_, bits_[2], spill_[2];
  DeviceBuffer<DrawStream> streams_;
  DeviceBuffer<DrawWindow> windows_;
  std::uint32_t lanes_ = 32, threads_ = 64;
  std::uint64_t state_words_ = 0, spill_words_ = 0, made_blocks_[2] = {};
  std::size_t shared_bytes_ = 0;
  Kernel kernel_ = nullptr;
  FrameView view_{};
};

}  // namespace

std::unique_ptr<GpuRows> make_gpu_rows(const FrameProgram& program,
                                       const std::vector<std::uint64_t>& flips) {
  return std::make_unique<GpuFrame>(program, flips);
}

std::unique_ptr<GpuRun> make_gpu_run(const FrameProgram& program,
                                     const std::vector<std::uint64_t>& flips, int device) {
  use_gpu(device);
  return make_gpu_rows(program, flips);
}

}  // namespace tilewave::stabilizer
