#include "tilewave/stabilizer/cpu/wide_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/stabilizer/cpu/sparse_walk-inl.h"

namespace tilewave::stabilizer {
namespace {

constexpr std::uint64_t kMostWideBits = 512;

template <std::uint32_t W>
[[gnu::always_inline]] inline void flip_words(std::uint64_t* row, const std::uint64_t* mask) {
  for (std::uint32_t k = 0; k < W; ++k) row[k] ^= mask[k];
}

template <std::uint32_t W>
struct WideRows {
  const SparseProgram& p;
  const WideTables& t;
  std::uint64_t* rows;

  [[gnu::always_inline]] void events(const SparseTile& tile, const std::uint64_t* words,
                                     std::size_t n) const {
    const SparseGroup& g = p.groups[tile.group];
    const std::uint64_t shot_mask = (std::uint64_t{1} << p.log2_unit) - 1;
    const AliasEntry* alias = p.alias.data() + g.first;
    const std::uint64_t* masks = t.mechanisms.data() + std::size_t{g.first} * W;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t m = mechanism_of(alias, g.count, words[i]);
      flip_words<W>(rows + (words[i] & shot_mask) * W, masks + std::size_t{m} * W);
    }
  }
  [[gnu::always_inline]] void branch(std::size_t index, std::size_t shot) const {
    flip_words<W>(rows + shot * W, t.branches.data() + index * W);
  }
  [[gnu::always_inline]] void coin(std::size_t index, std::size_t shot) const {
    flip_words<W>(rows + shot * W, t.coins.data() + index * W);
  }
  [[gnu::always_inline]] void always(std::size_t shot) const {
    flip_words<W>(rows + shot * W, t.always.data());
  }
};

template <std::uint32_t W>
[[gnu::always_inline]] inline void wide_body(const SparseProgram& p, const WideTables& t,
                                             std::uint64_t seed, std::uint64_t unit,
                                             std::uint64_t* rows, std::uint64_t* words) {
  std::memset(rows, 0, (W * sizeof(std::uint64_t)) << p.log2_unit);
  sparse_unit(p, seed, unit, WideRows<W>{p, t, rows}, words);
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
  scratch.resize(kSparseScratch);
  ForThisCpu<wide_unit>::call(program, tables, seed, unit, rows, scratch.data());
}

}  // namespace tilewave::stabilizer
