#include "tilewave/statevec/cpu/layer_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "tilewave/base/seeds_test.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/statevec/cpu/split_terms_test.h"

namespace tilewave::statevec::cpu {
namespace {

// Terms as of a chain or of random pairs, most with one angle: few different factors of rows.
SplitTerms random_terms(std::mt19937_64& random, int num_row_bits) {
  const int all = kLowBits + num_row_bits + 2;
  const std::uint64_t angle = random();
  const bool chain = random() % 2, alike = random() % 4;
  SplitTerms terms;
  for (int k = 0; k + 1 < all; ++k) {
    if (random() % 8 == 0) continue;
    const int a = chain ? k : static_cast<int>(random() % static_cast<std::uint64_t>(all)),
              b = chain ? k + 1 : static_cast<int>(random() % static_cast<std::uint64_t>(all));
    terms.push_back(split_term(bit(a) | bit(b), alike ? angle : random(), num_row_bits));
  }
  return terms;
}

template <class T>
void check_layer(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const int num_row_bits = 1 + static_cast<int>(seed % kMaxRowBits);
  const std::uint32_t num_rows = 1u << num_row_bits, all_rows = num_rows - 1;
  const auto number = [&] { return 0.001 * static_cast<double>(random() % 2000) - 1; };
  Layer<T> layer;
  LayerStep<T>& lifts = layer.lifts;
  lifts.mask = random() & (kRowLength * num_rows - 1);
  if (random() % 2) lifts.mask |= all_rows << kLowBits;
  const std::uint64_t kind = random() % 4;
  const T same = static_cast<T>(number());
  for (T& t : lifts.t) t = kind == 0 ? same : kind == 1 ? T(1) : static_cast<T>(number());
  if (kind == 1) {
    lifts.reflected = lifts.mask & random() & (kRowLength - 1);
    if (random() % 2) lifts.reflected |= lifts.mask & all_rows << kLowBits;
  }
  const SplitTerms terms = random_terms(random, num_row_bits);
  layer.has_phase = random() % 4 != 0;
  const BlockKernels<T>& kernels = block_kernels(T{});
  if (layer.has_phase && random() % 2) {
    lifts.weighted = lifts.mask & ~lifts.reflected & (kRowLength - 1);
    if (random() % 2) lifts.weighted &= random();
    layer.weighs = true;
  }
  if (layer.has_phase) layer.phase = make_phase_program<T>(terms, num_row_bits);

  const runtime::HostBuffer buffer(sizeof(T) * 2 * kRowLength * num_rows);
  T* tile = buffer.as<T>();
  std::vector<std::uint32_t> places;
  Vector expected(std::size_t{kRowLength} * num_rows);
  const auto at = [&](std::size_t x) { return 2 * (x & ~std::size_t{63}) + (x & 63); };
  for (std::uint32_t r = 0; r < num_rows; ++r) places.push_back(r);
  for (std::size_t x = 0; x < expected.size(); ++x) {
    tile[at(x)] = static_cast<T>(number());
    tile[at(x) + kRowLength] = static_cast<T>(number());
    expected[x] = {tile[at(x)], tile[at(x) + kRowLength]};
  }
  const auto scratch = std::make_unique<PhaseScratch<T>>();
  for (std::uint64_t index = 0; index < 4; ++index) {  // bits outside the block
    run_layer(kernels, tile, {places.data(), num_row_bits, 0}, layer, index, *scratch);
    if (layer.has_phase) run_on(expected, terms, num_row_bits, index);
    run_on(expected, lifts);
  }
  Vector got;
  for (std::size_t x = 0; x < expected.size(); ++x)
    got.emplace_back(tile[at(x)], tile[at(x) + kRowLength]);
  expect_near(got, expected, sizeof(T) == 8 ? 1e-13 : 1e-5);
}

TEST(Layers, agree_with_their_terms_and_lifts) {
  for_each_seed(200, [](std::uint64_t seed, auto&) {
    check_layer<double>(seed);
    check_layer<float>(seed);
  });
}

// Rows of one product of tables follow each other, and every row is in one run.
TEST(Layers, rows_with_equal_tables_follow_each_other) {
  constexpr int kRowBits = 8;
  SplitTerms terms;
  for (int k = 0; k + 1 < kRowBits; ++k) terms.push_back({0, 3u << k, 0, 12345});
  terms.push_back({1u << 5, 1, 0, 12345});
  const PhaseProgram<double> program = make_phase_program<double>(terms, kRowBits);
  const RowOrder& order = program.order;
  std::size_t rows = 0;
  for (const std::uint16_t run : order.runs) rows += run;
  EXPECT_EQ(rows, order.rows.size());
  EXPECT_EQ(rows, std::size_t{1} << kRowBits);
  EXPECT_EQ(order.runs.size(), 2u);
  std::vector<std::uint16_t> sorted = order.rows;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
}

}  // namespace
}  // namespace tilewave::statevec::cpu
