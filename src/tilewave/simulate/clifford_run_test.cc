// Clifford circuits: the stabilizer engine against the state vector, and what it refuses.
#include "tilewave/simulate/clifford_run.h"

#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/qasm3/qasm3.h"
#include "tilewave/simulate/exact_branches.h"
#include "tilewave/simulate/runs_test.h"

namespace tilewave::simulate {
namespace {

Result run(const std::string& body, const std::string& engine, std::uint64_t shots) {
  Options options = shots_of(shots, 5);
  options.engine = parse_engine(engine);
  options.device = DeviceSet::cpu();
  return simulate(qasm(body), options);
}

const char* const kCircuits[] = {
    "qreg q[4];\nh q[0];\ncx q[0],q[1];\ns q[1];\ncz q[1],q[2];\nh q[2];\nswap q[2],q[3];\nsdg "
    "q[3];\nh q;",
    "qreg q[3];\ncreg c[2];\nrx(pi/2) q[0];\nrzz(pi/2) q[0],q[1];\nu3(pi/2,pi/2,pi) "
    "q[1];\nry(-pi/2) q[2];\n"
    "cy q[1],q[2];\nmeasure q[2]->c[0];\nmeasure q[0]->c[1];",
    "qreg q[3];\ncreg a[1];\ncreg b[1];\ncreg c[1];\nh q[0];\nh q[1];\ncx q[1],q[2];\ncx "
    "q[0],q[1];\nh q[0];\n"
    "measure q[0]->a[0];\nmeasure q[1]->b[0];\nif(b==1) x q[2];\nif(a==1) z q[2];\nif(a==0) y "
    "q[2];\nh q[2];\n"
    "measure q[2]->c[0];",
    "qreg q[2];\ncreg c[2];\nh q[0];\nmeasure q[0]->c[0];\nreset q[0];\ncx q[0],q[1];\nh "
    "q[1];\nmeasure q[1]->c[1];\n"
    "measure q[0]->c[0];",
    // conditions that frames have no word for
    "qreg q[3];\ncreg c[2];\ncreg d[3];\nh q[0];\nh q[1];\nmeasure q[0]->c[0];\nmeasure "
    "q[1]->c[1];\nif(c==2) h q[2];\nif(c==3) cx q[0],q[2];\nif(c==1) reset q[0];\nif(c==0) sx "
    "q[1];\ncz q[1],q[2];\nh q[2];\nif(c==3) measure q[1]->c[0];\nif(c==2) swap q[0],q[1];\n"
    "measure q->d;",
    // beyond Clifford gates
    "qreg q[3];\nh q;\nt q[0];\ntdg q[1];\ncx q[0],q[1];\nrx(0.3) q[2];\ncx "
    "q[1],q[2];\nu3(0.4,1.1,-0.7) "
    "q[0];\nry(2.1) q[1];\nh q;",
    "qreg q[4];\ncreg c[4];\nh q[0];\nh q[1];\nh q[3];\nccx q[0],q[1],q[2];\nt q[2];\ncu1(0.9) "
    "q[2],q[3];\ncrz(-0.4) q[0],q[3];\nrzz(0.8) q[1],q[3];\nh q;\nmeasure q->c;",
    "qreg q[2];\ncreg a[1];\ncreg b[2];\nh q[0];\nt q[0];\nh q[0];\nmeasure q[0]->a[0];\nif(a==1) "
    "x "
    "q[1];\nry(0.6) q[1];\ncx q[1],q[0];\nreset q[1];\nh q[0];\nt q[0];\nh q[0];\nmeasure q->b;",
    "qreg q[1];\nu3(pi,0.3,0.7) q[0];\nsx q[0];\nt q[0];\nsx q[0];",
    // diagonal in other bases
    "qreg q[3];\nry(0.4) q[0];\nry(1.1) q[1];\nt q[2];\nrxx(0.7) q[0],q[1];\ncrx(0.9) q[1],q[2];\n"
    "cry(-0.5) q[2],q[0];\ncsx q[0],q[2];\nccx q[2],q[0],q[1];\nh q[1];\ncx q[1],q[2];",
};

TEST(CliffordRun, has_the_distribution_of_the_state_vector) {
  constexpr std::uint64_t kShots = 200000;
  for (const char* body : kCircuits) {
    const Result want = run(body, "statevector", kShots), got = run(body, "stabilizer", kShots);
    EXPECT_EQ(want.engine, "statevector");
    EXPECT_EQ(got.engine, "stabilizer");
    for (const auto& [key, count] : got.counts) EXPECT_TRUE(want.counts.count(key)) << key << body;
    for (const auto& [key, count] : want.counts) {
      const double a = static_cast<double>(count), b = count_of(got.counts, key);
      ASSERT_GT(b, 0) << key << '\n' << body;
      EXPECT_LT(std::abs(a - b), 5.5 * std::sqrt(a + b)) << key << '\n' << body;
    }
  }
}

TEST(CliffordRun, is_chosen_for_large_circuits_and_counts_only) {
  const std::string ghz = "qreg q[300];\nh q[0];\ncx q[0],q[299];";
  EXPECT_EQ(run(ghz, "auto", 10).engine, "stabilizer");
  // gates beyond Clifford that need few active qubits, and many
  const std::string magic = "qreg q[300];\nh q;\nt q[0];\nh q[0];\ncx q[0],q[299];";
  EXPECT_EQ(run(magic, "auto", 10).engine, "stabilizer");
  const std::string idle = "qreg q[300];\nh q[0];\nt q[0];\nh q[0];\ncx q[0],q[299];";
  EXPECT_EQ(run(idle, "auto", 10).engine, "statevector");  // of two qubits
  EXPECT_EQ(run("qreg q[21];\nh q;\nt q;\nh q;", "auto", 10).engine, "stabilizer");  // one by one
  std::string wide = "qreg q[21];\nh q;\n";
  for (int layer = 0; layer < 3; ++layer) {
    wide += "t q;\nh q;\n";
    for (int k = 0; k < 21; ++k) {  // every qubit with others far away
      wide += "cx q[" + std::to_string(k) + "],q[" + std::to_string((k + 8 + layer) % 21) + "];\n";
      wide += "h q[" + std::to_string((5 * k) % 21) + "];\n";
    }
  }
  EXPECT_EQ(run(wide + "h q;\nt q;\nh q;", "auto", 10).engine, "statevector");
  EXPECT_EQ(run("qreg q[2];\nh q[0];", "auto", 10).engine, "statevector");
  EXPECT_EQ(run("qreg q[21];\ncswap q[0],q[1],q[2];", "auto", 10).engine, "statevector");
  EXPECT_THROW(run("qreg q[21];\ncswap q[0],q[1],q[2];", "stabilizer", 10), Error);
  EXPECT_THROW(run("qreg q[2];\nh q[0];", "tableau", 10), Error);
}

const char* const kNoise = R"({"channels": [
  {"after": "all", "channel": "depolarizing", "p": 0.03},
  {"after": ["cx", "cz"], "channel": "depolarizing2", "p": 0.05},
  {"after": ["cx"], "channel": "pauli", "probabilities": {"XY": 0.04, "IZ": 0.02, "ZI": 0.03}},
  {"after": ["ccx"], "channel": "bit_flip", "p": 0},
  {"after": ["h"], "channel": "phase_damping", "lambda": 0.1},
  {"after": "all", "qubits": [[0, 1]], "channel": "kraus", "operators":
    [[[0.8, 0], [0, 0.8]], [[0, 0.6], [0.6, 0]]]},
  {"before": "measure", "channel": "bit_phase_flip", "p": 0.02}],
  "readout": [{"p1_given_0": 0.04, "p0_given_1": 0.04},
              {"qubits": [1], "p1_given_0": 0.1, "p0_given_1": 0.01}]})";

