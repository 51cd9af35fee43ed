// Whole runs on a device that fails: memory that ends at any allocation, on the device or
// page-locked, a device that is lost at any launch, copy or wait, and one whose context is dead after
// a kernel that trapped. Every user of the device is tried: state vectors, trajectories, functions of
// parameters, both samplers, entropy. Each ends in one line and the exit code of resources (of a dead
// context: of an internal error), gives all memory back, and answers right when the fault is over; or
// does without and gives the right answer. Needs a device.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tilewave/api/access.h"
#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/simulate/session.h"
#include "tilewave/simulate/simulate.h"
#include "tilewave/tilewave.h"

int trap_device();  // trap_kernel.cu

namespace tilewave {
namespace {

using Answer = std::vector<double>;

// Hands calls on to the device until one of them is to fail.
class FailingDriver : public runtime::cuda::Driver {
 public:
  std::uint64_t num_allocations = 0, num_calls = 0;  // so far
  std::uint64_t fail_allocation = 0, lose_at = 0;    // which, from 1 on; 0: none
  bool all_from_there = false;                       // the memory stays exhausted
  std::set<void*> live, live_host;

  cudaError_t allocate(void** p, std::size_t bytes) override {
    if (is_full()) return cudaErrorMemoryAllocation;
    if (is_lost()) return cudaErrorDevicesUnavailable;
    const cudaError_t status = Driver::allocate(p, bytes);
    if (status == cudaSuccess) live.insert(*p);
    return status;
  }
  cudaError_t release(void* p) override {
    EXPECT_EQ(live.erase(p), 1u) << "released twice or never taken";
    return Driver::release(p);
  }
  cudaError_t allocate_host(void** p, std::size_t bytes) override {
    if (is_full()) return cudaErrorMemoryAllocation;
    if (is_lost()) return cudaErrorDevicesUnavailable;
    const cudaError_t status = Driver::allocate_host(p, bytes);
    if (status == cudaSuccess) live_host.insert(*p);
    return status;
  }
  cudaError_t release_host(void* p) override {
    EXPECT_EQ(live_host.erase(p), 1u) << "released twice or never taken";
    return Driver::release_host(p);
  }
  cudaError_t launch(const void* kernel, dim3 grid, dim3 block, void** arguments,
                     std::size_t shared_bytes, cudaStream_t stream) override {
    if (is_lost()) return cudaErrorDevicesUnavailable;
    return Driver::launch(kernel, grid, block, arguments, shared_bytes, stream);
  }
  cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) override {
    return is_lost() ? cudaErrorDevicesUnavailable : Driver::copy(to, from, bytes, stream);
  }
  cudaError_t fill(void* to, int value, std::size_t bytes, cudaStream_t stream) override {
    return is_lost() ? cudaErrorDevicesUnavailable : Driver::fill(to, value, bytes, stream);
  }
  cudaError_t synchronize(cudaStream_t stream) override {
    return is_lost() ? cudaErrorDevicesUnavailable : Driver::synchronize(stream);
  }

