// Noisy circuits: the density engine against a dense reference, trajectories against both, the same
// bytes for any number of threads and of states in memory.
#include <algorithm>
#include <cmath>
#include <random>

#include "tilewave/base/thrown_test.h"
#include "tilewave/simulate/branches.h"
#include "tilewave/simulate/exact_branches.h"
#include "tilewave/simulate/runs_test.h"

namespace tilewave::simulate {
namespace {

using circuit::Circuit;
using circuit::GateId;
using circuit::Matrix;
using circuit::OpKind;
using circuit::Qubit;

constexpr std::uint32_t kQubits = 3;
constexpr std::size_t kDim = std::size_t{1} << kQubits;

const std::string kAfterAll = R"("after": "all", "channel": )";
// Channels as JSON, without braces.
const std::string kChannels[] = {
    kAfterAll + R"("depolarizing", "p": 0.05)",
    R"("after": "cx", "channel": "depolarizing2", "p": 0.1)",
    kAfterAll + R"("bit_flip", "p": 0.04)",
    kAfterAll + R"("phase_flip", "p": 0.04)",
    kAfterAll + R"("bit_phase_flip", "p": 0.04, "qubits": [0, 2])",
    R"("after": "cx", "channel": "pauli", "probabilities": {"XY": 0.03, "ZI": 0.06, "IX": 0.02})",
    kAfterAll + R"("amplitude_damping", "gamma": 0.06)",
    kAfterAll + R"("generalized_amplitude_damping", "gamma": 0.06, "excited": 0.3)",
    kAfterAll + R"("phase_damping", "lambda": 0.06)",
    kAfterAll + R"("thermal_relaxation", "t1": 50, "t2": 70, "time": 4, "excited": 0.1)",
    kAfterAll + R"("thermal_relaxation", "t1": 50, "t2": 20, "time": 2)",
    kAfterAll + R"("reset", "p0": 0.03, "p1": 0.02)",
    kAfterAll +
        R"("unitary_mixture", "unitaries": [{"p": 0.9, "gate": "rz", "params": [0.1]},
           {"p": 0.1, "matrix": [[0.6, [0, 0.8]], [[0, 0.8], 0.6]]}])",
    R"("after": "cx", "channel": "unitary_mixture", "unitaries": [
           {"p": 1, "gate": "rzx", "params": [0.2]}])",
    // not diagonal, not unitary: X-basis damping
    kAfterAll + R"("kraus", "operators": [[[0.95, 0.05], [0.05, 0.95]],
        [[0.21794494717703367, -0.21794494717703367], [0.21794494717703367, -0.21794494717703367]]])",
    // a 2-qubit jump |00><11|
    R"("after": "cx", "channel": "kraus", "operators": [
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0.8]],
        [[0, 0, 0, 0.6], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]])",
    R"("after": "idle", "channel": "amplitude_damping", "gamma": 0.1)",
    R"("before": ["cx", "u"], "channel": "phase_flip", "p": 0.05, "except": [1])",
};

Circuit random_circuit(std::uint64_t seed, bool with_resets = false) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> angle(-3, 3);
  Circuit c(kQubits);
  for (int layer = 0; layer < 3; ++layer) {
    for (Qubit q = 0; q < kQubits; ++q) {
      c.add_gate(GateId::kU, {q}, {angle(random), angle(random), angle(random)});
    }
    const Qubit a = random() % kQubits, b = (a + 1 + random() % 2) % kQubits;
    c.add_gate(GateId::kCx, {a, b});
    c.add_gate(GateId::kIswap, {b, 3 - a - b});
    if (with_resets && layer == 1) c.add_reset(a);
  }
  return c;
}

// ---- the reference: rho as a dense matrix, operators as dense matrices ----

Matrix embed(const Matrix& m, std::span<const Qubit> targets, std::span<const Qubit> controls) {
  Matrix out(kDim * kDim);
  const std::size_t dim = std::size_t{1} << targets.size();
  for (std::size_t col = 0; col < kDim; ++col) {
    if (!std::all_of(controls.begin(), controls.end(), [&](Qubit q) { return col >> q & 1; })) {
      out[col * kDim + col] = 1;
      continue;
    }
    std::size_t in = 0, rest = col;
    for (std::size_t j = 0; j < targets.size(); ++j) {
      in |= (col >> targets[j] & 1) << j;
      rest &= ~(std::size_t{1} << targets[j]);
    }
    for (std::size_t res = 0; res < dim; ++res) {
      std::size_t row = rest;
      for (std::size_t j = 0; j < targets.size(); ++j) row |= (res >> j & 1) << targets[j];
      out[row * kDim + col] = m[res * dim + in];
    }
  }
  return out;
}

