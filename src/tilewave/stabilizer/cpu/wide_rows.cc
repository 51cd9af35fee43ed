#include "tilewave/stabilizer/cpu/wide_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/stabilizer/cpu/random_words.h"
#include "tilewave/stabilizer/noise.h"
#include "tilewave/stabilizer/sparse_streams.h"

namespace tilewave::stabilizer {
namespace {

__extension__ typedef unsigned __int128 WideProduct;
constexpr std::size_t kWideChunk = 1024;  // random words made at a time
constexpr std::uint64_t kMostWideBits = 512;

template <std::uint32_t W>
[[gnu::always_inline]] inline void flip_words(std::uint64_t* row, const std::uint64_t* mask) {
  for (std::uint32_t k = 0; k < W; ++k) row[k] ^= mask[k];
}

template <std::uint32_t W>
[[gnu::always_inline]] inline void wide_body(const SparseProgram& p, const WideTables& t,
                                             std::uint64_t seed, std::uint64_t unit,
                                             std::uint64_t* rows, std::uint64_t* words) {
  const std::size_t shots = std::size_t{1} << p.log2_unit;
  const std::uint64_t shot_mask = shots - 1;
  std::memset(rows, 0, shots * W * sizeof(std::uint64_t));
  UnitStream s{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), unit, 0};
  for (std::size_t index = 0; index < p.tiles.size(); ++index) {
    const SparseGroup& g = p.groups[p.tiles[index].group];
    s.tick = kCountStream + index;
    const Philox4x32 r = s.block(0);
    const double u = static_cast<double>(((std::uint64_t{r.v[1]} << 32) | r.v[0]) >> 11) * 0x1p-53;
    const PoissonTable& table = p.poissons[g.poisson];
    std::uint64_t left =
        table.first +
        static_cast<std::uint64_t>(std::upper_bound(table.upto.begin(), table.upto.end(), u) -
                                   table.upto.begin());
    s.tick = kEventStream + index;
    const AliasEntry* alias = p.alias.data() + g.first;
    const std::uint64_t* masks = t.mechanisms.data() + std::size_t{g.first} * W;
    for (std::uint32_t block = 0; left > 0; block += kWideChunk / 2) {
      const std::size_t n = std::min<std::uint64_t>(left, kWideChunk);
      random_words(s, block, (n + 1) / 2, words);
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t bits = words[i];
        const auto product = static_cast<WideProduct>(bits) * g.count;
        const auto bucket = static_cast<std::uint32_t>(product >> 64);
        const auto share = static_cast<std::uint32_t>(static_cast<std::uint64_t>(product) >> 32);
        const AliasEntry entry = alias[bucket];
        const std::uint32_t m = share < entry.threshold ? bucket : entry.alias;
        flip_words<W>(rows + (bits & shot_mask) * W, masks + std::size_t{m} * W);
      }
      left -= n;
    }
  }
  for (std::size_t index = 0; index < p.site_groups.size(); ++index) {
    const SparseSiteGroup& g = p.site_groups[index];
    s.tick = kSiteStream + index;
    RareEvents hits{s, g.inv_log, std::uint64_t{g.num_sites} << p.log2_unit};
    std::uint64_t trial;
    std::uint32_t bits;
    while (hits.next(&trial, &bits)) {
      std::uint32_t branch = p.sites[g.first_site + (trial >> p.log2_unit)].first_branch;
      while (bits >= p.branches[branch].upto) ++branch;
      flip_words<W>(rows + (trial & shot_mask) * W, t.branches.data() + std::size_t{branch} * W);
    }
  }
  for (std::size_t index = 0; index < p.coins.size(); ++index) {
    s.tick = kCoinStream + index;
    random_words(s, 0, shots / 128 + 1, words);
    for (std::size_t w = 0; w < shots / 64; ++w) {
      for (std::uint64_t bits = words[w]; bits; bits &= bits - 1) {
        flip_words<W>(rows + (w * 64 + static_cast<std::size_t>(__builtin_ctzll(bits))) * W,
                      t.coins.data() + index * W);
      }
    }
  }
  if (p.always.empty()) return;
  for (std::size_t shot = 0; shot < shots; ++shot) flip_words<W>(rows + shot * W, t.always.data());
}