Result noisy(const std::string& body, const std::string& model, const std::string& engine,
             std::uint64_t shots) {
  Options options = shots_of(shots, 9);
  options.engine = parse_engine(engine);
  options.noise = noise(model);
  return simulate(qasm(body), options);
}

TEST(CliffordRun, pauli_noise_has_the_distribution_of_the_density_matrix) {
  constexpr std::uint64_t kShots = 400000;
  const std::string feedback = R"({"channels": [{"after": "reset", "channel": "bit_flip", "p": 0.1},
      {"before": "measure", "channel": "depolarizing", "p": 0.2}],
      "readout": [{"p1_given_0": 0.07, "p0_given_1": 0.07}]})";
  const std::pair<std::string, std::string> cases[] = {
      {"qreg q[3];\nh q[0];\ncx q[0],q[1];\ns q[1];\ncz q[1],q[2];\nh q[2];\nx q[0];", kNoise},
      {"qreg q[4];\ncreg c[3];\nh q[0];\ncx q[0],q[1];\ncx q[1],q[3];\nmeasure q[0]->c[0];\n"
       "reset q[0];\ncx q[0],q[2];\nmeasure q[2]->c[1];\nmeasure q[1]->c[2];",
       kNoise},
      {"qreg q[3];\ncreg a[1];\ncreg c[2];\nh q[0];\ncx q[0],q[1];\nmeasure q[0]->a[0];\n"
       "if(a==1) x q[2];\nif(a==0) z q[1];\nreset q[0];\nh q[1];\nmeasure q[2]->c[0];\n"
       "measure q[1]->c[1];",
       feedback},
      {"qreg q[3];\ncreg a[2];\ncreg c[2];\nh q[0];\nh q[1];\nmeasure q[0]->a[0];\n"
       "measure q[1]->a[1];\nif(a==2) h q[2];\nif(a==3) cx q[0],q[2];\nif(a==1) reset q[1];\n"
       "measure q[2]->c[0];\nmeasure q[1]->c[1];",
       feedback}};
  for (const auto& [body, model] : cases) {
    const Result want = noisy(body, model, "density", kShots);
    const Result got = noisy(body, model, "stabilizer", kShots);
    EXPECT_EQ(got.engine, "stabilizer");
    for (const auto& [key, count] : got.counts) EXPECT_TRUE(want.counts.count(key)) << key;
    const double freedom = static_cast<double>(want.counts.size() - 1);
    EXPECT_LT(chi_square(want.counts, got.counts), freedom + 5 * std::sqrt(2 * freedom) + 25)
        << body;
  }
}

