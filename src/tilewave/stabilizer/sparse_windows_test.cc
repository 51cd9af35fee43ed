// Windows of the sparse engine hold every bit of the tiles that are drawn with them.
#include "tilewave/stabilizer/sparse_windows.h"

#include <gtest/gtest.h>

#include <set>

#include "tilewave/circuit/code_circuits.h"

namespace tilewave::stabilizer {
namespace {

SparseProgram code(std::uint32_t distance, std::uint32_t rounds) {
  circuit::CodeOptions o;
  o.distance = distance, o.rounds = rounds;
  o.after_clifford_depolarization = o.before_measure_flip_probability = 0.01;
  o.after_reset_flip_probability = o.before_round_data_depolarization = 0.01;
  return build_sparse(lower(circuit::code_circuit("surface_code", "rotated_memory_z", o)),
                      SymptomKind::kDetectors);
}

std::vector<std::uint32_t> bits_of(const SparseProgram& p, const WindowTile& tile) {
  const SparseGroup& g = p.groups[tile.group];
  std::vector<std::uint32_t> out;
  const auto add = [&](std::uint32_t b) {
    out.push_back(b & kFixedBit ? b & ~kFixedBit : b - tile.shift);
  };
  for (std::uint32_t m = 0; m < g.count; ++m) {
    if (g.width) {
      for (std::uint32_t k = 0; k < g.width; ++k) add(p.bits[g.first_bit + m * g.width + k]);
    } else {
      const SparseList l = p.lists[g.first_bit + m];
      for (std::uint32_t k = 0; k < l.count; ++k) add(p.far[l.first + k]);
    }
  }
  return out;
}

void expect_windows(const SparseProgram& p, const SparseWindows& w, std::uint64_t bytes,
                    std::uint32_t most_tiles, std::uint32_t most_shift) {
  const std::uint64_t shots = (std::uint64_t{1} << p.log2_unit) >> w.log2_parts;
  EXPECT_LE(shots * (w.words + w.fixed_words) * 4, bytes);
  const std::uint32_t row_words = static_cast<std::uint32_t>((p.num_bits + most_shift + 31) / 32);
  EXPECT_EQ(w.first_fixed + w.fixed_words, row_words);
  std::multiset<std::uint32_t> streams;
  std::uint32_t next_tile = 0, last_word = 0;
  for (const WindowStep& step : w.steps) {
    EXPECT_EQ(step.first, next_tile);
    EXPECT_LE(step.count, most_tiles);
    EXPECT_GE(step.first_word, last_word);
    last_word = step.first_word;
    next_tile += step.count;
    for (std::uint32_t t = step.first; t < next_tile; ++t) {
      const WindowTile& tile = w.tiles[t];
      streams.insert(tile.stream);
      EXPECT_EQ(tile.group, p.tiles[tile.stream].group);
      EXPECT_EQ(tile.shift, p.tiles[tile.stream].shift);
      for (std::uint32_t b : bits_of(p, tile)) {
        for (std::uint32_t shift = 0; shift <= most_shift; shift += 8) {
          const std::uint32_t word = (b + shift) / 32;
          ASSERT_LT(word, row_words);
          if (word >= w.first_fixed) continue;
          ASSERT_GE(word, step.first_word);
          ASSERT_LT(word, step.first_word + w.words);
        }
      }
    }
  }
  ASSERT_EQ(streams.size(), p.tiles.size());
  std::uint32_t stream = 0;
  for (std::uint32_t s : streams) EXPECT_EQ(s, stream++);
}

TEST(SparseWindows, hold_every_bit_of_their_tiles) {
  for (const auto& [distance, rounds] : {std::pair{3u, 3u}, {3u, 400u}, {11u, 11u}, {15u, 60u}}) {
    const SparseProgram p = code(distance, rounds);
    for (std::uint64_t bytes : {48u << 10, 96u << 10, 223u << 10}) {
      for (std::uint32_t most_tiles : {3u, 1024u}) {
        SCOPED_TRACE(testing::Message() << distance << " " << rounds << " " << bytes);
        std::vector<std::uint32_t> order;  // one list of tiles serves all shifts
        for (std::uint32_t most_shift : {0u, 24u}) {
          const auto windows = sparse_windows(p, bytes, most_tiles, most_shift);
          ASSERT_TRUE(windows || bytes < 200000);
          if (!windows) continue;
          expect_windows(p, *windows, bytes, most_tiles, most_shift);
          std::vector<std::uint32_t> streams;
          for (const WindowTile& tile : windows->tiles) streams.push_back(tile.stream);
          if (order.empty()) order = streams;
          EXPECT_EQ(streams, order);
        }
      }
    }
  }
}

TEST(SparseWindows, a_large_code_moves_one_and_shares_no_unit) {
  const auto windows = sparse_windows(code(25, 25), 223 << 10, 1024);
  ASSERT_TRUE(windows);
  EXPECT_EQ(windows->log2_parts, 0u);
  EXPECT_GT(windows->steps.size(), 2u);
}

TEST(SparseWindows, are_refused_where_a_tile_is_wider_than_any_of_them) {
  // One error of an error model flips the first and the last of a million detectors.
  const std::vector<IndependentError> errors{{0.1, {0, 999999}}};
  EXPECT_FALSE(sparse_windows(build_sparse(errors, 1000000, 0), 223 << 10, 1024));
}

TEST(SparseWindows, many_observables_are_kept_out) {
  const std::vector<IndependentError> errors{{0.1, {0, 40}}};
  EXPECT_FALSE(sparse_windows(build_sparse(errors, 32, 500), 223 << 10, 1024));
  const auto few = sparse_windows(build_sparse(errors, 32, 10), 223 << 10, 1024);
  ASSERT_TRUE(few);
  EXPECT_EQ(few->fixed_words, 1u);
}

}  // namespace
}  // namespace tilewave::stabilizer
