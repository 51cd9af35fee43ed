// The sparse engine on the GPU: a block of threads a unit of shots, or a part of one (sparse_machine.cuh).
#include <algorithm>
#include <iterator>

#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/stabilizer/cuda/gpu_rows.cuh"
#include "tilewave/stabilizer/cuda/sparse_machine.cuh"

namespace tilewave::stabilizer {
namespace {

template <bool kWindow, SparseLayout kLayout>
__global__ void __launch_bounds__(kSparseThreads, 1)
    sparse_units(const __grid_constant__ SparseView v, std::uint64_t seed, std::uint64_t first_unit,
                 const __grid_constant__ SparseOut out) {
  extern __shared__ std::uint32_t window_memory[];
  __shared__ std::uint32_t counts[kSparseThreads];
  run_sparse_block<kWindow, kLayout>(v, seed, first_unit, out, blockIdx.x, window_memory, counts);
}

// Steps of all rows at once.
SparseWindows without_windows(const SparseProgram& p) {
  SparseWindows all;
  for (std::uint32_t k = 0; k < p.tiles.size(); ++k) {
    if (k % kSparseThreads == 0) all.steps.push_back({k, 0, 0});
    ++all.steps.back().count;
    all.tiles.push_back({k, p.tiles[k].group, p.tiles[k].shift});
  }
  return all;
}

// What a block can have beside its static memory and what the runtime keeps.
std::uint64_t most_window_bytes() {
  return runtime::cuda::properties_of(current_gpu()).sharedMemPerBlockOptin -
         kSparseThreads * sizeof(std::uint32_t);
}

using Kernel = void (*)(SparseView, std::uint64_t, std::uint64_t, SparseOut);

class GpuSparse : public GpuRows {
 public:
  explicit GpuSparse(const SparseProgram& p)
      : log2_unit_(p.log2_unit),
        groups_(p.groups),
        alias_(p.alias),
        bits_(p.bits),
        lists_(p.lists),
        far_(p.far),
        site_groups_(p.site_groups),
        sites_(p.sites),
        branches_(p.branches),
        coins_(p.coins),
        always_(p.always) {
    std::vector<double> tables;
    std::vector<std::uint32_t> at{0};
    std::vector<std::uint64_t> first;
    for (const PoissonTable& t : p.poissons) {
      tables.insert(tables.end(), t.upto.begin(), t.upto.end());
      at.push_back(static_cast<std::uint32_t>(tables.size()));
      first.push_back(t.first);
    }
    poisson_ = DeviceBuffer<double>(tables);
    poisson_at_ = DeviceBuffer<std::uint32_t>(at);
    poisson_first_ = DeviceBuffer<std::uint64_t>(first);
    const std::uint64_t stride = std::max<std::uint64_t>(4, (p.num_bits + 31) / 32 * 4);
    const std::uint64_t unit_bytes = stride << p.log2_unit;
    reserve(p.num_bits, std::uint64_t{1} << p.log2_unit,
            std::max<std::uint64_t>(1, (std::uint64_t{512} << 20) / unit_bytes));
    const std::uint64_t bytes = most_window_bytes();
    const auto windows = sparse_windows(p, bytes, kSparseThreads);
    const SparseWindows& w = windows ? *windows : without_windows(p);
    tiles_ = DeviceBuffer<WindowTile>(w.tiles);
    view_ = {tiles_.get(),
             nullptr,
             groups_.get(),
             poisson_.get(),
             poisson_at_.get(),
             poisson_first_.get(),
             alias_.get(),
             bits_.get(),
             lists_.get(),
             far_.get(),
             site_groups_.get(),
             sites_.get(),
             branches_.get(),
             coins_.get(),
             always_.get(),
             0,
             static_cast<std::uint32_t>(p.site_groups.size()),
             static_cast<std::uint32_t>(p.coins.size()),
             static_cast<std::uint32_t>(p.always.size()),
             p.log2_unit,
             0,
             0,
             0,
             0};
    if (!windows || w.words + w.fixed_words == 0) {
      words_ = Drawing(view_, w, sparse_units<false, SparseLayout::kWords>);
      return;
    }
    words_ = Drawing(view_, w, sparse_units<true, SparseLayout::kWords>);
    if ((block_shots() >> w.log2_parts) % kBitStore == 0)
      bit_rows_ = Drawing(view_, w, sparse_units<true, SparseLayout::kBits>);
    if (const auto shifted = sparse_windows(p, bytes, kSparseThreads, kMostShift))
      packed_ = Drawing(view_, *shifted, sparse_units<true, SparseLayout::kPacked>);
  }
  std::uint64_t block_shots() const override { return std::uint64_t{1} << log2_unit_; }

