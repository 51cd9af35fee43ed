// Loops of error models: which iterations are folded into a loop, and which circuits are refused where
// loops are not folded. Expectations by hand, or what stim 1.16 prints.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tilewave/base/thrown_test.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/stabilizer/error_models_test.h"

namespace tilewave::stabilizer {
namespace {

using error_models_test::folding;
using error_models_test::model;
using error_models_test::refusal;

// The loops of stim 1.16: (period of the state, iterations until it is in it) of the circuit, then
// the iterations before, the loop and those behind.
TEST(Fold, where_stim_does) {
  const struct {
    int period, lookback, iterations;
    const char* want;
  } cases[] = {{1, 0, 3, "0 + 2 x 1 + 1"},
               {1, 1, 5, "5"},
               {1, 1, 6, "0 + 2 x 2 + 2"},
               {1, 1, 7, "1 + 2 x 2 + 2"},
               {1, 2, 20, "2 + 5 x 3 + 3"},
               {2, 0, 12, "1 + 5 x 2 + 1"},
               {2, 2, 40, "1 + 9 x 4 + 3"},
               {3, 0, 40, "0 + 13 x 3 + 1"},
               {3, 3, 20, "4 + 2 x 6 + 4"},
               {4, 0, 12, "2 + 2 x 4 + 2"},
               {4, 5, 20, "20"},
               {4, 5, 40, "2 + 4 x 8 + 6"}};
  for (const auto& c : cases) {
    std::string body = "MR(0.25) 0\nDETECTOR rec[-1]", before, behind;
    if (c.lookback > 0) body += " rec[-" + std::to_string(c.lookback + 1) + "]";
    for (int k = 0; k < c.lookback; ++k) before += "MR 0\n";
    if (c.period > 1) {
      body += "\nSWAP";
      for (int q = 10; q + 1 < 10 + c.period; ++q)
        body += " " + std::to_string(q) + " " + std::to_string(q + 1);
      body += "\nX_ERROR(0.125) 10";
      behind = "M 10\nOBSERVABLE_INCLUDE(0) rec[-1]\n";
    }
    const std::string text =
        model(before + "REPEAT " + std::to_string(c.iterations) + " {\n" + body + "\n}\n" + behind,
              folding());
    const auto iterations = [](const std::vector<circuit::DemInstruction>& ops, std::size_t from,
                               std::size_t to) {
      std::size_t count = 0;
      for (std::size_t k = from; k < to; ++k)
        count += ops[k].kind == circuit::DemKind::kError && ops[k].args[0] == 0.25;
      return std::to_string(count);
    };
    const auto ops = language::parse_dem(text).instructions;
    std::string got = iterations(ops, 0, ops.size());
    for (std::size_t k = 0; k < ops.size(); ++k) {
      if (ops[k].kind != circuit::DemKind::kRepeat) continue;
      got = iterations(ops, 0, k) + " + " + std::to_string(ops[k].count) + " x " +
            iterations(ops[k].body, 0, ops[k].body.size()) + " + " +
            iterations(ops, k + 1, ops.size());
    }
    EXPECT_EQ(got, c.want) << c.period << " " << c.lookback << " " << c.iterations << "\n" << text;
  }
}

// A loop's detectors are shifted by the last line of its body where that shifts coordinates.
TEST(Fold, a_shift_of_coordinates_at_the_end_shifts_detectors) {
  const std::string noise = "X_ERROR(0.125) 0\nMR 0\n";
  const struct {
    std::string body, want;  // of the circuit's loop, and of the model's
  } cases[] = {
      {noise + "DETECTOR(0,0) rec[-1]\nSHIFT_COORDS(1,0)\n",
       "error(0.125) D0\ndetector(0, 0) D0\nshift_detectors(1, 0) 1\n"},
      {noise + "DETECTOR rec[-1]\nSHIFT_COORDS[a](1)\nSHIFT_COORDS[b](0, 1)\n",
       "error(0.125) D0\nshift_detectors[a](1) 0\nshift_detectors[b](0, 1) 1\n"},
      {noise + "DETECTOR rec[-1]\nSHIFT_COORDS(0)\n", "error(0.125) D0\nshift_detectors(0) 1\n"},
      {noise + "DETECTOR rec[-1]\nSHIFT_COORDS\n", "error(0.125) D0\nshift_detectors 1\n"},
      {noise + "DETECTOR rec[-1]\nSHIFT_COORDS(1)\nX 0\nX 0\nTICK\n",  // no lines of a model
       "error(0.125) D0\nshift_detectors(1) 1\n"},
      {noise + "SHIFT_COORDS(1)\nDETECTOR(2) rec[-1]\n",
       "error(0.125) D0\nshift_detectors(1) 0\ndetector(2) D0\nshift_detectors 1\n"},
      {noise + "SHIFT_COORDS(1)\nDETECTOR rec[-1]\n",  // a detector that is flipped is not declared
       "error(0.125) D0\nshift_detectors(1) 0\nshift_detectors 1\n"},
      {noise + "SHIFT_COORDS(1)\n", "shift_detectors(1) 0\n"},  // no detectors
      {noise + "DETECTOR rec[-1]\nREPEAT 1 {\nSHIFT_COORDS(1)\n}\n",
       "error(0.125) D0\nshift_detectors(1) 1\n"},
      {"REPEAT 7 {\n" + noise + "DETECTOR rec[-1]\nSHIFT_COORDS(1)\n}\nSHIFT_COORDS(0, 1)\n",
       "repeat 7 {\n    error(0.125) D0\n    shift_detectors(1) 1\n}\nshift_detectors(0, 1) 0\n"},
      {"REPEAT 7 {\n" + noise +
           "DETECTOR rec[-1]\nSHIFT_COORDS(1)\n}\nMR 0\nDETECTOR rec[-1]\nSHIFT_COORDS(0, 1)\n",
       "repeat 7 {\n    error(0.125) D0\n    shift_detectors(1) 1\n}\ndetector D0\n"
       "shift_detectors(0, 1) 1\n"},
      {"MR 0\nDETECTOR rec[-1]\nSHIFT_COORDS(0, 1)\nREPEAT 7 {\n" + noise +
           "DETECTOR rec[-1]\nSHIFT_COORDS(1)\n}\n",
       "detector D0\nshift_detectors(0, 1) 0\nrepeat 7 {\n    error(0.125) D1\n"
       "    shift_detectors(1) 1\n}\nshift_detectors 1\n"}};
  for (const auto& c : cases) {
    std::string want = "    " + c.want;
    for (std::size_t at = want.find('\n'); at + 1 < want.size(); at = want.find('\n', at + 1))
      want.insert(at + 1, "    ");
    const std::string text = model("R 0\nREPEAT 5 {\n" + c.body + "}\n", folding());
    const std::size_t begin = text.find("{\n") + 2, end = text.find("\n}\n") + 1;
    EXPECT_EQ(text.substr(begin, end - begin), want) << text;
  }
}

TEST(Fold, after_any_period) {
  for (int period : {1, 2, 6, 7, 8, 13, 31, 127}) {
    std::string swaps = "SWAP";
    for (int q = 0; q + 1 < period; ++q)
      swaps += " " + std::to_string(q) + " " + std::to_string(q + 1);
    const std::uint64_t count = 12345678987654321;
    const std::string text =
        model("REPEAT " + std::to_string(count) + " {\nX_ERROR(0.125) 0\n" +
                  (period > 1 ? swaps : "H 9") + "\n}\nM 0\nOBSERVABLE_INCLUDE(0) rec[-1]\n",
              folding());
    // The error happens to qubit 0 in every iteration, and is there at the end in one of a period.
    // A line may stand for several of these errors.
    const auto errors_of = [](const circuit::DemInstruction& line) {
      return static_cast<std::uint64_t>(
          std::lround(std::log(1 - 2 * line.args[0]) / std::log(0.75)));
    };
    std::uint64_t errors = 0;
    for (const auto& op : language::parse_dem(text).instructions) {
      if (op.kind == circuit::DemKind::kError) errors += errors_of(op);
      for (const auto& line : op.body) errors += op.count * errors_of(line);
    }
    const auto n = static_cast<std::uint64_t>(period);
    EXPECT_TRUE(errors == count / n || errors == count / n + 1) << period << "\n" << text;
    EXPECT_LT(text.size(), 300u) << text;
  }
}

TEST(Fold, from_the_first_iteration_that_repeats) {
  EXPECT_EQ(model("REPEAT 1000 {\nR 0\nX_ERROR(0.125) 0\nM 0\nDETECTOR rec[-1]\n}\n", folding()),
            "repeat 1000 {\n    error(0.125) D0\n    shift_detectors 1\n}\n");
  EXPECT_EQ(
      model("REPEAT 5 {\nREPEAT 1000 {\nMR 0\nX_ERROR(0.125) 0\nMR 0\nDETECTOR rec[-1]\n}\n}\n",
            folding()),
      "repeat 5 {\n    repeat 1000 {\n        error(0.125) D0\n        shift_detectors 1\n"
      "    }\n}\n");
  EXPECT_EQ(model("REPEAT 1000000000000 {\nH 0\n}\nM 0\n", folding()), "");
}

// A chain that begins at the end of an iteration and goes on in the next.
TEST(Fold, chains_across_iterations) {
  AnalysisOptions o;
  o.approximate_disjoint_errors = 1;
  const auto circuit = [](int count) {
    return "E(0.25) X0\nREPEAT " + std::to_string(count) +
           " {\nELSE_CORRELATED_ERROR(0.5) X1\nMR 0 1\nDETECTOR rec[-1]\nDETECTOR rec[-2]\n"
           "E(0.125) X0\n}\nM 0\nDETECTOR rec[-1]\n";
  };
  const auto unrolled = circuit::flatten(language::parse_dem(model(circuit(50), o)));
  o.fold_loops = true;
  const std::string text = model(circuit(50), o);
  EXPECT_TRUE(has(text, "repeat 4"));
  std::map<std::vector<std::uint64_t>, double> want, got;
  for (const auto& e : unrolled.errors) want[e.detectors] = e.probability;
  for (const auto& e : circuit::flatten(language::parse_dem(text)).errors)
    got[e.detectors] = e.probability;
  EXPECT_EQ(got, want);
}

TEST(Fold, unrolling_without_end_is_refused) {
  const std::string text =
      refusal("REPEAT 1000000000000 {\nX_ERROR(0.125) 0\n}\nM 0\nDETECTOR rec[-1]\n", {});
  EXPECT_TRUE(has(text, "--fold_loops"));
}

// A block of gates alone is done after a period; one of which something is printed, or whose records
// count, is too long.
TEST(Fold, long_loops_without_folding) {
  for (const AnalysisOptions& o : {AnalysisOptions{}, folding()}) {
    // three times H S is the identity: 10^12 is 1 mod 3
    EXPECT_EQ(model("R 0\nX_ERROR(0.125) 0\nREPEAT 1000000000000 {\nH 0\nS 0\n}\nS_DAG 0\nH 0\nM "
                    "0\nDETECTOR rec[-1]\n",
                    o),
              "error(0.125) D0\n");
    EXPECT_EQ(model("M 1\nR 0\nX_ERROR(0.125) 0\nREPEAT 999999999999 {\nREPEAT 1000000000000 {\nH "
                    "0\nS 0\nCX rec[-1] 2\n}\nR 3\n}\nM 0\nDETECTOR rec[-1]\n",
                    o),
              "error(0.125) D0\n");
  }
  for (const char* block :
       {"SHIFT_COORDS(1)", "M 0", "MR 0\nDETECTOR rec[-1]", "MPAD 0\nDETECTOR rec[-1]"}) {
    const std::string text =
        refusal(std::string("REPEAT 1000000000000 {\n") + block + "\n}\nM 0\n", {});
    EXPECT_NE(text.find("has more than 2^36 operations, too many to go through one by one: use "
                        "--fold_loops"),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace tilewave::stabilizer
