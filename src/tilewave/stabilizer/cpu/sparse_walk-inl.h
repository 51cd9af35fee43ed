// The draws of the sparse engine, once for both forms of rows (sparse_run.cc, wide_rows.cc). A form
// says what is flipped: Rows has
//   events(tile, words, n)   `n` events of a tile's group, a random word each
//   branch(index, shot)      a branch of a disjoint channel
//   coin(index, shot), always(shot)
// Everything is inlined into functions compiled for one level of the CPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tilewave/stabilizer/cpu/random_words.h"
#include "tilewave/stabilizer/noise.h"
#include "tilewave/stabilizer/sparse_program.h"
#include "tilewave/stabilizer/sparse_streams.h"

namespace tilewave::stabilizer {

// Random words made at a time; they stay in the first-level cache.
constexpr std::size_t kSparseChunk = 1024;
constexpr std::size_t kSparseScratch = kSparseChunk + 64;  // words that sparse_unit() needs

// The mechanism of a group that a random word chooses: bucket and share from the upper bits (a
// 32 x 32 product refined by the lower ones); the lowest say the shot.
[[gnu::always_inline]] inline std::uint32_t mechanism_of(const AliasEntry* alias,
                                                         std::uint32_t count, std::uint64_t word) {
  __extension__ typedef unsigned __int128 Wide;
  const auto product = static_cast<Wide>(word) * count;
  const auto bucket = static_cast<std::uint32_t>(product >> 64);
  const auto share = static_cast<std::uint32_t>(static_cast<std::uint64_t>(product) >> 32);
  const AliasEntry entry = alias[bucket];
  return share < entry.threshold ? bucket : entry.alias;
}

template <class Rows>
[[gnu::always_inline]] inline void sparse_unit(const SparseProgram& p, std::uint64_t seed,
                                               std::uint64_t unit, const Rows& rows,
                                               std::uint64_t* words) {
  const std::size_t shots = std::size_t{1} << p.log2_unit;
  UnitStream s{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), unit, 0};
  for (std::size_t index = 0; index < p.tiles.size(); ++index) {
    const SparseTile& tile = p.tiles[index];
    s.tick = kCountStream + index;
    const Philox4x32 r = s.block(0);
    const double u = static_cast<double>(((std::uint64_t{r.v[1]} << 32) | r.v[0]) >> 11) * 0x1p-53;
    const PoissonTable& table = p.poissons[p.groups[tile.group].poisson];
    std::uint64_t left =
        table.first +
        static_cast<std::uint64_t>(std::upper_bound(table.upto.begin(), table.upto.end(), u) -
                                   table.upto.begin());
    s.tick = kEventStream + index;
    for (std::uint32_t block = 0; left > 0; block += kSparseChunk / 2) {
      const std::size_t n = std::min<std::uint64_t>(left, kSparseChunk);
      random_words(s, block, (n + 1) / 2, words);
      rows.events(tile, words, n);
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
      rows.branch(branch, trial & (shots - 1));
    }
  }
  for (std::size_t index = 0; index < p.coins.size(); ++index) {
    s.tick = kCoinStream + index;
    random_words(s, 0, shots / 128 + 1, words);
    for (std::size_t w = 0; w < shots / 64; ++w) {
      for (std::uint64_t bits = words[w]; bits; bits &= bits - 1)
        rows.coin(index, w * 64 + static_cast<std::size_t>(__builtin_ctzll(bits)));
    }
  }
  if (p.always.empty()) return;
  for (std::size_t shot = 0; shot < shots; ++shot) rows.always(shot);
}

}  // namespace tilewave::stabilizer
