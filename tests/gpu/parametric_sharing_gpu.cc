// Functions of parameters that several CUDA devices share: sets of values, and one state by ranks with a
// shard each, against one device or the CPU.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "gpu/parametric_devices.h"
#include "tilewave/parametric/function.h"
#include "tilewave/parametric/gate_by_gate_test.h"
#include "tilewave/parametric/shared_state.h"
#include "tilewave/parametric/split_function.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/runtime/on_ranks_test.h"

namespace tilewave::parametric {
namespace {

// By parts of one device, and by all that there are.
TEST_P(Devices, share_sets_of_values) {
  JitCache::set_use("off");  // the same bits: parts would not be compiled at the same time
  std::vector<int> all;
  for (const auto& device : runtime::cuda_devices()) all.push_back(device.index);
  for (const std::uint32_t n : {5u, 14u}) {  // as batches, and set by set
    Random random(n);
    const std::uint32_t p = 4;
    const Circuit c = random_circuit(random, n, p, 25);
    const std::vector<PauliSum> observables = {random_observable(random, n, 5)};
    const Function alone(c, observables, on_device(precision()));
    for (const std::size_t sets : {1, 2, 3, 40}) {
      const std::vector<double> values = random.angles(sets * p), v(sets, 1.0);
      std::vector<double> e[2], g[2];
      std::vector<std::uint64_t> shots[2];
      for (int k = 0; k < 2; ++k) {
        e[k].resize(sets), g[k].resize(sets * p), shots[k].resize(sets * 10);
      }
      alone.vjp({values.data(), sets}, v.data(), e[0].data(), g[0].data());
      alone.samples({values.data(), sets}, 10, 3, shots[0].data());
      for (const auto& devices : {std::vector<int>{0, 0}, std::vector<int>{0, 0, 0}, all}) {
        const SplitFunction f(c, observables, on_device(precision()), devices, nullptr);
        f.vjp({values.data(), sets}, v.data(), e[1].data(), g[1].data());
        f.samples({values.data(), sets}, 10, 3, shots[1].data());
        EXPECT_EQ(e[0], e[1]) << sets << " sets by " << devices.size();
        EXPECT_EQ(g[0], g[1]) << sets << " sets by " << devices.size();
        EXPECT_EQ(shots[0], shots[1]) << sets << " sets by " << devices.size();
      }
    }
  }
}

// Ranks with a shard each; where they have devices of their own amplitudes travel over NCCL. Strings have
// X and Y on qubits that number the rank, and the memory that rests between calls is taken away once.
TEST_P(Devices, shares_a_state) {
  const auto devices = static_cast<int>(runtime::cuda_devices().size());
  std::size_t stretches = 0;
  for_each_random(1, 8, [&](std::uint64_t, Random& random) {
    const auto n = static_cast<std::uint32_t>(15 + random.below(2));
    const std::uint32_t p = 5;
    const Circuit c = random_circuit(random, n, p, 60);
    const std::vector<PauliSum> observables = {random_observable(random, n, 8),
                                               random_observable(random, n, 3)};
    const std::vector<double> values = random.angles(p), v = {random.real(), random.real()};
    const Function whole(c, observables, {Precision::kDouble});
    const Sets sets{values.data(), 1};
    std::vector<double> want(2), slopes(p);
    whole.vjp(sets, v.data(), want.data(), slopes.data());
    for (const int ranks : {1, 2, 4}) {
      runtime::on_ranks(ranks, [&](const std::shared_ptr<runtime::Ranks>& joined) {
        FunctionOptions options = on_device(precision());
        options.cuda_device = joined->rank() % devices;
        SharedState f(c, observables, options, joined);
        for (int again = 0; again < 3; ++again) {
          double e[2], both[2], g[5];
          f.expectations(values.data(), e);
          f.vjp(values.data(), v.data(), both, g);
          for (std::size_t m = 0; m < 2; ++m) {
            EXPECT_NEAR(e[m], want[m], tolerance()) << ranks << " ranks, observable " << m;
            EXPECT_NEAR(both[m], want[m], tolerance());
          }
          for (std::size_t k = 0; k < p; ++k) EXPECT_NEAR(g[k], slopes[k], 20 * tolerance()) << k;
          if (again == 0) settle([] {});
        }
        const std::string text = f.explain();
        const bool own_devices = ranks > 1 && ranks <= devices;
        EXPECT_EQ(text.find("through host memory") == std::string::npos, ranks == 1 || own_devices)
            << text;
      });
    }
    stretches += make_stretches(lower(c), 2, 8).list.size();
  });
  EXPECT_GT(stretches, 10u) << "wires change places in these circuits";
}

// Halves of a shard travel in several pieces, and one place after the other leaves memory.
TEST_P(Devices, shares_a_state_in_pieces) {
  const auto devices = static_cast<int>(runtime::cuda_devices().size());
  constexpr std::uint32_t n = 25;
  Circuit c(n);
  std::vector<double> values;
  for (int layer = 0; layer < 2; ++layer) {
    for (Qubit q = 0; q < n; ++q) {
      add_parametrised_gate(c, GateId::kRy, q);
      values.push_back(0.1 + 0.07 * q + 0.3 * layer);
    }
    for (Qubit q = 0; q + 1 < n; q += 2) c.add_gate(GateId::kCz, {q, q + 1});
  }
  const PauliSum observable = {{1, bit(0) | bit(24), bit(0) | bit(12)}, {0.5, 0, bit(23) | bit(3)}};
  const Function whole(c, {observable}, {Precision::kDouble});
  double want = 0, v = 1;
  std::vector<double> slopes(values.size());
  whole.vjp({values.data(), 1}, &v, &want, slopes.data());
  runtime::on_ranks(2, [&](const std::shared_ptr<runtime::Ranks>& joined) {
    FunctionOptions options = on_device(precision());
    options.cuda_device = joined->rank() % devices;
    SharedState f(c, {observable}, options, joined);
    double e = 0;
    std::vector<double> g(values.size());
    f.vjp(values.data(), &v, &e, g.data());
    EXPECT_NEAR(e, want, 10 * tolerance());
    for (std::size_t k = 0; k < g.size(); ++k) EXPECT_NEAR(g[k], slopes[k], 20 * tolerance()) << k;
  });
}

}  // namespace
}  // namespace tilewave::parametric
