// Whole runs against what can be worked out by hand, and against themselves: the same seed gives
// the same counts for any number of threads and any memory for snapshots.
#include "tilewave/simulate/simulate.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tilewave/base/philox.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/simulate/branches.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/runs_test.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::simulate {
namespace {

Result run(const std::string& body, std::uint64_t shots, std::uint64_t seed = 1,
           int num_threads = 0) {
  Options options = shots_of(shots, seed);
  options.num_threads = num_threads;
  return simulate(qasm(body), options);
}

// How many shots have a 1 at this place of their keys.
double ones_at(const Counts& counts, std::size_t place) {
  double ones = 0;
  for (const auto& [key, count] : counts)
    ones += key[place] == '1' ? static_cast<double>(count) : 0;
  return ones;
}

constexpr const char* kTeleport =
    "qreg q[3]; creg a[1]; creg b[1]; creg out[1]; ry(0.8) q[0]; h q[1]; cx q[1],q[2]; cx "
    "q[0],q[1];"
    "h q[0]; measure q[0]->a[0]; measure q[1]->b[0]; if(b==1) x q[2]; if(a==1) z q[2];"
    "measure q[2]->out[0];";

// Where passes get small tiles: X that waits for the end of the circuit must stay with them.
TEST(Simulate, shots_of_large_registers_have_the_marginals_of_the_state) {
  for (const auto precision : {statevec::Precision::kDouble, statevec::Precision::kSingle}) {
    Options options = shots_of(1000, 1);
    options.precision = precision;
    options.probabilities = true;
    const Result r = simulate(qasm("qreg q[22]; ry(2) q[10]; ry(2) q[0];"), options);
    const double p = std::sin(1.0) * std::sin(1.0);
    EXPECT_NEAR(ones_at(r.counts, 21 - 10) / 1000, p, 6 * std::sqrt(p * (1 - p) / 1000));
    EXPECT_NEAR(r.probabilities[10], p, 1e-6);
    EXPECT_GT(r.shot_deviation, 0);
    EXPECT_LT(r.shot_deviation, 6);
  }
}

// Every qubit is measured as soon as its value is known, and the phases after it are conditioned:
// each measurement halves what is left of the state, so that 14 qubits take a second and not
// minutes.
TEST(Branches, a_fourier_transform_that_measures_as_it_goes_has_the_same_distribution) {
  constexpr int kWidth = 14;
  std::string gates, dynamic, fixed;
  for (int q = 0; q < kWidth; ++q) {
    gates += "ry(" + std::to_string(0.3 + 0.17 * q) + ") q[" + std::to_string(q) + "];";
    if (q > 0) gates += "cx q[" + std::to_string(q - 1) + "],q[" + std::to_string(q) + "];";
  }
  std::string registers = "qreg q[14];";
  for (int i = kWidth; i-- > 0;) {
    const std::string at = std::to_string(i);
    registers += "creg c" + at + "[1];";
    dynamic += "h q[" + at + "]; measure q[" + at + "]->c" + at + "[0];";
    fixed += "h q[" + at + "];";
    for (int j = 0; j < i; ++j) {
      const std::string angle = "(pi/" + std::to_string(1 << (i - j)) + ") ";
      const std::string to = "q[" + std::to_string(j) + "];";
      dynamic += "if(c" + at + "==1) u1" + angle + to;
      fixed += "cu1" + angle + "q[" + at + "]," + to;
    }
  }
  Options ask;
  ask.probabilities = true;
  const Result right = simulate(qasm("qreg q[14];" + gates + fixed), ask);
  constexpr std::uint64_t kShots = 4000;
  const Result r = run(registers + gates + dynamic, kShots, 5);
  EXPECT_GT(r.num_branches, 100u);
  for (std::size_t q = 0; q < kWidth; ++q) {  // c0 was declared last: leftmost
    const double p = right.probabilities[q];
    EXPECT_NEAR(ones_at(r.counts, 2 * q) / kShots, p, 6 * std::sqrt(p * (1 - p) / kShots) + 1e-3)
        << "qubit " << q;
  }
}

TEST(Simulate, BellPairAgrees) {
  const Result r = run("qreg q[2]; creg c[2]; h q[0]; cx q[0],q[1]; measure q->c;", 10000);
  EXPECT_EQ(r.counts.size(), 2u);
  expect_share(r.counts, "00", 0.5);
  expect_share(r.counts, "11", 0.5);
}

TEST(Simulate, KeysFollowRegisters) {
  EXPECT_EQ(run("qreg q[3]; creg a[2]; creg b[1]; x q[0]; measure q[0]->a[0]; measure q[1]->a[1];"
                "measure q[2]->b[0];",
                5)
                .counts,
            (Counts{{"0 01", 5}}));
  EXPECT_EQ(run("qreg q[3]; x q[0];", 5).counts, (Counts{{"001", 5}}));
  EXPECT_EQ(run("qreg q[2]; creg c[3]; x q[1]; measure q[1]->c[0];", 5).counts,
            (Counts{{"001", 5}}));
}

TEST(Simulate, AnswersEveryQuestion) {
  Options o;
  o.amplitudes = {{0, 4}};
  o.probabilities = true;
  o.probability_qubits = {1, 0};
  o.observables = {{0.5, 0b11, 0b00}, {2.0, 0b00, 0b01}};  // 0.5 XX + 2 Z0
  const Result r = simulate(qasm("qreg q[2]; ry(0.6) q[0]; cx q[0],q[1];"), o);
  const double c = std::cos(0.3), s = std::sin(0.3);
  ASSERT_EQ(r.amplitudes.size(), 4u);
  EXPECT_NEAR(r.amplitudes[0].value.real(), c, 1e-14);
  EXPECT_NEAR(r.amplitudes[3].value.real(), s, 1e-14);
  EXPECT_NEAR(std::abs(r.amplitudes[1].value), 0, 1e-14);
  ASSERT_EQ(r.probabilities.size(), 2u);
  EXPECT_NEAR(r.probabilities[0], s * s, 1e-14);
  ASSERT_EQ(r.joint_probabilities.size(), 4u);
  EXPECT_NEAR(r.joint_probabilities[0], c * c, 1e-14);
  EXPECT_NEAR(r.joint_probabilities[3], s * s, 1e-14);
  ASSERT_EQ(r.expectations.size(), 2u);
  EXPECT_NEAR(r.expectations[0], 0.5 * 2 * c * s, 1e-14);
  EXPECT_NEAR(r.expectations[1], 2 * (c * c - s * s), 1e-14);
  EXPECT_NEAR(r.expectation_sum, r.expectations[0] + r.expectations[1], 1e-15);
  EXPECT_NEAR(r.norm, 1, 1e-14);
  EXPECT_TRUE(r.counts.empty());
}

TEST(Branches, TeleportationCostsFour) {
  const Result r = run(kTeleport, 100000);
  EXPECT_EQ(r.num_branches, 4u);
  const double p = std::pow(std::sin(0.4), 2);
  EXPECT_NEAR(ones_at(r.counts, 0), 100000 * p, 6 * std::sqrt(100000 * p * (1 - p)));
}

TEST(Branches, CoinsInARowStayBounded) {
  std::string body = "qreg q[1]; creg c[30];";
  for (int k = 0; k < 30; ++k) body += "h q[0]; measure q[0]->c[" + std::to_string(k) + "];";
  const Result r = run(body, 10000);
  EXPECT_EQ(total(r.counts), 10000u);
  EXPECT_GT(r.counts.size(), 9900u);
  EXPECT_LE(r.num_branches, 10000u);
  for (std::size_t bit = 0; bit < 30; ++bit) EXPECT_NEAR(ones_at(r.counts, bit), 5000, 300) << bit;
}

TEST(Branches, ResetForgets) {
  const Result r =
      run("qreg q[2]; creg c[2]; h q[0]; cx q[0],q[1]; reset q[0]; measure q->c;", 10000);
  expect_share(r.counts, "00", 0.5);
  expect_share(r.counts, "10", 0.5);
  EXPECT_EQ(r.counts.size(), 2u);
}

TEST(Branches, ConditionsReadWholeRegisters) {
  EXPECT_EQ(run("qreg q[3]; creg c[2]; creg d[1]; x q[0]; x q[1]; measure q[0]->c[0];"
                "measure q[1]->c[1]; if(c==3) x q[2]; if(c==1) x q[2]; measure q[2]->d[0];",
                7)
                .counts,
            (Counts{{"1 11", 7}}));
  EXPECT_EQ(run("qreg q[2]; creg c[1]; creg d[1]; x q[0]; measure q[0]->c[0]; x q[0];"
                "if(c==1) measure q[0]->c[0]; if(c==1) x q[1]; measure q[1]->d[0];",
                7)
                .counts,
            (Counts{{"0 0", 7}}));
}

TEST(Branches, RepeatedMeasurementAgrees) {
  const Result r =
      run("qreg q[1]; creg c[3]; h q[0]; measure q[0]->c[0]; measure q[0]->c[1];"
          "x q[0]; measure q[0]->c[2];",
          1000);
  EXPECT_EQ(r.counts.size(), 2u);
  expect_share(r.counts, "011", 0.5);
  expect_share(r.counts, "100", 0.5);
}

TEST(Branches, AveragesOverShots) {
  Options o = shots_of(20000, 4);
  o.probabilities = true;
  o.observables = {{1.0, 0, 0b10}};
  const Result r =
      simulate(qasm("qreg q[2]; creg c[1]; ry(1.0) q[0]; measure q[0]->c[0]; if(c==1) x q[1];"), o);
  const double p = std::pow(std::sin(0.5), 2);
  EXPECT_NEAR(r.probabilities[1], p, 0.03);
  EXPECT_NEAR(r.expectations[0], 1 - 2 * r.probabilities[1], 1e-12);
  EXPECT_NEAR(r.norm, 1, 1e-12);
}

// A random circuit with measurements, resets and conditions everywhere.
std::string random_dynamic(std::uint64_t seed, int num_qubits, int num_steps) {
  std::string body = "qreg q[" + std::to_string(num_qubits) + "]; creg c[4]; creg d[3];";
  for (int k = 0; k < num_steps; ++k) {
    const auto draw = [&](std::uint64_t j, int below) {
      return static_cast<int>(random_bits(seed, static_cast<std::uint64_t>(k), j) %
                              static_cast<std::uint64_t>(below));
    };
    const std::string a = "q[" + std::to_string(draw(0, num_qubits)) + "]";
    const std::string b =
        "q[" + std::to_string((draw(0, num_qubits) + 1 + draw(1, num_qubits - 1)) % num_qubits) +
        "]";
    if (draw(2, 4) == 0)
      body +=
          "if(" + std::string(draw(3, 2) ? "c" : "d") + "==" + std::to_string(draw(4, 4)) + ") ";
    const std::string steps[] = {"h " + a,
                                 "u3(0.3,1.1,-0.4) " + a,
                                 "cx " + a + "," + b,
                                 "cu1(0.7) " + a + "," + b,
                                 "reset " + a,
                                 "ry(0.9) " + a,
                                 "measure " + a + "->c[" + std::to_string(draw(6, 4)) + "]",
                                 "measure " + a + "->d[" + std::to_string(draw(6, 3)) + "]"};
    body += steps[draw(5, 8)] + ";";
  }
  return body;
}

TEST(Branches, SameCountsForAnyThreads) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    const std::string body = random_dynamic(seed, 5, 60);
    const Counts one = run(body, 100, seed, 1).counts;
    EXPECT_EQ(one, run(body, 100, seed, 2).counts) << "seed " << seed;
    EXPECT_EQ(one, run(body, 100, seed, 7).counts) << "seed " << seed;
    EXPECT_NE(one, run(body, 100, seed + 100, 1).counts) << "seed " << seed;
  }
}

