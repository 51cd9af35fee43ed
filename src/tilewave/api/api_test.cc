// The public C++ API: what each call answers, and how it refuses.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "tilewave/base/thrown_test.h"
#include "tilewave/tilewave.h"

namespace tilewave {
namespace {

Circuit layers(std::uint32_t n) {
  Circuit c(n);
  for (std::uint32_t k = 0; k < 4; ++k) {
    for (Qubit q = 0; q < n; ++q) c.ry(0.3 * q + k, q);
    for (Qubit q = 0; q + 1 < n; ++q) c.cx(q, q + 1);
  }
  return c;
}

TEST(Api, a_bell_pair) {
  Session session({.device = "cpu"});
  Executable bell = session.compile(Circuit(2).h(0).cx(0, 1));
  const auto state = bell.statevector();
  ASSERT_EQ(state.size(), 4u);
  EXPECT_NEAR(std::abs(state[0] - std::sqrt(.5)), 0, 1e-15);
  EXPECT_NEAR(std::abs(state[3] - std::sqrt(.5)), 0, 1e-15);
  Questions asked;
  asked.shots = 1000;
  asked.seed = 5;
  asked.probabilities = true;
  asked.joint = {1, 0};
  asked.amplitudes = {3};
  asked.observable = "2 ZZ + 0.5 XX + Z0";
  const Result r = bell.run(asked);
  EXPECT_EQ(r.counts.at("00") + r.counts.at("11"), 1000u);
  EXPECT_NEAR(r.joint_probabilities[3], .5, 1e-15);
  EXPECT_NEAR(std::abs(r.amplitudes.at(0).second - std::sqrt(.5)), 0, 1e-15);
  EXPECT_NEAR(r.expectation, 2.5, 1e-14);
  EXPECT_NEAR(r.norm, 1, 1e-14);
  EXPECT_EQ(r.seed, 5u);
  EXPECT_EQ(bell.run(asked).counts, r.counts);
}

TEST(Api, what_is_explained_is_what_runs) {
  for (const auto precision : {Precision::kDouble, Precision::kSingle}) {
    Session session({.device = "cpu", .precision = precision});
    for (const std::uint32_t n : {3u, 14u, 20u}) {
      for (const Effort effort : {Effort::kAuto, Effort::kOnce, Effort::kRepeated}) {
        Executable executable = session.compile(layers(n), effort);
        const std::string plan = executable.explain();
        Questions asked;
        asked.amplitudes = {0};
        asked.explain = true;
        for (int k = 0; k < 2; ++k) EXPECT_EQ(executable.run(asked).plan_text, plan) << n;
      }
    }
  }
}

TEST(Api, a_circuit_that_comes_again_is_searched_for_once) {
  Session session({.device = "cpu"});
  const Circuit circuit = layers(20);
  const Result first = session.run(circuit), second = session.run(circuit);
  EXPECT_EQ(first.effort, Effort::kOnce);
  EXPECT_EQ(second.effort, Effort::kRepeated);
  EXPECT_LE(second.passes, first.passes);
  EXPECT_EQ(session.compile(layers(19)).run().effort, Effort::kRepeated);
  session.clear();
  EXPECT_EQ(session.run(circuit).effort, Effort::kOnce);
}

TEST(Api, circuits_are_values) {
  Circuit a(1);
  const Circuit before = a;
  a.x(0);
  EXPECT_EQ(before.num_operations(), 0u);
  EXPECT_EQ(a.num_operations(), 1u);
  const Circuit read = Circuit::from_text("OPENQASM 3.0; qubit[3] q; bit[3] c; c = measure q;");
  EXPECT_EQ(read.num_qubits(), 3u);
  EXPECT_EQ(read.num_clbits(), 3u);
  Session session({.device = "cpu"});
  const Circuit gates = Circuit(3)
                            .gate("x", {0u})
                            .gate("x", std::vector<Qubit>{2}, {}, std::vector<Qubit>{0})
                            .matrix({0, 1, 1, 0}, {1}, {2});
  EXPECT_NEAR(std::abs(session.compile(gates).statevector()[7] - 1.0), 0, 1e-15);
}

TEST(Api, one_executable_serves_several_threads) {
  Session session({.device = "cpu", .threads = 1});
  Executable executable = session.compile(layers(10));
  Questions asked;
  asked.amplitudes = {17};
  const auto want = executable.run(asked).amplitudes;
  std::vector<std::thread> threads;
  std::vector<bool> same(4, false);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      bool all = true;
      for (int k = 0; k < 20; ++k) all &= executable.run(asked).amplitudes == want;
      static std::mutex mutex;
      const std::scoped_lock lock(mutex);
      same[static_cast<std::size_t>(t)] = all;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, std::vector<bool>(4, true));
}

TEST(Api, shots_are_those_of_their_seed) {
  const std::string code =
      "X_ERROR(0.1) 0 1\nM 0 1\nDETECTOR rec[-1] rec[-2]\nOBSERVABLE_INCLUDE(0) rec[-1]";
  SamplerOptions options;
  options.seed = 3;
  Sampler whole(code, options), parts(code, options);
  EXPECT_EQ(whole.num_bits(), 2u);
  EXPECT_EQ(whole.num_detectors(), 1u);
  EXPECT_EQ(whole.num_observables(), 1u);
  const ShotTable all = whole.sample(5000);
  ShotTable some = parts.sample(1234);
  const ShotTable rest = parts.sample(5000 - 1234);
  some.bytes.insert(some.bytes.end(), rest.bytes.begin(), rest.bytes.end());
  EXPECT_EQ(some.bytes, all.bytes);
  double events = 0;
  for (std::uint64_t s = 0; s < 5000; ++s) events += all.bit(s, 0);
  EXPECT_NEAR(events / 5000, 0.18, 0.025);  // 2 p (1 - p)
  // Post-selection counts among the same shots.
  Sampler counter(code, options);
  const KeptShots kept = counter.count_kept(5000);
  std::uint64_t flipped = 0;
  for (std::uint64_t s = 0; s < 5000; ++s) flipped += !all.bit(s, 0) && all.bit(s, 1);
  EXPECT_EQ(kept.attempted, 5000u);
  EXPECT_EQ(kept.kept, 5000 - static_cast<std::uint64_t>(events));
  EXPECT_EQ(kept.observables, std::vector<std::uint64_t>{flipped});
  EXPECT_EQ(counter.count_kept(10, "0").attempted, 10u);
  expect_error([&] { counter.count_kept(10, "1"); }, "no detector 1");
  options.content = ShotContent::kMeasurements;
  expect_error([&] { Sampler(code, options).count_kept(1); }, "detectors");
  EXPECT_EQ(detector_error_model("X_ERROR(0.25) 0\nM 0\nDETECTOR rec[-1]"), "error(0.25) D0\n");
  EXPECT_EQ(convert_circuit("T 0\nM 0\n", "tsim"), "S[T] 0\nM 0\n");
  EXPECT_THROW(convert_circuit("T 0\nM 0\n", "stim"), Error);
  EXPECT_THROW(convert_circuit("M 0\n", "qiskit"), Error);
}

TEST(Api, shots_with_a_given_number_of_faults) {
  SamplerOptions options;
  options.content = ShotContent::kMeasurements;
  options.seed = 3;
  options.faults = "2";
  const char* const code = "X_ERROR(0.1) 0 1 2\nX_ERROR(0.3) 3\nM 0 1 2 3";
  Sampler two(code, options);
  EXPECT_NEAR(two.weight(), 3 * 0.01 * 0.9 * 0.7 + 3 * 0.1 * 0.81 * 0.3, 1e-14);
  const ShotTable shots = two.sample(1000);
  for (std::uint64_t s = 0; s < 1000; ++s)
    EXPECT_EQ(shots.bit(s, 0) + shots.bit(s, 1) + shots.bit(s, 2) + shots.bit(s, 3), 2);
  options.faults = "5";
  expect_error([&] { Sampler(code, options); }, "4 places");
  options.faults = "some";
  expect_error([&] { Sampler(code, options); }, "'some' is no number");
  options.faults = "";
  EXPECT_EQ(Sampler(code, options).weight(), 1);
}

// Five bits, two checks: kept and wrong shots in closed form, by the 2^5 errors.
TEST(Api, strata_of_numbers_of_faults) {
  const char* const code =
      "X_ERROR(0.02) 0 1 2 3 4\nM 0 1 2 3 4\nDETECTOR rec[-1] rec[-2]\nDETECTOR rec[-4] rec[-5]\n"
      "OBSERVABLE_INCLUDE(0) rec[-1]\nOBSERVABLE_INCLUDE(1) rec[-3]";
  double kept = 0, wrong[2] = {0, 0}, any = 0;
  std::vector<double> chances(6);
  for (unsigned e = 0; e < 32; ++e) {
    const double p = std::pow(0.02, std::popcount(e)) * std::pow(0.98, 5 - std::popcount(e));
    chances[static_cast<std::size_t>(std::popcount(e))] += p;
    if ((e & 3) == 1 || (e & 3) == 2 || (e & 24) == 8 || (e & 24) == 16) continue;
    kept += p;
    wrong[0] += e & 16 ? p : 0, wrong[1] += e & 4 ? p : 0, any += e & 20 ? p : 0;
  }
  const std::vector<double> found = fault_probabilities(code, 6);
  ASSERT_EQ(found.size(), 7u);
  for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(found[k] / chances[k], 1, 1e-12);
  EXPECT_EQ(found[6], 0);
  StrataOptions options;
  options.num_shots = 200'000;
  options.strata = "1-3";
  options.silent = "all";
  options.fault_distance = 1;
  options.confidence = 0.9999;
  options.seed = 5;
  const StrataTable table = sample_strata(code, options);
  ASSERT_EQ(table.strata.size(), 5u);
  EXPECT_EQ(table.strata[0].faults, "0");
  EXPECT_EQ(table.strata[4].faults, "4+");
  EXPECT_NEAR(table.strata[2].weight / chances[2], 1, 1e-12);
  EXPECT_EQ(table.attempted, 200'000u);
  EXPECT_EQ(table.seed, 5u);
  const auto covers = [](const Estimate& e, double truth) {
    EXPECT_LT(e.high - e.low, 0.5 * truth);
    return e.low <= truth && truth <= e.high;
  };
  EXPECT_TRUE(covers(table.kept, kept));
  ASSERT_EQ(table.observables.size(), 2u);
  EXPECT_TRUE(covers(table.observables[0], wrong[0] / kept));
  EXPECT_TRUE(covers(table.observables[1], wrong[1] / kept));
  EXPECT_TRUE(covers(table.any_observable, any / kept));
  options.threads = 1;
  const StrataTable again = sample_strata(code, options);
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(again.strata[k].attempted, table.strata[k].attempted);
    EXPECT_EQ(again.strata[k].kept, table.strata[k].kept);
    EXPECT_EQ(again.strata[k].observables, table.strata[k].observables);
    EXPECT_EQ(again.strata[k].any_observable, table.strata[k].any_observable);
  }
  const auto problem = [&](const auto& change) {
    StrataOptions other = options;
    change(other);
    return error_of([&] { sample_strata(code, other); });
  };
  EXPECT_TRUE(has(problem([](StrataOptions& o) { o.num_shots = 10; }), "at least"));
  EXPECT_TRUE(has(problem([](StrataOptions& o) { o.strata = "1,1"; }), "in common"));
  EXPECT_TRUE(has(problem([](StrataOptions& o) { o.silent = "7"; }), "no detector 7"));
  EXPECT_TRUE(has(problem([](StrataOptions& o) { o.confidence = 1; }), "below 1"));
  EXPECT_TRUE(has(problem([](StrataOptions& o) { o.confidence = NAN; }), "below 1"));
  EXPECT_TRUE(has(problem([](StrataOptions& o) { o.fault_distance = 2; }), "fault distance"));
  EXPECT_TRUE(has(error_of([&] { sample_strata("LEAKAGE(0.1) 0", options); }), "leakage"));
  EXPECT_THROW(fault_probabilities(code, std::uint64_t{1} << 21), Error);
}

TEST(Api, rasters) {
  const std::vector<std::uint8_t> halves = {0, 0, 1, 1, 0, 0, 1, 1};
  LocalEntropyOptions options;
  options.window = 3;
  options.base = 2;
  const auto h = local_entropy(Image<std::uint8_t>{halves, 4, 2}, options);
  EXPECT_EQ(h[0], 0.0f);
  EXPECT_NEAR(h[1], -(4 / 6. * std::log2(4 / 6.) + 2 / 6. * std::log2(2 / 6.)), 1e-6);
  const std::vector<float> values = {1, 2, 3, 4};
  // 2^33 x 2^31 pixels are 2^64
  expect_error(
      [] {
        local_entropy(Image<std::uint8_t>{{}, std::int64_t{1} << 33, std::int64_t{1} << 31});
      },
      "0 values");
  EXPECT_EQ(map("v * 2 + iy", Image<float>{values, 2, 2}), (std::vector<float>{2, 4, 7, 9}));
}

TEST(Api, functions_of_parameters) {
  const auto theta = parameters("theta", 2);
  const Circuit circuit =
      Circuit(2).ry(theta[0], 0).cx(0, 1).gate("rx", {1u}, {2 * theta[1] - 0.5});
  EXPECT_EQ(circuit.parameters(), (std::vector<std::string>{"theta[0]", "theta[1]"}));
  const Function f(circuit, {"ZI", "0.5 IZ + XX"});
  const std::vector<double> values = {0.3, 0.7, 0, 3.14159265358979};
  const auto expectations = f.expectations(values);
  Session session({.device = "cpu"});
  for (std::size_t b = 0; b < 2; ++b) {
    const double a = values[2 * b], c = 2 * values[2 * b + 1] - 0.5;
    EXPECT_NEAR(expectations[2 * b], std::cos(a) * std::cos(c), 1e-14);
    EXPECT_NEAR(expectations[2 * b + 1], 0.5 * std::cos(a) + std::sin(a), 1e-14);
    Questions asked;
    asked.observable = "0.5 IZ + XX";
    const Circuit bound = circuit.bind({values[2 * b], values[2 * b + 1]});
    EXPECT_NEAR(session.run(bound, asked).expectation, expectations[2 * b + 1], 1e-13);
    const auto rows = f.jacobian(values);
    EXPECT_NEAR(rows[4 * b], -std::sin(a) * std::cos(c), 1e-14);
    EXPECT_NEAR(rows[4 * b + 1], -2 * std::cos(a) * std::sin(c), 1e-14);
    EXPECT_NEAR(rows[4 * b + 2], -0.5 * std::sin(a) + std::cos(a), 1e-14);
    EXPECT_NEAR(rows[4 * b + 3], 0, 1e-14);
    const auto [value, gradient] = f.value_and_gradient(values, {2, 1});
    Function::ValueAndGradient again = f.value_and_gradient({values.begin(), values.begin() + 2});
    f.value_and_gradient(values, {2, 1}, again);
    EXPECT_EQ(again.value, value);
    EXPECT_EQ(again.gradient, gradient);
    EXPECT_NEAR(value[b], 2 * expectations[2 * b] + expectations[2 * b + 1], 1e-13);
    EXPECT_NEAR(gradient[2 * b], 2 * rows[4 * b] + rows[4 * b + 2], 1e-13);
    const auto states = f.states(values);
    const auto expected = session.compile(bound).statevector();
    for (std::size_t x = 0; x < 4; ++x)
      EXPECT_NEAR(std::abs(states[4 * b + x] - expected[x]), 0, 1e-14);
  }
  EXPECT_EQ(f.sample(values, 5, 1), f.sample(values, 5, 1));
  const auto metric = f.metric_tensor(values);
  ASSERT_EQ(metric.size(), 8u);
  for (std::size_t b = 0; b < 2; ++b) {
    EXPECT_NEAR(metric[4 * b], 0.25, 1e-14);  // RY on |0>
    EXPECT_NEAR(metric[4 * b + 1], 0, 1e-14);
    EXPECT_NEAR(metric[4 * b + 2], 0, 1e-14);
    EXPECT_NEAR(metric[4 * b + 3], 1, 1e-14);  // the variance of X, of a mixed qubit
  }
  expect_error([&] { f.expectations({1, 2, 3}); }, "3 numbers are no rows of 2");
  expect_error([&] { f.vjp(values, {1}); }, "got 1 numbers, 4 are needed");
  EXPECT_EQ(error_of([&] {
              f.value_and_gradient(values, {1, std::nan("")});
            }),
            "weights: a number is not finite");
  EXPECT_TRUE(
      has(error_of([&] { session.run(circuit); }), "2 parameters ('theta[0]', ...) have no value"));
  expect_error([&] { Function(circuit, {"ZZ"}, {.device = "cpu+cuda:0"}); }, "not on 'cpu+cuda:0'");
  const Circuit program = Circuit::from_text(
      "OPENQASM 3.0; include \"stdgates.inc\"; input float t; qubit q; ry(2 * t) q;");
  EXPECT_NEAR(Function(program, {"Z"}).value_and_gradient({0.4}).gradient[0], -2 * std::sin(0.8),
              1e-14);
}

TEST(Api, a_run_goes_on_from_its_checkpoint) {
  const std::string folder = ::testing::TempDir() + "api_checkpoint", file = folder + ".npy";
  std::filesystem::remove_all(folder);
  const Circuit circuit = layers(16);
  Session session({.device = "cpu"});
  Questions asked;
  asked.shots = 200;
  asked.seed = 3;
  asked.probabilities = true;
  asked.checkpoint = asked.resume = folder;  // there is none yet: the run begins
  asked.checkpoint_every_s = 1e-9;
  asked.state_file = "/dev/full";  // all is computed, and then there is no room for the state
  expect_error([&] { session.run(circuit, asked); }, "/dev/full");
  EXPECT_TRUE(std::filesystem::exists(folder + "/checkpoint"));
  asked.checkpoint.clear();
  asked.state_file = folder + "/../api_checkpoint/checkpoint";
  expect_error([&] { session.run(circuit, asked); }, "have this name");
  asked.state_file = file;
  const Result resumed = session.run(circuit, asked);
  Questions other = asked;
  other.shots = 201;
  expect_error([&] { session.run(circuit, other); }, "another number of shots");
  other = asked;
  other.resume.clear();
  other.checkpoint = folder;
  expect_error([&] { session.run(circuit, other); }, "earlier run");
  asked.checkpoint = folder;
  const Result last = session.run(circuit, asked);
  EXPECT_FALSE(std::filesystem::exists(folder + "/checkpoint"));  // the answer is there
  asked.checkpoint = asked.resume = "";
  const Result whole = session.run(circuit, asked);
  for (const Result* r : {&resumed, &last}) {
    EXPECT_EQ(r->counts, whole.counts);
    ASSERT_EQ(r->probabilities.size(), 16u);
    for (std::size_t q = 0; q < 16; ++q)
      EXPECT_NEAR(r->probabilities[q], whole.probabilities[q], 1e-13);
  }
  // the state that was written begins another run
  const auto state = session.compile(circuit).statevector();
  Questions from;
  from.initial_state_file = file;
  from.amplitudes = {0, 12345};
  const Result begun = session.run(Circuit(16), from);
  for (const auto& [index, value] : begun.amplitudes)
    EXPECT_NEAR(std::abs(value - state[index]), 0, 1e-13);
  asked.checkpoint = folder;
  asked.checkpoint_every_s = 0;
  expect_error([&] { session.run(circuit, asked); }, "above 0");
}

TEST(Api, refusals_name_what_is_wrong) {
  EXPECT_EQ(error_of([] { Session({.device = "tpu"}); }),
            "unknown device 'tpu': use auto, cpu, cuda, cuda:<index>, cuda:<first>-<last> or "
            "cuda:<index>,<index>");
  expect_error([] { Session({.device = "cpu+cuda"}); }, "only rasters and maps");
  expect_error([] { Circuit(2).gate("hh", {0u}); }, "there is no gate 'hh'");
  expect_error([] { Circuit(2).cx(0, 2); }, "2");
  Session session({.device = "cpu"});
  expect_error([&] { session.compile(layers(100)); }, "100");
  Circuit ghz(100);  // only shots can be asked of it
  ghz.h(0);
  for (Qubit q = 1; q < 100; ++q) ghz.cx(0, q);
  Executable large = session.compile(ghz.measure_all());
  EXPECT_NE(large.explain(), "");
  Questions shots;
  shots.shots = 50;
  EXPECT_EQ(large.run(shots).counts.size(), 2u);
  expect_error([&] { session.compile(Circuit(0)); }, "no qubits");
  Questions asked;
  asked.observable = "Z7";
  EXPECT_TRUE(
      has(error_of([&] { session.run(Circuit(2).h(0), asked); }), "this qubit is out of range"));
  expect_error([] { Sampler("H 0\nFOO 1"); }, "FOO");
  const std::vector<float> three = {1, 2, 3};
  expect_error([&] { map("v", Image<float>{three, 2, 2}); }, "2 x 2");
}

// Every entry that takes a number of threads.
TEST(Api, threads_out_of_range_are_refused) {
  const std::vector<float> floats = {1};
  const std::vector<std::uint8_t> bytes = {1};
  const std::string noisy = "X_ERROR(0.1) 0\nM 0\nDETECTOR rec[-1]";
  for (const int threads : {-3, -1, 4097}) {
    const std::string expected = "threads=" + std::to_string(threads) + ": use 0 (all) to 4096";
    const auto refuses = [&](auto call) { EXPECT_EQ(error_of(call, ExitCode::kUsage), expected); };
    refuses([&] { Session({.threads = threads}); });
    refuses([&] { Function(Circuit(1).h(0), {"Z"}, {.threads = threads}); });
    SamplerOptions shots;
    shots.threads = threads;
    refuses([&] { Sampler(noisy, shots); });
    StrataOptions strata;
    strata.threads = threads;
    refuses([&] { sample_strata(noisy, strata); });
    refuses([&] { map("v", {floats, 1, 1}, {.threads = threads}); });
    refuses([&] { local_entropy(Image<std::uint8_t>{bytes, 1, 1}, {.threads = threads}); });
  }
}

TEST(Api, joint_probabilities_of_too_many_qubits_are_refused) {
  Session session({.device = "cpu"});
  const Circuit circuit = Circuit(21).h(0).x(20);
  Questions asked;
  for (Qubit q = 20; q > 0; --q) asked.joint.push_back(q);
  const Result r = session.run(circuit, asked);
  ASSERT_EQ(r.joint_probabilities.size(), std::size_t{1} << 20);
  EXPECT_NEAR(r.joint_probabilities[1], 1, 1e-14);  // bit 0 is qubit 20
  asked.joint.push_back(0);
  expect_error([&] { session.run(circuit, asked); }, "ask for at most 20 qubits", ExitCode::kUsage);
  expect_error([&] { session.compile(circuit).run(asked); }, "21 qubits have 2^21 outcomes",
               ExitCode::kUsage);
  asked.joint = {3, 1, 3};
  expect_error([&] { session.run(circuit, asked); }, "qubit 3 is asked for twice",
               ExitCode::kUsage);
}

// What does not fit memory is refused before any of it is taken, and products do not wrap round.
TEST(Api, answers_that_do_not_fit_memory_are_refused) {
  const auto refuses = [](auto call, const char* words) {
    const std::string message = error_of(call, ExitCode::kResources);
    EXPECT_TRUE(has(message, words));
    EXPECT_TRUE(has(message, "needs "));
    EXPECT_TRUE(has(message, " available): "));
  };
  Sampler sampler("M 0\nDETECTOR rec[-1]");
  refuses([&] { sampler.sample(std::uint64_t{1} << 45); }, "35184372088832 shots of 1 bit");
  EXPECT_EQ(sampler.sample(3).num_shots, 3u);  // and it goes on
  const Function function(Circuit(2).h(0), {"ZZ"});
  for (const std::uint64_t shots : {std::uint64_t{1} << 50, ~std::uint64_t{0}}) {
    refuses([&] { (void)function.sample({}, shots); }, "samples of 1 row do not fit memory");
  }
  const Function wide(Circuit(40).h(0), {"Z0"});
  refuses([&] { (void)wide.states({}); }, "amplitudes of 1 row do not fit memory");
  refuses([] { Circuit(4000000000u).measure_all(); }, "measurements of 4000000000 qubits");
  expect_error([] { Sampler("M 0").sample(~std::uint64_t{0}); }, "shots");
}

}  // namespace
}  // namespace tilewave
