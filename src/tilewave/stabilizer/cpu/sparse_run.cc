#include "tilewave/stabilizer/cpu/sparse_run.h"

#include <algorithm>
#include <cstring>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/stabilizer/cpu/random_words.h"
#include "tilewave/stabilizer/noise.h"
#include "tilewave/stabilizer/sparse_streams.h"

namespace tilewave::stabilizer {
namespace {

__extension__ typedef unsigned __int128 Wide;
// Random words made at a time; they stay in the first-level cache.
constexpr std::size_t kChunk = 1024;

// Draws `n` events of a group: bucket and share from the upper bits (a 32 x 32 product refined by
// the lower ones), the shot from the lowest.
template <std::uint32_t Width, bool Fixed>
[[gnu::always_inline]] inline void events(const SparseProgram& p, const SparseGroup& g,
                                          std::uint32_t shift, const std::uint64_t* words,
                                          std::size_t n, std::uint8_t* rows) {
  const AliasEntry* alias = p.alias.data() + g.first;
  const std::size_t stride = p.row_bytes();
  const std::uint64_t shot_mask = (std::uint64_t{1} << p.log2_unit) - 1;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t r = words[i];
    const auto product = static_cast<Wide>(r) * g.count;
    const auto bucket = static_cast<std::uint32_t>(product >> 64);
    const auto share = static_cast<std::uint32_t>(static_cast<std::uint64_t>(product) >> 32);
    const AliasEntry entry = alias[bucket];
    const std::uint32_t m = share < entry.threshold ? bucket : entry.alias;
    std::uint8_t* row = rows + (r & shot_mask) * stride;
    const std::uint32_t* bits;
    std::uint32_t width = Width;
    if constexpr (Width == 0) {
      const SparseList l = p.lists[g.first_bit + m];
      bits = p.far.data() + l.first;
      width = l.count;
    } else {
      bits = p.bits.data() + g.first_bit + std::size_t{m} * Width;
    }
    for (std::uint32_t k = 0; k < width; ++k) {
      std::uint32_t b = bits[k];
      if constexpr (Fixed) {
        b = b & kFixedBit ? b & ~kFixedBit : b - shift;
      } else {
        b -= shift;
      }
      row[b >> 3] ^= static_cast<std::uint8_t>(1u << (b & 7));
    }
  }
}

template <bool Fixed>
[[gnu::always_inline]] inline void group_events(const SparseProgram& p, const SparseGroup& g,
                                                std::uint32_t shift, const std::uint64_t* words,
                                                std::size_t n, std::uint8_t* rows) {
  switch (g.width) {
    case 1:
      return events<1, Fixed>(p, g, shift, words, n, rows);
    case 2:
      return events<2, Fixed>(p, g, shift, words, n, rows);
    case 3:
      return events<3, Fixed>(p, g, shift, words, n, rows);
    case 4:
      return events<4, Fixed>(p, g, shift, words, n, rows);
    default:
      return events<0, Fixed>(p, g, shift, words, n, rows);
  }
}

[[gnu::always_inline]] inline void flip(const SparseProgram& p, std::uint32_t first,
                                        std::uint32_t count, std::uint8_t* row) {
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint32_t b = p.far[first + k];
    row[b >> 3] ^= static_cast<std::uint8_t>(1u << (b & 7));
  }
}

[[gnu::always_inline]] inline void unit_body(const SparseProgram& p, std::uint64_t seed,
                                             std::uint64_t unit, std::uint8_t* rows,
                                             std::uint64_t* words) {
  const std::size_t shots = std::size_t{1} << p.log2_unit, stride = p.row_bytes();
  std::memset(rows, 0, shots * stride);
  UnitStream s{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), unit, 0};
  for (std::size_t index = 0; index < p.tiles.size(); ++index) {
    const SparseTile& tile = p.tiles[index];
    const SparseGroup& g = p.groups[tile.group];
    s.tick = kCountStream + index;
    const Philox4x32 r = s.block(0);
    const double u = static_cast<double>(((std::uint64_t{r.v[1]} << 32) | r.v[0]) >> 11) * 0x1p-53;
    const PoissonTable& table = p.poissons[g.poisson];
    std::uint64_t left =
        table.first +
        static_cast<std::uint64_t>(std::upper_bound(table.upto.begin(), table.upto.end(), u) -
                                   table.upto.begin());
    s.tick = kEventStream + index;
    for (std::uint32_t block = 0; left > 0; block += kChunk / 2) {
      const std::size_t n = std::min<std::uint64_t>(left, kChunk);
      random_words(s, block, (n + 1) / 2, words);
      if (g.fixed) {
        group_events<true>(p, g, tile.shift, words, n, rows);
      } else {
        group_events<false>(p, g, tile.shift, words, n, rows);
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
      const SparseSite& site = p.sites[g.first_site + (trial >> p.log2_unit)];
      const SparseBranch* branch = p.branches.data() + site.first_branch;
      while (bits >= branch->upto) ++branch;
      flip(p, branch->first, branch->count, rows + (trial & (shots - 1)) * stride);
    }
  }
  for (std::size_t index = 0; index < p.coins.size(); ++index) {
    s.tick = kCoinStream + index;
    random_words(s, 0, shots / 128 + 1, words);
    for (std::size_t w = 0; w < shots / 64; ++w) {
      for (std::uint64_t bits = words[w]; bits; bits &= bits - 1) {
        flip(p, p.coins[index].first, p.coins[index].count,
             rows + (w * 64 + static_cast<std::size_t>(__builtin_ctzll(bits))) * stride);
      }
    }
  }
  if (!p.always.empty()) {
    for (std::size_t shot = 0; shot < shots; ++shot) {
      for (std::uint32_t b : p.always)
        rows[shot * stride + (b >> 3)] ^= static_cast<std::uint8_t>(1u << (b & 7));
    }
  }
}

TW_TARGET_AVX512 void unit_avx512(const SparseProgram& p, std::uint64_t seed, std::uint64_t unit,
                                  std::uint8_t* rows, std::uint64_t* words) {
  unit_body(p, seed, unit, rows, words);
}
TW_TARGET_AVX2 void unit_avx2(const SparseProgram& p, std::uint64_t seed, std::uint64_t unit,
                              std::uint8_t* rows, std::uint64_t* words) {
  unit_body(p, seed, unit, rows, words);
}
void unit_base(const SparseProgram& p, std::uint64_t seed, std::uint64_t unit, std::uint8_t* rows,
               std::uint64_t* words) {
  unit_body(p, seed, unit, rows, words);
}

}  // namespace

void run_sparse_unit(const SparseProgram& program, std::uint64_t seed, std::uint64_t unit,
                     std::uint8_t* rows, std::vector<std::uint64_t>& scratch) {
  scratch.resize(kChunk + 64);
  switch (cpu_level()) {
    case CpuLevel::kAvx512:
      return unit_avx512(program, seed, unit, rows, scratch.data());
    case CpuLevel::kAvx2:
      return unit_avx2(program, seed, unit, rows, scratch.data());
    case CpuLevel::kBase:
      return unit_base(program, seed, unit, rows, scratch.data());
  }
}

}  // namespace tilewave::stabilizer