Matrix apply_all(const std::vector<Matrix>& kraus, const Matrix& rho) {
  Matrix out(rho.size());
  for (const Matrix& k : kraus) {
    const Matrix part = circuit::multiply(circuit::multiply(k, rho), circuit::adjoint(k));
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += part[j];
  }
  return out;
}

Matrix reference(const Circuit& c) {
  Matrix rho(kDim * kDim);
  rho[0] = 1;
  for (const auto& op : c.ops()) {
    std::vector<Matrix> kraus;
    if (op.kind == OpKind::kChannel) {
      kraus = c.channel(op).kraus;
    } else if (op.kind == OpKind::kReset) {
      kraus = {{1, 0, 0, 0}, {0, 1, 0, 0}};
    } else {
      kraus = {c.matrix(op)};
    }
    for (Matrix& k : kraus) k = embed(k, c.targets(op), c.controls(op));
    rho = apply_all(kraus, rho);
  }
  return rho;
}

circuit::PauliSum all_strings() {
  circuit::PauliSum sum;
  for (std::uint64_t x = 0; x < kDim; ++x) {
    for (std::uint64_t z = 0; z < kDim; ++z) sum.push_back({1.0, x, z});
  }
  return sum;
}

double expectation(const Matrix& rho, const circuit::PauliTerm& term) {
  std::vector<int> letters;
  for (std::uint32_t q = 0; q < kQubits; ++q) {
    const int x = term.x >> q & 1, z = term.z >> q & 1;
    letters.push_back(x ? (z ? 2 : 1) : (z ? 3 : 0));
  }
  const Matrix product = circuit::multiply(circuit::pauli_string_matrix(letters), rho);
  double trace = 0;
  for (std::size_t i = 0; i < kDim; ++i) trace += product[i * (kDim + 1)].real();
  return trace;
}

Options asking(const std::string& engine, const std::string& channel) {
  Options options;
  options.engine = parse_engine(engine);
  options.noise = noise("{\"channels\": [{" + channel + "}]}");
  for (const auto& term : all_strings()) options.observables.push_back(term);
  options.probabilities = true;
  options.probability_qubits = {2, 0};
  options.seed = 5;
  options.device = DeviceSet::cpu();
  return options;
}

TEST(Noise, DensityMatrixIsTheDenseReferences) {
  for (const std::string& channel : kChannels) {
    for (const auto precision : {statevec::Precision::kDouble, statevec::Precision::kSingle}) {
      Options options = asking("density", channel);
      options.precision = precision;
      const double tolerance = precision == statevec::Precision::kDouble ? 1e-12 : 2e-6;
      const Circuit c = random_circuit(3, true);
      const Matrix rho = reference(circuit::with_noise(c, *options.noise));
      const Result r = simulate(c, options);
      EXPECT_EQ(r.engine, "density");
      EXPECT_NEAR(r.norm, 1, 10 * tolerance);
      for (std::size_t k = 0; k < options.observables.size(); ++k) {
        ASSERT_NEAR(r.expectations[k], expectation(rho, all_strings()[k]), tolerance)
            << channel << " string " << k;
      }
      for (std::size_t outcome = 0; outcome < 4; ++outcome) {  // bit 0 is qubit 2
        double p = 0;
        for (std::size_t x = 0; x < kDim; ++x) {
          if ((x >> 2 & 1) == (outcome & 1) && (x & 1) == outcome >> 1) {
            p += rho[x * (kDim + 1)].real();
          }
        }
        ASSERT_NEAR(r.joint_probabilities[outcome], p, tolerance) << channel;
      }
    }
  }
}