// The exact distribution over the classical bits (c and d as in random_dynamic): every operation of
// the circuit as written, every outcome followed, on dense vectors.
void enumerate(const circuit::Circuit& c, std::size_t at, std::uint64_t bits,
               statevec::testing::Amplitudes a, std::map<std::uint64_t, double>& out) {
  for (; at < c.ops().size(); ++at) {
    const auto& op = c.ops()[at];
    if (op.condition >= 0) {
      const auto& condition = c.conditions()[static_cast<std::size_t>(op.condition)];
      const std::uint64_t value = bits >> condition.first & ((1u << condition.size) - 1);
      if (value != (condition.value.empty() ? 0 : condition.value[0])) continue;
    }
    if (op.kind == circuit::OpKind::kGate) {
      statevec::testing::apply_op(a, c, op);
      continue;
    }
    if (op.kind == circuit::OpKind::kBarrier) continue;
    const std::uint64_t mask = std::uint64_t{1} << c.targets(op)[0];
    for (const bool outcome : {false, true}) {
      statevec::testing::Amplitudes b(a.size());
      double p = 0;
      for (std::uint64_t x = 0; x < a.size(); ++x) {
        if (((x & mask) != 0) != outcome) continue;
        p += std::norm(a[x]);
        b[op.kind == circuit::OpKind::kReset ? x & ~mask : x] = a[x];
      }
      if (p < 1e-13) continue;
      std::uint64_t after = bits;
      if (op.kind == circuit::OpKind::kMeasure) {
        after =
            outcome ? bits | std::uint64_t{1} << op.clbit : bits & ~(std::uint64_t{1} << op.clbit);
      }
      enumerate(c, at + 1, after, std::move(b), out);  // not rescaled: weights stay in the norm
    }
    return;
  }
  for (const auto& amplitude : a) out[bits] += std::norm(amplitude);
}

