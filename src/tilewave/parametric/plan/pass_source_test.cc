#include "tilewave/parametric/plan/pass_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "tilewave/parametric/gate_by_gate_test.h"
#include "tilewave/parametric/plan/lower.h"

namespace tilewave::parametric {
namespace {

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++found;
  return found;
}

// What kernels do is compared on a GPU (parametric_gpu); here, that each operation and each derivative
// of a pass is in its source once.
TEST(PassSource, has_every_operation_and_derivative) {
  int written = 0, refused = 0;
  for_each_random(1, 300, [&](std::uint64_t, Random& random) {
    const Circuit c = random_circuit(random, 14, 12, 20);
    Actions actions = lower(c);
    const std::vector<bool> reads(actions.angles.size(), true);
    const Passes passes = make_passes(actions, 0, 12, reads, {.most_cost = 200});
    for (const bool back : {false, true}) {
      const StageProgram p = make_stages(passes, {4, 3, 30000, back, true, true});
      for (std::size_t k = 0; k < p.passes.size(); ++k) {
        const StagePass& pass = p.passes[k];
        std::size_t ops[5] = {}, lifts = 0;
        for (std::uint32_t j = pass.first_op; j < pass.first_op + pass.num_ops; ++j) {
          const StageOp& op = p.ops[j];
          ++ops[static_cast<std::size_t>(op.kind)];
          lifts += op.kind == StageOpKind::kRotate && !op.registers && !op.thread && !op.outer;
        }
        const auto source = pass_source(p, k, {false, back, 32, 1});
        const std::size_t matrices = ops[static_cast<std::size_t>(StageOpKind::kMatrix)];
        ASSERT_EQ(source.has_value(), matrices == 0);
        if (!source) {
          ++refused;
          continue;
        }
        ++written;
        const std::string& text = source->text;
        EXPECT_EQ(source->lifts.size(), lifts);
        EXPECT_EQ(count(text, "m.template lift<"), lifts);
        EXPECT_EQ(count(text, "m.template rotate<"),
                  ops[static_cast<std::size_t>(StageOpKind::kRotate)] - lifts);
        EXPECT_EQ(count(text, "m.template flip<"),
                  ops[static_cast<std::size_t>(StageOpKind::kFlip)]);
        EXPECT_EQ(count(text, "m.template exchange<"),
                  ops[static_cast<std::size_t>(StageOpKind::kExchange)]);
        EXPECT_EQ(count(text, "m.template multiply<"),
                  ops[static_cast<std::size_t>(StageOpKind::kPhases)]);
        EXPECT_EQ(count(text, "m.rescale()"), lifts > 0);
        std::multiset<std::uint32_t> found(source->reads.begin(), source->reads.end()), all;
        for (std::uint32_t r = 0; r < pass.num_accumulated; ++r)
          found.insert(p.reads[pass.first_accumulated + r].read);
        for (std::uint32_t r = 0; back && r < pass.num_reads; ++r) all.insert(r);
        EXPECT_EQ(found, all);
      }
    }
  });
  EXPECT_GT(written, 40);
  EXPECT_GT(refused, 0);
}

// A lift times its factor is the rotation, at every angle, and weights have the square of the factors
// before them.
TEST(PassSource, numbers_are_those_of_the_rotations) {
  constexpr std::size_t kLifts = 40;
  std::vector<std::pair<double, double>> factors;
  for (std::size_t l = 0; l < kLifts; ++l) {
    const double half = -3.2 + 0.17 * static_cast<double>(l);
    factors.emplace_back(std::cos(half), std::sin(half));
  }
  factors[7] = {0, 1};
  factors[8] = {-1, 0};
  for (const bool back : {false, true}) {
    PassSource source;
    source.back = back;
    source.factors = {3, 5};
    source.reads = {9, 8, 7};
    for (std::uint32_t l = 0; l < kLifts; ++l) source.lifts.push_back(l);
    for (std::uint32_t l = 0; l <= kLifts; ++l) source.weights.emplace_back(l, 2.0);
    const std::vector<std::byte> bytes = fill_numbers(source, factors);
    ASSERT_EQ(bytes.size() % 16, 0u);
    // as CompiledNumbers<double, 3, 41, 42, 4>
    std::vector<double> numbers(2 * 3 + 41 + 42 + 1);
    std::uint32_t forms[2];
    std::uint16_t reads[3];
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
    std::memcpy(forms, bytes.data() + numbers.size() * sizeof(double), sizeof forms);
    std::memcpy(reads, bytes.data() + numbers.size() * sizeof(double) + sizeof forms, sizeof reads);
    EXPECT_EQ(numbers[0], factors[3].first);
    EXPECT_EQ(numbers[3], factors[5].second);
    EXPECT_EQ(reads[2], 7);
    const double *lifts = numbers.data() + 6, *weights = lifts + 41;
    double scale = 1;
    for (std::size_t l = 0; l < kLifts; ++l) {
      EXPECT_NEAR(weights[l], 2 * scale * scale, 1e-12 * scale * scale);
      const bool stays = forms[l / 32] >> l % 32 & 1;
      const auto [c, s] = factors[l];
      const double sine = back ? -s : s, t = back ? -lifts[l] : lifts[l];
      EXPECT_LE(std::abs(t), 1);
      const double factor = stays ? sine : c;
      EXPECT_NEAR(factor * (stays ? t : 1), c, 1e-15) << l;
      EXPECT_NEAR(factor * (stays ? 1 : t), sine, 1e-15) << l;
      scale *= factor;
    }
    EXPECT_NEAR(weights[kLifts + 1 + 1], scale, 1e-12 * std::abs(scale));
  }
}

TEST(StringSource, has_every_string_once_and_refuses_many) {
  StringSourceOptions options;
  options.active = 0xfff;
  options.num_sums = 3;
  std::vector<SourceSegment> segments{{0, 2, {{1, 2, 0, false}, {0, 0, 3, false}}},
                                      {5, 0, {{0, 0, 0, false}, {0, 1, 1, true}}}};
  const auto text = string_source(segments, options);
  ASSERT_TRUE(text);
  for (int k = 0; k < 4; ++k)
    EXPECT_EQ(count(*text, "signed_weight<" + std::to_string(k) + ","), 1u) << k;
  EXPECT_EQ(count(*text, "m.template add<"), 3u);  // real and imaginary ones apart
  EXPECT_EQ(count(*text, "m.template transform<"), 2u);
  EXPECT_NE(text->find("k == 0 ? 2 : k == 1 ? 0"), std::string::npos);
  EXPECT_FALSE(string_source({}, options));
  segments.resize(100, segments[0]);
  EXPECT_FALSE(string_source(segments, options));
}

}  // namespace
}  // namespace tilewave::parametric
