// What a user sees when the device fails: a layer over the driver calls that fails on demand. And
// what states reserve, counted in that layer. Needs no device: memory is the host's, kernels do not
// run.
#include <gtest/gtest.h>

#include <set>

#include "fake_driver.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/families.h"
#include "tilewave/runtime/cuda/device_memory.h"
#include "tilewave/runtime/cuda/jit_cache.h"
#include "tilewave/runtime/cuda/memory.h"
#include "tilewave/statevec/state.h"
#include "tilewave/statevec/sweep.h"

namespace tilewave::statevec {
namespace {

template <class F>
std::string failure(F f, ExitCode code) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(GpuFaults, no_device_and_an_old_driver) {
  FakeDriver fake;
  runtime::cuda::ScopedDriver scope(&fake);
  fake.count_status = cudaErrorNoDevice;
  const auto make = [] { make_cuda_state(4, Precision::kDouble); };
  EXPECT_NE(failure(make, ExitCode::kResources).find("no CUDA device"), std::string::npos);
  fake.count_status = cudaErrorInsufficientDriver;
  EXPECT_NE(failure(make, ExitCode::kResources).find("update the driver"), std::string::npos);
  fake.version = 0;
  EXPECT_NE(failure(make, ExitCode::kResources).find("no NVIDIA driver"), std::string::npos);
  EXPECT_TRUE(fake.nothing_leaked());
}

TEST(GpuFaults, a_device_that_the_build_has_no_code_for_is_named) {
  FakeDriver fake;
  runtime::cuda::ScopedDriver scope(&fake);
  fake.capability = 30;
  const std::string why =
      failure([] { make_cuda_state(4, Precision::kDouble); }, ExitCode::kResources);
  EXPECT_NE(why.find("no code for Fake GPU (compute capability 3.0; it holds "), std::string::npos)
      << why;
  EXPECT_NE(why.find("CMAKE_CUDA_ARCHITECTURES=30"), std::string::npos) << why;
  std::string problem;
  EXPECT_TRUE(runtime::cuda_devices(&problem).empty());
  EXPECT_EQ(problem, why);
}

// Shared memory of devices of compute capability 7.5, 8.6, 8.0 and 9.0.
TEST(GpuFaults, smaller_devices_are_given_what_they_can_run) {
  struct Row {
    std::size_t kib;
    int double_tile, single_tile;
  };
  bool has_wide = false;
  for (const Row& row : {Row{64, 11, 12}, Row{99, 12, 13}, Row{163, 12, 13}, Row{227, 12, 13}}) {
    for (const bool clusters : {false, true}) {
      for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
        const bool is_double = precision == Precision::kDouble;
        FakeDriver fake;
        runtime::cuda::ScopedDriver scope(&fake);
        fake.shared_bytes = row.kib << 10;
        fake.clusters = clusters;
        auto state = make_cuda_state(15, precision);
        const CostModel cost = state->plan_options().cost;
        EXPECT_EQ(cost.tile_qubits, is_double ? row.double_tile : row.single_tile) << row.kib;
        // the code must have been compiled for clusters, too
        const bool wide =
            clusters && is_double && row.kib > 64 && runtime::cuda_devices().front().has_clusters;
        EXPECT_EQ(cost.wide_tile_qubits, wide ? 13 : 0) << row.kib;
        has_wide = has_wide || wide;
        for (std::uint32_t gates : {10u, 100u, 1000u}) {
          circuit::Circuit c(15);
          for (std::uint32_t k = 0; k < gates; ++k) {
            c.add_gate(circuit::GateId::kH, {k % 12});
            c.add_gate(circuit::GateId::kT, {k * 7 % 15});
            c.add_gate(circuit::GateId::kCz, {k * 5 % 15, (k * 5 + 1 + k % 11) % 15});
          }
          state->apply(c, c.ops());
        }
        EXPECT_GT(fake.largest_shared, std::size_t{32} << 10);
        EXPECT_LE(fake.largest_shared, fake.shared_bytes) << row.kib << " KiB";
      }
    }
  }
  FakeDriver fake;
  EXPECT_EQ(has_wide, fake.capability >= 90);
  runtime::cuda::ScopedDriver scope(&fake);
  fake.shared_bytes = std::size_t{40} << 10;
  const auto make = [] { make_cuda_state(4, Precision::kDouble); };
  EXPECT_NE(failure(make, ExitCode::kResources).find("40 KiB of shared memory"), std::string::npos);
}

/// One whose memory is full until somebody gives some back.
class FullDriver : public FakeDriver {
 public:
  bool is_full = true;
  int device = 1;
  cudaError_t device_count(int* count) override {
    *count = 2;
    return cudaSuccess;
  }
  cudaError_t current_device(int* current) override {
    *current = device;
    return cudaSuccess;
  }
  cudaError_t allocate(void** pointer, std::size_t num_bytes) override {
    if (is_full) return cudaErrorMemoryAllocation;
    return FakeDriver::allocate(pointer, num_bytes);
  }
};

TEST(GpuFaults, memory_that_its_owners_can_do_without_goes_to_who_runs_out_of_it) {
  namespace rc = runtime::cuda;
  FullDriver fake;
  rc::ScopedDriver scope(&fake);
  int released = 0, of_other = 0, withdrawn = 0;
  const int owners[3] = {};
  rc::offer_idle(&owners[0], 1, [&] { ++released, fake.is_full = false; });
  rc::offer_idle(&owners[1], 0, [&] { ++of_other; });
  rc::offer_idle(&owners[2], 1, [&] { ++withdrawn; });
  rc::withdraw_idle(&owners[2]);
  { const rc::DeviceArena arena(1000, "a test"); }
  EXPECT_EQ(released, 1);
  fake.is_full = true;  // an offer is taken once
  EXPECT_THROW(rc::DeviceArena(1000, "a test"), Error);
  EXPECT_EQ(released, 1);
  rc::offer_idle(&owners[0], 1, [&] { ++released, fake.is_full = false; });
  { const rc::DeviceMemory array(1, 1000); }  // what samplers return to Python
  EXPECT_EQ(released, 2);
  EXPECT_EQ(of_other, 0) << "it is of another device";
  EXPECT_EQ(withdrawn, 0);
  rc::withdraw_idle(&owners[1]);
  EXPECT_TRUE(fake.nothing_leaked());
}

TEST(GpuFaults, the_memory_of_a_state_that_rests_goes_to_who_runs_out_of_it) {
  namespace rc = runtime::cuda;
  constexpr int n = 20;
  FullDriver fake;
  fake.is_full = false;
  fake.device = 0;
  rc::ScopedDriver scope(&fake);
  {
    auto state = make_cuda_state(n, Precision::kDouble);
    const std::uint64_t bytes = std::uint64_t{16} << n;
    EXPECT_FALSE(state->rest(1e-5)) << "more than this share of 128 GiB";
    ASSERT_TRUE(state->rest(0.25));
    EXPECT_TRUE(state->wake());
    ASSERT_TRUE(state->rest(0.25));
    const std::size_t before = fake.live_bytes;
    fake.is_full = true;
    EXPECT_THROW(rc::DeviceArena(1000, "a test"), Error) << "it is full all the same";
    EXPECT_EQ(fake.live_bytes, before - bytes);
    EXPECT_FALSE(state->wake());
    fake.is_full = false;
    state = make_cuda_state(n, Precision::kDouble);
    ASSERT_TRUE(state->rest(0.25));
  }
  fake.is_full = true;
  EXPECT_THROW(rc::DeviceArena(1000, "a test"), Error) << "nobody rests any more";
  EXPECT_TRUE(fake.nothing_leaked());
}

/// One on which compiled kernels are found, or not.
class JitDriver : public FakeDriver {
 public:
  cudaError_t load_status = cudaSuccess;
  int num_loaded = 0;
  std::set<const void*> launched;
  static const void* kernel() { return &the_kernel; }

