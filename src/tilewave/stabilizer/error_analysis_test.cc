// Error models line by line: how errors are split, channels become independent errors, and tags are
// kept; loop_folding_test.cc has loops. Expectations by hand, or what stim 1.16 prints.
#include "tilewave/stabilizer/error_analysis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tilewave/base/thrown_test.h"
#include "tilewave/stabilizer/error_models_test.h"
#include "tilewave/stabilizer/pauli_channel.h"

namespace tilewave::stabilizer {
namespace {

using error_models_test::folding;
using error_models_test::model;
using error_models_test::refusal;

AnalysisOptions splitting() {
  AnalysisOptions o;
  o.decompose_errors = true;
  o.approximate_disjoint_errors = 1;
  return o;
}

// Errors E on qubits that have a detector each; observables behind.
std::string errors_on(int detectors, int observables, const std::vector<std::string>& errors) {
  std::string out, measured = "M";
  for (const std::string& e : errors) out += "E(0.125) " + e + "\n";
  const int n = detectors + observables;
  for (int q = 0; q < n; ++q) measured += " " + std::to_string(q);
  out += measured + "\n";
  for (int q = 0; q < detectors; ++q) out += "DETECTOR rec[-" + std::to_string(n - q) + "]\n";
  for (int q = 0; q < observables; ++q) {
    out += "OBSERVABLE_INCLUDE(" + std::to_string(q) + ") rec[-" + std::to_string(observables - q) +
           "]\n";
  }
  return out;
}

TEST(Split, a_channel_is_split_into_its_own_branches) {
  const std::string before = "RX 0\nCX 0 1\n",
                    behind = "\nCX 0 1\nM 1\nMX 0\nDETECTOR rec[-2]\nDETECTOR rec[-1]\n";
  // A Pauli by itself has no other branches; a product has none either.
  for (const auto& [noise, want] : std::vector<std::pair<std::string, std::string>>{
           {"DEPOLARIZE1(0.1) 0",
            "error(0.034525331874368625) D0\nerror(0.034525331874368625) D1\n"
            "error(0.034525331874368625) D1 ^ D0\n"},
           {"Y_ERROR(0.125) 0", "error(0.125) D0 D1\n"},
           {"E(0.125) Y0", "error(0.125) D0 D1\n"},
           {"PAULI_CHANNEL_1(0, 0.125, 0) 0", "error(0.125) D0 ^ D1\n"},
           {"HERALDED_PAULI_CHANNEL_1(0, 0, 0.125, 0) 0", "error(0.125) D1 ^ D0\n"},
           {"Y_ERROR(0.25) 0\nPAULI_CHANNEL_1(0, 0.125, 0) 0",
            "error(0.25) D0 D1\nerror(0.125) D0 ^ D1\n"}}) {
    EXPECT_EQ(model(before + noise + behind, splitting()), want) << noise;
  }
}

TEST(Split, parts_are_found_at_any_depth_and_whatever_the_numbering) {
  struct Case {
    int detectors, observables;
    std::vector<std::string> errors;
    const char* split;  // of the first error
  };
  for (const Case& c : std::vector<Case>{
           {3, 0, {"X0 X1 X2", "X1 X2"}, "D1 D2 ^ D0"},
           {3, 0, {"X0 X1 X2", "X0 X1"}, "D0 D1 ^ D2"},
           {3, 0, {"X0 X1 X2", "X0"}, "D0 ^ D1 D2"},
           {3, 0, {"X0 X1 X2", "X0", "X0 X1"}, "D0 D1 ^ D2"},
           {4, 0, {"X0 X1 X2 X3", "X0 X2", "X0 X1", "X1 X3"}, "D0 D2 ^ D1 D3"},
           {4, 0, {"X0 X1 X2 X3", "X2 X3"}, "D2 D3 ^ D0 D1"},
           {6, 0, {"X0 X1 X2 X3 X4 X5", "X0 X2", "X4", "X5"}, "D0 D2 ^ D4 ^ D5 ^ D1 D3"},
           // a first pair that leads nowhere, where all parts are known
           {4, 0, {"X0 X1 X2 X3", "X0 X1", "X0 X2", "X1 X3"}, "D0 D2 ^ D1 D3"},
           // what is left is behind the known pairs, then the known single ones
           {6, 0, {"X0 X1 X2 X3 X4 X5", "X0", "X4", "X3 X5"}, "D3 D5 ^ D0 ^ D4 ^ D1 D2"},
           // nine parts
           {9,
            0,
            {"X0 X1 X2 X3 X4 X5 X6 X7 X8", "X0", "X1", "X2", "X3", "X4", "X5", "X6", "X7"},
            "D0 ^ D1 ^ D2 ^ D3 ^ D4 ^ D5 ^ D6 ^ D7 ^ D8"},
           // of parts that differ in observables the last
           {4, 1, {"X0 X1 X2 X3 X4", "X0 X1", "X0 X1 X4", "X2 X3"}, "D0 D1 L0 ^ D2 D3"},
           {4, 1, {"X0 X1 X2 X3", "X0 X1", "X0 X1 X4", "X2 X3"}, "D0 D1 L0 ^ D2 D3 ^ L0"},
           // detectors that are left take the observables; these alone are a part of their own
           {4, 1, {"X0 X1 X2", "X0 X1 X4"}, "D0 D1 L0 ^ D2 L0"},
           {4, 1, {"X0 X1 X2 X4", "X0 X1", "X2"}, "D0 D1 ^ D2 ^ L0"},
           {3, 1, {"X0 X1 X2", "X0 X3", "X1 X3", "X2 X3", "X3"}, "D0 L0 ^ D1 L0 ^ D2 L0 ^ L0"},
           {3, 1, {"X0 X1 X2", "X0 X3", "X1 X3", "X2 X3"}, "D0 L0 ^ D1 L0 ^ D2 L0 ^ L0"}}) {
    const std::string text = model(errors_on(c.detectors, c.observables, c.errors), splitting());
    EXPECT_TRUE(has(text, "error(0.125) " + std::string(c.split) + "\n"));
  }
}

TEST(Split, what_has_no_parts_is_refused_or_kept) {
  const std::vector<std::string> kCases[] = {{"X0 X1 X2"},
                                             {"X0 X1 X2 X3", "X0"},
                                             {"X0 X1 X2 X3 X4 X5", "X0 X2"},
                                             {"X0 X1 X2 X3 X4 X5", "X0 X1", "X0 X2", "X1 X3"}};
  for (const auto& errors : kCases) {
    const std::string circuit = errors_on(6, 0, errors);
    EXPECT_TRUE(has(refusal(circuit, splitting()), "cannot be split"));
    AnalysisOptions keep = splitting();
    keep.ignore_decomposition_failures = true;
    const std::string text = model(circuit, keep);
    EXPECT_TRUE(has(text, "error(0.125) D0 D1 D2"));
    EXPECT_EQ(text.find('^'), std::string::npos) << text;
  }
  AnalysisOptions known = splitting();
  known.block_remnant_edges = true;
  EXPECT_TRUE(has(refusal(errors_on(4, 0, {"X0 X1 X2 X3", "X0 X1"}), known), "cannot be split"));
  EXPECT_EQ(model(errors_on(4, 0, {"X0 X1 X2 X3", "X0 X1", "X2 X3"}), known),
            "error(0.125) D0 D1\nerror(0.125) D0 D1 ^ D2 D3\nerror(0.125) D2 D3\n");
  // Observables alone are no part that is known, be they an error or not.
  EXPECT_TRUE(has(refusal(errors_on(3, 1, {"X0 X1 X2 X3", "X0", "X1", "X2", "X3"}), known),
                  "cannot be split"));
  // Many detectors without parts: an answer, not a search without end.
  std::string many = "X0";
  std::vector<std::string> pairs(1);
  for (int q = 1; q < 60; ++q) many += " X" + std::to_string(q);
  for (int q = 0; q + 1 < 40; ++q)
    pairs.push_back("X" + std::to_string(q) + " X" + std::to_string(q + 1));
  pairs[0] = many;
  EXPECT_TRUE(has(refusal(errors_on(60, 0, pairs), splitting()), "cannot be split"));
}

// Two certain errors of the same kind are none: the detectors they would flip are declared, and
// what they would flip is no part of others. As stim 1.16 has it.
TEST(Split, errors_that_cancel_are_no_errors) {
  const std::string end = "M 0\nDETECTOR rec[-1]\n", twice = "X_ERROR(1) 0\nX_ERROR(1) 0\n";
  for (const auto& [circuit, want] : std::vector<std::pair<std::string, std::string>>{
           {twice + end, "detector D0\n"},
           {twice + "X_ERROR(1) 0\n" + end, "error(1) D0\n"},
           {twice + "M 0\nOBSERVABLE_INCLUDE(3) rec[-1]\n", "logical_observable L3\n"},
           {"REPEAT 2 {\n" + twice + "MR 0\nDETECTOR rec[-1]\n}\n",
            "detector D0\ndetector D1\n"}}) {
    EXPECT_EQ(model(circuit), want) << circuit;
  }
  std::string circuit = errors_on(4, 0, {"X0 X1 X2 X3", "X0 X2", "X1 X3"});
  for (const char* pair : {"X0 X1", "X2 X3"}) {
    for (int k = 0; k < 2; ++k) circuit = "E(1) " + std::string(pair) + "\n" + circuit;
  }
  EXPECT_EQ(model(circuit, splitting()),
            "error(0.125) D0 D2\nerror(0.125) D0 D2 ^ D1 D3\nerror(0.125) D1 D3\n");
  circuit = errors_on(3, 0, {"X0 X1 X2"});
  EXPECT_TRUE(has(refusal("E(1) X0 X1\nE(1) X0 X1\nE(1) X2\nE(1) X2\n" + circuit, splitting()),
                  "cannot be split"));
}

// Detectors before observables before the end of a part, whatever the number of parts.
TEST(Split, lines_are_in_the_order_of_their_targets) {
  EXPECT_EQ(model(errors_on(3, 1, {"X0 X1 X2 X3", "X0 X1", "X2", "X0 X1 X3"}), splitting()),
            "error(0.125) D0 D1\nerror(0.125) D0 D1 L0\nerror(0.125) D0 D1 L0 ^ D2\n"
            "error(0.125) D2\n");
  EXPECT_EQ(model("E[b](0.125) X0\nE[a](0.25) X0\nE(0.5) X0\nM 0\nOBSERVABLE_INCLUDE(0) rec[-1]\n"),
            "error(0.5) L0\nerror[a](0.25) L0\nerror[b](0.125) L0\n");
}

// The order of parts is that of the branches, which channels count in their own ways.
TEST(Split, parts_of_a_channel_are_in_the_order_of_its_branches) {
  std::string first = "PAULI_CHANNEL_2(0";
  for (int k = 2; k <= 15; ++k) first += k == 10 ? ", 0.125" : ", 0";  // YY
  first += ") 0 1";
  const std::pair<std::string, std::string> cases[] = {
      {first, "D2 ^ D3 ^ D0 ^ D1"},
      {"DEPOLARIZE2(0.125) 0 1", "D1 ^ D0 ^ D3 ^ D2"},
      {"PAULI_CHANNEL_1(0, 0.125, 0) 0", "D0 ^ D1"},
      {"DEPOLARIZE1(0.125) 0", "D1 ^ D0"},
      {"HERALDED_PAULI_CHANNEL_1(0, 0, 0.125, 0) 0\nDETECTOR rec[-1]", "D2 ^ D1 ^ D0"}};
  for (const auto& [noise, want] : cases) {
    // Bell pairs: an X of qubit 0 flips ZZ, its Z flips XX, then those of qubit 1.
    const std::string text = model("H 0 1\nCX 0 2 1 3\n" + noise +
                                       "\nMPP Z0*Z2 X0*X2 Z1*Z3 X1*X3\nDETECTOR rec[-4]\n"
                                       "DETECTOR rec[-3]\nDETECTOR rec[-2]\nDETECTOR rec[-1]\n",
                                   splitting());
    EXPECT_TRUE(has(text, ") " + want + "\n")) << noise << "\n" << text;
  }
}

// What the branches of a channel are split into flips the observables that they flip: the split of
// stim 1.16 by detectors alone would make one error of both.
TEST(Split, branches_that_differ_in_observables_stay_apart) {
  const std::string text = model(
      "H 0 1\nCX 0 2 1 3\nDEPOLARIZE2(0.125) 0 1\n"
      "MPP Z0*Z2 Z1*Z3 X1*X3\nDETECTOR rec[-3]\nDETECTOR rec[-2]\n"
      "DETECTOR rec[-3]\nOBSERVABLE_INCLUDE(0) rec[-1]\n",
      splitting());
  EXPECT_TRUE(has(text, "D0 D2 ^ D1\n"));
  EXPECT_TRUE(has(text, "D0 D2 ^ D1 L0\n"));
}

// Every OBSERVABLE_INCLUDE that no error before it in the text tells of, at its place.
TEST(Notes, observables_are_declared_where_they_stand) {
  const std::tuple<const char*, bool, const char*> cases[] = {
      {"OBSERVABLE_INCLUDE(0)\nDETECTOR\n", false, "logical_observable L0\ndetector D0\n"},
      {"DETECTOR\nOBSERVABLE_INCLUDE(1)\nDETECTOR\nOBSERVABLE_INCLUDE(1)\n", false,
       "detector D0\nlogical_observable L1\ndetector D1\nlogical_observable L1\n"},
      {"OBSERVABLE_INCLUDE(2)\nM(0.125) 0\nOBSERVABLE_INCLUDE(2) rec[-1]\nSHIFT_COORDS(1)\n"
       "OBSERVABLE_INCLUDE(3) X1\nOBSERVABLE_INCLUDE(3) X1\nOBSERVABLE_INCLUDE[a](2)\n",
       false,
       "error(0.125) L2\nshift_detectors(1) 0\nlogical_observable L3\nlogical_observable L3\n"
       "logical_observable[a] L2\n"},
      {"M(0.125) 0\nOBSERVABLE_INCLUDE(0) rec[-1]\nREPEAT 5 {\nMR(0.25) 1\nDETECTOR rec[-1]\n"
       "OBSERVABLE_INCLUDE(0)\n}\n",
       true,
       "error(0.125) L0\nrepeat 4 {\n    error(0.25) D0\n    shift_detectors 1\n}\n"
       "error(0.25) D0\n"},
      {"REPEAT 5 {\nMR(0.25) 1\nDETECTOR rec[-1]\nOBSERVABLE_INCLUDE(0)\n}\nM(0.125) 0\n"
       "OBSERVABLE_INCLUDE(0) rec[-1]\n",
       true,
       "repeat 4 {\n    error(0.25) D0\n    logical_observable L0\n    shift_detectors 1\n}\n"
       "error(0.25) D0\nerror(0.125) L0\n"}};
  for (const auto& [circuit, folded, want] : cases)
    EXPECT_EQ(model(circuit, folded ? folding() : AnalysisOptions{}), want) << circuit;
}

TEST(Disjoint, the_limit_is_a_probability) {
  for (const double wrong : {-0.1, 1.5, std::nan("")}) {
    AnalysisOptions o;
    o.approximate_disjoint_errors = wrong;
    EXPECT_TRUE(has(refusal("M 0\nDETECTOR rec[-1]\n", o), "give a probability, from 0 to 1"))
        << wrong;
  }
}

// As Stim does: the limit is compared with what the circuit says, of HERALDED_ERASE(p) with p.
TEST(Disjoint, the_limit_is_one_of_arguments) {
  const std::string behind = "\nM 0\nDETECTOR rec[-2]\nDETECTOR rec[-1]\n";
  const struct {
    const char* noise;
    double limit;
    const char* want;
  } cases[] = {
      {"HERALDED_ERASE(0.25) 0", 0, "HERALDED_ERASE has disjoint branches"},
      {"HERALDED_ERASE(0.25) 0", 0.125,
       "HERALDED_ERASE has disjoint branches and among them a probability of 0.25, above the 0.125 "
       "of --approximate_disjoint_errors: raise that"},
      {"HERALDED_ERASE(0.25) 0", 0.25, "accepted: error(0.125) D0\nerror(0.125) D0 D1\n"},
      {"HERALDED_ERASE(1) 0", 0.99, "a probability of 1, above the 0.99"},
      {"HERALDED_ERASE(1) 0", 1, "accepted: error(0.5) D0\nerror(0.5) D0 D1\n"},
      {"HERALDED_PAULI_CHANNEL_1(0.0625, 0.25, 0, 0) 0", 0.125, "a probability of 0.25, above"},
      {"HERALDED_PAULI_CHANNEL_1(0.0625, 0.25, 0.125, 0) 0", 0.25,
       "accepted: error(0.0625) D0\nerror(0.375) D0 D1\n"},
      {"HERALDED_PAULI_CHANNEL_1(0, 0.25, 0, 0) 0", 0, "accepted: error(0.25) D0 D1\n"},
  };
  for (const auto& c : cases) {
    AnalysisOptions o;
    o.approximate_disjoint_errors = c.limit;
    const std::string circuit = "R 0\n" + std::string(c.noise) + behind;
    std::string text = refusal(circuit, o);
    if (text == "no error") text = "accepted: " + model(circuit, o);
    EXPECT_TRUE(has(text, c.want)) << c.noise << " " << c.limit;
  }
}

TEST(Disjoint, one_detector_flips_and_several_flip) {
  EXPECT_NE(refusal("M 0\nH 0\nM 0\nDETECTOR rec[-1]\n", {})
                .find("detectors are not deterministic: D0 flips at random"),
            std::string::npos);
  EXPECT_NE(refusal("M 0\nH 0\nM 0\nDETECTOR rec[-1]\nDETECTOR rec[-1]\n", {})
                .find("detectors are not deterministic: D0 D1 flip at random"),
            std::string::npos);
}

// Independent errors make the channel: the probabilities of their products are the channel's.
TEST(Channels, independent_errors_multiply_to_the_channel) {
  const auto products = [](const double* e) {
    std::array<double, 4> out{};
    for (int mask = 0; mask < 8; ++mask) {
      double p = 1;
      int result = 0;
      for (int j = 1; j < 4; ++j) {
        const bool on = (mask >> (j - 1)) & 1;
        p *= on ? e[j] : 1 - e[j];
        if (on) result ^= j;
      }
      out[static_cast<std::size_t>(result)] += p;
    }
    return out;
  };
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<std::array<double, 4>> channels = {{0.05, 0.05, 0.05, 0.85},
                                                 {0.05, 0.05, 0.85, 0.05},
                                                 {0.05, 0.85, 0.05, 0.05},
                                                 {0.25, 0.25, 0.25, 0.25},
                                                 {0.45, 0.05, 0.45, 0.05},
                                                 {0, 0.5, 0.5, 0},
                                                 {0, 0.5, 0, 0.5},
                                                 {0, 0, 0.5, 0.5},
                                                 {0, 0.6, 0, 0.4},
                                                 {0.09, 0.21, 0.49, 0.21},
                                                 {1, 0, 0, 0},
                                                 {0, 0, 0, 1}};
  for (int k = 0; k < 300; ++k) {  // products of what shall be found again, certain ones among them
    double e[4] = {};
    for (int j = 1; j < 4; ++j) {
      e[j] = uniform(random);
      if (k % 3 == 0) e[j] *= 0.1;
      if (k % 7 == j) e[j] = 0.5;
    }
    channels.push_back(products(e));
  }
  for (const auto& p : channels) {
    double errors[4];
    ASSERT_TRUE(independent_errors(p.data(), 4, errors)) << p[1] << ' ' << p[2] << ' ' << p[3];
    const auto got = products(errors);
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_NEAR(got[k], p[k], 1e-9) << p[1] << ' ' << p[2] << ' ' << p[3];
  }
  for (const std::array<double, 4>& p : {std::array<double, 4>{0.1, 0.3, 0.3, 0.3},
                                         {0.8, 0.1, 0.1, 0},
                                         {0, 0.7, 0.21, 0.09},
                                         {0.5, 0.045, 0.45, 0.005}}) {
    double errors[4];
    EXPECT_FALSE(independent_errors(p.data(), 4, errors)) << p[1] << ' ' << p[2] << ' ' << p[3];
  }
}

TEST(Channels, in_error_models) {
  const std::string before = "RX 0\nCX 0 1\n",
                    behind = " 0\nCX 0 1\nM 1\nMX 0\nDETECTOR rec[-2]\nDETECTOR rec[-1]\n";
  EXPECT_EQ(model(before + "PAULI_CHANNEL_1(0.05, 0.05, 0.85)" + behind).substr(0, 12),
            "error(0.9472");
  EXPECT_EQ(model(before + "DEPOLARIZE1(0.75)" + behind),
            "error(0.5) D0\nerror(0.5) D0 D1\nerror(0.5) D1\n");
  const std::string mixing = "PAULI_CHANNEL_1(0.3, 0.3, 0.3)";
  EXPECT_TRUE(
      has(refusal(before + mixing + behind, {}), "<circuit>:3: PAULI_CHANNEL_1 has disjoint"));
  AnalysisOptions o;
  o.approximate_disjoint_errors = 1;
  EXPECT_EQ(model(before + mixing + behind, o), "error(0.3) D0\nerror(0.3) D0 D1\nerror(0.3) D1\n");
  EXPECT_TRUE(
      has(refusal(before + "DEPOLARIZE1(0.8)" + behind, o), "<circuit>:3: DEPOLARIZE1 mixes"));
}

// As in Stim: the herald of an inverted target says what that of a plain one says.
TEST(Channels, an_inverted_herald_is_the_same) {
  const std::string behind = " 0\nM 0\nDETECTOR rec[-2]\nDETECTOR rec[-1]\n";
  for (std::string noise :
       {"HERALDED_ERASE(0.25)", "HERALDED_PAULI_CHANNEL_1(0.125, 0.25, 0, 0)"}) {
    std::string inverted = behind;
    inverted.insert(1, "!");
    const std::string want = model(noise + behind, splitting());
    EXPECT_TRUE(has(want, "D1"));
    EXPECT_EQ(model(noise + inverted, splitting()), want);
  }
}

TEST(Tags, reach_the_model) {
  EXPECT_EQ(model("X_ERROR[a](0.125) 0\nX_ERROR[b](0.125) 0\nX_ERROR(0.125) 0\nM[m](0.25) 0\n"
                  "DETECTOR[d](1, 2) rec[-1]\nDETECTOR[e] rec[-1]\nSHIFT_COORDS[s](1)\n"
                  "OBSERVABLE_INCLUDE[o](0) rec[-1]\nOBSERVABLE_INCLUDE(3) rec[-1]\n"
                  "OBSERVABLE_INCLUDE(5)\nOBSERVABLE_INCLUDE[z](6)\nTICK[q]\n"),
            "error(0.125) D0 D1 L0 L3\nerror[a](0.125) D0 D1 L0 L3\nerror[b](0.125) D0 D1 L0 L3\n"
            "error[m](0.25) D0 D1 L0 L3\ndetector[d](1, 2) D0\ndetector[e] D1\n"
            "shift_detectors[s](1) 0\nlogical_observable[o] L0\nlogical_observable L5\n"
            "logical_observable[z] L6\n");
  AnalysisOptions o = splitting();
  o.allow_gauge_detectors = true;
  EXPECT_EQ(model("R[r] 0\nH 0\nM 0\nDETECTOR rec[-1]\nDETECTOR rec[-1]\nE[c](0.125) X1\n"
                  "ELSE_CORRELATED_ERROR[f](0.5) X2\nM 1 2\nDETECTOR rec[-1]\nDETECTOR rec[-2]\n",
                  o),
            "error[r](0.5) D0 D1\nerror[f](0.4375) D2\nerror[c](0.125) D3\n");
  EXPECT_EQ(
      model("REPEAT[loop] 9 {\nR 0\nX_ERROR[a](0.125) 0\nM 0\nDETECTOR[d] rec[-1]\n}\n", folding()),
      "repeat[loop] 9 {\n    error[a](0.125) D0\n    detector[d] D0\n    shift_detectors 1\n}\n");
  // Tags keep errors apart, not parts.
  EXPECT_EQ(model(errors_on(3, 0, {"X1 X2"}).insert(0, "E[q](0.125) X0 X1 X2\n"), splitting()),
            "error(0.125) D1 D2\nerror[q](0.125) D1 D2 ^ D0\n");
}

}  // namespace
}  // namespace tilewave::stabilizer
