// Observation, measurement, arrays, reports and records.
#include <unistd.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "dense.h"

using namespace dense;

namespace {

double probability(const State& s, int qubit, int outcome) {
  double sum = 0;
  for (std::size_t k = 0; k < std::size_t{1} << s.n; ++k) {
    if (static_cast<int>(k >> qubit & 1) != outcome) continue;
    sum += s.is_density ? s.element(k, k).real() : std::norm(s.a[k]);
  }
  return sum;
}

std::string file_text(const std::string& name) {
  std::ifstream file(name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST(Observe, Probabilities) {
  on_both("probabilities", [](Pair& s) {
    const int n = s.ref.n;
    EXPECT_EQ(getNumQubits(s.q), n);
    EXPECT_NEAR(calcTotalProb(s.q), probability(s.ref, 0, 0) + probability(s.ref, 0, 1),
                kTolerance);
    for (int q = 0; q < n; ++q) {
      const double zero = probability(s.ref, q, 0);  // the state need not be normalised
      EXPECT_NEAR(calcProbOfOutcome(s.q, q, 0), zero, kTolerance);
      EXPECT_NEAR(calcProbOfOutcome(s.q, q, 1), 1 - zero, kTolerance);
    }
    for (int count = 1; count <= 5; ++count) {
      Bits q = random_qubits(n, count);
      std::vector<qreal> got(std::size_t{1} << count);
      calcProbOfAllOutcomes(got.data(), s.q, q.data(), count);
      std::vector<double> wanted(got.size(), 0);
      for (std::size_t k = 0; k < std::size_t{1} << n; ++k) {
        std::size_t outcome = 0;
        for (int b = 0; b < count; ++b) outcome |= (k >> q[b] & 1) << b;
        wanted[outcome] += s.ref.is_density ? s.ref.element(k, k).real() : std::norm(s.ref.a[k]);
      }
      for (std::size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], wanted[k], kTolerance);
    }
    if (!s.ref.is_density) {
      EXPECT_EQ(getNumAmps(s.q), 128);
      EXPECT_NEAR(getProbAmp(s.q, 77), std::norm(s.ref.a[77]), kTolerance);
    }
  });
}

TEST(Observe, Products) {
  Pair a(7, false), b(7, false), rho(5, true), sigma(5, true), psi(5, false);
  cplx inner = 0;
  for (std::size_t k = 0; k < 128; ++k) inner += std::conj(a.ref.a[k]) * b.ref.a[k];
  const ::Complex got = calcInnerProduct(a.q, b.q);
  EXPECT_NEAR(got.real, inner.real(), kTolerance);
  EXPECT_NEAR(got.imag, inner.imag(), kTolerance);
  EXPECT_NEAR(calcInnerProduct(a.q, a.q).real, 1, kTolerance);
  EXPECT_NEAR(calcFidelity(a.q, b.q), std::norm(inner), kTolerance);
  double purity = 0, overlap = 0, distance = 0;
  cplx fidelity = 0;
  for (std::size_t k = 0; k < 1024; ++k) {
    purity += std::norm(rho.ref.a[k]);
    overlap += (std::conj(rho.ref.a[k]) * sigma.ref.a[k]).real();
    distance += std::norm(rho.ref.a[k] - sigma.ref.a[k]);
    fidelity += std::conj(psi.ref.a[k % 32]) * rho.ref.a[k] * psi.ref.a[k / 32];
  }
  EXPECT_NEAR(calcPurity(rho.q), purity, kTolerance);
  EXPECT_NEAR(calcDensityInnerProduct(rho.q, sigma.q), overlap, kTolerance);
  EXPECT_NEAR(calcHilbertSchmidtDistance(rho.q, sigma.q), std::sqrt(distance), kTolerance);
  EXPECT_NEAR(calcFidelity(rho.q, psi.q), fidelity.real(), kTolerance);
}

TEST(Measure, Collapse) {
  on_both("collapse", [](Pair& s) {
    const bool density = s.ref.is_density;
    if (density) {  // a state of a system, so that probabilities are such
      Pair pure(5, false);
      initPureState(s.q, pure.q);
      for (std::size_t k = 0; k < s.ref.a.size(); ++k) {
        s.ref.a[k] = pure.ref.a[k % 32] * std::conj(pure.ref.a[k / 32]);
      }
    }
    const double p = probability(s.ref, 2, 1);
    EXPECT_NEAR(collapseToOutcome(s.q, 2, 1), p, kTolerance);
    s.ref.both({2}, {0, 0, 0, 1 / std::sqrt(p)});
    s.check("collapseToOutcome");
    applyProjector(s.q, 0, 0);
    s.ref.both({0}, {1, 0, 0, 0});
    s.check("applyProjector");
    const double scale = probability(s.ref, 0, 0);
    collapseToOutcome(s.q, 0, 0);
    for (cplx& x : s.ref.a) x /= density ? scale : std::sqrt(scale);
    const double zero = probability(s.ref, 4, 0);
    qreal stated = 0;
    const int outcome = measureWithStats(s.q, 4, &stated);
    EXPECT_NEAR(stated, outcome ? 1 - zero : zero, kTolerance);
    const double found = std::sqrt(outcome ? 1 - zero : zero);
    s.ref.both({4}, {outcome ? 0 : 1 / found, 0, 0, outcome ? 1 / found : 0});
    EXPECT_EQ(measure(s.q, 4), outcome);
  });
}

// Outcomes that cannot be, and states that are none of a system: the projector leaves zeros, a
// measurement finds what QuEST's rule says (outcome 1 where P(0) is below its epsilon), whatever is
// known of the state beforehand.
TEST(Measure, ImpossibleOutcomes) {
  for (const bool density : {false, true}) {
    for (int target = 0; target < 3; ++target) {
      for (const bool settled : {false, true}) {
        SCOPED_TRACE(std::string(density ? "density matrix" : "vector") + ", qubit " +
                     std::to_string(target) + (settled ? ", settled" : ""));
        Pair s(3, density);
        const auto start = [&] {
          initZeroState(s.q);
          hadamard(s.q, (target + 1) % 3);
          if (settled) copyStateFromGPU(s.q);
        };
        s.ref.a.assign(s.ref.a.size(), 0);
        start();
        applyProjector(s.q, target, 1);
        s.check("the projector");
        EXPECT_EQ(calcTotalProb(s.q), 0);
        EXPECT_EQ(measure(s.q, target), 1);  // P(0) is zero
        s.check("zeros that were measured");
        hadamard(s.q, target);
        applyProjector(s.q, target, 0);
        s.check("zeros after a gate");
        initBlankState(s.q);
        EXPECT_EQ(measure(s.q, target), 1);
        applyProjector(s.q, target, 0);
        s.check("a blank register");
        // the qubit stays |0>, but the state counts more or less than 1
        for (const double scale : {0.0, 0.25, 2.0}) {
          start();
          const ComplexMatrix2 m = matrix2({scale, 0, 0, scale});
          applyMatrix2(s.q, (target + 2) % 3, m);
          const double zero = density ? scale : scale * scale;
          EXPECT_NEAR(calcTotalProb(s.q), zero, kTolerance);
          if (zero == 0 || zero > 1) {  // otherwise outcomes are drawn
            EXPECT_EQ(measure(s.q, target), zero > 1 ? 0 : 1);
          } else {
            for (int k = 0; k < 8; ++k) measure(s.q, target);
          }
          applyProjector(s.q, target, 1);
          EXPECT_GE(calcTotalProb(s.q), 0);
        }
      }
    }
  }
}

TEST(Measure, SeedsRepeat) {
  QuESTEnv env = createQuESTEnv();
  Qureg q = createQureg(2, env);
  const auto outcomes = [&] {
    unsigned long keys[2] = {12, 34};
    seedQuEST(&env, keys, 2);
    std::string out;
    for (int k = 0; k < 64; ++k) {
      initPlusState(q);
      out += static_cast<char>('0' + measure(q, 0));
    }
    return out;
  };
  const std::string first = outcomes();
  EXPECT_EQ(first, outcomes());
  EXPECT_NE(first.find('0'), std::string::npos);
  EXPECT_NE(first.find('1'), std::string::npos);
  unsigned long* seeds = nullptr;
  int count = 0;
  getQuESTSeeds(env, &seeds, &count);
  ASSERT_EQ(count, 2);
  EXPECT_EQ(seeds[1], 34u);
  // init_by_array {0x123, 0x234, 0x345, 0x456} of the generator's authors begins 1067595299,
  // 955945823, 477289528, 4107218783: outcome 1 where it is above 1/2 of 2^32
  unsigned long known[4] = {0x123, 0x234, 0x345, 0x456};
  seedQuEST(&env, known, 4);
  for (int wanted : {0, 0, 0, 1}) {
    initPlusState(q);
    EXPECT_EQ(measure(q, 0), wanted);
  }
  seedQuESTDefault(&env);
  destroyQureg(q, env);
  destroyQuESTEnv(env);
}

TEST(Reports, TextAndRecord) {
  Pair s(3, false);
  initZeroState(s.q);
  startRecordingQASM(s.q);
  hadamard(s.q, 0);
  controlledNot(s.q, 0, 1);
  rotateX(s.q, 2, qreal(0.5));
  int controls[2] = {0, 1};
  multiControlledPhaseFlip(s.q, controls, 2);
  measure(s.q, 2);
  // almost a phase: the entries beside the diagonal are rounding, and so are their angles
  unitary(s.q, 0, ComplexMatrix2{{{1, 0}, {qreal(0x1p-38), 0}}, {{0, 0}, {0, 1}}});
  stopRecordingQASM(s.q);
  hadamard(s.q, 0);
  // one file for all ranks of a run, which have a parent in common, and another for another program
  const std::string name = testing::TempDir() + "quest_record_" + std::to_string(getppid()) + "_" +
                           std::to_string(sizeof(qreal)) + "_" +
                           std::to_string(environment().numRanks) + ".qasm";
  std::string path = name;
  writeRecordedQASMToFile(s.q, path.data());
  syncQuESTEnv(environment());  // rank 0 has written
  EXPECT_EQ(file_text(name),
            "OPENQASM 2.0;\ninclude \"qelib1.inc\";\nqreg q[3];\ncreg c[3];\nh q[0];\ncx "
            "q[0],q[1];\nrx(0.5) q[2];\ncz q[0],q[1];\nmeasure q[2] -> "
            "c[2];\nu3(7.275957614183426e-12,0,1.5707963267948966) q[0];\n");
  syncQuESTEnv(environment());
  const bool is_root = environment().rank == 0;  // which alone prints
  if (is_root) std::remove(name.c_str());
  testing::internal::CaptureStdout();
  clearRecordedQASM(s.q);
  printRecordedQASM(s.q);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            is_root ? "OPENQASM 2.0;\ninclude \"qelib1.inc\";\nqreg q[3];\ncreg c[3];\n" : "");
  testing::internal::CaptureStdout();
  initZeroState(s.q);
  reportStateToScreen(s.q, environment(), 0);
  reportQuregParams(s.q);
  reportQuESTEnv(environment());
  PauliHamil h = createPauliHamil(2, 4);
  const qreal coefficients[4] = {qreal(1e-20), qreal(1) / 3, qreal(-0.1), 2};
  for (int k = 0; k < 4; ++k) {
    h.termCoeffs[k] = coefficients[k];
    h.pauliCodes[2 * k] = PAULI_X;
    h.pauliCodes[2 * k + 1] = static_cast<pauliOpType>(k);
  }
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(text.empty(), !is_root);
  EXPECT_EQ(text.find("Number of amps is 8.") != std::string::npos, is_root);
  EXPECT_EQ(text.find("1.0000") != std::string::npos, is_root);
  // what is printed reads back exactly
  testing::internal::CaptureStdout();
  reportPauliHamil(h);
  const std::string terms = testing::internal::GetCapturedStdout();
  EXPECT_EQ(terms.empty(), !is_root);
  if (is_root) {
    std::string file = testing::TempDir() + "quest_hamil_" + std::to_string(getpid()) + ".txt";
    std::ofstream(file) << terms;
    PauliHamil back = createPauliHamilFromFile(file.data());
    ASSERT_EQ(back.numSumTerms, 4);
    for (int k = 0; k < 4; ++k) {
      EXPECT_EQ(back.termCoeffs[k], coefficients[k]) << terms;
      EXPECT_EQ(back.pauliCodes[2 * k + 1], static_cast<pauliOpType>(k));
    }
    destroyPauliHamil(back);
    std::remove(file.c_str());
  }
  destroyPauliHamil(h);
  // words "key=value" and nothing else: QuEST's keys first
  char line[200] = "";
  getEnvironmentString(environment(), line);
  std::istringstream words(line);
  std::vector<std::string> keys;
  std::map<std::string, std::string> values;
  for (std::string word; words >> word;) {
    const std::size_t at = word.find('=');
    ASSERT_NE(at, std::string::npos) << line;
    keys.push_back(word.substr(0, at));
    values[keys.back()] = word.substr(at + 1);
  }
  ASSERT_GE(keys.size(), 5u);
  keys.resize(5);
  EXPECT_EQ(keys, (std::vector<std::string>{"CUDA", "OpenMP", "MPI", "threads", "ranks"}));
  EXPECT_EQ(values["OpenMP"], "1");
  EXPECT_EQ(values["MPI"], environment().numRanks > 1 ? "1" : "0");
  if (!std::getenv("TILEWAVE_RANKS")) {
    EXPECT_EQ(values["ranks"], std::to_string(environment().numRanks));
  }
  EXPECT_EQ(syncQuESTSuccess(1), 1);
  EXPECT_EQ(syncQuESTSuccess(environment().rank != 0), 0);
  syncQuESTEnv(environment());
  reportState(s.q);
  const std::string report = "state_rank_" + std::to_string(environment().rank) + ".csv";
  EXPECT_EQ(file_text(report).substr(0, 3), is_root ? "rea" : "0.0");
  EXPECT_EQ(file_text(report).find("real, imag\n1.0") == 0, is_root);
  std::remove(report.c_str());
}
