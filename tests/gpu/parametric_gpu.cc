// Functions of parameters on a CUDA device against the same on the CPU; parametric_sharing_gpu.cc has what
// several devices share.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu/parametric_devices.h"
#include "tilewave/base/error.h"
#include "tilewave/parametric/function.h"
#include "tilewave/parametric/gate_by_gate_test.h"
#include "tilewave/runtime/machine.h"

namespace tilewave::parametric {
namespace {

std::vector<std::complex<double>> random_states(Random& random, std::uint32_t n,
                                                std::size_t count) {
  std::vector<std::complex<double>> states(count << n);
  for (std::size_t s = 0; s < count; ++s) {
    double norm = 0;
    for (std::size_t x = 0; x < std::size_t{1} << n; ++x) {
      auto& a = states[(s << n) + x];
      a = {random.real() - 0.5, random.real() - 0.5};
      norm += std::norm(a);
    }
    for (std::size_t x = 0; x < std::size_t{1} << n; ++x) states[(s << n) + x] /= std::sqrt(norm);
  }
  return states;
}

TEST_P(Devices, give_what_the_cpu_gives) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto n = static_cast<std::uint32_t>(1 + random.below(seed % 4 ? 10 : 16));
    const auto p = static_cast<std::uint32_t>(1 + random.below(12));
    const Circuit c = random_circuit(random, n, p, seed % 4 ? 30 : 120);
    const std::size_t num_observables = 1 + random.below(3);
    std::vector<PauliSum> observables;
    for (std::size_t m = 0; m < num_observables; ++m)
      observables.push_back(random_observable(random, n, seed % 5 ? 6 : 400));
    const std::size_t sets = seed % 3 ? 1 : 5;
    const std::vector<double> values = random.angles(sets * p);
    std::vector<double> v(sets * num_observables);
    for (double& x : v) x = random.real();
    const Function cpu(c, observables, {}), gpu(c, observables, on_device(precision()));
    const auto initial = random_states(random, n, sets);
    const double scale = seed % 5 ? 1 : 50;
    settle([&] {
      std::vector<double> e(sets * num_observables), g(sets * p);
      gpu.vjp({values.data(), sets}, v.data(), e.data(), g.data());
    });
    for (const bool from_state : {false, true}) {
      Sets in{values.data(), sets};
      if (from_state) in.initial = initial.data();
      std::vector<double> e[2], g[2], only[2], of_state[2];
      std::vector<std::complex<double>> states[2];
      const Function* functions[] = {&cpu, &gpu};
      for (int k = 0; k < 2; ++k) {
        const Function& f = *functions[k];
        e[k].resize(sets * num_observables), only[k].resize(sets * num_observables);
        g[k].resize(sets * p), of_state[k].resize(sets * p), states[k].resize(sets << n);
        f.expectations(in, only[k].data());
        f.vjp(in, v.data(), e[k].data(), g[k].data());
        f.states(in, states[k].data());
        f.state_vjp(in, initial.data(), of_state[k].data());
      }
      for (std::size_t k = 0; k < e[0].size(); ++k) {
        ASSERT_NEAR(e[0][k], e[1][k], scale * tolerance()) << k;
        ASSERT_NEAR(only[0][k], only[1][k], scale * tolerance()) << k;
      }
      for (std::size_t k = 0; k < g[0].size(); ++k) {
        ASSERT_NEAR(g[0][k], g[1][k], 20 * scale * tolerance()) << k;
        ASSERT_NEAR(of_state[0][k], of_state[1][k], 20 * tolerance()) << k;
      }
      for (std::size_t k = 0; k < states[0].size(); ++k)
        ASSERT_NEAR(std::abs(states[0][k] - states[1][k]), 0, tolerance()) << k;
    }
  }
}

TEST_P(Devices, give_the_same_bits_again) {
  Random random(7);
  const Circuit c = random_circuit(random, 14, 20, 200);
  const Function f(c, {random_observable(random, 14, 50)}, on_device(precision()));
  const std::vector<double> values = random.angles(20);
  const double v = 1;
  std::vector<double> first(20), again(20);
  double e[2];
  settle([&] { f.vjp({values.data(), 1}, &v, &e[0], first.data()); });
  f.vjp({values.data(), 1}, &v, &e[0], first.data());
  f.vjp({values.data(), 1}, &v, &e[1], again.data());
  EXPECT_EQ(e[0], e[1]);
  EXPECT_EQ(first, again);
}

