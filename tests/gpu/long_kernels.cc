// Passes whose kernels come out longer than the instruction cache: they are written again for less code,
// or stay with the interpreter. And states that are to have the same bits, whose passes are always written
// alike. The compiler is a fake one, and so is the device.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "fake_compiler.h"
#include "fake_driver.h"
#include "tilewave/circuit/families.h"
#include "tilewave/runtime/cuda/jit_cache.h"
#include "tilewave/statevec/plan/pieces.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec {
namespace {

const auto* const surroundings = testing::AddGlobalTestEnvironment(new Surroundings);

/// Counts the launches of compiled kernels, and has their sources.
class Device : public FakeDriver {
 public:
  std::set<std::string> loaded;
  int launches = 0, compiled_launches = 0;
  std::string programs;  // all that was copied to the device while it is asked for
  bool keeps_programs = false;

  cudaError_t allocate_host(void** p, std::size_t bytes) override {
    const cudaError_t status = FakeDriver::allocate_host(p, bytes);
    if (status == cudaSuccess) std::memset(*p, 0, bytes);
    return status;
  }
  cudaError_t copy(void* to, const void* from, std::size_t num_bytes,
                   cudaStream_t stream) override {
    if (keeps_programs) {
      programs.append(static_cast<const char*>(from), num_bytes);
      // it was staged there; the next one's padding would show it
      std::memset(const_cast<void*>(from), 0, num_bytes);
    }
    return FakeDriver::copy(to, from, num_bytes, stream);
  }
  cudaError_t device_properties(cudaDeviceProp* p, int device) override {
    const cudaError_t status = FakeDriver::device_properties(p, device);
    p->major = 9;
    return status;
  }
  cudaError_t load_kernel(const void** kernel, const void* binary, const char*) override {
    *kernel = loaded.emplace(static_cast<const char*>(binary)).first->c_str();
    return cudaSuccess;
  }
  cudaError_t launch(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t bytes,
                     cudaStream_t stream) override {
    ++launches;
    for (const std::string& text : loaded) compiled_launches += kernel == text.c_str();
    return FakeDriver::launch(kernel, grid, block, arguments, bytes, stream);
  }
};

int num_jumps(const std::string& source) {
  int jumps = 0;
  for (std::size_t at = 0; (at = source.find("; goto block_", at)) != std::string::npos; ++at)
    ++jumps;
  return jumps;
}

struct Ran {
  int passes = 0, launches = 0, compiled_launches = 0;  // of the last run
  std::set<std::string> loaded;
};

/// Runs the plan of a family `runs` times on a machine where kernels of fewer jumps are too long.
Ran run_with(const char* least_jumps, const char* family, int n, Precision precision, bool prepares,
             int runs) {
  setenv("FAKE_LEAST_JUMPS", least_jumps, 1);
  runtime::cuda::JitCache::set_use("all");
  runtime::cuda::JitCache* const cache = runtime::cuda::JitCache::of_process();
  Device fake;
  runtime::cuda::ScopedDriver scope(&fake);
  Ran out;
  {
    const auto c = circuit::make_family(family, static_cast<std::uint32_t>(n));
    auto state = make_cuda_state(n, precision);
    const auto begin = [&] {
      state->set_product_state(
          std::vector<cplx>(static_cast<std::size_t>(2 * n), cplx(std::sqrt(0.5))));
    };
    begin();
    Plan plan = make_plan(c, c.ops(), state->plan_options());
    out.passes = static_cast<int>(plan.passes.size());
    // each is worth its compiling by itself
    plan.predicted_s = 0;
    for (Pass& pass : plan.passes)
      plan.predicted_s += pass.predicted_s = 2 * runtime::cuda::kJitAfter_s;
    if (prepares) state->prepare(plan);
    for (int k = 0; k < runs; ++k) {
      begin();
      fake.launches = fake.compiled_launches = 0;
      state->run(plan);
      cache->wait();
    }
  }
  EXPECT_TRUE(fake.nothing_leaked());
  out.launches = fake.launches, out.compiled_launches = fake.compiled_launches;
  out.loaded = fake.loaded;
  unsetenv("FAKE_LEAST_JUMPS");
  return out;
}

TEST(LongKernels, fit_as_they_are) {
  const Ran run = run_with("0", "ising", 26, Precision::kSingle, true, 1);
  EXPECT_GE(run.compiled_launches, run.passes) << "all passes are compiled";
}

TEST(LongKernels, are_written_again_when_plans_are_prepared) {
  const Ran run = run_with("1", "ising", 27, Precision::kSingle, true, 1);
  EXPECT_GT(run.compiled_launches, 0);
  for (const std::string& source : run.loaded) EXPECT_GT(num_jumps(source), 0);
}

// As circuits run that come again: each run may find that a kernel is made or refused since the last.
TEST(LongKernels, are_written_again_while_they_run) {
  const Ran run = run_with("1", "ising", 28, Precision::kSingle, false, 6);
  EXPECT_GT(run.compiled_launches, 0);
  for (const std::string& source : run.loaded) EXPECT_GT(num_jumps(source), 0);
}

TEST(LongKernels, leave_their_passes_to_the_interpreter_where_all_are_too_long) {
  for (const bool prepares : {false, true}) {
    const Ran run =
        run_with("1000000", "ising", prepares ? 25 : 24, Precision::kSingle, prepares, 6);
    EXPECT_TRUE(run.loaded.empty());
    EXPECT_GE(run.launches, run.passes);
  }
}

struct Launches {
  int all = 0, compiled = 0;
};

/// Of each of several runs of a circuit in this order, on a state for each or for all.
std::vector<Launches> launches_of(Device& fake, const circuit::Circuit& c, int runs,
                                  bool one_for_each = false) {
  const auto n = static_cast<int>(c.num_qubits());
  auto state = make_cuda_state(n, Precision::kSingle);
  if (one_for_each) state->keep_shared_memory();
  std::vector<Launches> out;
  for (int k = 0; k < runs; ++k) {
    if (one_for_each) {
      state = nullptr;
      state = make_cuda_state(n, Precision::kSingle);
    }
    state->set_product_state(
        std::vector<cplx>(static_cast<std::size_t>(2 * n), cplx(std::sqrt(0.5))));
    fake.launches = fake.compiled_launches = 0;
    Plan plan = make_plan(c, c.ops(), state->plan_options());
    for (Pass& pass : plan.passes) pass.predicted_s = 2 * runtime::cuda::kJitAfter_s;
    state->run(plan);
    out.push_back({fake.launches, fake.compiled_launches});
    runtime::cuda::JitCache::wait();
  }
  return out;
}

/// A ring of rotations, several passes long.
circuit::Circuit rotations(double angle) {
  constexpr circuit::Qubit kQubits = 23;
  circuit::Circuit c(kQubits);
  for (int layer = 0; layer < 3; ++layer) {
    for (circuit::Qubit q = 0; q < kQubits; ++q) {
      angle *= 1.01;
      c.add_gate(circuit::GateId::kRx, {q}, {angle});
      c.add_gate(circuit::GateId::kRz, {q}, {2 * angle});
      c.add_gate(circuit::GateId::kCx, {q, (q + 5) % kQubits});
    }
  }
  return c;
}

// The second run has its passes written well behind it, the third asks for their kernels. After that
// neither a state that is made when all others are gone, as in another process, nor other angles need
// any of it: their first runs have compiled kernels. (Not for all angles: which of two forms a rotation
// has depends on its size.)
TEST(BestWays, are_known_to_later_states_and_for_other_angles) {
  runtime::cuda::JitCache::set_use("all");
  Device fake;
  runtime::cuda::ScopedDriver scope(&fake);
  const auto learning = launches_of(fake, rotations(0.3), 5);
  EXPECT_EQ(learning[0].compiled, 0);
  EXPECT_EQ(learning[1].compiled, 0);
  EXPECT_GT(learning[4].compiled, 1);
  const auto later = launches_of(fake, rotations(0.3), 1);
  EXPECT_EQ(later[0].compiled, learning[4].compiled);
  EXPECT_EQ(later[0].all, learning[4].all);
  const auto other_angles = launches_of(fake, rotations(0.3001), 1);
  EXPECT_EQ(other_angles[0].compiled, learning[4].compiled);
  EXPECT_TRUE(fake.nothing_leaked());
}

// As a run with checkpoints wants it: the same programs wherever it is cut and however often it ran
// before, and none that is compiled meanwhile.
TEST(Reproducible, passes_are_written_by_the_plan_alone) {
  runtime::cuda::JitCache::set_use("all");
  Device fake;
  runtime::cuda::ScopedDriver scope(&fake);
  const auto c = circuit::make_family("quantum_volume", 23);
  for (const double pass_s : {0.003, 0.01, 2 * runtime::cuda::kJitAfter_s}) {
    const auto programs_of = [&](const Plan& plan, std::size_t cut, int runs) {
      auto state = make_cuda_state(23, Precision::kDouble);
      state->set_reproducible(true);
      std::string programs;
      for (int k = 0; k < runs; ++k) {
        state->set_product_state(std::vector<cplx>(46, cplx(std::sqrt(0.5))));
        fake.programs.clear();
        fake.keeps_programs = true;
        if (cut > 0) state->run(piece_of(plan, 0, cut));
        state->run(piece_of(plan, cut, plan.passes.size()));
        fake.keeps_programs = false;
        runtime::cuda::JitCache::of_process()->wait();
        if (!fake.programs.empty()) programs = fake.programs;  // none where they are still there
      }
      return programs;
    };
    auto state = make_cuda_state(23, Precision::kDouble);
    state->set_product_state(std::vector<cplx>(46, cplx(std::sqrt(0.5))));
    Plan plan = make_plan(c, c.ops(), state->plan_options());
    ASSERT_GT(plan.passes.size(), 3u);
    plan.predicted_s = 0;
    for (Pass& pass : plan.passes) plan.predicted_s += pass.predicted_s = pass_s;
    const std::string whole = programs_of(plan, 0, 1);
    EXPECT_FALSE(whole.empty());
    EXPECT_TRUE(programs_of(plan, 0, 5) == whole) << pass_s;
    for (std::size_t cut = 1; cut < plan.passes.size(); ++cut)
      EXPECT_TRUE(programs_of(plan, cut, 1) == whole) << pass_s << " s, cut at " << cut;
    EXPECT_TRUE(fake.loaded.empty()) << pass_s;
  }
}

// As a loop of runs does it that each make a state and free it: the programs outlive the memory they
// were in, so that the passes are written better behind the second run and compiled after the third. The
// last test: what the states share is never given back.
TEST(LoopsOfRuns, find_the_programs_of_the_runs_before) {
  runtime::cuda::JitCache::set_use("all");
  static Device fake;
  static const runtime::cuda::ScopedDriver scope(&fake);
  const auto runs = launches_of(fake, circuit::make_family("supremacy", 23), 5, true);
  EXPECT_EQ(runs[0].compiled, 0);
  EXPECT_EQ(runs[2].compiled, 0);
  EXPECT_GT(runs[4].compiled, 1);
}

}  // namespace
}  // namespace tilewave::statevec
