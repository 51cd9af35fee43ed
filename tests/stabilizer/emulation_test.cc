// The frame engine's code for GPUs on the host (device_emulation.h), bit for bit against the CPU's engine: every
// operation, with rows in shared memory and spilled, and threads in many orders.
#include <gtest/gtest.h>

#include <cstring>

#include "stabilizer/device_emulation.h"
// behind it
#include "stabilizer/frame_circuits.h"
#include "tilewave/stabilizer/cpu/frame_run.h"
#include "tilewave/stabilizer/cuda/frame_layout.h"
#include "tilewave/stabilizer/cuda/frame_machine.cuh"

namespace tilewave::stabilizer {
namespace {

struct Shape {
  std::uint32_t lanes, threads, most_events;
  bool spills;
};

// Rows of `units` words: what one launch with blocks of this shape writes.
template <bool Spills, bool Records, bool Leaks>
std::vector<std::uint32_t> run_blocks(const FrameProgram& p, const Shape& shape, std::uint64_t seed,
                                      std::uint64_t first_unit, std::uint32_t units) {
  const FrameLayout layout(p, shape.lanes, shape.most_events);
  const FrameRows rows(p);
  FrameView v{layout.ops.data(),
              p.operands.data(),
              p.channels.data(),
              layout.loops.data(),
              layout.detector_at.data(),
              layout.streams.data(),
              layout.windows.data(),
              p.sites.data(),
              p.site_ends.data(),
              p.site_rates.data(),
              p.site_streams.data(),
              p.site_channels.data(),
              p.leak_thresholds.data(),
              rows.marks,
              rows.leaked,
              static_cast<std::uint32_t>(layout.ops.size()),
              p.num_slots,
              static_cast<std::uint32_t>(__builtin_ctz(shape.lanes)),
              layout.list_room,
              p.ring_rows,
              p.num_detectors,
              p.num_rows_out(),
              units};
  struct alignas(16) Quad {
    std::uint32_t words[4];
  };
  const std::uint64_t state_words = rows.end * shape.lanes;
  // what a block before has left
  std::vector<Quad> out(p.num_rows_out() * units / 4, Quad{{~0u, ~0u, ~0u, ~0u}}),
      spill((state_words + rows.leaked * shape.lanes) / 4 + 1, Quad{{1, 2, 3, 4}}),
      shared((words_beside(shape.lanes, layout.list_room, layout.ops.size()) +
              (Spills ? 0 : state_words)) /
                     4 +
                 1,
             Quad{{5, 6, 7, 8}});
  for (std::uint32_t first = 0; first < units; first += shape.lanes) {
    emulation::block.run(shape.threads, first + 1, [&] {
      run_block<Spills, Records, Leaks>(v, seed, first_unit + first, out.data()->words + first,
                                        spill.data()->words, state_words, shared.data()->words);
    });
  }
  std::vector<std::uint32_t> flat(out.size() * 4);
  std::memcpy(flat.data(), out.data(), flat.size() * 4);
  return flat;
}

template <bool Spills, bool Records>
std::vector<std::uint32_t> run_blocks(const FrameProgram& p, const Shape& shape, std::uint64_t seed,
                                      std::uint64_t first_unit, std::uint32_t units) {
  return p.has_leakage ? run_blocks<Spills, Records, true>(p, shape, seed, first_unit, units)
                       : run_blocks<Spills, Records, false>(p, shape, seed, first_unit, units);
}

void expect_equal(const FrameProgram& p, const Shape& shape, const std::string& text) {
  constexpr std::uint32_t kUnits = 32;
  constexpr std::uint64_t kSeed = 0x1234567890, kFirst = 7 * kUnits;
  const bool records = p.output == FrameOutput::kRecords;
  const auto got = shape.spills ? records ? run_blocks<true, true>(p, shape, kSeed, kFirst, kUnits)
                                          : run_blocks<true, false>(p, shape, kSeed, kFirst, kUnits)
                   : records ? run_blocks<false, true>(p, shape, kSeed, kFirst, kUnits)
                                : run_blocks<false, false>(p, shape, kSeed, kFirst, kUnits);
  FrameBatch batch(p, 32 * kUnits);
  batch.run(kSeed, kFirst);
  std::uint64_t wrong = 0, ones = 0;
  for (std::uint64_t r = 0; r < p.num_rows_out(); ++r) {
    const auto* want =
        reinterpret_cast<const std::uint32_t*>(batch.output() + r * batch.row_words());
    for (std::uint32_t u = 0; u < kUnits; ++u) {
      wrong += got[r * kUnits + u] != want[u];
      ones += want[u] != 0;
    }
  }
  EXPECT_EQ(wrong, 0u) << "words that differ of " << p.num_rows_out() * kUnits << ", "
                       << (records ? "records" : "detectors") << ", " << shape.lanes << " lanes, "
                       << shape.threads << " threads, room for " << shape.most_events
                       << " events, of\n"
                       << text.substr(0, 800);
  EXPECT_TRUE(ones > 0 || p.num_rows_out() == 0) << text.substr(0, 800);
}

void expect_equal(const std::vector<std::string>& texts) {
  const Shape shapes[] = {{32, 64, 4096, false},
                          {16, 160, 1400, false},
                          {4, 64, 200, false},
                          {8, 32, 1000, true},
                          {32, 256, 20000, true}};
  std::size_t k = 0;
  for (const std::string& text : texts) {
    const StabProgram program =
        lower(language::parse_stim(text), "<circuit>", Rotations::kRefuse, Leakage::kKeep);
    for (FrameOutput output : {FrameOutput::kDetectors, FrameOutput::kRecords}) {
      const FrameProgram frames = compile_frames(program, output);
      // large circuits take long: each in one shape
      if (frames.num_slots > 300) {
        expect_equal(frames, shapes[k++ % std::size(shapes)], text);
        continue;
      }
      for (const Shape& shape : shapes) expect_equal(frames, shape, text);
    }
  }
}

TEST(Emulation, frames_have_the_bits_of_the_cpu) { expect_equal(circuits()); }
TEST(Emulation, leakage_has_the_bits_of_the_cpu) { expect_equal(leaky_circuits()); }

}  // namespace
}  // namespace tilewave::stabilizer