TEST_P(Devices, read_more_derivatives_than_shared_memory_has_room_for) {
  Circuit c(13);
  std::vector<double> values;
  for (int layer = 0; layer < 8; ++layer) {
    for (std::uint32_t a = 0; a < 13; ++a) c.add_gate(GateId::kH, {a});
    for (std::uint32_t a = 0; a < 13; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        c.add_gate(GateId::kRzz, {a, b}, {0.0});
        const std::uint32_t p = c.add_parameter("p" + std::to_string(values.size()));
        AffineAngle affine;
        affine.terms.push_back({p, 1.0});
        c.set_affine(c.ops().size() - 1, 0, affine);
        values.push_back(0.01 * static_cast<double>(values.size() % 97));
      }
    }
  }
  Random random(3);
  const std::vector<PauliSum> h = {random_observable(random, 13, 9)};
  const Function cpu(c, h, {}), gpu(c, h, on_device(precision()));
  const double v = 1;
  std::vector<double> want(values.size()), got(values.size());
  double e[2];
  settle([&] { gpu.vjp({values.data(), 1}, &v, &e[1], got.data()); });
  cpu.vjp({values.data(), 1}, &v, &e[0], want.data());
  gpu.vjp({values.data(), 1}, &v, &e[1], got.data());
  EXPECT_NEAR(e[0], e[1], tolerance());
  for (std::size_t k = 0; k < want.size(); ++k) ASSERT_NEAR(want[k], got[k], 20 * tolerance()) << k;
  // all passes have kernels of their own, or none
  const std::string plan = gpu.explain();
  const std::size_t at = plan.find("kernels of their own: ");
  ASSERT_NE(at, std::string::npos) << plan;
  unsigned forward = 0, back = 0, passes[2] = {};
  ASSERT_EQ(
      std::sscanf(plan.c_str() + at, "kernels of their own: %u of %u passes forward, %u of %u",
                  &forward, &passes[0], &back, &passes[1]),
      4)
      << plan;
  EXPECT_GE(passes[0], 2u) << plan;
  EXPECT_EQ(forward, compiles() ? passes[0] : 0) << plan;
  EXPECT_EQ(back, compiles() ? passes[1] : 0) << plan;
}

TEST_P(Devices, give_batches_of_every_size_what_single_sets_give) {
  // those of many gates have more derivatives and angles than shared memory has room for
  constexpr std::pair<std::uint32_t, std::size_t> kSizes[] = {
      {1, 80}, {2, 80},  {5, 80},  {5, 4000}, {8, 80},    {8, 1500},
      {9, 80}, {10, 80}, {11, 80}, {12, 80},  {12, 2500},
  };
  for (const auto& [n, gates] : kSizes) {
    SCOPED_TRACE(std::to_string(n) + " qubits, " + std::to_string(gates) + " gates");
    Random random(n);
    const auto p = static_cast<std::uint32_t>(3 + random.below(8));
    const Circuit c = random_circuit(random, n, p, gates);
    const std::vector<PauliSum> observables = {random_observable(random, n, 7),
                                               random_observable(random, n, 70)};
    const Function cpu(c, observables, {}), gpu(c, observables, on_device(precision()));
    constexpr std::size_t kSets = 37;
    const std::vector<double> values = random.angles(kSets * p);
    std::vector<double> v(kSets * 2);
    for (double& x : v) x = random.real();
    std::vector<double> e[2], g[2], only(kSets * 2);
    settle([&] { gpu.expectations({values.data(), kSets}, only.data()); });
    const Function* functions[] = {&cpu, &gpu};
    for (int k = 0; k < 2; ++k) {
      e[k].resize(kSets * 2), g[k].resize(kSets * p);
      functions[k]->vjp({values.data(), kSets}, v.data(), e[k].data(), g[k].data());
    }
    gpu.expectations({values.data(), kSets}, only.data());
    const double scale = gates > 1000 ? 100 : 10;
    for (std::size_t k = 0; k < e[0].size(); ++k) {
      ASSERT_NEAR(e[0][k], e[1][k], scale * tolerance()) << k;
      ASSERT_EQ(only[k], e[1][k]) << k;
    }
    for (std::size_t k = 0; k < g[0].size(); ++k)
      ASSERT_NEAR(g[0][k], g[1][k], 20 * scale * tolerance()) << k;
  }
}