Result run_qasm3(const std::string& body, const std::string& engine, std::uint64_t shots) {
  Options options;
  options.engine = parse_engine(engine);
  options.shots = shots;
  options.seed = 5;
  options.device = DeviceSet::cpu();
  return simulate(language::parse_qasm3("OPENQASM 3.0;\n" + body, "test.qasm"), options);
}

const std::string kCorrections =  // a state of 70 qubits whose corrections are Cliffords
    "qubit[70] q;\nbit[3] c;\nbit[70] d;\nh q[0];\nfor int k in [1:69] { cx q[0], q[k]; }\n"
    "c[0] = measure q[0];\nif (c[0]) { for int k in [1:69] { x q[k]; } } else { h q[0]; h q[0]; }\n"
    "h q[1];\nh q[2];\nc[1] = measure q[1];\nc[2] = measure q[2];\n"
    "if (c == 7) { h q[3]; } else if (c[1] ^ c[2]) { cx q[0], q[4]; }\n";

TEST(CliffordRun, follows_control_flow) {
  // rounds until a 1 is measured, and how many there were
  const std::string rounds =
      "qubit[2] q;\nbit c;\nuint[4] n = 0;\nwhile (!c && n < 5) { h q[0]; cx q[0], q[1];\n"
      "c = measure q[0]; if (!c) { reset q[1]; } n = n + 1; }\nbit d;\nd = measure q[1];\n";
  constexpr std::uint64_t kShots = 40000;
  const Result want = run_qasm3(rounds, "statevector", kShots);
  const Result got = run_qasm3(rounds, "stabilizer", kShots);
  ASSERT_EQ(want.counts.size(), got.counts.size());
  for (const auto& [key, count] : want.counts) {
    const double a = static_cast<double>(count), b = static_cast<double>(got.counts.at(key));
    EXPECT_LT(std::abs(a - b), 5.5 * std::sqrt(a + b)) << key;
  }
  EXPECT_THROW(run_qasm3("qubit q;\nbit c;\nwhile (!c) { c = measure q; }\n", "stabilizer", 1),
               Error);
}

TEST(CliffordRun, seventy_qubits_steered_by_measurements) {
  const Result r = run_qasm3(kCorrections + "d = measure q;\n", "auto", 400);
  EXPECT_EQ(r.engine, "stabilizer");
  std::uint64_t turned = 0;
  for (const auto& [key, count] : r.counts) {
    const std::string d = key.substr(0, 70), c = key.substr(71);
    const auto q = [&](int k) { return d[static_cast<std::size_t>(69 - k)] == '1'; };
    EXPECT_EQ(q(0), c[2] == '1') << key;
    EXPECT_EQ(q(1), c[1] == '1') << key;
    EXPECT_EQ(q(2), c[0] == '1') << key;
    EXPECT_LE(q(3), c == "111") << key;
    EXPECT_EQ(q(4), c[1] != c[0] && c[2] == '1') << key;
    turned += q(3) ? count : 0;
  }
  EXPECT_NEAR(static_cast<double>(turned), 25, 25);  // of 400 an eighth, and half of them
  EXPECT_EQ(run_qasm3(kCorrections + "d = measure q;\n", "auto", 400).counts, r.counts);
  expect_error([&] { run_qasm3(kCorrections + "if (c[0]) { t q[5]; }\n", "auto", 10); },
               "the stabilizer engine, which needs no state, cannot run this circuit: line 14: the "
               "gate is not Clifford",
               ExitCode::kResources);
}

