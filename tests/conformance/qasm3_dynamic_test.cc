// OpenQASM 3 programs whose classical part runs with the circuit: the engine's counts against the
// exact distribution of the reference simulator, and that against what the program means.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "oracle/naive_simulator.h"
#include "tilewave/io/qasm3.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave {
namespace {

struct Case {
  const char* name;
  const char* program;                       // after the version and the include
  std::map<std::uint64_t, double> expected;  // of the declared bits, when it can be said
};

// Probabilities of the lowest `bits` classical bits.
std::map<std::uint64_t, double> visible(const circuit::Circuit& c, std::uint32_t bits) {
  std::map<std::uint64_t, double> out;
  for (const auto& [clbits, p] : oracle::distribution(c)) out[clbits & ((1u << bits) - 1)] += p;
  return out;
}

TEST(Qasm3Dynamic, programs_mean_what_they_say_and_the_engine_agrees) {
  const double c2 = std::cos(0.35) * std::cos(0.35);
  const std::vector<Case> cases = {
      {"teleportation",
       "qubit[3] q; bit[3] c; ry(0.7) q[0]; h q[1]; cx q[1],q[2]; cx q[0],q[1]; h q[0];"
       "c[0] = measure q[0]; c[1] = measure q[1]; if (c[1]) x q[2]; if (c[0]) z q[2];"
       "c[2] = measure q[2]; c[0] = 0; c[1] = 0;",
       {{0, c2}, {4, 1 - c2}}},
      {"else undoes then",
       "qubit[2] q; bit[2] c; h q[0]; c[0] = measure q[0];"
       "if (c[0]) { x q[0]; x q[1]; c[0] = measure q[0]; } else { y q[1]; } c[1] = measure q[1];",
       {{2, 1.0}}},
      {"switch on a sum of two measured bits",
       "qubit[3] q; bit[2] c; bit r; h q[0]; h q[1]; c = measure q[0:1];"
       "switch (int(c[0]) + int(c[1])) { case 1 { x q[2]; } case 2 { h q[2]; } default { } }"
       "r = measure q[2];",
       {{0, 0.25}, {5, 0.25}, {6, 0.25}, {3, 0.125}, {7, 0.125}}},
      {"a counter over a loop of measurements",
       "qubit q; bit m; bit[2] c; int ones = 0;"
       "for int i in [0:2] { reset q; h q; m = measure q; if (m) ones += 1; } m = 0;"
       "c[0] = ones & 1; c[1] = (ones >> 1) & 1;",
       {{0, 0.125}, {2, 0.375}, {4, 0.375}, {6, 0.125}}},
      {"repeat until success, three times at most",
       "qubit[2] q; bit s; bit r; def attempt(qubit a) -> bit { h a; return measure a; }"
       "s = attempt(q[0]); for int i in [0:1] { if (!s) { reset q[0]; s = attempt(q[0]); } }"
       "if (s) x q[1]; r = measure q[1];",
       {{0, 0.125}, {3, 0.875}}},
      {"a phase of U under ctrl @ is seen by interference",
       "qubit[2] q; bit c; h q[0]; ctrl @ U(2*pi,0,0) q[0],q[1]; h q[0]; c = measure q[0];",
       {{0, 1.0}}},
      {"the same with the table's u",
       "qubit[2] q; bit c; h q[0]; ctrl @ u(2*pi,0,0) q[0],q[1]; h q[0]; c = measure q[0];",
       {{1, 1.0}}},
      {"a loop until tails, and how often it went round",
       "qubit q; bit c; bit[2] r; uint[2] n = 0; h q; c = measure q;"
       "while (c) { n += 1; reset q; h q; c = measure q; } r = n;",
       {{0, 8 / 15.0}, {2, 4 / 15.0}, {4, 2 / 15.0}, {6, 1 / 15.0}}},
      {"break out of an endless loop, in two places",
       "qubit q; bit c; bit[2] r; uint[2] n = 0;"
       "while (true) { h q; c = measure q; if (c) break; n += 1; if (n == 3) { break; } } r = n;",
       {{1, 0.5}, {3, 0.25}, {5, 0.125}, {6, 0.125}}},
      {"break out of an unrolled loop",
       "qubit q; bit c; bit[2] r; uint[2] n = 0;"
       "for int i in [0:2] { h q; c = measure q; if (c) { break; } n += 1; } r = n;",
       {{1, 0.5}, {3, 0.25}, {5, 0.125}, {6, 0.125}}},
      {"continue in an unrolled loop and in a running one",
       "qubit[2] q; bit c; bit[2] r; uint[2] n = 0;"
       "for int i in [0:1] { reset q[0]; h q[0]; c = measure q[0]; if (c) continue; n += 1; }"
       "h q[1]; c = measure q[1]; while (c) { reset q[1]; h q[1]; c = measure q[1];"
       "if (c) { continue; } n += 1; } r = n; c = 0;",
       {{0, 1 / 8.0}, {2, 3 / 8.0}, {4, 3 / 8.0}, {6, 1 / 8.0}}},
      {"variables change places in a running loop",
       "qubit q; bit c; bit[2] r; int[3] a = 1; int[3] b = 2; h q; c = measure q;"
       "while (c) { int[3] t = a; a = b; b = t; reset q; h q; c = measure q; } r = a;",
       {{2, 2 / 3.0}, {4, 1 / 3.0}}},
      {"a running loop under a condition, whose bit it overwrites",
       "qubit[2] q; bit c; bit r; h q[0]; c = measure q[0];"
       "if (c) { while (c) { h q[0]; c = measure q[0]; } x q[1]; } r = measure q[1];",
       {{0, 0.5}, {2, 0.5}}},
      {"more measured bits than a table holds",
       "qubit[14] q; bit[14] c; bit[2] r; h q[12]; h q[13]; c = measure q; r[0] = c + 1 > 8193;"
       "int[8] s = c >> 12; s = s * 3 - 1; r[1] = s == 5; c = 0;",
       {{0, 0.5}, {2 << 14, 0.25}, {1 << 14, 0.25}}},
      {"end under a condition",
       "qubit[2] q; bit c; bit r; h q[0]; c = measure q[0]; if (c) end; x q[1]; r = measure q[1];",
       {{1, 0.5}, {2, 0.5}}},
      {"a subroutine that runs a loop",
       "qubit q; bit[2] r; def tosses(qubit a) -> uint[2] { uint[2] n = 0; bit b; h a;"
       "b = measure a; while (b) { n += 1; reset a; h a; b = measure a; } return n; }"
       "r = tosses(q);",
       {{0, 8 / 15.0}, {1, 4 / 15.0}, {2, 2 / 15.0}, {3, 1 / 15.0}}},
  };
  constexpr std::uint64_t kShots = 40000;
  for (const Case& t : cases) {
    const circuit::Circuit c =
        io::parse_qasm3(std::string("OPENQASM 3.0; include \"stdgates.inc\";") + t.program, t.name);
    std::uint32_t bits = 0;
    for (const auto& r : c.cregs()) bits = std::max(bits, r.first + r.size);
    const auto exact = visible(c, bits);
    for (const auto& [key, p] : t.expected) {
      const auto found = exact.find(key);
      EXPECT_NEAR(found == exact.end() ? 0 : found->second, p, 1e-12) << t.name << " " << key;
    }
    simulate::Options options;
    options.shots = kShots;
    options.seed = 7;
    const simulate::Result result = simulate::simulate(c, options);
    std::uint64_t total = 0;
    for (const auto& [text, count] : result.counts) {
      std::uint64_t key = 0;
      for (const char ch : text) {
        if (ch != ' ') key = key << 1 | static_cast<std::uint64_t>(ch == '1');
      }
      total += count;
      const auto found = exact.find(key);
      const double p = found == exact.end() ? 0 : found->second;
      const double sigma = std::sqrt(std::max(0.0, p * (1 - p)) / kShots);
      EXPECT_NEAR(static_cast<double>(count) / kShots, p, 5 * sigma + 1e-12)
          << t.name << " " << text;
    }
    EXPECT_EQ(total, kShots) << t.name;
  }
}

}  // namespace
}  // namespace tilewave