[[gnu::always_inline]] inline void wide_unit(const SparseProgram& p, const WideTables& t,
                                             std::uint64_t seed, std::uint64_t unit,
                                             std::uint64_t* rows, std::uint64_t* words) {
  switch (t.words) {
    case 1:
      return wide_body<1>(p, t, seed, unit, rows, words);
    case 2:
      return wide_body<2>(p, t, seed, unit, rows, words);
    case 4:
      return wide_body<4>(p, t, seed, unit, rows, words);
    default:
      return wide_body<8>(p, t, seed, unit, rows, words);
  }
}

TW_TARGET_AVX512 void wide_avx512(const SparseProgram& p, const WideTables& t, std::uint64_t seed,
                                  std::uint64_t unit, std::uint64_t* rows, std::uint64_t* words) {
  wide_unit(p, t, seed, unit, rows, words);
}
TW_TARGET_AVX2 void wide_avx2(const SparseProgram& p, const WideTables& t, std::uint64_t seed,
                              std::uint64_t unit, std::uint64_t* rows, std::uint64_t* words) {
  wide_unit(p, t, seed, unit, rows, words);
}
void wide_base(const SparseProgram& p, const WideTables& t, std::uint64_t seed, std::uint64_t unit,
               std::uint64_t* rows, std::uint64_t* words) {
  wide_unit(p, t, seed, unit, rows, words);
}

}  // namespace

bool has_wide_rows(const SparseProgram& program) {
  return program.num_bits <= kMostWideBits &&
         std::all_of(program.tiles.begin(), program.tiles.end(),
                     [](const SparseTile& tile) { return tile.shift == 0; });
}

WideTables wide_tables(const SparseProgram& program) {
  WideTables t;
  t.words = static_cast<std::uint32_t>(
      std::bit_ceil(std::max<std::uint64_t>(1, (program.num_bits + 63) / 64)));
  const auto flip = [&](std::vector<std::uint64_t>& masks, std::size_t index, std::uint32_t bit) {
    bit &= ~kFixedBit;
    masks[index * t.words + bit / 64] ^= std::uint64_t{1} << (bit % 64);
  };
  const auto flip_list = [&](std::vector<std::uint64_t>& masks, std::size_t index,
                             std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) flip(masks, index, program.far[first + k]);
  };
  t.mechanisms.resize(program.alias.size() * t.words);
  for (const SparseGroup& g : program.groups) {
    for (std::uint32_t m = 0; m < g.count; ++m) {
      if (g.width == 0) {
        const SparseList& l = program.lists[g.first_bit + m];
        flip_list(t.mechanisms, g.first + m, l.first, l.count);
      }
      for (std::uint32_t k = 0; k < g.width; ++k)
        flip(t.mechanisms, g.first + m, program.bits[g.first_bit + m * g.width + k]);
    }
  }
  t.branches.resize(program.branches.size() * t.words);
  for (std::size_t b = 0; b < program.branches.size(); ++b)
    flip_list(t.branches, b, program.branches[b].first, program.branches[b].count);
  t.coins.resize(program.coins.size() * t.words);
  for (std::size_t c = 0; c < program.coins.size(); ++c)
    flip_list(t.coins, c, program.coins[c].first, program.coins[c].count);
  t.always.resize(t.words);
  for (std::uint32_t bit : program.always) flip(t.always, 0, bit);
  return t;
}

void run_wide_unit(const SparseProgram& program, const WideTables& tables, std::uint64_t seed,
                   std::uint64_t unit, std::uint64_t* rows, std::vector<std::uint64_t>& scratch) {
  scratch.resize(kWideChunk + 64);
  switch (cpu_level()) {
    case CpuLevel::kAvx512:
      return wide_avx512(program, tables, seed, unit, rows, scratch.data());
    case CpuLevel::kAvx2:
      return wide_avx2(program, tables, seed, unit, rows, scratch.data());
    case CpuLevel::kBase:
      return wide_base(program, tables, seed, unit, rows, scratch.data());
  }
}

}  // namespace tilewave::stabilizer