TEST(Noise, TrajectoriesAgreeWithTheReferenceWithinTheirErrors) {
  for (const std::string& channel : kChannels) {
    for (const auto precision : {statevec::Precision::kDouble, statevec::Precision::kSingle}) {
      Options options = asking("trajectories", channel);
      options.precision = precision;
      options.shots = 4000;
      const Circuit c = random_circuit(4, true);
      const Matrix rho = reference(circuit::with_noise(c, *options.noise));
      const Result r = simulate(c, options);
      EXPECT_EQ(r.num_trajectories, options.shots);
      double worst = 0;
      for (std::size_t k = 0; k < options.observables.size(); ++k) {
        const double wanted = expectation(rho, all_strings()[k]);
        // where no trajectory differs the error is none: rare ones may be missing
        const double error = std::max(r.expectation_errors[k], 2e-4);
        worst = std::max(worst, std::abs(r.expectations[k] - wanted) / error);
      }
      EXPECT_LT(worst, 5) << channel;
      EXPECT_NEAR(r.expectations[0], 1, 1e-5)
          << channel;  // the identity: every state is normalised
      double total = 0;
      for (std::size_t x = 0; x < kDim; ++x) {
        std::string key;
        for (std::uint32_t q = kQubits; q-- > 0;) key.push_back(x >> q & 1 ? '1' : '0');
        const double p = rho[x * (kDim + 1)].real(), n = static_cast<double>(options.shots);
        const double count = count_of(r.counts, key);
        EXPECT_LT(std::abs(count - n * p), 5 * std::sqrt(n * p) + 1) << channel << " " << key;
        total += count;
      }
      EXPECT_EQ(total, static_cast<double>(options.shots));
    }
  }
}

// Counts of both engines where measurements, resets and conditions stand in the middle.
TEST(Noise, DynamicCircuitsAgreeBetweenTheEngines) {
  Circuit c(kQubits);
  c.add_creg("a", 1);
  c.add_creg("b", 3);
  for (Qubit q = 0; q < kQubits; ++q) c.add_gate(GateId::kRy, {q}, {0.7 + q});
  c.add_measure(0, 0);
  c.add_gate(GateId::kX, {1});
  c.set_condition(c.ops().size() - 1, {0, 1, {1}});
  c.add_reset(0);
  c.add_gate(GateId::kCx, {1, 2});
  c.add_gate(GateId::kH, {0});
  for (Qubit q = 0; q < kQubits; ++q) c.add_measure(q, 1 + q);
  const auto model = noise(R"({"channels": [
      {"after": "all", "channel": "amplitude_damping", "gamma": 0.1},
      {"after": "cx", "channel": "depolarizing2", "p": 0.1},
      {"before": "measure", "channel": "bit_flip", "p": 0.03},
      {"after": "reset", "channel": "bit_flip", "p": 0.1}],
      "readout": [{"p1_given_0": 0.05, "p0_given_1": 0.1}]})");
  Counts counts[2];
  for (const bool drawn : {false, true}) {
    Options options = shots_of(20000, drawn ? 12 : 11);
    options.noise = model;
    options.engine = drawn ? Engine::kTrajectories : Engine::kDensity;
    options.device = DeviceSet::cpu();
    counts[drawn] = simulate(c, options).counts;
  }
  for (const auto& [key, count] : counts[1]) counts[0].try_emplace(key, 0);
  const auto cells = static_cast<double>(counts[0].size());
  EXPECT_GT(cells, 14);
  EXPECT_LT(chi_square(counts[0], counts[1]), cells + 5 * std::sqrt(2.0 * cells));
}

// The channel behind a measurement that overwrites its condition: the condition is asked once.
TEST(Noise, NoiseFollowsAMeasurementThatOverwritesItsCondition) {
  const Circuit c = qasm(
      "qreg q[1]; creg c[1]; creg d[1]; x q[0]; if(c==0) measure q[0]->c[0]; "
      "if(c==0) measure q[0]->c[0]; measure q[0]->d[0];");
  for (const Engine engine :
       {Engine::kAuto, Engine::kDensity, Engine::kTrajectories, Engine::kStabilizer}) {
    Options options = shots_of(20, 1);
    options.engine = engine;
    options.noise = noise(R"({"channels": [{"after": "measure", "channel": "bit_flip", "p": 1}]})");
    EXPECT_EQ(simulate(c, options).counts, (Counts{{"0 1", 20}}));
  }
}

const std::string kAfterRx =
    R"("channels": [{"after": "rx", "channel": "depolarizing", "p": 0.03}])";

