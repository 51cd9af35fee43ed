// The sparse engine on the GPU: a block of threads a unit of shots, or a part of one. The threads take
// the events of a tile in turn, each a Philox word, an alias look-up and a few 32-bit exclusive ors
// into the shots' rows, which are atomic because two events may meet in a word. The bits are those
// of cpu/sparse_run.cc.
//
// The rows are in the block's shared memory, a window of them at a time (sparse_windows.h). Where
// no window is wide enough they are in device memory; then they must stay in the second-level
// cache, or every event reads and writes a sector of memory: tiles come in the order of their
// output bits, so a block works on one stretch of its rows at a time.
#include <algorithm>

#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/stabilizer/cuda/gpu_rows.cuh"
#include "tilewave/stabilizer/noise.h"
#include "tilewave/stabilizer/sparse_streams.h"
#include "tilewave/stabilizer/sparse_windows.h"

namespace tilewave::stabilizer {
namespace {

constexpr int kThreads = 1024;  // one block a multiprocessor: 25 to 30% over blocks of 256

struct View {
  const WindowTile* tiles;
  const WindowStep* steps;
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
  std::uint32_t num_steps, num_site_groups, num_coins, num_always, log2_unit;
  std::uint32_t log2_parts, window_words, first_fixed, fixed_words;
  std::uint32_t stride_words;
};

// The rows of a block in device memory.
struct DeviceRows {
  std::uint32_t* rows;
  std::uint32_t stride_words;
  __device__ void flip(std::uint32_t shot, std::uint32_t b) const {
    atomicXor(rows + std::uint64_t{shot} * stride_words + (b >> 5), 1u << (b & 31));
  }
};

// The window of a block's rows in shared memory: its words from `first_word` on are a ring that
// starts at `start`; the fixed words follow it.
struct WindowRows {
  std::uint32_t* rows;
  std::uint32_t words, fixed_words, first_fixed;
  std::uint32_t first_word = 0, start = 0;
  __device__ std::uint32_t* row(std::uint32_t shot) const {
    return rows + shot * (words + fixed_words);
  }
  __device__ std::uint32_t place(std::uint32_t word) const {
    if (word >= first_fixed) return words + word - first_fixed;
    const std::uint32_t at = start + word - first_word;
    return at < words ? at : at - words;
  }
  __device__ void flip(std::uint32_t shot, std::uint32_t b) const {
    atomicXor(row(shot) + place(b >> 5), 1u << (b & 31));
  }
  /// Writes the words before `word` to device memory, clears them and moves the window to `word`.
  __device__ void move_to(std::uint32_t word, std::uint32_t shots, std::uint32_t* out,
                          std::uint32_t stride_words) {
    const std::uint32_t count = word - first_word;
    if (count == 0) return;
    // As many lanes a shot as it has words, rounded up to a power of two; a thread has the same word
    // of every shot it comes to.
    const std::uint32_t lanes = count >= 32 ? 32 : 1u << (32 - __clz(static_cast<int>(count - 1)));
    const std::uint32_t shot = threadIdx.x / lanes, step = kThreads / lanes;
    for (std::uint32_t k = threadIdx.x % lanes; k < count; k += lanes) {
      std::uint32_t* to = out + std::uint64_t{shot} * stride_words + first_word + k;
      const std::uint64_t to_step = std::uint64_t{step} * stride_words;
      if (k < words) {
        std::uint32_t* from = row(shot) + place(first_word + k);
        const std::uint32_t from_step = step * (words + fixed_words);
        for (std::uint32_t done = shot; done < shots; done += step) {
          *to = *from;
          *from = 0;
          to += to_step;
          from += from_step;
        }
      } else {  // beyond the window nothing has been flipped
        for (std::uint32_t done = shot; done < shots; done += step, to += to_step) *to = 0;
      }
    }
    if (words) start = (start + count) % words;
    first_word = word;
  }
};

__device__ std::uint64_t events_of(const View& v, UnitStream s, const WindowTile& tile) {
  s.tick = kCountStream + tile.stream;
  const Philox4x32 r = s.block(0);
  const double u = static_cast<double>(((std::uint64_t{r.v[1]} << 32) | r.v[0]) >> 11) * 0x1p-53;
  const std::uint32_t table = v.groups[tile.group].poisson;
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

// The shots of a unit that a block makes.
struct Part {
  std::uint32_t unit_shots, log2_shots, index;
  __device__ bool has(std::uint32_t shot) const { return shot >> log2_shots == index; }
  __device__ std::uint32_t num_shots() const { return 1u << log2_shots; }
  __device__ std::uint32_t within(std::uint32_t shot) const { return shot & (num_shots() - 1); }
};

struct Event {
  std::uint32_t shot, mechanism;
};

// The upper half of `word` times the size of the group is the bucket, what follows the share. The
// table is not read for shots that are not of the part.
__device__ Event event_of(const View& v, const SparseGroup& g, const Part& part, std::uint32_t low,
                          std::uint32_t high) {
  Event e{low & (part.unit_shots - 1), 0};
  if (!part.has(e.shot)) return e;
  const std::uint64_t product =
      std::uint64_t{high} * g.count + ((std::uint64_t{low} * g.count) >> 32);
  const auto bucket = static_cast<std::uint32_t>(product >> 32);
  const AliasEntry entry = v.alias[g.first + bucket];
  e.mechanism = static_cast<std::uint32_t>(product) < entry.threshold ? bucket : entry.alias;
  return e;
}

// All bits of a narrow mechanism are asked for before the first of them is flipped.
template <class Rows>
__device__ void flip_event(const View& v, const SparseGroup& g, std::uint32_t shift,
                           std::uint32_t mechanism, std::uint32_t shot, const Rows& rows) {
  const auto flip = [&](std::uint32_t b) {
    rows.flip(shot, b & kFixedBit ? b & ~kFixedBit : b - shift);
  };
  if (g.width == 0) {
    const SparseList l = v.lists[g.first_bit + mechanism];
    for (std::uint32_t k = 0; k < l.count; ++k) flip(v.far[l.first + k]);
    return;
  }
  const std::uint32_t* bits = v.bits + (g.first_bit + mechanism * g.width);
  std::uint32_t b[4];
#pragma unroll
  for (std::uint32_t k = 0; k < 4; ++k) b[k] = k < g.width ? bits[k] : 0;
#pragma unroll
  for (std::uint32_t k = 0; k < 4; ++k) {
    if (k < g.width) flip(b[k]);
  }
}

// The events of a step of at most kThreads tiles; `counts`: shared memory for as many numbers.
template <class Rows>
__device__ void draw_step(const View& v, UnitStream s, const WindowStep& step, const Part& part,
                          std::uint32_t* counts, const Rows& rows) {
  if (threadIdx.x < step.count)
    counts[threadIdx.x] =
        static_cast<std::uint32_t>(events_of(v, s, v.tiles[step.first + threadIdx.x]));
  __syncthreads();
  // A tile has fewer events than the block has threads: its warps take turns.
  std::uint32_t turn = threadIdx.x;
  for (std::uint32_t t = 0; t < step.count; ++t) {
    const std::uint32_t pairs = (counts[t] + 1) / 2;
    const std::uint32_t start = turn;
    turn = (turn + kThreads - pairs % kThreads / 32 * 32) % kThreads;
    if (start >= pairs) continue;
    const WindowTile tile = v.tiles[step.first + t];
    const SparseGroup g = v.groups[tile.group];
    s.tick = kEventStream + tile.stream;
    for (std::uint32_t p = start; p < pairs; p += kThreads) {
      const Philox4x32 r = s.block(p);
      const Event events[2] = {event_of(v, g, part, r.v[0], r.v[1]),
                               event_of(v, g, part, r.v[2], r.v[3])};
#pragma unroll
      for (std::uint32_t half = 0; half < 2; ++half) {
        if (2 * p + half < counts[t] && part.has(events[half].shot))
          flip_event(v, g, tile.shift, events[half].mechanism, part.within(events[half].shot),
                     rows);
      }
    }
  }
  __syncthreads();
}

// What is no event of a tile, on rows in device memory.
__device__ void draw_rest(const View& v, UnitStream s, const Part& part, const DeviceRows& rows) {
  // Disjoint channels: a chain of gaps each, one thread a chain.
  for (std::uint32_t index = threadIdx.x; index < v.num_site_groups; index += kThreads) {
    const SparseSiteGroup g = v.site_groups[index];
    s.tick = kSiteStream + index;
    RareEvents hits{s, g.inv_log, std::uint64_t{g.num_sites} << v.log2_unit};
    std::uint64_t trial;
    std::uint32_t chosen;
    while (hits.next(&trial, &chosen)) {
      const std::uint32_t shot = static_cast<std::uint32_t>(trial) & (part.unit_shots - 1);
      if (!part.has(shot)) continue;
      const SparseSite site = v.sites[g.first_site + (trial >> v.log2_unit)];
      const SparseBranch* branch = v.branches + site.first_branch;
      while (chosen >= branch->upto) ++branch;
      for (std::uint32_t k = 0; k < branch->count; ++k)
        rows.flip(part.within(shot), v.far[branch->first + k]);
    }
  }
  for (std::uint32_t index = 0; index < v.num_coins; ++index) {
    s.tick = kCoinStream + index;
    const SparseList l = v.coins[index];
    for (std::uint32_t k = threadIdx.x; k < part.num_shots(); k += kThreads) {
      const std::uint32_t shot = part.index * part.num_shots() + k;
      const Philox4x32 r = s.block(shot / 128);
      if (!((r.v[(shot / 32) % 4] >> (shot % 32)) & 1)) continue;
      for (std::uint32_t j = 0; j < l.count; ++j) rows.flip(k, v.far[l.first + j]);
    }
  }
  for (std::uint32_t shot = threadIdx.x; shot < part.num_shots(); shot += kThreads) {
    for (std::uint32_t k = 0; k < v.num_always; ++k) rows.flip(shot, v.always[k]);
  }
}

template <bool kWindow>
__global__ void __launch_bounds__(kThreads, 1)
    sparse_units(View v, std::uint64_t seed, std::uint64_t first_unit, std::uint32_t* rows) {
  extern __shared__ std::uint32_t window_memory[];
  __shared__ std::uint32_t counts[kThreads];
  const Part part{1u << v.log2_unit, v.log2_unit - v.log2_parts,
                  blockIdx.x & ((1u << v.log2_parts) - 1)};
  const std::uint64_t unit = first_unit + (blockIdx.x >> v.log2_parts);
  const DeviceRows out{rows + std::uint64_t{blockIdx.x} * part.num_shots() * v.stride_words,
                       v.stride_words};
  const UnitStream s{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), unit,
                     0};
  if constexpr (kWindow) {
    WindowRows window{window_memory, v.window_words, v.fixed_words, v.first_fixed};
    for (std::uint32_t k = threadIdx.x; k < part.num_shots() * (v.window_words + v.fixed_words);
         k += kThreads)
      window_memory[k] = 0;
    for (std::uint32_t k = 0; k < v.num_steps; ++k) {
      const WindowStep step = v.steps[k];
      __syncthreads();
      window.move_to(step.first_word, part.num_shots(), out.rows, v.stride_words);
      draw_step(v, s, step, part, counts, window);  // its first barrier ends the move
    }
    __syncthreads();
    window.move_to(v.first_fixed, part.num_shots(), out.rows, v.stride_words);
    for (std::uint32_t shot = threadIdx.x; shot < part.num_shots(); shot += kThreads) {
      for (std::uint32_t k = 0; k < v.fixed_words; ++k)
        out.rows[std::uint64_t{shot} * v.stride_words + v.first_fixed + k] =
            window.row(shot)[v.window_words + k];
    }
  } else {
    for (std::uint64_t k = threadIdx.x; k < std::uint64_t{part.num_shots()} * v.stride_words;
         k += kThreads)
      out.rows[k] = 0;
    __syncthreads();
    for (std::uint32_t k = 0; k < v.num_steps; ++k) draw_step(v, s, v.steps[k], part, counts, out);
  }
  __syncthreads();
  draw_rest(v, s, part, out);
}

// Windows for the device, or steps of all its rows at once.
SparseWindows windows_for(const SparseProgram& p, std::uint64_t bytes) {
  if (auto windows = sparse_windows(p, bytes, kThreads)) return *std::move(windows);
  SparseWindows all;
  for (std::uint32_t k = 0; k < p.tiles.size(); ++k) {
    if (k % kThreads == 0) all.steps.push_back({k, 0, 0});
    ++all.steps.back().count;
    all.tiles.push_back({k, p.tiles[k].group, p.tiles[k].shift});
  }
  return all;
}

// What a block can have beside its static memory and what the runtime keeps.
std::uint64_t window_bytes() {
  return runtime::cuda::properties_of(current_gpu()).sharedMemPerBlockOptin -
         kThreads * sizeof(std::uint32_t);
}

class GpuSparse : public GpuRows {
 public:
  GpuSparse(const SparseProgram& p, const SparseWindows& w)
      : log2_unit_(p.log2_unit),
        tiles_(w.tiles),
        steps_(w.steps),
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
    const auto row_words = static_cast<std::uint32_t>((p.num_bits + 31) / 32);
    const std::uint32_t shots = 1u << (p.log2_unit - w.log2_parts);
    has_window_ = w.words + w.fixed_words > 0;
    window_bytes_ = sizeof(std::uint32_t) * shots * (w.words + w.fixed_words);
    if (has_window_) {
      runtime::cuda::allow_shared(current_gpu(), reinterpret_cast<const void*>(sparse_units<true>),
                                  window_bytes_);
    }
    view_ = {tiles_.get(),
             steps_.get(),
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
             static_cast<std::uint32_t>(w.steps.size()),
             static_cast<std::uint32_t>(p.site_groups.size()),
             static_cast<std::uint32_t>(p.coins.size()),
             static_cast<std::uint32_t>(p.always.size()),
             p.log2_unit,
             w.log2_parts,
             w.words,
             row_words - w.fixed_words,
             w.fixed_words,
             static_cast<std::uint32_t>(stride / 4)};
  }
  std::uint64_t block_shots() const override { return std::uint64_t{1} << log2_unit_; }

 protected:
  void launch(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
              std::uint32_t* rows, int, cudaStream_t stream) override {
    const auto blocks = static_cast<unsigned>(num_blocks << view_.log2_parts);
    if (has_window_) {
      sparse_units<true>
          <<<blocks, kThreads, window_bytes_, stream>>>(view_, seed, first_block, rows);
    } else {
      sparse_units<false><<<blocks, kThreads, 0, stream>>>(view_, seed, first_block, rows);
    }
  }

 private:
  std::uint32_t log2_unit_;
  bool has_window_ = false;
  std::size_t window_bytes_ = 0;
  DeviceBuffer<WindowTile> tiles_;
  DeviceBuffer<WindowStep> steps_;
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

std::unique_ptr<GpuRows> make_gpu_rows(const SparseProgram& program) {
  return std::make_unique<GpuSparse>(program, windows_for(program, window_bytes()));
}

std::unique_ptr<GpuRun> make_gpu_run(const SparseProgram& program, int device) {
  use_gpu(device);
  return make_gpu_rows(program);
}

}  // namespace tilewave::stabilizer