TEST_P(Devices, give_many_more_sets_than_blocks) {
  Random random(11);
  const Circuit c = random_circuit(random, 4, 3, 20);
  const Function f(c, {random_observable(random, 4, 3)}, on_device(precision()));
  constexpr std::size_t kSets = 40000;
  std::vector<double> values(kSets * 3), v(kSets, 1.0), e(kSets), g(kSets * 3);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = 0.001 * static_cast<double>(k % 9999);
  f.vjp({values.data(), kSets}, v.data(), e.data(), g.data());
  for (const std::size_t set : {std::size_t{0}, std::size_t{32768}, kSets - 1}) {
    double one, gradient[3];
    f.vjp({values.data() + 3 * set, 1}, v.data(), &one, gradient);
    EXPECT_NEAR(one, e[set], 10 * tolerance());
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(gradient[k], g[3 * set + k], 100 * tolerance());
  }
}

// Sets that begin in states of their own or in one, and what is read off whole states, as batches.
TEST_P(Devices, give_batches_that_begin_anywhere_what_the_cpu_gives) {
  JitCache::set_use("off");  // no batch is compiled, and single sets need not be
  constexpr std::pair<std::uint32_t, std::size_t> kSizes[] = {
      {1, 40}, {2, 40}, {3, 40}, {5, 60}, {6, 60}, {8, 80}, {8, 1500}, {9, 80}, {11, 80}, {12, 80}};
  for (const auto& [n, gates] : kSizes) {
    Random random(n + gates);
    const auto p = static_cast<std::uint32_t>(3 + random.below(8));
    const Circuit c = random_circuit(random, n, p, gates);
    const std::vector<PauliSum> observables = {random_observable(random, n, 7),
                                               random_observable(random, n, 20)};
    const Function cpu(c, observables, {}), gpu(c, observables, on_device(precision()));
    constexpr std::size_t kSets = 37, kShots = 50;
    const std::size_t size = std::size_t{1} << n;
    const std::vector<double> values = random.angles(kSets * p);
    const auto starts = random_states(random, n, kSets), g = random_states(random, n, kSets);
    std::vector<double> v(kSets * 2);
    for (double& x : v) x = random.real();
    std::vector<std::uint32_t> qubits;
    for (std::uint32_t q = n; q-- > 0;) {
      if (random.below(3)) qubits.insert(random.below(2) ? qubits.begin() : qubits.end(), q);
    }
    const std::size_t outcomes = std::size_t{1} << qubits.size();
    const double scale = gates > 1000 ? 100 : 10;
    for (int from = 0; from < 3; ++from) {  // |0...0>, one state, one for each
      SCOPED_TRACE(std::to_string(n) + " qubits, " + std::to_string(gates) + " gates, from " +
                   std::to_string(from));
      Sets sets{values.data(), kSets};
      if (from) sets.initial = starts.data();
      sets.shares_initial = from == 1;
      std::vector<double> e[2], gradient[2], along[2], p_all[2], p_some[2];
      std::vector<std::complex<double>> states[2];
      const Function* functions[] = {&cpu, &gpu};
      std::vector<std::uint32_t> all(n);
      for (std::uint32_t q = 0; q < n; ++q) all[q] = q;
      for (int k = 0; k < 2; ++k) {
        const Function& f = *functions[k];
        e[k].resize(kSets * 2), gradient[k].resize(kSets * p), along[k].resize(kSets * p);
        p_all[k].resize(kSets * size), p_some[k].resize(kSets * outcomes);
        states[k].resize(kSets * size);
        f.vjp(sets, v.data(), e[k].data(), gradient[k].data());
        f.state_vjp(sets, g.data(), along[k].data());
        f.states(sets, states[k].data());
        f.probabilities(sets, all, p_all[k].data());
        f.probabilities(sets, qubits, p_some[k].data());
      }
      EXPECT_NE(gpu.explain().find("a team of threads for each set"), std::string::npos);
      std::vector<double> only(kSets * 2);
      gpu.expectations(sets, only.data());
      for (std::size_t k = 0; k < e[0].size(); ++k) {
        ASSERT_NEAR(e[0][k], e[1][k], scale * tolerance()) << k;
        ASSERT_EQ(only[k], e[1][k]) << k;
      }
      for (std::size_t k = 0; k < gradient[0].size(); ++k) {
        ASSERT_NEAR(gradient[0][k], gradient[1][k], 20 * scale * tolerance()) << k;
        ASSERT_NEAR(along[0][k], along[1][k], 20 * scale * tolerance()) << k;
      }
      for (std::size_t k = 0; k < states[0].size(); ++k) {
        ASSERT_NEAR(std::abs(states[0][k] - states[1][k]), 0, scale * tolerance()) << k;
        ASSERT_NEAR(p_all[0][k], p_all[1][k], scale * tolerance()) << k;
      }
      for (std::size_t k = 0; k < p_some[0].size(); ++k)
        ASSERT_NEAR(p_some[0][k], p_some[1][k], scale * tolerance()) << k;

      // the shots of single sets, which are drawn from states on the host
      std::vector<std::uint64_t> shots(kSets * kShots), own(kShots);
      gpu.samples(sets, kShots, 3, shots.data());
      std::size_t others = 0;
      for (std::size_t b = 0; b < kSets; ++b) {
        Sets one = sets;
        one.values += b * p;
        one.count = 1;
        one.first = b;
        if (from == 2) one.initial += b << n;
        gpu.samples(one, kShots, 3, own.data());
        for (std::size_t s = 0; s < kShots; ++s) others += own[s] != shots[b * kShots + s];
      }
      // in single precision some random numbers lie between two roundings
      EXPECT_LE(others, precision() == Precision::kDouble ? 0 : kSets * kShots / 100);
    }
  }
}