TEST(Branches, CountsFollowTheExactDistribution) {
  for (std::uint64_t seed = 30; seed < 50; ++seed) {
    const std::string body =
        random_dynamic(seed, 3, 30) + "measure q[0]->c[0]; measure q[1]->d[1];";
    const auto c = qasm(body);
    statevec::testing::Amplitudes zero(8);
    zero[0] = 1;
    std::map<std::uint64_t, double> exact;
    enumerate(c, 0, 0, zero, exact);
    const Result r = run(body, 4000, seed, 1);
    for (const auto& [bits, p] : exact) {
      std::string key;
      for (int k = 6; k >= 4; --k) key += bits >> k & 1 ? '1' : '0';
      key += ' ';
      for (int k = 3; k >= 0; --k) key += bits >> k & 1 ? '1' : '0';
      SCOPED_TRACE("seed " + std::to_string(seed));
      expect_share(r.counts, key, std::min(p, 1.0));
    }
    for (const auto& [key, count] : r.counts) {
      std::uint64_t bits = 0;
      for (const char digit : key) {
        if (digit != ' ') bits = 2 * bits + static_cast<std::uint64_t>(digit - '0');
      }
      EXPECT_TRUE(exact.count(bits)) << key << " cannot happen, seed " << seed;
    }
  }
}