TEST(CliffordRun, correlated_errors_on_three_qubits) {
  const std::string model = R"({"channels": [{"after": ["ccx"], "channel": "pauli",
      "probabilities": {"XII": 0.1, "ZZX": 0.2, "YXZ": 0.3}}]})";
  const std::string swaps = R"({"channels": [{"after": ["cswap"], "channel": "pauli",
      "probabilities": {"XII": 0.1, "ZZX": 0.2, "YXZ": 0.3}}]})";
  EXPECT_THROW(noisy("qreg q[3];\nh q[2];\ncswap q[0],q[1],q[2];\n", swaps, "stabilizer", 10),
               Error);
  circuit::Circuit c(3);
  std::vector<circuit::PauliProbability> errors{
      {{1, 0, 0}, 0.1}, {{3, 3, 1}, 0.2}, {{2, 1, 3}, 0.3}};
  c.add_channel(std::vector<circuit::Qubit>{0, 1, 2},
                std::make_shared<const circuit::Channel>(circuit::pauli_channel(3, errors)));
  Options options = shots_of(100000, 1);
  options.engine = Engine::kStabilizer;
  const Result r = simulate(c, options);
  ASSERT_EQ(r.counts.size(), 4u);
  for (const auto& [key, p] : {std::pair{"000", 0.4}, {"001", 0.1}, {"100", 0.2}, {"011", 0.3}})
    expect_share(r.counts, key, p, 5);
  options.distribution.num_logical_ranks = 2;  // would do nothing
  EXPECT_THROW(simulate(c, options), Error);
}

std::string ghz_of(int num_qubits) {
  std::string body = "qreg q[" + std::to_string(num_qubits) + "];\nh q[0];\n";
  for (int k = 1; k < num_qubits; ++k)
    body += "cx q[" + std::to_string(k - 1) + "],q[" + std::to_string(k) + "];\n";
  return body;
}

TEST(CliffordRun, is_chosen_for_pauli_noise_by_its_cost) {
  const std::string ghz = ghz_of(6);
  const std::string pauli = R"({"channels": [{"after": "all", "channel": "bit_flip", "p": 0.01}]})";
  const Result r = noisy(ghz, pauli, "auto", 1000);
  EXPECT_EQ(r.engine, "stabilizer");
  EXPECT_NE(r.engine_choice.find("predicted) rather than "), std::string::npos) << r.engine_choice;
  const std::string damping =
      R"({"channels": [{"after": "all", "channel": "amplitude_damping", "gamma": 0.01}]})";
  EXPECT_NE(noisy(ghz, damping, "auto", 1000).engine, "stabilizer");
  EXPECT_THROW(noisy(ghz, damping, "stabilizer", 1000), Error);
}

