// The frame engine on the GPU: one launch for a batch, whatever the circuit. A block of threads is
// `lanes` units of 32 shots times workers; thread t serves lane t % lanes. Rows (x and z of a slot,
// then the ring of records) lie in shared memory, word [row][lane], or in global memory when the
// circuit is too large. Every operation's targets are disjoint, so the workers share them and meet
// at a barrier. Finished rows leave as [bit][unit] and are transposed by warps, 32 bits x 32 shots
// in registers. The bits are those of cpu/frame_run.cc.
#include <algorithm>

#include "tilewave/stabilizer/cuda/gpu_rows.cuh"
#include "tilewave/stabilizer/frame_ops.h"
#include "tilewave/stabilizer/noise.h"

namespace tilewave::stabilizer {
namespace {

constexpr int kMaxLoops = 16;
constexpr int kThreads = 256;
constexpr std::size_t kSharedBytes = 224 << 10;

struct View {
  const FrameOp* ops;
  const std::uint32_t* operands;
  const FrameChannel* channels;
  const std::uint64_t* loops;
  const std::uint32_t* detector_at;  // of every detector operation: where its lists start
  std::uint32_t num_ops, num_slots, lanes;
  std::uint64_t ring, num_detectors, num_rows, num_units;
  bool records;
};

struct Block {
  const View& v;
  std::uint32_t* state;  // rows of `lanes` words
  std::uint32_t* chain;  // shots hit in the current chain, a word a lane
  std::uint32_t* out;    // [bit][unit] of the whole launch
  std::uint32_t lane, worker, workers;
  std::uint64_t unit_index;  // of this lane in the launch
  std::uint64_t unit;        // of the seed's sequence
  std::uint32_t key0, key1;
  std::uint64_t tick, record, detector;
  bool live;  // the lane's unit exists