TEST_P(Devices, give_whole_states_of_many_sets_in_parts) {
  constexpr std::uint32_t n = 12, p = 5;
  constexpr std::size_t kSets = 2500, kSize = std::size_t{1} << n;  // 160 MB of states
  Random random(4);
  const Circuit c = random_circuit(random, n, p, 40);
  const PauliSum o = random_observable(random, n, 5);
  const Function cpu(c, {o}, {}), gpu(c, {o}, on_device(precision()));
  const std::vector<double> values = random.angles(kSets * p), v(kSets, 1.0);
  const auto few = random_states(random, n, 7);
  std::vector<std::complex<double>> starts(kSets * kSize), states(kSets * kSize);
  for (std::size_t b = 0; b < kSets; ++b)
    std::copy_n(few.data() + b % 7 * kSize, kSize, starts.data() + b * kSize);
  const Sets sets{values.data(), kSets, starts.data()};
  std::vector<double> e(kSets), gradient(kSets * p);
  gpu.states(sets, states.data());
  gpu.vjp(sets, v.data(), e.data(), gradient.data());
  for (const std::size_t b : {std::size_t{0}, std::size_t{1023}, std::size_t{1800}, kSets - 1}) {
    const Sets one{values.data() + b * p, 1, starts.data() + b * kSize};
    std::vector<std::complex<double>> state(kSize);
    double value, slopes[p];
    cpu.states(one, state.data());
    cpu.vjp(one, v.data(), &value, slopes);
    for (std::size_t x = 0; x < kSize; ++x)
      ASSERT_NEAR(std::abs(state[x] - states[b * kSize + x]), 0, 10 * tolerance()) << b;
    EXPECT_NEAR(value, e[b], 10 * tolerance()) << b;
    for (std::size_t k = 0; k < p; ++k)
      EXPECT_NEAR(slopes[k], gradient[b * p + k], 100 * tolerance()) << b;
  }
  starts[1500 * kSize] += 0.5;
  EXPECT_THROW(gpu.expectations(sets, e.data()), Error);
  std::vector<double> broken = values;
  broken[1600 * p] = std::nan("");
  EXPECT_THROW(gpu.states({broken.data(), kSets}, states.data()), Error);
}

TEST_P(Devices, refuse_metric_tensors) {
  Random random(2);
  const Circuit c = random_circuit(random, 3, 2, 5);
  const double values[] = {0.1, 0.2};
  double metric[4];
  EXPECT_THROW(Function(c, {}, on_device(precision())).metric_tensor({values, 1}, metric), Error);
}

// As devices of compute capability 7.5 have: TILEWAVE_TEST_CUDA=75 parametric_gpu.
TEST(SmallDevices, say_what_they_lack) {
  if (runtime::cuda_devices().empty() || fits(Precision::kDouble))
    GTEST_SKIP() << "no CUDA device, or one with enough shared memory";
  Random random(1);
  const Circuit c = random_circuit(random, 14, 2, 10);
  const std::vector<double> values = random.angles(2);
  try {
    const Function f(c, {random_observable(random, 14, 4)}, on_device(Precision::kDouble));
    double e = 0;
    f.expectations({values.data(), 1}, &e);
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kResources);
    EXPECT_NE(std::string(e.what()).find("KiB of shared memory"), std::string::npos) << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Precisions, Devices,
    testing::Combine(testing::Values(Precision::kDouble, Precision::kSingle), testing::Bool()),
    [](const auto& of) {
      return std::string(std::get<0>(of.param) == Precision::kDouble ? "double" : "single") +
             (std::get<1>(of.param) ? "_compiled" : "");
    });

}  // namespace
}  // namespace tilewave::parametric