TEST(CliffordRun, no_shots_are_counted_by_the_engine_of_shots) {
  const std::string pauli = R"({"channels": [{"after": "all", "channel": "bit_flip", "p": 0.01}]})";
  const std::string damping =
      R"({"channels": [{"after": "all", "channel": "amplitude_damping", "gamma": 0.01}]})";
  const std::string wide = ghz_of(60), magic = "qreg q[60];\nh q;\nt q;\nh q;";
  for (const std::string& body : {ghz_of(3), ghz_of(28), wide, magic}) {
    const Result none = run(body, "auto", 0), one = run(body, "auto", 1);
    EXPECT_EQ(none.engine, one.engine) << body;
    EXPECT_TRUE(none.counts.empty()) << body;
    EXPECT_EQ(none.norm > 0.9, none.engine == "statevector") << body;
  }
  EXPECT_TRUE(run(ghz_of(3), "stabilizer", 0).counts.empty());
  for (const std::string& model : {pauli, damping}) {
    for (int n : {3, 9, 22}) {
      const Result none = noisy(ghz_of(n), model, "auto", 0);
      EXPECT_EQ(none.engine, noisy(ghz_of(n), model, "auto", 1).engine) << n << model;
      EXPECT_TRUE(none.counts.empty());
      EXPECT_EQ(none.num_trajectories, 0u);
      EXPECT_EQ(none.memory_bytes, 0u);
    }
  }
  EXPECT_EQ(noisy(wide, pauli, "auto", 0).engine, "stabilizer");

  // rows of no shots, also where a state of 2^60 amplitudes or an outcome would be needed
  Options rows = shots_of(0, 1);
  rows.record_shots = true;
  const std::string beyond = "qreg q[60];\nh q;\ncswap q[0],q[1],q[2];\n", bits = "creg c[7];\n";
  const std::string steered = bits + "h q[0];\nmeasure q[0]->c[0];\nif(c==1) x q[1];\nh q[0];";
  for (const std::string& body :
       {wide, beyond, "qreg q[60];\n" + steered, "qreg q[2];\n" + steered}) {
    const Result r = simulate(qasm(body), rows);
    EXPECT_TRUE(r.counts.empty() && r.shot_bits.empty()) << body;
    EXPECT_EQ(r.num_shot_bits, body.find("creg") == std::string::npos ? 60u : 7u) << body;
  }
  for (const std::string& n : {std::string("2"), std::string("60")})
    expect_error([&] { simulate(qasm("qreg q[" + n + "];\n" + steered), shots_of(0, 1)); },
                 "needs shots", ExitCode::kUsage);

  // other questions have their answers without shots
  Options asks = shots_of(0, 1);
  asks.probabilities = true;
  EXPECT_NEAR(simulate(qasm(ghz_of(21)), asks).probabilities.at(20), 0.5, 1e-12);
  asks = shots_of(0, 1);
  asks.amplitudes = {{0, 1}};
  asks.record_shots = true;
  EXPECT_NEAR(std::abs(simulate(qasm(ghz_of(21)), asks).amplitudes.at(0).value), std::sqrt(0.5),
              1e-12);
}

TEST(CliffordRun, a_thousand_noisy_qubits) {
  const std::string model =
      R"({"channels": [{"after": ["cx"], "channel": "depolarizing2", "p": 0.0001}]})";
  const Result r = noisy(ghz_of(1000), model, "auto", 20000);
  EXPECT_EQ(r.engine, "stabilizer");
  // an X or Y on either qubit shows: 12 of the 15 errors
  const double clean = std::pow(1 - 0.0001 * 12 / 15, 999);
  double found = 0;
  for (const char bit : {'0', '1'}) {
    found += static_cast<double>(r.counts.at(std::string(1000, bit))) / 20000;
  }
  EXPECT_NEAR(found, clean, 5 * std::sqrt(clean * (1 - clean) / 20000));
}

TEST(CliffordRun, five_thousand_entangled_qubits) {
  const Result r = run(ghz_of(5000), "auto", 10000);
  ASSERT_EQ(r.counts.size(), 2u);
  EXPECT_EQ(r.counts.begin()->first, std::string(5000, '0'));
  EXPECT_NEAR(static_cast<double>(r.counts.begin()->second), 5000, 500);
}

circuit::WidePauliSum all_strings(std::uint32_t num_qubits) {
  circuit::WidePauliSum sum;
  for (std::uint64_t x = 0; x < 1U << num_qubits; ++x) {
    for (std::uint64_t z = 0; z < 1U << num_qubits; ++z)
      sum.emplace_back(0.6 + static_cast<double>(x) - 0.25 * static_cast<double>(z), x, z);
  }
  return sum;
}

TEST(CliffordRun, means_are_those_of_the_state_vector) {
  for (const char* body : {kCircuits[0], kCircuits[1], "qreg q[1];\nx q[0];", "qreg q[2];"}) {
    Options options;
    options.device = DeviceSet::cpu();
    options.observables = all_strings(qasm(body).num_qubits());
    options.engine = Engine::kStatevector;
    const Result want = simulate(qasm(body), options);
    options.engine = Engine::kStabilizer;
    options.shots = 100;
    const Result got = simulate(qasm(body), options);
    EXPECT_EQ(got.engine, "stabilizer");
    EXPECT_EQ(total(got.counts), 100u);
    for (std::size_t k = 0; k < options.observables.size(); ++k)
      ASSERT_NEAR(got.expectations[k], want.expectations[k], 1e-9) << k << '\n' << body;
    EXPECT_NEAR(got.expectation_sum, want.expectation_sum, 1e-9);
  }
}

