// The sparse engine on the GPU: a block of threads a unit of shots. The threads take the events of
// a tile in turn, each a Philox word, an alias look-up and a few 32-bit exclusive ors into the
// unit's rows, which are atomic because two events may meet in a word. The bits are those of
// cpu/sparse_run.cc.
//
// The rows of the blocks at work must stay in the second-level cache, or every event reads and
// writes a sector of memory: tiles come in the order of their output bits, so a block works on one
// stretch of its rows at a time, and few large blocks keep the stretches together small.
#include <algorithm>

#include "tilewave/stabilizer/cuda/gpu_rows.cuh"
#include "tilewave/stabilizer/noise.h"
#include "tilewave/stabilizer/sparse_streams.h"

namespace tilewave::stabilizer {
namespace {

constexpr int kThreads = 1024;  // one block a multiprocessor: 25 to 30% over blocks of 256

struct View {
  const SparseTile* tiles;
  const SparseGroup* groups;
  const double* poisson;            // the tables one after the other
  const std::uint32_t* poisson_at;  // where each starts; the last entry is the end
  const std::uint64_t* poisson_first;
  const AliasEntry* alias;
  const std::uint32_t* bits;
  const SparseList* lists;
  const std::uint32_t* far;
  const SparseSiteGroup* site_groups;
  const SparseSite* sites;
  const SparseBranch* branches;
  const SparseList* coins;
  const std::uint32_t* always;
  std::uint32_t num_tiles, num_site_groups, num_coins, num_always, log2_unit;
  std::uint64_t stride_words;
};

__device__ void toggle_bit(std::uint32_t* row, std::uint32_t b) {
  atomicXor(row + (b >> 5), 1u << (b & 31));
}

__device__ std::uint64_t events_of(const View& v, UnitStream s, std::uint32_t tile) {
  s.tick = kCountStream + tile;
  const Philox4x32 r = s.block(0);
  const double u = static_cast<double>(((std::uint64_t{r.v[1]} << 32) | r.v[0]) >> 11) * 0x1p-53;
  const std::uint32_t table = v.groups[v.tiles[tile].group].poisson;
  std::uint32_t low = v.poisson_at[table], high = v.poisson_at[table + 1];
  const std::uint32_t first = low;
  while (low < high) {  // the first entry above u
    const std::uint32_t middle = (low + high) / 2;
    if (v.poisson[middle] > u)
      high = middle;
    else
      low = middle + 1;
  }
  return v.poisson_first[table] + (low - first);
}

__global__ void __launch_bounds__(kThreads, 1)
    sparse_units(View v, std::uint64_t seed, std::uint64_t first_unit, std::uint32_t* rows) {
  __shared__ std::uint32_t counts[kThreads];
  const std::uint32_t shots = 1u << v.log2_unit;
  const std::uint64_t unit = first_unit + blockIdx.x;
  std::uint32_t* out = rows + std::uint64_t{blockIdx.x} * shots * v.stride_words;
  for (std::uint64_t k = threadIdx.x; k < shots * v.stride_words; k += kThreads) out[k] = 0;
  UnitStream s{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), unit, 0};
  for (std::uint32_t first = 0; first < v.num_tiles; first += kThreads) {
    __syncthreads();
    if (first + threadIdx.x < v.num_tiles)
      counts[threadIdx.x] = static_cast<std::uint32_t>(events_of(v, s, first + threadIdx.x));
    __syncthreads();
    // A tile has fewer events than the block has threads: its warps take turns.
    std::uint32_t turn = threadIdx.x;
    const std::uint32_t tiles = min(static_cast<std::uint32_t>(kThreads), v.num_tiles - first);
    for (std::uint32_t t = 0; t < tiles; ++t) {
      const SparseTile tile = v.tiles[first + t];
      const SparseGroup g = v.groups[tile.group];
      s.tick = kEventStream + first + t;
      const std::uint32_t pairs = (counts[t] + 1) / 2;
      const std::uint32_t start = turn;
      turn = (turn + kThreads - pairs % kThreads / 32 * 32) % kThreads;
      for (std::uint32_t p = start; p < pairs; p += kThreads) {
        const Philox4x32 r = s.block(p);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          if (2 * p + half >= counts[t]) break;
          const std::uint64_t word = (std::uint64_t{r.v[2 * half + 1]} << 32) | r.v[2 * half];
          const auto bucket = static_cast<std::uint32_t>(__umul64hi(word, g.count));
          const auto share = static_cast<std::uint32_t>((word * g.count) >> 32);
          const AliasEntry entry = v.alias[g.first + bucket];
          const std::uint32_t m = share < entry.threshold ? bucket : entry.alias;
          std::uint32_t* row = out + (word & (shots - 1)) * v.stride_words;
          const std::uint32_t* bits = v.bits + g.first_bit + std::uint64_t{m} * g.width;
          std::uint32_t width = g.width;
          if (width == 0) {
            const SparseList l = v.lists[g.first_bit + m];
            bits = v.far + l.first;
            width = l.count;
          }
          for (std::uint32_t k = 0; k < width; ++k) {
            const std::uint32_t b = bits[k];
            toggle_bit(row, b & kFixedBit ? b & ~kFixedBit : b - tile.shift);
          }
        }
      }
    }
  }
  // Disjoint channels: a chain of gaps each, one thread a chain.
  for (std::uint32_t index = threadIdx.x; index < v.num_site_groups; index += kThreads) {
    const SparseSiteGroup g = v.site_groups[index];
    s.tick = kSiteStream + index;
    RareEvents hits{s, g.inv_log, std::uint64_t{g.num_sites} << v.log2_unit};
    std::uint64_t trial;
    std::uint32_t chosen;
    while (hits.next(&trial, &chosen)) {
      const SparseSite site = v.sites[g.first_site + (trial >> v.log2_unit)];
      const SparseBranch* branch = v.branches + site.first_branch;
      while (chosen >= branch->upto) ++branch;
      std::uint32_t* row = out + (trial & (shots - 1)) * v.stride_words;
      for (std::uint32_t k = 0; k < branch->count; ++k) toggle_bit(row, v.far[branch->first + k]);
    }
  }
  for (std::uint32_t index = 0; index < v.num_coins; ++index) {
    s.tick = kCoinStream + index;
    const SparseList l = v.coins[index];
    for (std::uint32_t shot = threadIdx.x; shot < shots; shot += kThreads) {
      const Philox4x32 r = s.block(shot / 128);
      if (!((r.v[(shot / 32) % 4] >> (shot % 32)) & 1)) continue;
      for (std::uint32_t k = 0; k < l.count; ++k)
        toggle_bit(out + shot * v.stride_words, v.far[l.first + k]);
    }
  }
  for (std::uint32_t shot = threadIdx.x; shot < shots; shot += kThreads) {
    for (std::uint32_t k = 0; k < v.num_always; ++k)
      toggle_bit(out + shot * v.stride_words, v.always[k]);
  }
}

class GpuSparse : public GpuRows {
 public:
  explicit GpuSparse(const SparseProgram& p)
      : log2_unit_(p.log2_unit),
        tiles_(p.tiles),
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
    view_ = {tiles_.get(),
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
             static_cast<std::uint32_t>(p.tiles.size()),
             static_cast<std::uint32_t>(p.site_groups.size()),
             static_cast<std::uint32_t>(p.coins.size()),
             static_cast<std::uint32_t>(p.always.size()),
             p.log2_unit,
             stride / 4};
  }
  std::uint64_t block_shots() const override { return std::uint64_t{1} << log2_unit_; }

 protected:
  void launch(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
              std::uint32_t* rows, int, cudaStream_t stream) override {
    sparse_units<<<static_cast<unsigned>(num_blocks), kThreads, 0, stream>>>(view_, seed,
                                                                             first_block, rows);
  }

 private:
  std::uint32_t log2_unit_;
  DeviceBuffer<SparseTile> tiles_;
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
  View view_;
};

}  // namespace

std::unique_ptr<GpuRun> make_gpu_run(const SparseProgram& program, int device) {
  use_gpu(device);
  return std::make_unique<GpuSparse>(program);
}

}  // namespace tilewave::stabilizer
