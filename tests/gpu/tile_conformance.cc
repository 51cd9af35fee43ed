// Random tile passes on the device against their meaning: every action kind, controls anywhere,
// known zeros, permutations on store, every compiled kernel, chunk limits that force many chunks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/runtime/cuda/jit_cache.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/cuda/jit_files.h"
#include "tilewave/statevec/cuda/tile_launch.h"
#include "tilewave/statevec/testing/reference.h"
#include "tilewave/statevec/tile/jit_source.h"
#include "tilewave/statevec/tile/random_pass.h"

namespace tilewave::statevec {
namespace {

namespace rc = tilewave::runtime::cuda;

/// The worst error of a pass on the device, of random amplitudes where they may not be zero and NaN
/// elsewhere, relative to the largest amplitude. `compiled`: a kernel of exactly this program,
/// `numbers`: what it takes.
template <class T>
double error_on_device(cuda::TileLauncher<T>& launcher, const Plan& plan,
                       const tile::TilePass& program, std::mt19937_64& rng, rc::DeviceArena& arena,
                       const rc::Stream& stream, const void* compiled = nullptr,
                       const std::byte* numbers = nullptr) {
  const Pass& pass = plan.passes[0];
  const std::uint64_t held = bit(std::max(plan.num_qubits, launcher.shape().tile_qubits));
  const T nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<Complex<T>> host(held, {nan, nan});
  std::vector<cplx> reference(bit(plan.num_qubits));
  std::normal_distribution<double> normal;
  for (std::uint64_t x = 0; x < reference.size(); ++x) {
    if (x & pass.known_zero_before) continue;
    reference[x] = {normal(rng), normal(rng)};
    host[x] = {static_cast<T>(reference[x].real()), static_cast<T>(reference[x].imag())};
  }
  statevec::testing::run_pass(reference, plan, pass);
  rc::DeviceArena::Mark mark(arena);
  auto* state = arena.take<Complex<T>>(held);
  auto* code = arena.take<std::byte>(program.code.size());
  auto* tables = arena.take<std::byte>(program.tables.size() + 16);
  rc::copy(state, host.data(), held * sizeof(Complex<T>), stream);
  rc::copy(code, program.code.data(), program.code.size(), stream);
  rc::copy(tables, program.tables.data(), program.tables.size(), stream);
  launcher.launch(program.frame, state, code, tables, stream, nullptr, false, compiled, numbers);
  rc::copy(host.data(), state, held * sizeof(Complex<T>), stream);
  stream.synchronize();
  double worst = 0, largest = 1e-3;
  for (std::uint64_t x = 0; x < reference.size(); ++x) {
    if (x & pass.known_zero_after) continue;
    const double error = std::abs(reference[x] - cplx(host[x].re, host[x].im));
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    largest = std::max(largest, std::abs(reference[x]));
  }
  return worst / largest;
}

template <class T>
void run_kernels(const std::vector<int>& sizes, int num_seeds, bool quarter_turns = false) {
  std::set<std::uint32_t> kinds;
  std::uint32_t most_ops = 0;
  rc::use_device(0);
  rc::Stream stream;
  rc::DeviceArena arena(std::size_t{128} << 20, "test states");
  bool crosses = false;
  for (cuda::TileLauncher<T>& launcher : cuda::tile_launchers<T>(runtime::cuda_devices().front())) {
    const tile::Shape shape = launcher.shape();
    crosses = crosses || shape.block_bits;
    double worst_of_kernel = 0;
    for (int n : sizes) {
      for (int seed = 0; seed < num_seeds; ++seed) {
        tile::RandomPassOptions options = tile::pass_options(shape, n);
        // one pass with more operations than travel in the parameters of a kernel
        options.num_actions = seed == 7 ? 900 : seed % 3 == 0 ? 8 : 60;
        options.max_targets = seed == 5 ? 8 : 4;
        options.max_degree = seed % 2 ? 2 : 4;
        options.known_zeros = seed % 4 == 3;
        options.quarter_turns = quarter_turns;
        tile::ChunkLimits limits;
        if (seed % 3 == 2) limits = {2600, 3, 2};
        limits = tile::within_block(limits, shape);
        std::mt19937_64 rng(static_cast<std::uint64_t>(1000 * seed + n));
        const Plan plan = tile::random_pass(options, rng);
        const tile::TilePass program = tile::lower_pass(plan, 0, shape, limits, 1 + seed % 4);
        tile::add_kinds(program, kinds);
        most_ops = std::max(most_ops, program.frame.num_ops());
        const double worst = error_on_device(launcher, plan, program, rng, arena, stream);
        EXPECT_LT(worst, sizeof(T) == 8 ? 1e-12 : 1e-4)
            << launcher.name() << " n " << n << " seed " << seed;
        worst_of_kernel = std::max(worst_of_kernel, worst);
      }
    }
    std::printf("%s: worst relative error %.2e\n", launcher.name(), worst_of_kernel);
  }
  if (quarter_turns) return;
  EXPECT_GT(most_ops, tile::kInlineOps);
  EXPECT_EQ(kinds.size(), tile::kNumKinds - (crosses ? 0 : 1))
      << "the passes do not use every kind of operation";
}

class TileConformance : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (runtime::cuda_devices(&why).empty()) GTEST_SKIP() << "NO DEVICE: " << why;
  }
};

enum class PassKind { kAny, kQuarterTurns, kChains };

