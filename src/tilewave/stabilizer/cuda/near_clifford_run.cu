// Near-Clifford shots on a GPU, in three steps a launch: the rows, by the sparse or the frame engine;
// what needs no amplitudes, a thread a shot (select_shots): shots that fail are given up, those with
// no sign set take one of the listed outcomes; the others are listed and run with amplitudes of
// their own, a shot a thread or a warp (follow_shots). Their list has room for all shots.
#include <algorithm>
#include <limits>
#include <string>

#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/stabilizer/cuda/dense_lanes.cuh"
#include "tilewave/stabilizer/cuda/gpu_rows.cuh"
#include "tilewave/stabilizer/near_clifford/tables.h"
#include "tilewave/stabilizer/noise.h"
#include "tilewave/stabilizer/sampler_tuning.h"
#include "tilewave/stabilizer/sparse_streams.h"

namespace tilewave::stabilizer {
namespace {

constexpr std::uint32_t kSelectThreads = 256, kFollowThreads = 64;
constexpr std::uint64_t kWarpBytes = std::uint64_t{48} << 10;    // of a block's shared memory
constexpr std::uint64_t kDeviceBytes = std::uint64_t{16} << 30;  // amplitudes in device memory
// Amplitude steps of a launch if every shot is followed, about a second of work; more where most
// shots take a listed outcome.
constexpr double kMostLaunchSteps = 0x1p38, kMostSparedSteps = 0x1p40;

/// The 32-bit words [first, first + count) of a row, at `at` of the words of spans.
struct DeviceSpan {
  std::uint32_t first, count, at;
};

struct Checks {
  const std::uint32_t *first = nullptr, *all = nullptr;  // null: nothing is checked
  const std::uint32_t* words = nullptr;                  // of spans
  const DeviceSpan* behind = nullptr;                    // the Born bits
};

struct View {
  const std::uint32_t *signs, *reference, *leaves, *guides;
  const double* leaf_ends;
  const DenseOp* ops;
  const DeviceSpan* columns;
  const std::uint32_t* column_words;
  std::uint32_t num_leaves, num_ops, num_born, most_k;
  std::uint32_t words, row_words;      // of a row with signs: used, and between rows
  std::uint32_t out_words, last_word;  // of a finished row; the bits of its last word
  std::uint32_t num_bits;
};

struct Stretch {
  std::uint64_t seed, first_shot;
  std::uint64_t shots;
  std::uint64_t from, to;  // those of them that are wanted
};

__device__ std::uint64_t born_bits(std::uint64_t seed, std::uint64_t shot, std::uint32_t born) {
  const UnitStream stream{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                          shot >> 6, kBornStream + born};
  const Philox4x32 r = stream.block(static_cast<std::uint32_t>(shot & 63) >> 1);
  return shot & 1 ? (std::uint64_t{r.v[3]} << 32) | r.v[2] : (std::uint64_t{r.v[1]} << 32) | r.v[0];
}

__device__ const std::uint32_t* draw_leaf(const View& v, std::uint64_t bits) {
  std::uint32_t leaf = v.guides[bits >> (64 - NearCliffordTables::kLog2Guides)];
  const double u = static_cast<double>(bits >> 11) * 0x1p-53;
  while (u >= v.leaf_ends[leaf]) ++leaf;
  return v.leaves + std::size_t{leaf} * v.words;
}

__device__ std::uint32_t finished_word(const View& v, std::uint32_t word, std::uint32_t k) {
  if (v.reference) word ^= v.reference[k];
  return k + 1 == v.out_words ? word & v.last_word : word;
}

// Of shots that are given up or followed later a row of zeros is written.
__global__ void __launch_bounds__(kSelectThreads)
    select_shots(View v, Checks checks, Stretch s, const std::uint32_t* rows, std::uint32_t* out,
                 std::uint32_t* kept, std::uint32_t* list, std::uint32_t* list_size) {
  const std::uint64_t index = std::uint64_t{blockIdx.x} * kSelectThreads + threadIdx.x;
  if (index >= s.shots) return;  // whole warps
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t* row = rows + index * v.row_words;
  bool alive = index >= s.from && index < s.to, open = v.num_leaves == 0;
  if (alive) {
    std::uint32_t failed = 0, signs = 0;
    for (std::uint32_t k = 0; k < v.words; ++k) {
      const std::uint32_t word = row[k];
      if (checks.first) failed |= word & checks.first[k];
      signs |= word & v.signs[k];
    }
    alive = !failed;
    open = alive && (open || signs);
  }
  const std::uint32_t* leaf = nullptr;
  if (alive && !open) {
    if (v.num_leaves > 1) leaf = draw_leaf(v, born_bits(s.seed, s.first_shot + index, 0));
    if (checks.all) {
      std::uint32_t failed = 0;
      for (std::uint32_t k = 0; k < v.words; ++k)
        failed |= (leaf ? row[k] ^ leaf[k] : row[k]) & checks.all[k];
      alive = !failed;
    }
  }
  const bool done = alive && !open;
  std::uint32_t* to = out + index * v.out_words;
  for (std::uint32_t k = 0; k < v.out_words; ++k) {
    std::uint32_t word = 0;
    if (done && k < v.words) word = finished_word(v, leaf ? row[k] ^ leaf[k] : row[k], k);
    to[k] = word;
  }
  const std::uint32_t all_done = __ballot_sync(0xFFFFFFFFu, done);
  const std::uint32_t all_open = __ballot_sync(0xFFFFFFFFu, alive && open);
  std::uint32_t at = 0;
  if (lane == 0) {
    kept[index / 32] = all_done;
    if (all_open) at = atomicAdd(list_size, static_cast<std::uint32_t>(__popc(all_open)));
  }
  at = __shfl_sync(0xFFFFFFFFu, at, 0);
  if (alive && open)
    list[at + static_cast<std::uint32_t>(__popc(all_open & ((1u << lane) - 1)))] =
        static_cast<std::uint32_t>(index);
}

// Runs one shot; whether it is kept. Its row gets the Born bits.
template <bool kWarp>
__device__ bool follow(const View& v, const Checks& checks, std::uint64_t seed, std::uint64_t shot,
                       DenseLanes<kWarp>& state, std::uint32_t* row) {
  std::uint32_t born = 0;
  state.reset();
  for (std::uint32_t o = 0; o < v.num_ops; ++o) {
    const DenseOp& op = v.ops[o];
    if (op.kind == DenseKind::kPromote) {
      state.promote(op.c, op.s);
      continue;
    }
    if (op.kind == DenseKind::kRotate) {
      const std::uint32_t at = v.num_bits + op.sign;
      const bool back = (row[at / 32] >> (at % 32)) & 1;
      state.rotate(op.p, op.c, back ? -op.s : op.s);
      continue;
    }
    const double chance = state.chance(op.p, op.pivot);
    bool outcome = chance == 1;
    if (chance > 0 && chance < 1)
      outcome = static_cast<double>(born_bits(seed, shot, born) >> 11) * 0x1p-53 < chance;
    if (outcome) {
      const DeviceSpan column = v.columns[born];
      if (state.lane() == 0) {
        for (std::uint32_t k = 0; k < column.count; ++k)
          row[column.first + k] ^= v.column_words[column.at + k];
      }
      state.meet();
    }
    if (checks.behind) {
      const DeviceSpan check = checks.behind[born];
      std::uint32_t failed = 0;
      for (std::uint32_t k = 0; k < check.count; ++k)
        failed |= row[check.first + k] & checks.words[check.at + k];
      if (failed) return false;
    }
    if (++born == v.num_born) break;
    state.project(op.p, op.pivot, outcome);
  }
  return true;
}

// The amplitudes of a block, or of a warp, in shared memory, or from `slabs` on.
template <bool kWarp>
__global__ void follow_shots(View v, Checks checks, Stretch s, std::uint32_t* rows,
                             std::uint32_t* out, std::uint32_t* kept, const std::uint32_t* list,
                             const std::uint32_t* list_size, double* slabs) {
  extern __shared__ double shared_slab[];
  const std::uint32_t num = *list_size;
  const std::size_t slab = std::size_t{2} << v.most_k;  // numbers of a shot
  const std::uint32_t of_block = kWarp ? blockDim.x / 32 : blockDim.x;
  const std::uint32_t within = kWarp ? threadIdx.x / 32 : threadIdx.x;
  const std::uint32_t first = blockIdx.x * of_block;
  double* const block = slabs ? slabs + first * slab : shared_slab;
  DenseLanes<kWarp> state = kWarp ? DenseLanes<kWarp>(block + within * slab, 1, v.most_k)
                                  : DenseLanes<kWarp>(block + within, of_block, v.most_k);
  for (std::uint64_t e = first + within; e < num; e += std::uint64_t{gridDim.x} * of_block) {
    const std::uint64_t index = list[e];
    std::uint32_t* row = rows + index * v.row_words;
    const bool keep = follow<kWarp>(v, checks, s.seed, s.first_shot + index, state, row);
    if (keep && state.lane() == 0) {
      for (std::uint32_t k = 0; k < v.out_words && k < v.words; ++k)
        out[index * v.out_words + k] = finished_word(v, row[k], k);
      atomicOr(kept + index / 32, 1u << (index % 32));
    }
    state.meet();
  }
}

// The low and the high half of each word.
std::vector<std::uint32_t> halves(const std::vector<std::uint64_t>& words) {
  std::vector<std::uint32_t> out;
  for (std::uint64_t w : words) {
    out.push_back(static_cast<std::uint32_t>(w));
    out.push_back(static_cast<std::uint32_t>(w >> 32));
  }
  return out;
}

struct Spans {
  std::vector<DeviceSpan> spans;
  std::vector<std::uint32_t> words;
};
Spans spans_of(const std::vector<RowSpan>& rows, std::uint32_t most_words) {
  Spans out;
  for (const RowSpan& r : rows) {
    std::vector<std::uint32_t> words = halves(r.words);
    while (!words.empty() && words.back() == 0) words.pop_back();
    std::size_t zeros = 0;
    while (zeros < words.size() && words[zeros] == 0) ++zeros;
    const DeviceSpan span{static_cast<std::uint32_t>(2 * r.first + zeros),
                          static_cast<std::uint32_t>(words.size() - zeros),
                          static_cast<std::uint32_t>(out.words.size())};
    TW_CHECK(span.count == 0 || span.first + span.count <= most_words, "a span leaves its row");
    out.spans.push_back(span);
    out.words.insert(out.words.end(), words.begin() + static_cast<std::ptrdiff_t>(zeros),
                     words.end());
  }
  return out;
}

class GpuNearClifford : public GpuRows {
 public:
  GpuNearClifford(std::shared_ptr<const NearCliffordTables> tables, std::unique_ptr<GpuRows> frames)
      : tables_(std::move(tables)), frames_(std::move(frames)) {
    const NearCliffordTables& t = *tables_;
    const NearCliffordProgram& p = t.program;
    if (p.most_k > kMostActiveOnGpu) {
      throw Error(ExitCode::kUsage, "the circuit has up to " + std::to_string(p.most_k) +
                                        " active qubits; a GPU follows shots with at most " +
                                        std::to_string(kMostActiveOnGpu) + ": use --device cpu");
    }
    view_.words = static_cast<std::uint32_t>((p.num_bits + p.num_signs + 31) / 32);
    view_.row_words = static_cast<std::uint32_t>(frames_->row_words());
    view_.out_words =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (p.num_bits + 31) / 32));
    view_.last_word = p.num_bits % 32 ? (1u << (p.num_bits % 32)) - 1 : ~0u;
    view_.num_bits = static_cast<std::uint32_t>(p.num_bits);
    view_.num_leaves = static_cast<std::uint32_t>(t.leaves.size());
    view_.most_k = p.most_k;
    view_.num_born = p.num_born;
    words_.push_back(DeviceBuffer<std::uint32_t>(cut(t.signs)));
    view_.signs = words_.back().get();
    if (!t.reference.empty()) {
      words_.push_back(DeviceBuffer<std::uint32_t>(halves(t.reference)));
      view_.reference = words_.back().get();
    }
    std::vector<std::uint32_t> leaves;
    for (const BitRow& leaf : t.leaves) {
      const std::vector<std::uint32_t> row = cut(leaf);
      leaves.insert(leaves.end(), row.begin(), row.end());
    }
    words_.push_back(DeviceBuffer<std::uint32_t>(leaves));
    view_.leaves = words_.back().get();
    words_.push_back(DeviceBuffer<std::uint32_t>(t.guides));
    view_.guides = words_.back().get();
    leaf_ends_ = DeviceBuffer<double>(t.leaf_ends);
    view_.leaf_ends = leaf_ends_.get();
    const Spans columns = spans_of(t.columns, view_.words);
    columns_ = DeviceBuffer<DeviceSpan>(columns.spans);
    view_.columns = columns_.get();
    words_.push_back(DeviceBuffer<std::uint32_t>(columns.words));
    view_.column_words = words_.back().get();
    std::vector<DenseOp> ops = p.dense;
    while (!ops.empty() && ops.back().kind != DenseKind::kMeasure) ops.pop_back();
    ops_ = DeviceBuffer<DenseOp>(ops);
    view_.ops = ops_.get();
    view_.num_ops = static_cast<std::uint32_t>(ops.size());
    const double steps = std::max(1.0, p.amplitude_steps());
    const double most_shots = (t.leaves.empty() ? kMostLaunchSteps : kMostSparedSteps) / steps;
    const std::uint64_t shots = frames_->block_shots();
    std::uint64_t blocks = frames_->blocks_at_once();
    if (most_shots < static_cast<double>(blocks * shots))
      blocks = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(most_shots) / shots);
    reserve(p.num_bits, shots, blocks);
    for (auto& l : list_) l = DeviceBuffer<std::uint32_t>(blocks * shots);
    for (auto& s : list_size_) s = DeviceBuffer<std::uint32_t>(1);
    choose_layout();
  }

  std::uint64_t block_shots() const override { return frames_->block_shots(); }

 protected:
  void launch(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
              std::uint32_t* rows, int buffer, cudaStream_t stream) override {
    const std::uint64_t shots = num_blocks * block_shots();
    if (!unused_[buffer].get()) unused_[buffer] = DeviceBuffer<std::uint32_t>(kept_words());
    run_all(Checks{}, {seed, first_block * block_shots(), shots, 0, shots}, num_blocks, rows,
            unused_[buffer].get(), buffer, stream);
  }
  void launch_kept(const KeptStretch& s, std::uint32_t* rows, std::uint32_t* kept, int buffer,
                   cudaStream_t stream) override {
    const std::uint64_t shots = block_shots();
    run_all(checks_, {s.seed, s.first_block * shots, s.num_blocks * shots, s.from, s.to},
            s.num_blocks, rows, kept, buffer, stream);
  }
  void set_mask(const std::vector<std::uint64_t>& must_be_zero) override {
    checks_ = {};
    check_words_.clear();
    if (must_be_zero.empty()) return;
    const ZeroChecks checks = tables_->checks_for(must_be_zero);
    for (const BitRow* row : {&checks.first, &checks.all})
      check_words_.push_back(DeviceBuffer<std::uint32_t>(cut(*row)));
    const Spans behind = spans_of(checks.behind, view_.words);
    check_words_.push_back(DeviceBuffer<std::uint32_t>(behind.words));
    behind_ = DeviceBuffer<DeviceSpan>(behind.spans);
    checks_ = {check_words_[0].get(), check_words_[1].get(), check_words_[2].get(), behind_.get()};
  }

 private:
  // The 32-bit words of a row that are used.
  std::vector<std::uint32_t> cut(const BitRow& row) const {
    std::vector<std::uint32_t> out = halves(row);
    out.resize(view_.words);
    return out;
  }

  void choose_layout() {
    const std::uint64_t shot_bytes = std::uint64_t{16} << view_.most_k;
    by_warps_ = view_.most_k > kMostActiveOfThread;
    int most_shared = 0, processors = 1, resident = 1;
    check_cuda(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                      current_gpu()),
               "ask for shared memory");
    check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, current_gpu()),
               "ask for the multiprocessors");
    kernel_ = by_warps_ ? follow_shots<true> : follow_shots<false>;
    threads_ = kFollowThreads;
    if (by_warps_) {
      const std::uint64_t warps = std::clamp<std::uint64_t>(kWarpBytes / shot_bytes, 1, 4);
      threads_ = static_cast<std::uint32_t>(32 * warps);
    }
    const std::uint64_t of_block = by_warps_ ? threads_ / 32 : threads_;
    const bool spills = of_block * shot_bytes > static_cast<std::uint64_t>(most_shared);
    shared_bytes_ = spills ? 0 : of_block * shot_bytes;
    if (shared_bytes_ > 0)
      runtime::cuda::allow_shared(current_gpu(), reinterpret_cast<const void*>(kernel_),
                                  shared_bytes_);
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                   &resident, kernel_, static_cast<int>(threads_), shared_bytes_),
               "ask how many blocks fit");
    std::uint64_t blocks =
        static_cast<std::uint64_t>(processors) * static_cast<std::uint64_t>(std::max(1, resident));
    if (spills) {
      std::size_t free_bytes = 0, total_bytes = 0;
      check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "ask for the free memory");
      const std::uint64_t bytes = std::min<std::uint64_t>(kDeviceBytes, free_bytes / 2);
      blocks = std::clamp<std::uint64_t>(bytes / 2 / (of_block * shot_bytes), 1, blocks);
      for (auto& slab : slabs_)
        slab = DeviceBuffer<double>(blocks * of_block * shot_bytes / sizeof(double));
    }
    blocks_ = static_cast<unsigned>(blocks);
  }

  void run_all(const Checks& checks, const Stretch& s, std::uint64_t num_blocks, std::uint32_t* out,
               std::uint32_t* kept, int buffer, cudaStream_t stream) {
    std::uint32_t* const rows =
        frames_->make_rows(s.seed, s.first_shot / block_shots(), num_blocks, buffer, stream);
    std::uint32_t *const list = list_[buffer].get(), *const size = list_size_[buffer].get();
    check_cuda(cudaMemsetAsync(size, 0, sizeof *size, stream), "clear a list");
    const auto blocks = static_cast<unsigned>((s.shots + kSelectThreads - 1) / kSelectThreads);
    select_shots<<<blocks, kSelectThreads, 0, stream>>>(view_, checks, s, rows, out, kept, list,
                                                        size);
    check_cuda(cudaGetLastError(), "start to select shots");
    kernel_<<<blocks_, threads_, shared_bytes_, stream>>>(view_, checks, s, rows, out, kept, list,
                                                          size, slabs_[buffer].get());
  }

  std::shared_ptr<const NearCliffordTables> tables_;
  std::unique_ptr<GpuRows> frames_;
  View view_{};
  Checks checks_;
  std::vector<DeviceBuffer<std::uint32_t>> words_, check_words_;
  DeviceBuffer<double> leaf_ends_, slabs_[2];
  DeviceBuffer<DeviceSpan> columns_, behind_;
  DeviceBuffer<DenseOp> ops_;
  DeviceBuffer<std::uint32_t> list_[2], list_size_[2], unused_[2];
  bool by_warps_ = false;
  std::uint32_t threads_ = kFollowThreads;
  unsigned blocks_ = 1;
  std::size_t shared_bytes_ = 0;
  decltype(&follow_shots<true>) kernel_ = nullptr;
};

}  // namespace

std::unique_ptr<GpuRun> make_gpu_run(std::shared_ptr<const NearCliffordTables> tables, int device) {
  use_gpu(device);
  const auto* sparse = std::get_if<SparseProgram>(&tables->frames);
  auto frames =
      sparse ? make_gpu_rows(*sparse) : make_gpu_rows(std::get<FrameProgram>(tables->frames), {});
  return std::make_unique<GpuNearClifford>(std::move(tables), std::move(frames));
}

}  // namespace tilewave::stabilizer
