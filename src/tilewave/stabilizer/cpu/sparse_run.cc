#include "tilewave/stabilizer/cpu/sparse_run.h"

#include <cstring>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/stabilizer/cpu/sparse_walk-inl.h"

namespace tilewave::stabilizer {
namespace {

// Makes `n` events of a group.
template <std::uint32_t Width, bool Fixed>
[[gnu::always_inline]] inline void events(const SparseProgram& p, const SparseGroup& g,
                                          std::uint32_t shift, const std::uint64_t* words,
                                          std::size_t n, std::uint8_t* rows) {
  const AliasEntry* alias = p.alias.data() + g.first;
  const std::size_t stride = p.row_bytes();
  const std::uint64_t shot_mask = (std::uint64_t{1} << p.log2_unit) - 1;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t r = words[i];
    const std::uint32_t m = mechanism_of(alias, g.count, r);
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

struct PackedRows {
  const SparseProgram& p;
  std::uint8_t* rows;
  std::size_t stride;

  [[gnu::always_inline]] void events(const SparseTile& tile, const std::uint64_t* words,
                                     std::size_t n) const {
    const SparseGroup& g = p.groups[tile.group];
    if (g.fixed) {
      group_events<true>(p, g, tile.shift, words, n, rows);
    } else {
      group_events<false>(p, g, tile.shift, words, n, rows);
    }
  }
  [[gnu::always_inline]] void branch(std::size_t index, std::size_t shot) const {
    flip(p, p.branches[index].first, p.branches[index].count, rows + shot * stride);
  }
  [[gnu::always_inline]] void coin(std::size_t index, std::size_t shot) const {
    flip(p, p.coins[index].first, p.coins[index].count, rows + shot * stride);
  }
  [[gnu::always_inline]] void always(std::size_t shot) const {
    for (std::uint32_t b : p.always)
      rows[shot * stride + (b >> 3)] ^= static_cast<std::uint8_t>(1u << (b & 7));
  }
};

[[gnu::always_inline]] inline void unit_body(const SparseProgram& p, std::uint64_t seed,
                                             std::uint64_t unit, std::uint8_t* rows,
                                             std::uint64_t* words) {
  const std::size_t stride = p.row_bytes();
  std::memset(rows, 0, stride << p.log2_unit);
  sparse_unit(p, seed, unit, PackedRows{p, rows, stride}, words);
}

}  // namespace

void run_sparse_unit(const SparseProgram& program, std::uint64_t seed, std::uint64_t unit,
                     std::uint8_t* rows, std::vector<std::uint64_t>& scratch) {
  scratch.resize(kSparseScratch);
  ForThisCpu<unit_body>::call(program, seed, unit, rows, scratch.data());
}

}  // namespace tilewave::stabilizer