/// Passes as kernels compiled for them, against the meaning of the pass and, bit by bit as far as
/// roundings allow, the interpreter. Adds the kinds of operations to `kinds`.
template <class T>
void run_compiled(PassKind kind, int num_seeds, std::set<std::uint32_t>& kinds) {
  std::string why;
  runtime::cuda::JitCache* const cache = runtime::cuda::JitCache::of_process(&why);
  if (!cache) GTEST_SKIP() << "NO COMPILER: " << why;
  const runtime::CudaDevice device = runtime::cuda_devices().front();
  rc::use_device(0);
  rc::Stream stream;
  rc::DeviceArena arena(std::size_t{128} << 20, "test states");
  struct Case {
    Plan plan;
    tile::TilePass program;
    std::size_t launcher;
    std::shared_ptr<runtime::cuda::JitCache::Entry> entry;
    std::vector<std::byte> numbers;
    std::string name;
  };
  std::vector<cuda::TileLauncher<T>> launchers = cuda::tile_launchers<T>(device);
  std::vector<Case> cases;
  for (std::size_t k = 0; k < launchers.size(); ++k) {
    const tile::Shape shape = launchers[k].shape();
    for (int seed = 0; seed < num_seeds; ++seed) {
      tile::RandomPassOptions options = tile::pass_options(shape, seed % 2 ? 15 : 16);
      options.num_actions = seed % 3 == 0 ? 8 : seed % 3 == 1 ? 40 : 150;
      if (kind == PassKind::kChains) options.num_actions = 20 * (1 + seed % 5);
      options.max_targets = seed % 5 == 4 ? 4 : 2;
      options.max_degree = seed % 2 ? 2 : 4;
      options.known_zeros = seed % 4 == 3;
      options.quarter_turns = kind == PassKind::kQuarterTurns;
      options.matrices = seed % 2 == 0;
      tile::ChunkLimits limits;
      if (seed % 3 == 2) limits = {2600, 3, 2};
      limits = tile::within_block(limits, shape);
      std::mt19937_64 rng(static_cast<std::uint64_t>(500 + seed));
      Plan plan = kind == PassKind::kChains ? tile::random_chain(options, rng)
                                            : tile::random_pass(options, rng);
      // most as they are written for such kernels, some as for the interpreter
      tile::TilePass program =
          tile::lower_pass(plan, 0, shape, limits, 1 + seed % 4, seed % 6 != 4);
      std::optional<tile::JitSource> source =
          tile::jit_source(program, launchers[k].blocks(program.frame.op_set), seed % 3);
      if (!source) continue;
      tile::add_kinds(program, kinds);
      auto entry = cache->entry(cuda::pass_kernels(), source->text, device);
      cache->request(*entry);
      cases.push_back({std::move(plan), std::move(program), k, std::move(entry),
                       std::move(source->numbers),
                       std::string(launchers[k].name()) + " seed " + std::to_string(seed)});
    }
  }
  cache->wait();
  int compiled = 0;
  double worst = 0;
  for (const Case& c : cases) {
    const void* const kernel = cache->function(*c.entry);
    if (!kernel) {
      std::printf("%s: %s\n", c.name.c_str(), cache->why_not(*c.entry).c_str());
      continue;
    }
    ++compiled;
    std::mt19937_64 rng(7);
    const double error = error_on_device(launchers[c.launcher], c.plan, c.program, rng, arena,
                                         stream, kernel, c.numbers.data());
    EXPECT_LT(error, sizeof(T) == 8 ? 1e-12 : 1e-4) << c.name;
    worst = std::max(worst, error);
  }
  std::printf("%d of %zu passes compiled, %zu kinds of operations, worst relative error %.2e\n",
              compiled, cases.size(), kinds.size(), worst);
  // with the limits of a smaller card (act_as.cc) there are fewer tiles, and fewer passes
  EXPECT_GE(2 * compiled, std::min(num_seeds, static_cast<int>(cases.size())));
}

/// Passes of all kinds.
template <class T>
void run_all_compiled() {
  std::set<std::uint32_t> kinds;
  run_compiled<T>(PassKind::kAny, 24, kinds);
  run_compiled<T>(PassKind::kQuarterTurns, 24, kinds);
  run_compiled<T>(PassKind::kChains, 12, kinds);
  EXPECT_TRUE(::testing::Test::IsSkipped() || std::getenv("TILEWAVE_TEST_CUDA") ||
              tile::has_compiled_kinds(kinds))
      << "the passes do not use every kind of operation";
}

// Tests called short are small enough for compute-sanitizer.
TEST_F(TileConformance, short_compiled) {
  std::set<std::uint32_t> kinds;
  for (const PassKind kind : {PassKind::kQuarterTurns, PassKind::kAny, PassKind::kChains}) {
    run_compiled<double>(kind, 6, kinds);
    run_compiled<float>(kind, 6, kinds);
  }
}
TEST_F(TileConformance, compiled_double_precision) { run_all_compiled<double>(); }
TEST_F(TileConformance, compiled_single_precision) { run_all_compiled<float>(); }

TEST_F(TileConformance, short_double_precision) { run_kernels<double>({12, 15}, 24); }
TEST_F(TileConformance, short_single_precision) { run_kernels<float>({12, 15}, 24); }
// Lifts, quarter and half turns, beside little else.
TEST_F(TileConformance, short_quarter_turns) {
  run_kernels<double>({12, 15}, 12, true);
  run_kernels<float>({12, 15}, 12, true);
}
TEST_F(TileConformance, double_precision) { run_kernels<double>({3, 12, 14, 16}, 24); }
TEST_F(TileConformance, single_precision) { run_kernels<float>({3, 12, 14, 16}, 24); }

}  // namespace
}  // namespace tilewave::statevec
