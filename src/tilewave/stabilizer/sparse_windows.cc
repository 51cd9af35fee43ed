#include "tilewave/stabilizer/sparse_windows.h"

#include <algorithm>
#include <span>

namespace tilewave::stabilizer {
namespace {

constexpr std::uint32_t kMostParts = 3;  // log2: eight blocks draw the same events
constexpr std::uint32_t kMostFixedWords = 4;
constexpr std::uint64_t kLeastShots = 32;  // of a part

// The first and the last moving bit of a group, before its shift; first > last: it has none.
struct Reach {
  std::uint32_t first = ~std::uint32_t{0}, last = 0;
};

Reach reach_of(const SparseProgram& p, const SparseGroup& g) {
  Reach reach;
  const auto add = [&](std::span<const std::uint32_t> bits) {
    for (std::uint32_t b : bits) {
      if (b & kFixedBit) continue;
      reach.first = std::min(reach.first, b);
      reach.last = std::max(reach.last, b);
    }
  };
  if (g.width) {
    add(std::span(p.bits).subspan(g.first_bit, std::size_t{g.count} * g.width));
  } else {
    for (const SparseList& l : std::span(p.lists).subspan(g.first_bit, g.count))
      add(std::span(p.far).subspan(l.first, l.count));
  }
  return reach;
}

}  // namespace

std::optional<SparseWindows> sparse_windows(const SparseProgram& p, std::uint64_t bytes,
                                            std::uint32_t most_tiles, std::uint32_t most_shift) {
  SparseWindows w;
  const auto row_words = static_cast<std::uint32_t>((p.num_bits + most_shift + 31) / 32);
  w.first_fixed =
      p.num_detectors == p.num_bits ? row_words : static_cast<std::uint32_t>(p.num_detectors / 32);
  w.fixed_words = row_words - w.first_fixed;
  if (w.fixed_words > kMostFixedWords) return std::nullopt;
  const std::uint32_t moving_words = w.first_fixed;  // detectors below the fixed words

  std::vector<Reach> reaches;
  for (const SparseGroup& g : p.groups) reaches.push_back(reach_of(p, g));
  struct Placed {
    WindowTile tile;
    std::uint32_t first_word, end_word;
  };
  std::vector<Placed> placed;
  std::uint32_t widest = 1;
  for (std::uint32_t k = 0; k < p.tiles.size(); ++k) {
    const SparseTile& t = p.tiles[k];
    const Reach& reach = reaches[t.group];
    Placed at{{k, t.group, t.shift}, 0, 0};
    if (reach.first <= reach.last) {
      at.first_word = std::min((reach.first - t.shift) / 32, moving_words);
      at.end_word = std::min((reach.last - t.shift + most_shift) / 32 + 1, moving_words);
      widest = std::max(widest, at.end_word - at.first_word);
    }
    placed.push_back(at);
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const Placed& a, const Placed& b) { return a.first_word < b.first_word; });

  // A window should be half as wide again as the widest tile, or the steps are of few tiles; a
  // narrower one will do before a unit is shared further than is worth it.
  const std::uint64_t unit = std::uint64_t{1} << p.log2_unit;
  // Whether there is room for so many words beside the fixed ones.
  const auto has_room = [&](std::uint32_t words, std::uint32_t log2_parts) {
    return bytes / 4 / (unit >> log2_parts) >= std::min(words, moving_words) + w.fixed_words;
  };
  while (!has_room(widest + widest / 2, w.log2_parts) && w.log2_parts < kMostParts &&
         (unit >> (w.log2_parts + 1)) >= kLeastShots)
    ++w.log2_parts;
  if (!has_room(widest, w.log2_parts)) return std::nullopt;
  w.words = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(moving_words, bytes / 4 / (unit >> w.log2_parts) - w.fixed_words));

  for (const Placed& at : placed) {
    if (w.steps.empty() || w.steps.back().count == most_tiles ||
        at.end_word > w.steps.back().first_word + w.words)
      w.steps.push_back({static_cast<std::uint32_t>(w.tiles.size()), 0, at.first_word});
    w.tiles.push_back(at.tile);
    ++w.steps.back().count;
  }
  return w;
}

}  // namespace tilewave::stabilizer