  cudaError_t device_properties(cudaDeviceProp* p, int device) override {
    const cudaError_t status = FakeDriver::device_properties(p, device);
    p->major = 9;
    return status;
  }
  cudaError_t load_kernel(const void** kernel, const void* binary, const char*) override {
    ++num_loaded;
    EXPECT_EQ(std::string(static_cast<const char*>(binary), 4), "\177ELF");
    *kernel = &the_kernel;
    return load_status;
  }
  cudaError_t launch(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t bytes,
                     cudaStream_t stream) override {
    launched.insert(kernel);
    return FakeDriver::launch(kernel, grid, block, arguments, bytes, stream);
  }

 private:
  inline static const int the_kernel = 0;
};

TEST(GpuFaults, kernels_that_cannot_be_loaded_leave_their_passes_to_the_interpreter) {
  runtime::cuda::JitCache::set_use("all");
  std::string why;
  if (!runtime::cuda::JitCache::of_process(&why)) GTEST_SKIP() << "NO COMPILER: " << why;
  for (const bool fails : {false, true}) {
    JitDriver fake;
    fake.load_status = fails ? cudaErrorInvalidKernelImage : cudaSuccess;
    runtime::cuda::ScopedDriver scope(&fake);
    const auto c = circuit::make_family(fails ? "bv" : "qft", 22);
    {
      auto state = make_cuda_state(22, Precision::kSingle);
      state->set_product_state(std::vector<cplx>(44, cplx(0.5)));
      Plan plan = make_plan(c, c.ops(), state->plan_options());
      state->prepare(plan);
      for (int run = 0; run < 3; ++run) {
        state->set_product_state(std::vector<cplx>(44, cplx(0.5)));
        state->run(plan);
      }
    }
    EXPECT_GT(fake.num_loaded, 0);
    EXPECT_LE(fake.num_loaded, 8) << "each is tried once";
    EXPECT_EQ(fake.launched.count(JitDriver::kernel()), fails ? 0u : 1u);
    EXPECT_GT(fake.launched.size(), 1u);
    EXPECT_TRUE(fake.nothing_leaked());
  }
  runtime::cuda::JitCache::set_use("auto");
}

TEST(GpuFaults, what_else_compiles_is_refused) {
  EXPECT_NE(failure([] { runtime::cuda::JitCache::set_use("yes"); }, ExitCode::kUsage)
                .find("off, auto or all"),
            std::string::npos);
}

TEST(GpuFaults, exhausted_memory_names_needed_and_free_and_leaks_nothing) {
  FakeDriver fake;
  runtime::cuda::ScopedDriver scope(&fake);
  fake.allocate_status = cudaErrorMemoryAllocation;
  const std::string text =
      failure([] { make_cuda_state(30, Precision::kDouble); }, ExitCode::kResources);
  EXPECT_NE(text.find("30 qubits"), std::string::npos) << text;
  EXPECT_NE(text.find("needs 16."), std::string::npos) << text;
  EXPECT_NE(text.find("3.00 GiB free"), std::string::npos) << text;
  EXPECT_NE(text.find("--precision single"), std::string::npos) << text;
  EXPECT_TRUE(fake.nothing_leaked());
}

TEST(GpuFaults, a_share_of_the_memory_is_reserved_once_for_a_state_and_its_clones) {
  FakeDriver fake;
  runtime::cuda::ScopedDriver scope(&fake);
  {
    auto state = make_cuda_state(4, Precision::kDouble, 0, 0.008);
    EXPECT_EQ(fake.device_memory.size(), 1u);
    auto first = state->clone(), second = first->clone();
    EXPECT_EQ(fake.device_memory.size(), 1u);
    first.reset();  // not on top: free when the second has gone
    second.reset();
    for (int k = 0; k < 100; ++k) state->clone();
    EXPECT_EQ(fake.device_memory.size(), 1u);
  }
  EXPECT_TRUE(fake.nothing_leaked());
}

TEST(GpuFaults, a_share_too_large_or_too_small_says_so_and_leaks_nothing) {
  FakeDriver fake;
  runtime::cuda::ScopedDriver scope(&fake);
  const std::string small =
      failure([] { make_cuda_state(21, Precision::kDouble, 0, 0.0002); }, ExitCode::kResources);
  EXPECT_NE(small.find("21 qubits"), std::string::npos) << small;
  EXPECT_NE(small.find("larger --memory-fraction"), std::string::npos) << small;
  EXPECT_TRUE(fake.nothing_leaked());
  fake.allocate_status = cudaErrorMemoryAllocation;
  const std::string large =
      failure([] { make_cuda_state(4, Precision::kDouble, 0, 0.925); }, ExitCode::kResources);
  EXPECT_NE(large.find("118.40 GiB"), std::string::npos) << large;
  EXPECT_NE(large.find("smaller --memory-fraction"), std::string::npos) << large;
  EXPECT_TRUE(fake.nothing_leaked());
}

TEST(GpuFaults, a_device_lost_in_a_run_is_an_error_and_leaks_nothing) {
  for (const bool at_launch : {true, false}) {
    FakeDriver fake;
    runtime::cuda::ScopedDriver scope(&fake);
    {
      auto state = make_cuda_state(6, Precision::kSingle);
      circuit::Circuit c(6);
      c.add_gate(circuit::GateId::kH, {3});
      const auto apply = [&] { state->apply(c, c.ops()); };
      (at_launch ? fake.launch_status : fake.wait_status) = cudaErrorECCUncorrectable;
      EXPECT_NE(failure(apply, ExitCode::kResources).find("device was lost"), std::string::npos);
    }
    EXPECT_TRUE(fake.nothing_leaked());
  }
}

std::size_t bytes_of_state(int n, Precision precision) { return amplitude_bytes(precision) << n; }

constexpr std::size_t kShared = std::size_t{4} << 20;  // what the states of a device share

// Everything that wants memory beside the amplitudes.
void use(State& state, State& other) {
  const int n = state.num_qubits();
  const auto qubits = static_cast<std::uint32_t>(n);
  circuit::Circuit c(qubits);
  for (std::uint32_t q = 0; q < qubits; ++q) {
    c.add_gate(circuit::GateId::kH, {q});
    c.add_gate(circuit::GateId::kCx, {q, (q + 1) % qubits});
  }
  state.apply(c, c.ops());
  state.settle();
  state.set_product_state(std::vector<cplx>(2 * qubits, 0.5));
  (void)state.norm();
  (void)state.marginals();
  std::vector<circuit::Qubit> all;
  for (std::uint32_t q = 0; q < std::min(qubits, 24u); ++q) all.push_back(q);
  (void)state.joint_probabilities(all);
  std::vector<std::uint64_t> indices(300000);
  for (std::size_t k = 0; k < indices.size(); ++k) indices[k] = k % state.num_amplitudes();
  (void)state.amplitudes(indices);
  circuit::PauliSum sum;
  for (std::uint64_t k = 0; k < 6000; ++k) {
    const std::uint64_t mask = state.num_amplitudes() - 1;
    sum.push_back({1.0, k * 77 & mask, k * 1234567 & mask});
  }
  (void)state.expectations(sum);
  const std::vector<double> table(state.num_amplitudes(), 1);
  Sweep sweep;
  sweep.kind = Sweep::Kind::kTable;
  sweep.row_bits = n;
  for (int q = 0; q < n; ++q) sweep.digits.add(q);
  sweep.table = {table.data(), table.data(), true, 0, table.size()};
  state.sweep(sweep, 0);
  (void)state.pair_sum(PairSum::kInner, other);
  state.copy_from(other);
  for (const int targets : {std::min(n, 9), std::min(n, kMaxDenseTargets)}) {
    const std::vector<cplx> m(std::size_t{1} << 2 * targets);
    state.apply_dense({targets, 0, 0, m}, 0);
  }
  state.collapse(0, 0, 1);
}

TEST(GpuMemory, a_state_holds_its_amplitudes_whatever_is_asked) {
  for (const Precision precision : {Precision::kSingle, Precision::kDouble}) {
    for (const int n : {3, 10, 16, 20, 22}) {
      FakeDriver fake;
      runtime::cuda::ScopedDriver scope(&fake);
      {
        auto other = make_cuda_state(n, precision), state = make_cuda_state(n, precision);
        const std::size_t two = 2 * bytes_of_state(n, precision), made = fake.num_allocations;
        EXPECT_LE(static_cast<double>(fake.live_bytes), 1.03 * static_cast<double>(two) + kShared);
        fake.peak_bytes = fake.live_bytes;  // the device's rates were measured first
        use(*state, *other);
        EXPECT_EQ(fake.peak_bytes, fake.live_bytes) << n;
        EXPECT_EQ(fake.num_allocations, made) << n;
      }
      EXPECT_TRUE(fake.nothing_leaked());
    }
  }
}

TEST(GpuMemory, states_share_what_they_do_not_need_at_the_same_time) {
  FakeDriver fake;
  runtime::cuda::ScopedDriver scope(&fake);
  {
    std::vector<std::unique_ptr<State>> states;
    for (int k = 0; k < 100; ++k) states.push_back(make_cuda_state(10, Precision::kDouble));
    EXPECT_EQ(fake.live_bytes, 100 * (std::size_t{16} << 10) + kShared);
    // growth goes with the state that brought it
    const std::size_t before = fake.live_bytes;
    auto large = make_cuda_state(24, Precision::kDouble);
    const std::size_t with = fake.live_bytes - before,
                      state = bytes_of_state(24, large->precision());
    EXPECT_GT(with, state);
    EXPECT_LE(static_cast<double>(with), 1.03 * static_cast<double>(state));
    large.reset();
    EXPECT_EQ(fake.live_bytes, before);
    for (auto& s : states) use(*s, *states[0]);
    EXPECT_EQ(fake.live_bytes, before);
  }
  EXPECT_TRUE(fake.nothing_leaked());
}

// What one state's passes need of shared memory stays allowed while another's need less.
TEST(GpuMemory, states_with_small_passes_take_no_shared_memory_from_others) {
  FakeDriver fake;
  runtime::cuda::ScopedDriver scope(&fake);
  auto one = make_cuda_state(14, Precision::kDouble),
       other = make_cuda_state(14, Precision::kDouble);
  const auto run = [&](State& state, std::uint32_t gates) {
    circuit::Circuit c(14);
    for (std::uint32_t k = 0; k < gates; ++k) {
      c.add_gate(circuit::GateId::kH, {k % 12});
      if (gates == 1) break;
      c.add_gate(circuit::GateId::kT, {k * 7 % 14});
      c.add_gate(circuit::GateId::kCz, {k * 5 % 14, (k * 5 + 1 + k % 11) % 14});
    }
    fake.largest_shared = 0;
    state.apply(c, c.ops());
    return fake.largest_shared;
  };
  const std::size_t large = run(*one, 200), small = run(*other, 1);
  EXPECT_LT(small, large);
  for (const std::uint32_t gates : {200u, 150u, 100u, 50u}) {
    run(*other, 1);
    EXPECT_GT(run(*one, gates), small);
  }
}

// Programs too long for their memory are run in parts.
TEST(GpuMemory, a_long_circuit_on_few_qubits) {
  FakeDriver fake;
  runtime::cuda::ScopedDriver scope(&fake);
  auto state = make_cuda_state(10, Precision::kDouble);
  circuit::Circuit c(10);
  std::vector<cplx> m(std::size_t{1} << 16);
  for (std::size_t k = 0; k < 256; ++k) m[257 * k] = k % 2 ? 1 : -1;
  for (std::uint32_t k = 0; k < 12; ++k) {
    std::vector<circuit::Qubit> targets;
    for (std::uint32_t t = 0; t < 8; ++t) targets.push_back((k + t) % 10);
    c.add_matrix({}, ~std::uint64_t{0}, targets, m);
  }
  const std::size_t before = fake.num_allocations;
  state->apply(c, c.ops());
  EXPECT_EQ(fake.num_allocations, before);
}

}  // namespace
}  // namespace tilewave::statevec
