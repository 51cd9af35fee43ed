// The GPU against the CPU, bit for bit, for both engines. Skipped where there is no device.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "stabilizer/frame_circuits.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/code_circuits.h"
#include "tilewave/formats/shots/shots.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/bit_transpose.h"
#include "tilewave/stabilizer/cpu/frame_run.h"
#include "tilewave/stabilizer/cpu/sparse_run.h"
#include "tilewave/stabilizer/cuda/gpu_run.h"
#include "tilewave/stabilizer/reference_sample.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {
namespace {

void expect_rows(GpuRun& gpu, std::uint64_t num_bits, std::uint64_t first_block,
                 const std::vector<std::uint8_t>& want, const std::string& what) {
  const std::uint64_t bytes = (num_bits + 7) / 8, shots = want.size() / bytes,
                      blocks = shots / gpu.block_shots();
  std::vector<std::uint8_t> got(blocks * gpu.block_shots() * gpu.row_stride());
  gpu.fill(17, first_block, blocks, got.data());
  std::uint64_t wrong = 0;
  for (std::uint64_t s = 0; s < shots; ++s) {
    wrong += !std::equal(want.begin() + static_cast<std::ptrdiff_t>(s * bytes),
                         want.begin() + static_cast<std::ptrdiff_t>((s + 1) * bytes),
                         got.begin() + static_cast<std::ptrdiff_t>(s * gpu.row_stride()));
  }
  EXPECT_EQ(wrong, 0u) << what << ": shots that differ, of " << shots;
  std::vector<std::uint64_t> counts, want_counts(num_bits);
  gpu.count(17, first_block, blocks, num_bits, counts);
  for (std::uint64_t s = 0; s < shots; ++s) {
    for (std::uint64_t b = 0; b < num_bits; ++b)
      want_counts[b] += (want[s * bytes + b / 8] >> (b % 8)) & 1;
  }
  EXPECT_EQ(counts, want_counts) << what;
  const std::uint64_t some = std::min<std::uint64_t>(num_bits, 300);
  std::vector<std::uint64_t> pairs, want_pairs(some * (some + 1) / 2);
  gpu.pairs(17, first_block, blocks, some, pairs);
  for (std::uint64_t s = 0; s < shots; ++s) {
    const auto bit = [&](std::uint64_t b) { return (want[s * bytes + b / 8] >> (b % 8)) & 1; };
    for (std::uint64_t b = 0; b < some; ++b) {
      for (std::uint64_t a = 0; bit(b) && a <= b; ++a) want_pairs[b * (b + 1) / 2 + a] += bit(a);
    }
  }
  EXPECT_EQ(pairs, want_pairs) << what;
  for (const std::uint64_t kept : {num_bits, num_bits - num_bits / 5, num_bits / 2 + 1}) {
    gpu.pack(kept);
    const std::uint64_t packed = (kept + 7) / 8;
    ASSERT_EQ(gpu.row_stride(), packed);
    got.assign(blocks * gpu.block_shots() * packed, 0xff);
    gpu.fill(17, first_block, blocks, got.data());
    wrong = 0;
    for (std::uint64_t s = 0; s < shots; ++s) {
      for (std::uint64_t k = 0; k < packed; ++k) {
        const int mask = k + 1 == packed && kept % 8 ? (1 << kept % 8) - 1 : 255;
        wrong += got[s * packed + k] != (want[s * bytes + k] & mask);
      }
    }
    EXPECT_EQ(wrong, 0u) << what << ": bytes that differ in rows of " << kept << " bits";
  }
}

template <class Program, class... Extra>
std::unique_ptr<GpuRun> gpu_or_null(const Program& p, const Extra&... extra) {
  try {
    return make_gpu_run(p, extra...);
  } catch (const Error& e) {
    std::printf("no GPU: %s\n", e.what());
    return nullptr;
  }
}

// False where there is no GPU.
bool expect_frames(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const StabProgram program =
        lower(language::parse_stim(text), "<circuit>", Rotations::kRefuse, Leakage::kKeep);
    for (FrameOutput output : {FrameOutput::kDetectors, FrameOutput::kRecords}) {
      const FrameProgram frames = compile_frames(program, output);
      const bool records = output == FrameOutput::kRecords;
      const auto flips = records ? reference_sample(program) : std::vector<std::uint64_t>{};
      if (frames.num_rows_out() == 0) continue;
      const auto gpu = gpu_or_null(frames, flips);
      if (!gpu) return false;
      FrameBatch batch(frames, 3072);
      batch.run(17, 5 * gpu->block_shots() / 32);
      const std::uint64_t bits = frames.num_rows_out(), bytes = (bits + 7) / 8;
      for (std::uint64_t r = 0; records && r < bits; ++r) {
        for (std::uint32_t w = 0; w < batch.row_words() && ((flips[r / 64] >> (r % 64)) & 1); ++w)
          batch.output()[r * batch.row_words() + w] ^= ~std::uint64_t{0};
      }
      std::vector<std::uint8_t> want(3072 * bytes);
      transpose_rows(batch.output(), bits, batch.row_words(), 3072, want.data(), bytes);
      expect_rows(*gpu, bits, 5, want,
                  (records ? "records of " : "detectors of ") + text.substr(0, 60));
    }
  }
  return true;
}