Counts counts_with(const Program& program, std::uint64_t shots, std::uint64_t seed,
                   std::uint64_t max_states) {
  auto state =
      make_state(program.circuit->num_qubits(), statevec::Precision::kDouble, 1, DeviceSet::cpu());
  Result result;
  Counter counter(program);
  run_branches(program, state, {shots, seed, max_states}, {}, result, [&](const Leaf& leaf) {
    std::vector<double> u;
    for (const auto shot : leaf.shots) u.push_back(leaf_draw(seed, shot));
    std::sort(u.begin(), u.end());
    for (const auto x : leaf.state.sample_sorted(u)) {
      Bits bits = leaf.bits;
      for (const auto& d : program.deferred) set_bit(bits, d.clbit, d.is_one(x));
      counter.add(bits, 1);
    }
  });
  return counter.take();
}

TEST(Branches, ReplayingGivesWhatSnapshotsGive) {
  for (const int num_qubits : {4, 13}) {  // snapshots as arrays, and as states
    for (std::uint64_t seed = 10; seed < 13; ++seed) {
      const auto c = qasm(random_dynamic(seed, num_qubits, 50));
      const Program program = prepare(c);
      const Counts many = counts_with(program, 60, seed, 1000);
      EXPECT_EQ(many, counts_with(program, 60, seed, 1)) << "seed " << seed;
      EXPECT_EQ(many, counts_with(program, 60, seed, 3)) << "seed " << seed;
      EXPECT_EQ(total(many), 60u);
    }
  }
}

// One shot at a time never parts, so grouping must not change what a shot gets.
TEST(Branches, GroupingGivesWhatSingleShotsGive) {
  const auto c = qasm(random_dynamic(21, 5, 80));
  const Program program = prepare(c);
  ASSERT_TRUE(program.dynamic);
  const Counts first = counts_with(program, 1, 3, 10);
  const Counts grouped = counts_with(program, 400, 3, 10);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_TRUE(grouped.count(first.begin()->first));
  std::uint64_t sum = 0;
  for (std::uint64_t shots = 1; shots <= 12; ++shots) {
    const Counts now = counts_with(program, shots, 3, 10);
    EXPECT_EQ(total(now), shots);
    for (const auto& [key, count] : counts_with(program, shots - 1 ? shots - 1 : 1, 3, 10)) {
      const auto found = now.find(key);
      ASSERT_TRUE(found != now.end());
      EXPECT_GE(found->second, shots > 1 ? count : 1);  // more shots only add
      sum += count;
    }
  }
  EXPECT_GT(sum, 0u);
}