// h; measure; where that was read as 1 rx(a) with noise: <Z> in closed form.
TEST(Noise, MeansOfADensityMatrixAreOverAllOutcomes) {
  const double a = 0.4, left = std::cos(a) * (1 - 0.04);
  const Circuit c =
      qasm("qreg q[1]; creg c[1]; h q[0]; measure q[0]->c[0]; if(c==1) rx(0.4) q[0];");
  const struct {
    std::string readout;
    double wanted;
  } models[] = {{"", 0.5 - 0.5 * left},
                {R"(, "readout": [{"p1_given_0": 0.1, "p0_given_1": 0.2}])",
                 0.5 * (0.9 + 0.1 * left) - 0.5 * (0.2 + 0.8 * left)}};
  for (const auto& m : models) {
    Options options;
    options.noise = noise("{" + kAfterRx + m.readout + "}");
    options.observables = {circuit::PauliTerm{1, 0, 1}};
    options.probabilities = true;
    EXPECT_NEAR(exact_expectations(c, options)[0], m.wanted, 1e-12);
    for (const std::uint64_t shots : {0, 1, 100}) {
      options.shots = shots;
      options.engine = shots ? Engine::kDensity : Engine::kAuto;
      for (options.seed = 1; *options.seed < 4; ++*options.seed) {
        const Result r = simulate(c, options);
        EXPECT_EQ(r.engine, "density");
        EXPECT_NEAR(r.expectations[0], m.wanted, 1e-12);
        EXPECT_NEAR(r.expectation_sum, m.wanted, 1e-12);
        EXPECT_NEAR(r.probabilities[0], 0.5 - 0.5 * m.wanted, 1e-12);
        EXPECT_NEAR(r.norm, 1, 1e-12);
        EXPECT_TRUE(r.expectation_errors.empty());
        EXPECT_EQ(total(r.counts), shots);
      }
    }
    options.shots = 0;
    options.engine = Engine::kTrajectories;
    const Result r = simulate(c, options);
    EXPECT_EQ(r.num_trajectories, kDefaultTrajectories);
    EXPECT_NEAR(r.expectations[0], m.wanted, 5 * r.expectation_errors[0]);
    options.shots = 1;  // tells nothing of an error
    EXPECT_TRUE(std::isnan(simulate(c, options).expectation_errors[0]));
  }
  // without channels: of a state vector, and of tableaux
  const Circuit flip = qasm("qreg q[1]; creg c[1]; h q[0]; measure q[0]->c[0]; if(c==1) x q[0];");
  for (const Engine engine : {Engine::kAuto, Engine::kStabilizer}) {
    Options options;
    options.engine = engine;
    options.noise = noise(R"({"readout": [{"p1_given_0": 0.1, "p0_given_1": 0.2}]})");
    options.observables = {circuit::PauliTerm{1, 0, 1}};
    EXPECT_NEAR(exact_expectations(flip, options)[0], 0.5 * (0.9 - 0.1) + 0.5 * (0.8 - 0.2), 1e-12);
  }
}

// Too many outcomes to follow: means over shots say how far off they may be.
TEST(Noise, MeansOverShotsOfADensityMatrixHaveErrors) {
  std::string text = "qreg q[1]; creg c[1]; ";
  for (int k = 0; k < 20; ++k)
    text += "reset q[0]; h q[0]; measure q[0]->c[0]; if(c==1) ry(1.2) q[0]; ";
  const Circuit c = qasm(text);
  Options options;
  options.noise = noise(
      "{" + std::string(R"("channels": [{"after": "ry", "channel": "bit_flip", "p": 0.1}])") + "}");
  options.observables = {circuit::PauliTerm{2, 0, 1}};
  options.shots = 500;
  options.seed = 3;
  options.engine = Engine::kDensity;
  const double wanted = 2 * (0.5 - 0.5 * 0.8 * std::cos(1.2));
  const Result r = simulate(c, options);
  ASSERT_EQ(r.expectation_errors.size(), 1u);
  EXPECT_GT(r.expectation_errors[0], 0.02);
  EXPECT_EQ(r.expectation_sum_error, r.expectation_errors[0]);
  EXPECT_NEAR(r.expectations[0], wanted, 5 * r.expectation_errors[0]);
  options.shots = 0;
  expect_error([&] { simulate(c, options); }, "ask for shots", ExitCode::kUsage);
  options.engine = Engine::kAuto;
  const Result drawn = simulate(c, options);
  EXPECT_EQ(drawn.num_trajectories, kDefaultTrajectories);
  EXPECT_NEAR(drawn.expectations[0], wanted, 5 * drawn.expectation_errors[0]);
}

TEST(Noise, ResetsInTheMiddleNeedNoShots) {
  const Circuit c = qasm("qreg q[1]; x q[0]; reset q[0]; h q[0];");
  Options options;
  options.noise = noise(R"({"channels": [{"after": "h", "channel": "phase_flip", "p": 0.1}]})");
  options.observables = {circuit::PauliTerm{1, 1, 0}};
  const Result r = simulate(c, options);
  EXPECT_EQ(r.engine, "density");
  EXPECT_NEAR(r.expectations[0], 0.8, 1e-12);
  EXPECT_TRUE(r.expectation_errors.empty());
}

