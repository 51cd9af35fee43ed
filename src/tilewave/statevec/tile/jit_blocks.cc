#include "tilewave/statevec/tile/jit_blocks.h"

#include <algorithm>
#include <compare>
#include <map>

namespace tilewave::statevec::tile {

namespace {

/// A run of operations; equal symbols are equal runs.
struct Piece {
  int symbol;
  std::size_t first, last;
};

/// Two neighbours, and how far the numbers of the second lie behind those of the first.
struct Symbols {
  int first = -1, second = -1;
  std::uint32_t distance = 0;
  friend auto operator<=>(const Symbols&, const Symbols&) = default;
};

struct Pair {
  int count = 0;
  std::size_t last_at = 0;  ///< where it was counted last: those that overlap count once
};

}  // namespace

std::optional<CodeBlocks> code_blocks(std::span<const int> kind,
                                      std::span<const std::uint32_t> place,
                                      std::span<const int> bytes, int most_straight,
                                      int most_bytes) {
  CodeBlocks out;
  std::vector<Piece> pieces;
  std::vector<int> size(bytes.begin(), bytes.end());  // of symbols
  std::vector<int> uses(size.size());
  int straight = 0, total = 0;
  for (std::size_t k = 0; k < kind.size(); ++k) {
    const auto symbol = static_cast<std::size_t>(kind[k]);
    pieces.push_back({kind[k], k, k + 1});
    straight += size[symbol];
    if (uses[symbol]++ == 0) total += size[symbol];
  }
  if (straight <= most_straight) {
    out.blocks = {{0, kind.size()}};
    out.steps = {{0, 0}};
    return out;
  }
  if (total > most_bytes) return std::nullopt;
  // Joins the pair of neighbours that spares most jumps for its code, again and again.
  for (;;) {
    const auto symbols_at = [&](std::size_t k) {
      return Symbols{pieces[k].symbol, pieces[k + 1].symbol,
                     place[pieces[k + 1].first] - place[pieces[k].first]};
    };
    std::map<Symbols, Pair> pairs;
    for (std::size_t k = 0; k + 1 < pieces.size(); ++k) {
      Pair& pair = pairs[symbols_at(k)];
      if (pair.count && pair.last_at + 1 == k && pieces[k].symbol == pieces[k + 1].symbol) continue;
      ++pair.count;
      pair.last_at = k;
    }
    Symbols best;
    double best_gain = 0;
    int best_growth = 0;
    for (const auto& [symbols, pair] : pairs) {
      const auto a = static_cast<std::size_t>(symbols.first);
      const auto b = static_cast<std::size_t>(symbols.second);
      int growth = size[a] + size[b];
      if (uses[a] == pair.count * (a == b ? 2 : 1)) growth -= size[a];
      if (uses[b] == pair.count && a != b) growth -= size[b];
      if (total + growth > most_bytes) continue;
      const double gain = pair.count / (1.0 + std::max(growth, 0));
      if (gain > best_gain) best = symbols, best_gain = gain, best_growth = growth;
    }
    if (best.first < 0) break;
    const int joined = static_cast<int>(size.size());
    size.push_back(size[static_cast<std::size_t>(best.first)] +
                   size[static_cast<std::size_t>(best.second)]);
    uses.push_back(0);
    std::vector<Piece> next;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      if (k + 1 < pieces.size() && symbols_at(k) == best) {
        next.push_back({joined, pieces[k].first, pieces[k + 1].last});
        --uses[static_cast<std::size_t>(best.first)];
        --uses[static_cast<std::size_t>(best.second)];
        ++uses.back();
        ++k;
      } else {
        next.push_back(pieces[k]);
      }
    }
    pieces = std::move(next);
    total += best_growth;
  }
  std::map<int, std::size_t> block_of;
  for (const Piece& piece : pieces) {
    const auto [at, is_new] = block_of.try_emplace(piece.symbol, out.blocks.size());
    if (is_new) out.blocks.push_back({piece.first, piece.last});
    out.steps.push_back({at->second, piece.first});
  }
  return out;
}

}  // namespace tilewave::statevec::tile