TEST(Refuses, WhatDoesNotFitBeforeAllocating) {
  Options o;
  o.engine = Engine::kStatevector;  // the counts of no shots would need no state
  expect_error([&] { simulate(qasm("qreg q[40]; h q;"), o); }, "16.0 TiB", ExitCode::kResources);
  expect_error([&] { simulate(qasm("qreg q[400]; h q;"), o); }, "cannot place 400 qubits",
               ExitCode::kResources);
  // single precision is advised where it helps
  const std::uint64_t gib = std::uint64_t{1} << 30;
  expect_error([&] { check_memory(30, statevec::Precision::kDouble, 1, 12 * gib); },
               "use --precision single (8.0", ExitCode::kResources);
  expect_error([&] { check_memory(32, statevec::Precision::kDouble, 1, 12 * gib); },
               "use at most 29 qubits (one more with --precision single)", ExitCode::kResources);
  expect_error([] { check_memory(10, statevec::Precision::kSingle, 1, 100); }, "available",
               ExitCode::kResources);
}

TEST(Refuses, QuestionsWithoutAnAnswer) {
  Options o;
  o.amplitudes = {{4, 1}};
  expect_error([&] { simulate(qasm("qreg q[2];"), o); }, "indices 0 to 3", ExitCode::kUsage);
  o.amplitudes = {{~std::uint64_t{0}, 2}};
  expect_error([&] { simulate(qasm("qreg q[2];"), o); }, "indices 0 to 3", ExitCode::kUsage);
  o.amplitudes.clear();
  o.probabilities = true;
  o.probability_qubits = {2};
  expect_error([&] { simulate(qasm("qreg q[2];"), o); }, "qubit 2", ExitCode::kUsage);
  o = {};
  o.amplitudes = {{0, 1}};
  o.shots = 2;
  expect_error([&] { simulate(qasm(kTeleport), o); }, "--shots 1", ExitCode::kUsage);
  o = {};
  expect_error([&] { simulate(qasm(kTeleport), o); }, "--shots N", ExitCode::kUsage);
  o.device = DeviceSet::cpu_and_cuda({0});
  expect_error([&] { simulate(qasm("qreg q[2];"), o); }, "only rasters and maps", ExitCode::kUsage);
}

// Measurements, resets and conditions in the middle: the ranks of a state change no shot and no
// answer, with memory for snapshots and without.
TEST(Simulate, any_number_of_ranks_gives_the_same_counts) {
  const std::string body =
      "qreg q[6]; creg c[6]; h q; cx q[0],q[5]; cu1(0.4) q[4],q[1]; rx(0.7) q[5]; measure q[5] -> "
      "c[0]; if(c==1) ry(0.3) q[1]; cx q[5],q[0]; h q[4]; reset q[4]; ry(1.1) q[4]; cx q[4],q[5]; "
      "measure q[0] -> c[1]; if(c==3) x q[3]; h q[3]; h q[5]; measure q -> c;";
  for (const std::uint64_t shots : {1u, 2000u}) {
    Options options = shots_of(shots, 5);
    options.probabilities = true;
    const Result one = simulate(qasm(body), options);
    for (const int ranks : {2, 4, 8}) {
      options.distribution.num_logical_ranks = ranks;
      const Result many = simulate(qasm(body), options);
      EXPECT_EQ(one.counts, many.counts) << ranks;
      EXPECT_EQ(one.num_branches, many.num_branches);
      for (std::size_t q = 0; q < one.probabilities.size(); ++q)
        EXPECT_NEAR(one.probabilities[q], many.probabilities[q], 1e-12);
    }
  }
}

TEST(DryRun, PlansWithoutAState) {
  Options o;
  o.dry_run = true;
  const Result r = simulate(qasm("qreg q[40]; h q; cx q[0],q[39];"), o);
  EXPECT_GT(r.plan.passes, 0u);
  EXPECT_GT(r.memory_bytes, std::uint64_t{1} << 44);
  EXPECT_FALSE(r.plan.text.empty());
}

TEST(Simulate, ranks_need_a_power_of_two) {
  Options options;
  options.distribution.num_logical_ranks = 6;
  expect_error([&] { simulate(qasm("qreg q[5]; h q;"), options); }, "power of two",
               ExitCode::kUsage);
}

}  // namespace
}  // namespace tilewave::simulate