TEST(Noise, ReadoutErrorsAreOfTheMeasuredBits) {
  Circuit c(2, 2);
  c.add_gate(GateId::kX, {1});
  c.add_measure(0, 0);
  c.add_measure(1, 1);
  Options options = shots_of(10000, 1);
  options.noise = noise(R"({"readout": [{"qubits": [0], "p1_given_0": 1},
                                        {"qubits": [1], "p0_given_1": 0.25}]})");
  options.device = DeviceSet::cpu();
  options.record_shots = true;
  const Result r = simulate(c, options);
  EXPECT_EQ(r.counts.size(), 2u);
  EXPECT_NEAR(static_cast<double>(r.counts.at("01")), 2500, 5 * std::sqrt(10000 * 0.25 * 0.75));
  std::uint64_t zeros = 0;
  for (const std::uint64_t row : r.shot_bits) zeros += row == 1;
  EXPECT_EQ(zeros, r.counts.at("01"));
  // where nothing is measured all qubits are read
  Circuit plain(2);
  options.record_shots = false;
  EXPECT_EQ(simulate(plain, options).counts.at("01"), 10000u);
}

TEST(Noise, ShotsDependOnTheSeedAlone) {
  const Circuit c = random_circuit(9, true);
  for (const std::string& channel : kChannels) {
    Options options = asking("trajectories", channel);
    options.shots = 500;
    options.record_shots = true;
    options.num_threads = 1;
    const Result one = simulate(c, options);
    options.num_threads = 3;
    const Result three = simulate(c, options);
    EXPECT_EQ(one.shot_bits, three.shot_bits) << channel;
    EXPECT_EQ(one.expectations, three.expectations) << channel;
    options.seed = 6;
    EXPECT_NE(one.shot_bits, simulate(c, options).shot_bits) << channel;
  }
}

// Few states in memory: shots that part are replayed from the start, and go the same way.
TEST(Noise, ReplayedTrajectoriesAreTheSame) {
  const Circuit clean = random_circuit(12, true);
  for (const std::string& channel : kChannels) {
    const Circuit c = circuit::with_noise(clean, *noise("{\"channels\": [{" + channel + "}]}"));
    const Program program = prepare(c);
    std::vector<std::vector<double>> found;
    for (const std::uint64_t max_states : {1, 2, 50}) {
      auto state = make_state(kQubits, statevec::Precision::kDouble, 1, DeviceSet::cpu());
      Result result;
      std::vector<double> of_shot(200);
      run_branches(program, state, {200, 3, max_states}, {}, result, [&](const Leaf& leaf) {
        const double value = leaf.state.marginals()[1] / leaf.state.norm();
        for (const auto shot : leaf.shots) of_shot[shot] = value;
      });
      found.push_back(of_shot);
    }
    for (std::size_t s = 0; s < 200; ++s) {
      ASSERT_NEAR(found[0][s], found[2][s], 1e-12) << channel << " shot " << s;
      ASSERT_NEAR(found[1][s], found[2][s], 1e-12) << channel << " shot " << s;
    }
  }
}

TEST(Noise, ShotsWithEqualErrorsShareAState) {
  const Circuit c = random_circuit(2);
  Options options = asking("trajectories", kAfterAll + R"("depolarizing", "p": 0.001)");
  options.shots = 1000;
  const Result r = simulate(c, options);
  EXPECT_GT(r.num_branches, 1u);
  EXPECT_LT(r.num_branches, 60u);  // 24 sites: a shot in 40 has an error
}

TEST(Noise, WrongQuestionsAreRefused) {
  const Circuit c = random_circuit(2);
  const auto refuses = [&](std::string_view words, const std::function<void(Options&)>& change) {
    Options options = asking("auto", kChannels[0]);
    change(options);
    expect_error([&] { simulate(c, options); }, words, ExitCode::kUsage);
  };
  refuses("no single state", [](Options& o) { o.amplitudes = {{0, 1}}; });
  refuses("holds no noise", [](Options& o) { o.engine = Engine::kStatevector; });
  refuses("counts, shots and expectation values only",
          [](Options& o) { o.engine = Engine::kStabilizer; });
  refuses("for circuits with noise channels", [](Options& o) {
    o.engine = Engine::kTrajectories;
    o.noise = nullptr;
  });
  EXPECT_NO_THROW(simulate(c, asking("auto", kChannels[0])));
}

}  // namespace
}  // namespace tilewave::simulate