TEST(CliffordRun, means_of_circuits_that_measure_are_those_over_all_outcomes) {
  for (const char* body : {kCircuits[2], kCircuits[3], kCircuits[4]}) {
    const circuit::Circuit c = qasm(body);
    Options options;
    options.device = DeviceSet::cpu();
    options.observables = all_strings(c.num_qubits());
    const std::vector<double> want = exact_expectations(c, options);
    options.engine = Engine::kStabilizer;
    const std::vector<double> got = exact_expectations(c, options);
    options.shots = 20000;
    options.seed = 3;
    const Result drawn = simulate(c, options);
    EXPECT_EQ(drawn.engine, "stabilizer");
    for (std::size_t k = 0; k < want.size(); ++k) {
      ASSERT_NEAR(got[k], want[k], 1e-12) << k << '\n' << body;
      ASSERT_NEAR(drawn.expectations[k] / options.observables[k].coefficient, want[k],
                  5.5 / std::sqrt(20000))
          << k << '\n'
          << body;
    }
    options.num_threads = 1;
    EXPECT_EQ(simulate(c, options).expectations, drawn.expectations) << "of any number of threads";
  }
}

TEST(CliffordRun, means_with_pauli_noise_are_those_of_the_density_matrix) {
  const circuit::Circuit c =
      qasm("qreg q[3];\nh q[0];\ncx q[0],q[1];\ns q[1];\ncz q[1],q[2];\nh q[2];\nx q[0];");
  Options options = shots_of(40000, 4);
  options.noise = noise(kNoise);
  options.observables = all_strings(3);
  options.engine = Engine::kDensity;
  const Result want = simulate(c, options);
  options.engine = Engine::kStabilizer;
  const Result got = simulate(c, options);
  EXPECT_EQ(got.engine, "stabilizer");
  EXPECT_EQ(got.num_trajectories, 40000u);
  for (std::size_t k = 0; k < options.observables.size(); ++k) {
    ASSERT_NEAR(got.expectations[k], want.expectations[k], 5.5 * got.expectation_errors[k] + 1e-9);
    const double one = options.observables[k].coefficient, mean = want.expectations[k] / one;
    // a value of +-1 where the string is one of the clean state's, up to a sign
    const double error =
        std::abs(mean) > 1e-9 ? std::sqrt(std::max(0.0, 1 - mean * mean) / 40000) : 0;
    EXPECT_NEAR(got.expectation_errors[k], std::abs(one) * error, 0.02 * std::abs(one) / 200);
  }
  EXPECT_NEAR(got.expectation_sum, want.expectation_sum, 5.5 * got.expectation_sum_error);
}

TEST(CliffordRun, means_of_seventy_qubits) {
  circuit::WidePauliTerm pair, all;
  pair.coefficient = -3;
  pair.z = {std::uint64_t{1} << 10, std::uint64_t{1} << 5};
  all.x = {~std::uint64_t{0}, 0x3F};
  Options options;
  options.device = DeviceSet::cpu();
  options.observables = {pair, all};
  const Result r = simulate(qasm(ghz_of(70)), options);
  EXPECT_EQ(r.engine, "stabilizer");
  EXPECT_EQ(r.expectations, (std::vector<double>{-3, 1}));
  options.dry_run = true;
  const Result dry = simulate(qasm(ghz_of(70)), options);
  EXPECT_EQ(dry.engine, "stabilizer");
  EXPECT_TRUE(dry.expectations.empty());
  options.dry_run = false;
  const circuit::Circuit steered =
      language::parse_qasm3("OPENQASM 3.0;\n" + kCorrections, "test.qasm");
  circuit::WidePauliTerm q4;  // 1 where q[0] is 1 and c[1] is not c[2]
  q4.z = {std::uint64_t{1} << 4};
  options.observables = {q4};
  EXPECT_EQ(exact_expectations(steered, options), std::vector<double>{0.5});
  expect_error(
      [&] {
        exact_expectations(qasm("qreg q[70];\nh q;\nt q;\ncreg c[1];\nmeasure q[0]->c[0];\n"
                                "if(c==1) x q[1];"),
                           options);
      },
      "the stabilizer engine, which needs no state, cannot run this circuit: line 5: the gate is "
      "not Clifford",
      ExitCode::kResources);
  std::string many = "qreg q[70];\ncreg c[70];\nh q;\nmeasure q->c;\nif(c==1) x q[1];";
  expect_error([&] { exact_expectations(qasm(many), options); },
               "would walk through more than 65536 outcomes", ExitCode::kUsage);
}

}  // namespace
}  // namespace tilewave::simulate