TEST(Gpu, frames_have_the_bits_of_the_cpu) {
  if (!expect_frames(circuits())) GTEST_SKIP();
}
TEST(Gpu, leakage_has_the_bits_of_the_cpu) {
  std::vector<std::string> texts = leaky_circuits();
  texts.push_back(leaky_code(11, 0.0001, 1));
  texts.push_back(leaky_code(11, 0.003, 0.1));
  texts.push_back(leaky_code(25, 0.0001, 1));  // four lanes a block, or spilled
  if (!expect_frames(texts)) GTEST_SKIP();
}

TEST(Gpu, sparse_has_the_bits_of_the_cpu) {
  for (const std::string& text : circuits()) {
    const SparseProgram sparse =
        build_sparse(lower(language::parse_stim(text)), SymptomKind::kDetectors);
    const auto gpu = gpu_or_null(sparse);
    if (!gpu) GTEST_SKIP();
    const std::uint64_t unit = std::uint64_t{1} << sparse.log2_unit;
    std::vector<std::uint8_t> want(2 * unit * sparse.row_bytes());
    std::vector<std::uint64_t> scratch;
    for (std::uint64_t k = 0; k < 2; ++k)
      run_sparse_unit(sparse, 17, 5 + k, want.data() + k * unit * sparse.row_bytes(), scratch);
    expect_rows(*gpu, sparse.num_bits, 5, want, "sparse " + text.substr(0, 60));
  }
}

// Rows of one word by the hundred million, more than a grid of one thread a row has room for.
TEST(Gpu, counts_of_many_small_rows_add_up) {
  const SparseProgram sparse = build_sparse(
      lower(language::parse_stim("X_ERROR(0.01) 0 1\nM 0 1\nDETECTOR rec[-1]\nDETECTOR rec[-2]\n")),
      SymptomKind::kDetectors);
  const auto gpu = gpu_or_null(sparse);
  if (!gpu) GTEST_SKIP();
  const std::uint64_t blocks = (std::uint64_t{1} << 28) / gpu->block_shots();
  std::vector<std::uint64_t> all, sum(2), part;
  gpu->count(3, 0, blocks, 2, all);
  for (std::uint64_t first = 0; first < blocks; first += blocks / 8) {
    gpu->count(3, first, blocks / 8, 2, part);
    for (std::size_t k = 0; k < 2; ++k) sum[k] += std::exchange(part[k], 0);
  }
  EXPECT_EQ(all, sum);
  const double shots = static_cast<double>(blocks * gpu->block_shots());
  for (const std::uint64_t ones : all)
    EXPECT_NEAR(static_cast<double>(ones), 0.01 * shots, 6 * std::sqrt(0.01 * shots));
}

