// Expectations and derivatives with Clifford gates at the end absorbed, against those gate by gate.
#include "tilewave/parametric/plan/absorb.h"

#include <gtest/gtest.h>

#include <numbers>
#include <utility>

#include "tilewave/parametric/function.h"
#include "tilewave/parametric/gate_by_gate_test.h"
#include "tilewave/parametric/run.h"

namespace tilewave::parametric {
namespace {

// Some gates with parameters, then Clifford gates alone.
Circuit ends_with_cliffords(Random& random, std::uint32_t n, std::uint32_t p, int gates) {
  Circuit c = random_circuit(random, n, p, 8);
  constexpr GateId kOne[] = {GateId::kX, GateId::kY,   GateId::kZ,  GateId::kH,
                             GateId::kS, GateId::kSdg, GateId::kSx, GateId::kSxdg};
  for (int k = 0; k < gates; ++k) {
    const auto q = random.qubits(n, 2);
    switch (random.below(6)) {
      case 0:
        c.add_gate(kOne[random.below(std::size(kOne))], {q[0]});
        break;
      case 1:
        c.add_gate(random.below(2) ? GateId::kCx : GateId::kCz, {q[0], q[1]});
        break;
      case 2:  // where the control is 0, or 1
        c.add_controlled_gate(GateId::kX, {q.data(), 1}, random.below(2), {q.data() + 1, 1}, {});
        break;
      case 3:
        c.add_gate(random.below(2) ? GateId::kCy : GateId::kSwap, {q[0], q[1]});
        break;
      case 4: {
        const std::vector<double> turns = {std::numbers::pi / 2 * (double(random.below(9)) - 4)};
        constexpr GateId kTurns[] = {GateId::kRx, GateId::kRy, GateId::kRz, GateId::kP};
        c.add_gate(kTurns[random.below(4)], std::span(q.data(), 1), turns);
        break;
      }
      default:
        c.add_gate(kOne[random.below(std::size(kOne))], {q[1]});
    }
  }
  return c;
}

TEST(Absorb, expectations_are_those_of_the_whole_circuit) {
  std::size_t absorbed = 0, actions = 0;
  for_each_random(1, 200, [&](std::uint64_t, Random& random) {
    const auto n = static_cast<std::uint32_t>(2 + random.below(5));
    const Circuit c = ends_with_cliffords(random, n, 4, 14);
    const std::vector<double> values = random.angles(4);
    const PauliSum observable = random_observable(random, n, 6);
    const Actions whole = lower(c);
    const Observed o =
        absorb_last_cliffords(whole, make_strings({observable}, whole.wire_of_qubit));
    absorbed += whole.actions.size() - o.actions.actions.size();
    actions += whole.actions.size();
    Program program{make_passes(o.actions, 0, static_cast<int>(n),
                                std::vector<bool>(o.actions.angles.size(), true)),
                    {}};
    program.sweeps = make_sweeps(o.strings, program.passes);
    parametric::Run<double> moved(program, o.actions, 1);
    moved.bind(values.data(), 1, values.size());
    moved.forward();
    const auto lanes = static_cast<std::size_t>(moved.num_lanes());
    std::vector<double> of_string(o.strings.strings.size() * lanes);
    moved.read_strings(of_string);
    double value = 0;
    for (const Strings::Share& share : o.strings.shares)
      value += share.coefficient * of_string[share.string * lanes];
    ASSERT_NEAR(value, static_cast<double>(slow(c, values, observable).value), 1e-12);
  });
  EXPECT_GT(absorbed, actions / 3);
}

// Beyond 2^53 quarter turns every number is a whole one of them, and long before that many are nearly.
TEST(Absorb, large_angles_are_no_quarter_turns) {
  const double quarter = std::numbers::pi / 2;
  for (const auto& [angle, absorbed] : {std::pair{1e17, false},
                                        {-1e300, false},
                                        {1e10 * quarter + 4e-6, false},
                                        {quarter + 1e-14, false},
                                        {-3 * quarter, true},
                                        {400 * quarter, true}}) {
    for (const GateId gate : {GateId::kRy, GateId::kP}) {
      Circuit c(2);
      c.add_gate(GateId::kRy, {0}, {0.3});
      c.add_gate(gate, {0}, {angle});
      const Observed o = absorb_last_cliffords(lower(c), {});
      EXPECT_EQ(o.actions.actions.size(), absorbed ? 1u : 2u) << angle;
    }
  }
}

// CX gates behind the last rotations, and tiles so small that they would be passes.
TEST(Absorb, functions_need_fewer_passes_and_give_the_same) {
  constexpr std::uint32_t kQubits = 11, kLayers = 2;
  Circuit c(kQubits);
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    for (Qubit q = 0; q < kQubits; ++q) {
      for (const GateId gate : {GateId::kRz, GateId::kRy}) add_parametrised_gate(c, gate, q);
    }
    for (Qubit q = 0; q + 1 < kQubits; ++q) c.add_gate(GateId::kCx, {q, q + 1});
  }
  const std::size_t p = c.parameters().size();
  Random random(7);
  const std::vector<double> values = random.angles(p);
  PauliSum observable;
  for (int q = 0; q < static_cast<int>(kQubits); ++q) {
    observable.push_back({0.5 + q, 0, bit(q)});
    observable.push_back({random.real(), bit(q), q % 3 ? 0 : bit(q)});
  }
  const Slow want = slow(c, values, observable);
  for (const auto precision : {Precision::kDouble, Precision::kSingle}) {
    const double tolerance = precision == Precision::kDouble ? 1e-12 : 1e-4;
    const Function f(c, {observable}, {precision, 1, 3});
    EXPECT_NE(f.explain().find(" Clifford actions at the end act on the observables"),
              std::string::npos)
        << f.explain();
    const double one = 1;
    double value = 0;
    std::vector<double> gradient(p);
    f.vjp({values.data(), 1}, &one, &value, gradient.data());
    EXPECT_NEAR(value, static_cast<double>(want.value), 50 * tolerance);
    for (std::size_t k = 0; k < p; ++k)
      EXPECT_NEAR(gradient[k], static_cast<double>(want.gradient[k]), 50 * tolerance) << k;
    f.expectations({values.data(), 1}, &value);
    EXPECT_NEAR(value, static_cast<double>(want.value), 50 * tolerance);

    // the states are those of the whole circuit
    const BigState psi = run(c.bind(values));
    std::vector<std::complex<double>> state(psi.size());
    f.states({values.data(), 1}, state.data());
    for (std::size_t x = 0; x < psi.size(); ++x)
      ASSERT_NEAR(std::abs(state[x] - std::complex<double>(psi[x])), 0, tolerance) << x;
    // and the metric does not depend on the gates at the end
    std::vector<double> metric(p * p);
    f.metric_tensor({values.data(), 1}, metric.data());
    const auto slow_metric_of_all = slow_metric(c, values, zero_state(kQubits));
    for (std::size_t k = 0; k < metric.size(); ++k)
      ASSERT_NEAR(metric[k], static_cast<double>(slow_metric_of_all[k]), 10 * tolerance) << k;
  }
}

// Five strongly entangling layers of 30 qubits, planned for a CUDA device, and an Ising chain's sum.
TEST(Absorb, large_states_move_less) {
  constexpr std::uint32_t kQubits = 30;
  Circuit c(kQubits);
  for (std::uint32_t layer = 0; layer < 5; ++layer) {
    for (Qubit q = 0; q < kQubits; ++q) {
      for (const GateId gate : {GateId::kRz, GateId::kRy, GateId::kRz})
        add_parametrised_gate(c, gate, q);
    }
    for (Qubit q = 0; q < kQubits; ++q) c.add_gate(GateId::kCx, {q, (q + layer + 1) % kQubits});
  }
  PauliSum sum;
  for (int q = 0; q < 30; ++q) {
    sum.push_back({1, bit(q), 0});
    if (q) sum.push_back({1, 0, bit(q) | bit(q - 1)});
  }
  const Actions actions = lower(c);
  const auto plan = [&](const Actions& of, const Strings& strings) {
    Program program{make_passes(of, 0, kDeviceRowBits, std::vector<bool>(of.angles.size(), true),
                                {.most_cost = kMostDeviceCost}),
                    {}};
    program.sweeps = make_sweeps(strings, program.passes, kKeptLowWires);
    return states_moved(program);
  };
  const Strings strings = make_strings({sum}, actions.wire_of_qubit);
  const Observed o = absorb_last_cliffords(actions, strings);
  EXPECT_EQ(o.actions.actions.size(), actions.actions.size() - kQubits);
  EXPECT_LE(plan(actions, strings), 59.1);
  EXPECT_LE(plan(o.actions, o.strings), 51.6);
}

}  // namespace
}  // namespace tilewave::parametric
