// Small noisy circuits against full enumeration (enumerator.h), which gives the exact probability of
// every record string.
#include <gtest/gtest.h>

#include <cmath>

#include "stabilizer/enumerator.h"
#include "stabilizer/noisy_circuits.h"
#include "stabilizer/shot_counts.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {
namespace {

TEST(Enumeration, both_engines_draw_from_the_exact_distribution) {
  constexpr std::uint64_t kShots = 1 << 20;
  for (const char* text : kNoisyCircuits) {
    const StabilizerCircuit circuit = language::parse_stim(text);
    const auto exact = Enumerator(circuit).distribution();
    double total = 0;
    for (const auto& [records, p] : exact) total += p;
    ASSERT_NEAR(total, 1, 1e-9) << text;
    const StabProgram program = lower(circuit);
    for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
      SampleOptions options;
      options.output = ShotOutput::kRecords;
      options.engine = engine;
      options.num_shots = kShots;
      options.seed = 4;
      options.num_threads = 1;
      const auto source = make_shot_source(program, options);
      RowCounts drawn(source->num_bits());
      ShotPipeline pipeline;
      pipeline.format = [&](std::uint8_t* rows, std::size_t n, formats::ByteBuffer&) {
        for (std::size_t s = 0; s < n; ++s) drawn.add(rows + s * source->row_stride());
        return std::span<const char>();
      };
      pipeline.write = [](std::span<const char>, std::size_t) { return true; };
      ASSERT_EQ(run_shots(*source, options, pipeline), kShots);
      const Counts counts = drawn.counts();
      for (const auto& [records, count] : counts)
        EXPECT_TRUE(exact.count(records)) << "impossible " << records << " in\n" << text;
      for (const auto& [records, p] : exact) {
        const double expected = p * kShots, sigma = std::sqrt(expected * (1 - p));
        const auto it = counts.find(records);
        const double count = it == counts.end() ? 0 : static_cast<double>(it->second);
        // 5 sigma, one more for the few hundred comparisons, and one shot for rare outcomes
        EXPECT_LE(std::abs(count - expected), 6 * sigma + 1)
            << records << " engine " << static_cast<int>(engine) << " in\n"
            << text;
      }
    }
  }
}

}  // namespace
}  // namespace tilewave::stabilizer