// A kernel belongs to all samplers of a process: a small one must take no memory from a large one.
TEST(Gpu, samplers_of_other_sizes_stand_beside_each_other) {
  circuit::CodeOptions o;
  o.before_measure_flip_probability = 0.01;
  const auto code = [&](std::uint32_t distance) {
    o.distance = o.rounds = distance;
    return lower(circuit::code_circuit("surface_code", "rotated_memory_z", o));
  };
  const StabProgram large = code(15), small = code(3);
  const auto counts = [](GpuRun& gpu, const StabProgram& p) {
    std::vector<std::uint64_t> out;
    gpu.count(3, 0, 2, p.counts.detectors, out);
    return out;
  };
  const auto sparse = gpu_or_null(build_sparse(large, SymptomKind::kDetectors));
  if (!sparse) GTEST_SKIP();
  const auto frames =
      gpu_or_null(compile_frames(large, FrameOutput::kDetectors), std::vector<std::uint64_t>{});
  const auto before = counts(*sparse, large), frames_before = counts(*frames, large);
  const auto other = gpu_or_null(build_sparse(small, SymptomKind::kDetectors));
  const auto other_frames =
      gpu_or_null(compile_frames(small, FrameOutput::kDetectors), std::vector<std::uint64_t>{});
  counts(*other, small);
  counts(*other_frames, small);
  EXPECT_EQ(counts(*sparse, large), before);
  EXPECT_EQ(counts(*frames, large), frames_before);
}

// The same shots whoever makes them: the CPU, one GPU, and all GPUs there are (at least two for the
// last part).
TEST(Gpu, several_devices_give_the_bits_of_one) {
  const StabProgram program = lower(language::parse_stim(circuits().back()));
  for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
    SampleOptions o;
    o.engine = engine;
    o.seed = 5;
    o.first_shot = 777;
    o.num_shots = 400000;
    o.num_threads = 1;
    const auto shots = [&](std::vector<int> gpus) {
      o.gpus = std::move(gpus);
      const auto source = make_shot_source(program, o);
      std::vector<char> bytes;
      ShotPipeline pipeline;
      const std::size_t stride = source->row_stride();
      const formats::ShotLayout layout{0, program.counts.detectors, program.counts.observables};
      pipeline.format = [&](std::uint8_t* rows, std::size_t n, formats::ByteBuffer&) {
        formats::pack_rows(rows, stride, n, layout);
        return std::span(reinterpret_cast<const char*>(rows), n * layout.bytes());
      };
      pipeline.write = [&](std::span<const char> part, std::size_t) {
        bytes.insert(bytes.end(), part.begin(), part.end());
        return true;
      };
      EXPECT_EQ(run_shots(*source, o, pipeline), o.num_shots);
      return bytes;
    };
    std::vector<char> one;
    try {
      one = shots({0});
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();
    }
    EXPECT_TRUE(one == shots({})) << "one GPU and the CPU";
    std::vector<char> two;
    try {
      two = shots({0, 1});
    } catch (const Error& e) {
      GTEST_SKIP() << "one GPU only: " << e.what();
    }
    EXPECT_TRUE(one == two) << "one GPU and two";
    EXPECT_TRUE(one == shots({1})) << "the first GPU and the second";
    // Counts, too.
    const auto counts = [&](std::vector<int> gpus) {
      o.gpus = std::move(gpus);
      const auto source = make_shot_source(program, o);
      std::vector<std::uint64_t> table(source->num_bits());
      EXPECT_TRUE(source->summarize(5, 3, 5, false, source->num_bits(), table));
      return table;
    };
    EXPECT_EQ(counts({0}), counts({1, 0}));
  }
}

}  // namespace
}  // namespace tilewave::stabilizer