  __device__ std::uint32_t& x(std::uint32_t slot) const {
    return state[(2 * slot) * v.lanes + lane];
  }
  __device__ std::uint32_t& z(std::uint32_t slot) const {
    return state[(2 * slot + 1) * v.lanes + lane];
  }
  __device__ std::uint32_t& record_at(std::uint64_t index) const {
    return v.records ? out[index * v.num_units + unit_index]
                     : state[(2 * v.num_slots + (index & (v.ring - 1))) * v.lanes + lane];
  }
  __device__ std::uint32_t& back(std::uint32_t lookback) const {
    return record_at(record - lookback);
  }
};

__device__ std::uint32_t anti(std::uint32_t p, std::uint32_t x, std::uint32_t z) {
  return p == 1 ? z : p == 3 ? x : x ^ z;
}
__device__ void mul(std::uint32_t p, std::uint32_t& x, std::uint32_t& z, std::uint32_t s) {
  if (p != 3) x ^= s;
  if (p != 1) z ^= s;
}

template <int Sub>
__device__ void controlled(const Block& b, const std::uint32_t* t, std::uint32_t n) {
  constexpr Pauli kA = static_cast<Pauli>(Sub / 3 + 1), kB = static_cast<Pauli>(Sub % 3 + 1);
  for (std::uint32_t i = b.worker; i < n; i += b.workers) {
    const std::uint32_t a = t[2 * i], c = t[2 * i + 1];
    std::uint32_t ax = b.x(a), az = b.z(a), cx = b.x(c), cz = b.z(c);
    apply_controlled<kA, kB>(ax, az, cx, cz);
    b.x(a) = ax, b.z(a) = az, b.x(c) = cx, b.z(c) = cz;
  }
}

__device__ void hit(const Block& b, std::uint32_t target, std::uint32_t xz, std::uint32_t bit) {
  const std::uint32_t slot = target & 0xFFFFFFFu, x_axis = (target >> 28) & 3,
                      z_axis = target >> 30;
  constexpr std::uint32_t kBits = 0 | (1 << 2) | (3 << 4) | (2 << 6);
  std::uint32_t stored = 0;
  if (xz & 1) stored ^= (kBits >> (2 * x_axis)) & 3;
  if (xz & 2) stored ^= (kBits >> (2 * z_axis)) & 3;
  if (stored & 1) b.x(slot) ^= bit;
  if (stored & 2) b.z(slot) ^= bit;
}

// X, Y, Z (1, 2, 3) as bits x + 2 z.
__device__ std::uint32_t xz_of(std::uint32_t pauli) { return pauli ^ (pauli >> 1); }

__device__ std::uint32_t branch_of(const FrameChannel& c, std::uint32_t bits) {
  std::uint32_t k = 0;
  while (k + 1 < c.num_branches && bits >= c.upto[k]) ++k;
  return k;
}

__device__ void noise(Block& b, const FrameOp& op) {
  const FrameChannel& c = b.v.channels[op.channel];
  const std::uint32_t* t = b.v.operands + op.first;
  const std::uint64_t first_record = b.record;
  if (op.code == FrameCode::kHerald) {
    if (b.live) {
      for (std::uint32_t i = b.worker; i < op.count; i += b.workers)
        b.record_at(first_record + i) = 0;
    }
    b.record += op.count;
    __syncthreads();
  }
  if (!b.live) return;
  for (std::uint32_t stream = b.worker; stream < op.ticks; stream += b.workers) {
    const std::uint32_t first = stream * op.segment;
    RareEvents events{{b.key0, b.key1, b.unit, b.tick + stream},
                      c.inv_log,
                      std::uint64_t{min(op.segment, op.count - first)} * 32};
    std::uint64_t trial;
    std::uint32_t bits;
    while (events.next(&trial, &bits)) {
      const auto target = first + static_cast<std::uint32_t>(trial >> 5);
      const std::uint32_t bit = 1u << (trial & 31);
      switch (op.code) {
        case FrameCode::kPauli1:
          hit(b, t[target], xz_of(branch_of(c, bits) + 1), bit);
          break;
        case FrameCode::kPauli2: {
          const std::uint32_t pair = branch_of(c, bits) + 1;
          hit(b, t[2 * target], xz_of(pair >> 2), bit);
          hit(b, t[2 * target + 1], xz_of(pair & 3), bit);
          break;
        }
        case FrameCode::kHerald:
          hit(b, t[target], xz_of(branch_of(c, bits)), bit);
          b.record_at(first_record + target) ^= bit;
          break;
        default:
          b.record_at(b.record - op.count + target) ^= bit;
          break;
      }
    }
  }
}

__device__ void correlated(Block& b, const FrameOp& op) {
  if (b.worker != 0 || !b.live) return;
  const FrameChannel& c = b.v.channels[op.channel];
  const std::uint32_t* t = b.v.operands + op.first;
  std::uint32_t happens = 0;
  RareEvents events{{b.key0, b.key1, b.unit, b.tick}, c.inv_log, 32};
  std::uint64_t trial;
  std::uint32_t bits;
  while (events.next(&trial, &bits)) happens |= 1u << trial;
  if (!op.sub) b.chain[b.lane] = 0;
  happens &= ~b.chain[b.lane];
  b.chain[b.lane] |= happens;
  for (std::uint32_t i = 0; i < op.count; ++i) {
    const std::uint32_t slot = t[i] & 0xFFFFFFFu;
    mul((t[i] >> 28) & 3, b.x(slot), b.z(slot), happens);
  }
}

__device__ void step(Block& b, const FrameOp& op) {
  const std::uint32_t* t = b.v.operands + op.first;
  const std::uint32_t n = op.count;
  const std::uint32_t first = b.live ? b.worker : n;  // lanes without a unit do nothing
  switch (op.code) {
    case FrameCode::kControlled:
      if (!b.live) return;
      switch (op.sub) {
        case 0:
          return controlled<0>(b, t, n);
        case 1:
          return controlled<1>(b, t, n);
        case 2:
          return controlled<2>(b, t, n);
        case 3:
          return controlled<3>(b, t, n);
        case 4:
          return controlled<4>(b, t, n);
        case 5:
          return controlled<5>(b, t, n);
        case 6:
          return controlled<6>(b, t, n);
        case 7:
          return controlled<7>(b, t, n);
        default:
          return controlled<8>(b, t, n);
      }
    case FrameCode::kMeasure:
      for (std::uint32_t i = first; i < n; i += b.workers)
        b.record_at(b.record + i) = anti(op.sub, b.x(t[i]), b.z(t[i]));
      b.record += n;
      return;
    case FrameCode::kCoin: {
      const UnitStream s{b.key0, b.key1, b.unit, b.tick};
      for (std::uint32_t group = first; group < (n + 3) / 4; group += b.workers) {
        const Philox4x32 r = s.block(group);
        for (std::uint32_t k = 0; k < 4 && 4 * group + k < n; ++k) {
          const std::uint32_t slot = t[4 * group + k];
          mul(op.sub, b.x(slot), b.z(slot), r.v[k]);
        }
      }
      return;
    }
    case FrameCode::kClear:
      for (std::uint32_t i = first; i < n; i += b.workers) b.x(t[i]) = 0, b.z(t[i]) = 0;
      return;
    case FrameCode::kPad:
      for (std::uint32_t i = first; i < n; i += b.workers) b.record_at(b.record + i) = 0;
      b.record += n;
      return;
    case FrameCode::kRecordFlip:
    case FrameCode::kPauli1:
    case FrameCode::kPauli2:
    case FrameCode::kHerald:
      return noise(b, op);
    case FrameCode::kCorrelated:
      return correlated(b, op);
    case FrameCode::kFeedback:
      // A layer has each slot once.
      for (std::uint32_t i = first; i < n; i += b.workers)
        mul(op.sub, b.x(t[2 * i]), b.z(t[2 * i]), b.back(t[2 * i + 1]));
      return;
    case FrameCode::kDetector: {
      const std::uint32_t* at = b.v.detector_at + op.channel;  // prepared by the host
      for (std::uint32_t i = first; i < n; i += b.workers) {
        const std::uint32_t* list = b.v.operands + at[i];
        std::uint32_t value = 0;
        for (std::uint32_t k = 1; k <= list[0]; ++k) value ^= b.back(list[k]);
        b.out[(b.detector + i) * b.v.num_units + b.unit_index] = value;
      }
      b.detector += n;
      return;
    }
    case FrameCode::kObservable:
      if (first == 0 && n > 0) {
        std::uint32_t value = 0;
        for (std::uint32_t i = 1; i <= n; ++i) value ^= b.back(t[i]);
        b.out[(b.v.num_detectors + t[0]) * b.v.num_units + b.unit_index] ^= value;
      }
      return;
    case FrameCode::kObservablePauli:
      if (first == 0 && b.live) {
        b.out[(b.v.num_detectors + t[0]) * b.v.num_units + b.unit_index] ^=
            anti(op.sub, b.x(t[1]), b.z(t[1]));
      }
      return;
    case FrameCode::kPermute:
      for (std::uint32_t i = first; i < n; i += b.workers) {
        const std::uint32_t x = b.x(t[i]), z = b.z(t[i]);
        std::uint32_t new_x = 0, new_z = 0;
        mul(op.sub & 3, new_x, new_z, x);
        mul(op.sub >> 2, new_x, new_z, z);
        b.x(t[i]) = new_x, b.z(t[i]) = new_z;
      }
      return;
    case FrameCode::kSwap:
      for (std::uint32_t i = first; i < n; i += b.workers) {
        const std::uint32_t x = b.x(t[2 * i]), z = b.z(t[2 * i]);
        b.x(t[2 * i]) = b.x(t[2 * i + 1]), b.z(t[2 * i]) = b.z(t[2 * i + 1]);
        b.x(t[2 * i + 1]) = x, b.z(t[2 * i + 1]) = z;
      }
      return;
    case FrameCode::kSweep:  // sweep bits are zeros here
    case FrameCode::kLoop:
    case FrameCode::kLoopEnd:
      return;
  }
}

__global__ void __launch_bounds__(kThreads)
    run_frames(View v, std::uint64_t seed, std::uint64_t first_unit, std::uint32_t* out,
               std::uint32_t* spill, std::uint64_t state_words) {
  extern __shared__ std::uint32_t shared[];
  std::uint32_t* chain = shared;  // one word a lane
  std::uint32_t* state = spill ? spill + blockIdx.x * state_words : shared + v.lanes;
  for (std::uint64_t k = threadIdx.x; k < state_words; k += blockDim.x) state[k] = 0;
  if (threadIdx.x < v.lanes) chain[threadIdx.x] = 0;
  const std::uint32_t lane = threadIdx.x % v.lanes;
  const std::uint64_t index = std::uint64_t{blockIdx.x} * v.lanes + lane;
  Block b{v,
          state,
          chain,
          out,
          lane,
          threadIdx.x / v.lanes,
          blockDim.x / v.lanes,
          index,
          first_unit + index,
          static_cast<std::uint32_t>(seed),
          static_cast<std::uint32_t>(seed >> 32),
          0,
          0,
          0,
          index < v.num_units};
  if (!v.records && b.live) {
    for (std::uint64_t k = v.num_detectors + b.worker; k < v.num_rows; k += b.workers)
      out[k * v.num_units + index] = 0;
  }
  __syncthreads();
  std::uint64_t left[kMaxLoops];
  int depth = 0;
  for (std::uint32_t pc = 0; pc < v.num_ops;) {
    const FrameOp op = v.ops[pc];
    if (op.code == FrameCode::kLoop) {
      left[depth++] = v.loops[op.first];
      ++pc;
    } else if (op.code == FrameCode::kLoopEnd) {
      if (--left[depth - 1]) {
        pc = op.first;
      } else {
        --depth;
        ++pc;
      }
    } else {
      step(b, op);
      b.tick += op.ticks;
      ++pc;
      __syncthreads();
    }
  }
}

// A warp: 32 bits of 32 shots. rows[bit][unit] to out[shot][word].
__global__ void transpose_bits(const std::uint32_t* bits, std::uint64_t num_rows,
                               std::uint64_t num_units, const std::uint32_t* flips,
                               std::uint32_t* out, std::uint64_t stride_words) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (warp >= num_units * stride_words) return;
  const std::uint64_t unit = warp / stride_words, word = warp % stride_words,
                      row = word * 32 + lane;
  std::uint32_t v = row < num_rows ? bits[row * num_units + unit] : 0;
  if (flips && row < num_rows && ((flips[row / 32] >> (row % 32)) & 1)) v = ~v;
  // Butterfly: exchange blocks of 16, 8, ... rows and columns.
  std::uint32_t mask = 0x0000FFFFu;
#pragma unroll
  for (int width = 16; width; width >>= 1, mask ^= mask << width) {
    const std::uint32_t other = __shfl_xor_sync(0xFFFFFFFFu, v, width);
    v = lane & width ? (v & ~mask) | ((other >> width) & mask)
                     : (v & mask) | ((other << width) & ~mask);
  }
  out[(unit * 32 + lane) * stride_words + word] = v;
}

class GpuFrame : public GpuRows {
 public:
  GpuFrame(const FrameProgram& p, const std::vector<std::uint64_t>& flips)
      : operands_(p.operands), channels_(p.channels), loops_(p.loops) {
    std::vector<FrameOp> ops = p.ops;
    std::vector<std::uint32_t> detector_at;
    int depth = 0;
    for (FrameOp& op : ops) {
      if (op.code == FrameCode::kLoop && ++depth > kMaxLoops)
        throw Error(ExitCode::kInput,
                    "the GPU runs at most 16 nested REPEAT blocks: use --device cpu");
      if (op.code == FrameCode::kLoopEnd) --depth;
      if (op.code != FrameCode::kDetector) continue;
      op.channel = static_cast<std::uint32_t>(detector_at.size());
      std::uint32_t at = op.first;
      for (std::uint32_t i = 0; i < op.count; ++i) {
        detector_at.push_back(at);
        at += p.operands[at] + 1;
      }
    }
    ops_ = DeviceBuffer<FrameOp>(ops);
    detector_at_ = DeviceBuffer<std::uint32_t>(detector_at);
    const bool records = p.output == FrameOutput::kRecords;
    const std::uint64_t rows = 2 * std::uint64_t{p.num_slots} + (records ? 0 : p.ring_rows);
    lanes_ = 32;
    while (lanes_ > 4 && (rows + 1) * lanes_ * 4 > kSharedBytes) lanes_ /= 2;
    spills_ = (rows + 1) * lanes_ * 4 > kSharedBytes;
    if (spills_) lanes_ = 32;
    state_words_ = rows * lanes_;
    shared_bytes_ = (spills_ ? lanes_ : lanes_ + state_words_) * 4;
    check_cuda(cudaFuncSetAttribute(run_frames, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared_bytes_)),
               "asking for shared memory");
    const std::uint64_t num_rows = p.num_rows_out();
    const std::uint64_t shot_bytes = std::max<std::uint64_t>(4, (num_rows + 31) / 32 * 4);
    std::uint64_t blocks =
        std::max<std::uint64_t>(1, (std::uint64_t{256} << 20) / (shot_bytes * kBlockShots));
    if (spills_)
      blocks = std::min<std::uint64_t>(
          blocks, std::max<std::uint64_t>(1, (std::uint64_t{8} << 30) / (state_words_ * 4)));
    reserve(num_rows, kBlockShots, blocks);
    for (int k = 0; k < 2; ++k) {
      bits_[k] = DeviceBuffer<std::uint32_t>(std::max<std::uint64_t>(1, num_rows) * blocks *
                                             (kBlockShots / 32));
      if (spills_) spill_[k] = DeviceBuffer<std::uint32_t>(blocks * state_words_);
    }
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
             static_cast<std::uint32_t>(ops.size()),
             p.num_slots,
             lanes_,
             p.ring_rows,
             p.num_detectors,
             num_rows,
             0,
             records};
  }
  std::uint64_t block_shots() const override { return kBlockShots; }

 protected:
  void launch(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
              std::uint32_t* rows, int buffer, cudaStream_t stream) override {
    View v = view_;
    v.num_units = num_blocks * (kBlockShots / 32);
    const auto grid = static_cast<unsigned>((v.num_units + lanes_ - 1) / lanes_);
    run_frames<<<grid, kThreads, shared_bytes_, stream>>>(v, seed, first_block * (kBlockShots / 32),
                                                          bits_[buffer].get(), spill_[buffer].get(),
                                                          state_words_);
    const std::uint64_t warps = v.num_units * (row_stride() / 4);
    transpose_bits<<<static_cast<unsigned>((warps * 32 + 255) / 256), 256, 0, stream>>>(
        bits_[buffer].get(), v.num_rows, v.num_units, flips_.get(), rows, row_stride() / 4);
  }

 private:
  static constexpr std::uint64_t kBlockShots = 1024;
  DeviceBuffer<FrameOp> ops_;
  DeviceBuffer<std::uint32_t> operands_;
  DeviceBuffer<FrameChannel> channels_;
  DeviceBuffer<std::uint64_t> loops_;
  DeviceBuffer<std::uint32_t> detector_at_, flips_, bits_[2], spill_[2];
  std::uint32_t lanes_ = 32;
  bool spills_ = false;
  std::uint64_t state_words_ = 0;
  std::size_t shared_bytes_ = 0;
  View view_;
};

}  // namespace

std::unique_ptr<GpuRun> make_gpu_run(const FrameProgram& program,
                                     const std::vector<std::uint64_t>& flips) {
  return std::make_unique<GpuFrame>(program, flips);
}

}  // namespace tilewave::stabilizer
