// Clifford circuits: the stabilizer engine against the state vector, and what it refuses.
#include "tilewave/simulate/clifford_run.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tilewave/base/error.h"
#include "tilewave/io/qasm2.h"

namespace tilewave::simulate {
namespace {

Result run(const std::string& body, const std::string& engine, std::uint64_t shots) {
  Options options;
  options.engine = engine;
  options.shots = shots;
  options.seed = 5;
  options.device = "cpu";
  return simulate(io::parse_qasm2("OPENQASM 2.0;\ninclude \"qelib1.inc\";\n" + body, "test.qasm"),
                  options);
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
};

TEST(CliffordRun, has_the_distribution_of_the_state_vector) {
  constexpr std::uint64_t kShots = 200000;
  for (const char* body : kCircuits) {
    const Result want = run(body, "statevector", kShots), got = run(body, "stabilizer", kShots);
    EXPECT_EQ(want.engine, "statevector");
    EXPECT_EQ(got.engine, "stabilizer");
    for (const auto& [key, count] : got.counts) EXPECT_TRUE(want.counts.count(key)) << key << body;
    for (const auto& [key, count] : want.counts) {
      const auto it = got.counts.find(key);
      ASSERT_NE(it, got.counts.end()) << key << '\n' << body;
      const double a = static_cast<double>(count), b = static_cast<double>(it->second);
      EXPECT_LT(std::abs(a - b), 5.5 * std::sqrt(a + b)) << key << '\n' << body;
    }
  }
}

TEST(CliffordRun, is_chosen_for_large_circuits_and_counts_only) {
  const std::string ghz = "qreg q[300];\nh q[0];\ncx q[0],q[299];";
  EXPECT_EQ(run(ghz, "auto", 10).engine, "stabilizer");
  EXPECT_EQ(run("qreg q[2];\nh q[0];", "auto", 10).engine, "statevector");
  EXPECT_EQ(run("qreg q[21];\nt q[0];", "auto", 10).engine, "statevector");
  EXPECT_THROW(run("qreg q[21];\nt q[0];", "stabilizer", 10), Error);
  EXPECT_THROW(run("qreg q[2];\nh q[0];", "stabilizer", 0), Error);
  EXPECT_THROW(run("qreg q[2];\nh q[0];", "tableau", 10), Error);
}

TEST(CliffordRun, five_thousand_entangled_qubits) {
  std::string body = "qreg q[5000];\nh q[0];\n";
  for (int k = 1; k < 5000; ++k)
    body += "cx q[" + std::to_string(k - 1) + "],q[" + std::to_string(k) + "];\n";
  const Result r = run(body, "auto", 10000);
  ASSERT_EQ(r.counts.size(), 2u);
  EXPECT_EQ(r.counts.begin()->first, std::string(5000, '0'));
  EXPECT_NEAR(static_cast<double>(r.counts.begin()->second), 5000, 500);
}

}  // namespace
}  // namespace tilewave::simulate