 private:
  bool is_full() {
    ++num_allocations;
    return fail_allocation && (num_allocations == fail_allocation ||
                               (all_from_there && num_allocations > fail_allocation));
  }
  bool is_lost() {
    ++num_calls;
    return lose_at && num_calls >= lose_at;
  }
};

Circuit layers(std::uint32_t n, bool measures) {
  Circuit c(n, 2);
  for (std::uint32_t k = 0; k < 6; ++k) {
    for (Qubit q = 0; q < n; ++q) c.ry(0.3 * q + k, q).rz(0.2 * k, q);
    for (Qubit q = 0; q + 1 < n; ++q) c.cx(q, q + 1);
    if (measures && k == 2) c.measure(0, 0).reset(1);
  }
  return c;
}

const char kCode[] =
    "R 0 1 2 3 4\nREPEAT 30 {\nDEPOLARIZE1(0.02) 0 2 4\nCX 0 1 2 3\nCX 2 1 4 3\nMR 1 3\n"
    "DETECTOR rec[-1]\nDETECTOR rec[-2]\n}\nM 0 2 4\nOBSERVABLE_INCLUDE(0) rec[-1]\n";

struct Work {
  const char* name;
  std::function<Answer()> run;
};

// Not by a Session, which keeps memory of the device for its next run.
simulate::Options on_device(Precision precision) {
  simulate::Options options;
  options.device = DeviceSet::parse("cuda:0");
  options.precision = precision;
  options.session = std::make_shared<simulate::Session>();
  options.seed = 3;
  return options;
}

Answer of_run(const Circuit& circuit, const simulate::Options& options) {
  const simulate::Result r = simulate::simulate(Access::inside(circuit), options);
  Answer a = r.probabilities;
  a.push_back(r.expectation_sum);
  for (const auto& [bits, count] : r.counts) a.push_back(static_cast<double>(count));
  return a;
}

Answer of_shots(SamplingEngine engine) {
  Sampler sampler(kCode, {.seed = 7, .engine = engine, .device = "cuda", .threads = 1});
  const ShotTable t = sampler.sample(20000);
  return {t.bytes.begin(), t.bytes.end()};
}

Answer of_function(std::uint32_t n, std::size_t sets) {
  Circuit c(n);
  std::vector<double> values;
  for (std::uint32_t k = 0; k < 3; ++k) {
    for (Qubit q = 0; q < n; ++q) c.ry(Angle::parameter("p" + std::to_string(n * k + q)), q);
    for (Qubit q = 0; q + 1 < n; ++q) c.cx(q, q + 1);
  }
  const Function f(c, {"Z0 Z1 + 0.5 X2"}, {.device = "cuda"});
  for (std::size_t k = 0; k < sets * f.num_parameters(); ++k) values.push_back(0.1 * (k % 17));
  const auto r = f.value_and_gradient(values);
  Answer a = r.value;
  a.insert(a.end(), r.gradient.begin(), r.gradient.end());
  return a;
}

const std::vector<Work>& works() {
  static const std::vector<Work> all = {
      {"a state vector",
       [] {
         simulate::Options options = on_device(Precision::kDouble);
         options.shots = 200;
         options.probabilities = true;
         options.observables.push_back({1.0, {0b11}, {0b10}});
         return of_run(layers(16, false), options);
       }},
      {"a state that is measured in the middle",
       [] {
         simulate::Options options = on_device(Precision::kSingle);
         options.shots = 20;
         return of_run(layers(15, true), options);
       }},
      {"amplitudes",
       [] {
         const Circuit circuit = layers(13, false);
         auto final =
             simulate::final_state(Access::inside(circuit), on_device(Precision::kDouble), true);
         std::vector<std::complex<double>> amplitudes(std::size_t{1} << 13);
         simulate::copy_amplitudes(final, amplitudes);
         Answer a;
         for (const auto& z : amplitudes) a.push_back(z.real()), a.push_back(z.imag());
         return a;
       }},
      {"a function of parameters", [] { return of_function(17, 1); }},
      {"a function for many sets", [] { return of_function(8, 50); }},
      {"Pauli frames", [] { return of_shots(SamplingEngine::kFrame); }},
      {"sparse errors", [] { return of_shots(SamplingEngine::kSparse); }},
      {"entropy",
       [] {
         std::vector<std::uint8_t> pixels(300 * 200);
         for (std::size_t k = 0; k < pixels.size(); ++k)
           pixels[k] = static_cast<std::uint8_t>(k * 7919 / 13 % 40);
         LocalEntropyOptions options;
         options.levels = 40;
         options.device = "cuda";
         const auto e = local_entropy(Image<std::uint8_t>{pixels, 300, 200}, options);
         return Answer(e.begin(), e.end());
       }},
  };
  return all;
}

void expect_same(const Answer& a, const Answer& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-4) << what << ", " << k;
}

// Which to try of so many: all, or some.
std::vector<std::uint64_t> some_of(std::uint64_t count, std::uint64_t most) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t k = 1; k <= count; ++k) all.push_back(k);
  if (count <= most) return all;
  std::shuffle(all.begin(), all.end(), std::mt19937_64(count));
  all.resize(most);
  return all;
}

// The answer, or the message of the error, whose code is checked.
bool answers(const Work& work, Answer& answer, std::set<ExitCode> codes, std::string& message) {
  try {
    answer = work.run();
    return true;
  } catch (const Error& e) {
    message = e.what();
    EXPECT_TRUE(codes.count(e.code()))
        << work.name << ": exit code " << static_cast<int>(e.code()) << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << work.name << ": " << message;
  }
  return false;
}

class GpuRunFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (runtime::cuda_devices().empty()) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_F(GpuRunFaults, memory_that_ends_at_any_allocation) {
  for (const Work& work : works()) {
    const Answer right = work.run();  // rates of the device are measured here
    std::uint64_t count = 0;
    {
      FailingDriver counting;
      const runtime::cuda::ScopedDriver scope(&counting);
      expect_same(work.run(), right, work.name);
      count = counting.num_allocations;
      EXPECT_TRUE(counting.live.empty() && counting.live_host.empty()) << work.name;
    }
    EXPECT_GT(count, 0u) << work.name;
    std::uint64_t refused = 0;
    for (const bool all : {false, true}) {
      for (const std::uint64_t k : some_of(count, 40)) {
        const std::string what =
            std::string(work.name) + ", allocation " + std::to_string(k) + (all ? " and on" : "");
        FailingDriver failing;
        failing.fail_allocation = k;
        failing.all_from_there = all;
        const runtime::cuda::ScopedDriver scope(&failing);
        Answer answer;
        std::string message;
        if (answers(work, answer, {ExitCode::kResources}, message)) {
          expect_same(answer, right, what);
        } else {
          EXPECT_TRUE(message.find("memory") != std::string::npos ||
                      message.find("place") != std::string::npos)
              << what << ": " << message;
          ++refused;
        }
        EXPECT_TRUE(failing.live.empty() && failing.live_host.empty()) << what << ": leaked";
      }
    }
    EXPECT_GT(refused, 0u) << work.name;
    expect_same(work.run(), right, std::string(work.name) + ", afterwards");
    std::printf("%s: %d allocations, %d refusals\n", work.name, static_cast<int>(count),
                static_cast<int>(refused));
  }
}

TEST_F(GpuRunFaults, the_memory_of_a_state_serves_the_next_run) {
  FailingDriver counting;
  const runtime::cuda::ScopedDriver scope(&counting);
  {
    const auto device = DeviceSet::parse("cuda:0");
    simulate::Session session;
    const auto take = [&](const DeviceSet& of) {
      return session.take_state(20, Precision::kDouble, 1, of, {});
    };
    const Circuit circuit = layers(20, false);
    auto state = take(device);
    session.run(*state, Access::inside(circuit), Access::inside(circuit).ops());
    const statevec::State* const before = state.get();
    const std::uint64_t allocations = counting.num_allocations;
    session.give_back(std::move(state), 1, device, 0.25);
    state = take(device);
    EXPECT_EQ(state.get(), before);
    EXPECT_EQ(counting.num_allocations, allocations);
    const std::complex<double> first = state->amplitudes(std::vector<std::uint64_t>{0})[0];
    EXPECT_EQ(first, 1.0) << "it is in |0...0> again";
    session.give_back(std::move(state), 1, device, 0.25);
    EXPECT_EQ(take(DeviceSet::cpu())->device(), "cpu");
    state = take(device);
    session.give_back(std::move(state), 1, device, 1e-9);
    EXPECT_TRUE(counting.live.empty()) << "more than this share of the device's memory";
    session.give_back(take(device), 1, device, 0.25);
    EXPECT_FALSE(counting.live.empty());
    session.clear();
    EXPECT_TRUE(counting.live.empty());
  }
  EXPECT_TRUE(counting.live_host.empty());
}

TEST_F(GpuRunFaults, a_device_that_is_lost_at_any_call) {
  for (const Work& work : works()) {
    const Answer right = work.run();
    std::uint64_t count = 0;
    {
      FailingDriver counting;
      const runtime::cuda::ScopedDriver scope(&counting);
      expect_same(work.run(), right, work.name);
      count = counting.num_calls;
    }
    EXPECT_GT(count, 0u) << work.name;
    for (const std::uint64_t k : some_of(count, 40)) {
      const std::string what = std::string(work.name) + ", call " + std::to_string(k);
      FailingDriver failing;
      failing.lose_at = k;
      const runtime::cuda::ScopedDriver scope(&failing);
      Answer answer;
      std::string message;
      if (answers(work, answer, {ExitCode::kResources}, message)) {
        expect_same(answer, right, what);
      } else {
        EXPECT_NE(message.find("device was lost"), std::string::npos) << what << ": " << message;
      }
      EXPECT_TRUE(failing.live.empty() && failing.live_host.empty()) << what << ": leaked";
    }
    expect_same(work.run(), right, std::string(work.name) + ", afterwards");
  }
}

// In a process of its own, which has no device any more.
TEST_F(GpuRunFaults, a_context_that_is_dead_after_a_trap) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const bool has_run : {false, true}) {
    EXPECT_EXIT(
        {
          if (has_run) {
            for (const Work& work : works()) (void)work.run();
          }
          int failures = trap_device() == 0;  // it must have trapped
          for (const Work& work : works()) {
            Answer answer;
            std::string message;
            if (answers(work, answer, {ExitCode::kResources, ExitCode::kInternal}, message)) {
              std::fprintf(stderr, "%s answered on a dead device\n", work.name);
              ++failures;
            } else {
              std::fprintf(stderr, "%s: %s\n", work.name, message.c_str());
            }
          }
          std::exit(failures + testing::Test::HasFailure());
        },
        testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace tilewave
