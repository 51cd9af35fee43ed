// One state that several processes share, against states of one process.
#include "tilewave/parametric/shared_state.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/parametric/gate_by_gate_test.h"
#include "tilewave/runtime/on_ranks_test.h"

namespace tilewave::parametric {
namespace {

TEST(SharedState, equals_states_moved_gate_by_gate) {
  std::size_t stretches = 0;
  for_each_random(1, 24, [&](std::uint64_t seed, Random& random) {
    const auto n = static_cast<std::uint32_t>(10 + random.below(2));
    const std::uint32_t p = 5;
    const Circuit c = random_circuit(random, n, p, 40);
    const std::vector<PauliSum> observables = {random_observable(random, n, 6),
                                               random_observable(random, n, 3)};
    const std::vector<double> values = random.angles(p), v = {random.real(), random.real()};
    const Slow want[2] = {slow(c, values, observables[0]), slow(c, values, observables[1])};
    const auto precision = seed % 2 ? Precision::kDouble : Precision::kSingle;
    const double tolerance = precision == Precision::kDouble ? 5e-12 : 5e-4;
    for (const int ranks : {1, 2, 4}) {
      for (const int tile_row_bits : {0, 4}) {
        runtime::on_ranks(ranks, [&](const std::shared_ptr<runtime::Ranks>& joined) {
          const FunctionOptions options{precision, 1, tile_row_bits};
          SharedState f(c, observables, options, joined);
          for (int again = 0; again < 2; ++again) {  // memory is used again
            double e[2], both[2], g[5];
            f.expectations(values.data(), e);
            f.vjp(values.data(), v.data(), both, g);
            for (int m = 0; m < 2; ++m) {
              EXPECT_NEAR(e[m], static_cast<double>(want[m].value), tolerance);
              EXPECT_NEAR(both[m], static_cast<double>(want[m].value), tolerance);
            }
            for (std::size_t k = 0; k < p; ++k) {
              EXPECT_NEAR(
                  g[k],
                  static_cast<double>(v[0] * want[0].gradient[k] + v[1] * want[1].gradient[k]),
                  20 * tolerance);
            }
          }
        });
      }
    }
    stretches += make_stretches(lower(c), 2, 3).list.size();
  });
  EXPECT_GT(stretches, 60u) << "wires change places in these circuits";
}

// Shards of more rows than are exchanged at a time.
TEST(SharedState, exchanges_in_pieces) {
  constexpr std::uint32_t n = 22;
  Circuit c(n);
  std::vector<double> values;
  for (Qubit q = 0; q < n; q += 3) {
    add_parametrised_gate(c, GateId::kRy, q);
    values.push_back(0.1 + 0.2 * q);
  }
  const PauliSum all_z = {{1, 0, bit(0) | bit(21) | bit(12)}, {0.5, bit(21) | bit(3), 0}};
  double value = 1, other = 0.5 * std::sin(values[1]) * std::sin(values[7]);
  for (const std::size_t k : {0, 4, 7}) value *= std::cos(values[k]);
  runtime::on_ranks(2, [&](const std::shared_ptr<runtime::Ranks>& joined) {
    SharedState f(c, {all_z}, {Precision::kSingle, 1}, joined);
    double e, g[8];
    const double v = 1;
    f.vjp(values.data(), &v, &e, g);
    EXPECT_NEAR(e, value + other, 1e-5);
    for (std::size_t k = 0; k < 8; ++k) {
      const double slope = k == 0 || k == 4 || k == 7 ? -value * std::tan(values[k]) : 0;
      const double more = k == 1 || k == 7 ? other / std::tan(values[k]) : 0;
      EXPECT_NEAR(g[k], slope + more, 1e-5) << k;
    }
    EXPECT_NE(f.explain().find("shared by 2 processes"), std::string::npos);
  });
}

// Every pass of a shard moves all of it, also where wires are still |0>, so only their number counts.
TEST(SharedState, has_as_few_passes_as_greedy_plans) {
  constexpr std::uint32_t n = 26;
  Circuit c(n);
  for (int layer = 0; layer < 8; ++layer) {
    for (Qubit q = 0; q < n; ++q) add_parametrised_gate(c, GateId::kRy, q);
    for (Qubit q = 0; q + 1 < n; ++q) c.add_gate(GateId::kCx, {q, q + 1});
  }
  std::size_t greedy = 0;
  for (const Stretch& stretch : make_stretches(lower(c), 2, 3).list) {
    const std::vector<bool> is_read(stretch.actions.angles.size(), true);
    greedy += make_passes(stretch.actions, 3, 11, is_read, {.searches = false}).passes.size();
  }
  runtime::on_ranks(4, [&](const std::shared_ptr<runtime::Ranks>& joined) {
    const std::string text = SharedState(c, {}, {Precision::kDouble, 1, 11}, joined).explain();
    std::size_t passes = 0;
    std::sscanf(text.substr(text.find(": ") + 2).c_str(), "%zu passes", &passes);
    EXPECT_GT(passes, 0u) << text;
    EXPECT_LE(passes, greedy);
  });
}

TEST(SharedState, refusals) {
  runtime::on_ranks(3, [&](const std::shared_ptr<runtime::Ranks>& joined) {
    expect_error([&] { SharedState(Circuit(10), {}, {}, joined); },
                 "3 processes cannot share a state of 10 qubits", ExitCode::kUsage);
  });
  runtime::on_ranks(4, [&](const std::shared_ptr<runtime::Ranks>& joined) {
    EXPECT_THROW(SharedState(Circuit(5), {}, {}, joined), Error);
  });
}

}  // namespace
}  // namespace tilewave::parametric