 protected:
  void launch(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
              std::uint32_t* rows, int, cudaStream_t stream) override {
    SparseOut out;
    out.parts[0] = {reinterpret_cast<std::uint8_t*>(rows), made_stride()};
    out.parts[0].end = static_cast<std::uint32_t>(8 * made_stride());
    words_.start(seed, first_block, num_blocks, out, stream);
  }
  bool makes_arrays(DeviceLayout layout, const ShotRange& shots,
                    const std::vector<ArrayPart>& parts) const override {
    const auto first = [&](std::size_t k) { return parts[k].bits.first; };
    if (parts.size() > std::size(SparseOut{}.parts)) return false;
    if (layout == DeviceLayout::kPacked)
      return packed_ && first(0) == 0 && (parts.size() < 2 || packed_.keeps(first(1)));
    if (layout != DeviceLayout::kBitRows || !bit_rows_ || shots.first % kBitStore != 0)
      return false;
    return parts[0].stride % (kBitStore / 8) == 0 &&
           (parts.size() < 2 || first(0) + parts[0].bits.count <= first(1));
  }
  void launch_arrays(const KeptStretch& s, DeviceLayout layout, std::int64_t offset,
                     const std::vector<ArrayPart>& parts, int, cudaStream_t stream) override {
    SparseOut out;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const auto& [bits, rows, stride] = parts[k];
      out.parts[k] = {rows, stride, static_cast<std::uint32_t>(bits.first),
                      static_cast<std::uint32_t>(bits.first + bits.count)};
    }
    out.from = s.from, out.to = s.to, out.offset = offset;
    (layout == DeviceLayout::kPacked ? packed_ : bit_rows_)
        .start(s.seed, s.first_block, s.num_blocks, out, stream);
  }

 private:
  // A kernel and the windows that it works through.
  class Drawing {
   public:
    Drawing() = default;
    Drawing(const SparseView& program, const SparseWindows& w, Kernel kernel)
        : kernel_(kernel), view_(program), steps_(w.steps) {
      view_.steps = steps_.get();
      view_.num_steps = static_cast<std::uint32_t>(w.steps.size());
      view_.log2_parts = w.log2_parts;
      view_.window_words = w.words;
      view_.first_fixed = w.first_fixed;
      view_.fixed_words = w.fixed_words;
      shared_bytes_ = sizeof(std::uint32_t) * (w.words + w.fixed_words)
                      << (program.log2_unit - w.log2_parts);
      runtime::cuda::allow_shared(current_gpu(), reinterpret_cast<const void*>(kernel),
                                  shared_bytes_);
    }
    explicit operator bool() const { return kernel_ != nullptr; }
    bool keeps(std::uint64_t bit) const { return bit / 32 >= view_.first_fixed; }
    void start(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
               const SparseOut& out, cudaStream_t stream) const {
      kernel_<<<static_cast<unsigned>(num_blocks << view_.log2_parts), kSparseThreads,
                shared_bytes_, stream>>>(view_, seed, first_block, out);
    }

   private:
    Kernel kernel_ = nullptr;
    SparseView view_{};
    DeviceBuffer<WindowStep> steps_;
    std::size_t shared_bytes_ = 0;
  };

  std::uint32_t log2_unit_;
  Drawing words_, packed_, bit_rows_;
  DeviceBuffer<WindowTile> tiles_;
  DeviceBuffer<SparseGroup> groups_;
  DeviceBuffer<AliasEntry> alias_;
  DeviceBuffer<std::uint32_t> bits_;
  DeviceBuffer<SparseList> lists_;
  DeviceBuffer<std::uint32_t> far_;
  DeviceBuffer<SparseSiteGroup> site_groups_;
  DeviceBuffer<SparseSite> sites_;
  DeviceBuffer<SparseBranch> branches_;
  DeviceBuffer<SparseList> coins_;
  DeviceBuffer<std::uint32_t> always_;
  DeviceBuffer<double> poisson_;
  DeviceBuffer<std::uint32_t> poisson_at_;
  DeviceBuffer<std::uint64_t> poisson_first_;
  SparseView view_;
};

}  // namespace

std::unique_ptr<GpuRows> make_gpu_rows(const SparseProgram& program) {
  return std::make_unique<GpuSparse>(program);
}

std::unique_ptr<GpuRun> make_gpu_run(const SparseProgram& program, int device) {
  use_gpu(device);
  return make_gpu_rows(program);
}

}  // namespace tilewave::stabilizer
