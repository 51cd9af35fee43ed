// OpenQASM 3 programs whose classical part runs with the circuit: the engine's counts against the
// exact distribution of the reference simulator, and that against what the program means.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "oracle/naive_simulator.h"
#include "tilewave/base/error.h"
#include "tilewave/language/qasm3/qasm3.h"
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
      {"phase estimation of one qubit: every digit turns the next",
       "qubit[2] q; bit[3] c; float turn = 0; x q[1]; for int k in [0:2] { reset q[0]; h q[0];"
       "pow(2 ** (2 - k)) @ cp(2 * pi * 5 / 8) q[0], q[1]; p(-turn) q[0]; h q[0];"
       "c[k] = measure q[0]; if (c[k]) { turn += pi; } turn /= 2; }",
       {{5, 1.0}}},
      {"angles as arithmetic of measured bits, in gates of the program and under modifiers",
       "gate twice(a) x { ry(a / 2) x; ry(a / 2) x; } qubit[4] q; bit[2] c; bit[2] r; h q[0]; h "
       "q[1];"
       "c = measure q[0:1]; twice(pi / 2 * int(c)) q[2]; x q[0]; reset q[1]; x q[1];"
       "ctrl @ inv @ ry(-pi * c[1]) q[1], q[3]; r[0] = measure q[2]; r[1] = measure q[3];",
       {{0, 0.25}, {1, 0.125}, {5, 0.125}, {14, 0.25}, {11, 0.125}, {15, 0.125}}},
      {"the phase of U under ctrl @ with a measured angle",
       "qubit[3] q; bit m; bit c; h q[2]; m = measure q[2]; h q[0]; ctrl @ U(2*pi*m,0,0) q[0],q[1];"
       "h q[0]; c = measure q[0];",
       {{0, 0.5}, {1, 0.5}}},
      {"qubits named by what was measured",
       "qubit[6] q; bit[2] c; bit[4] r; h q[0]; h q[1]; c = measure q[0:1]; x q[2 + int(c)];"
       "r = measure q[2:5];",
       {{4, 0.25}, {9, 0.25}, {18, 0.25}, {35, 0.25}}},
      {"two indices, one of them negative, in one gate; measured and reset by index",
       "qubit[4] q; bit[3] c; h q[0]; c[0] = measure q[0]; int[4] i = c[0]; int[4] j = -1 - i;"
       "x q[i]; cx q[i], q[j]; c[1 + i] = measure q[j]; reset q[i]; c[2 - i] = measure q[i];",
       {{2, 0.5}, {4 + 1, 0.5}}},
      {"bits read and written by index",
       "qubit[2] q; bit[2] c; bit[4] r; bit[4] given = \"0110\"; h q[0]; h q[1]; c = measure q;"
       "uint[2] i = c; r[i] = given[i]; r[3 - i] ^= 1; c = 0;"
       "given = \"0000\";",
       {{8 << 2, 0.25}, {6 << 2, 0.5}, {1 << 2, 0.25}}},
      {"a loop over a measured range",
       "qubit[4] q; bit[2] c; bit[2] r; h q[0]; h q[1]; c = measure q[0:1]; uint[2] n = 0;"
       "for uint i in [1:int(c)] { n += 1; x q[2]; ry(pi * i) q[3]; } r = n; c = 0;",
       {{0, 0.25}, {4, 0.25}, {8, 0.25}, {12, 0.25}}},
      {"the same downwards, with break and continue",
       "qubit[3] q; bit[2] c; bit[3] r; h q[0]; h q[1]; c = measure q[0:1]; uint[3] n = 0;"
       "for int i in [int(c):-1:0] { if (i == 2) continue; if (n == 2) break; n += 1; } r = n;"
       "c = 0;",
       {{1 << 2, 0.25}, {2 << 2, 0.75}}},
      {"loops over sets and bits that were measured",
       "qubit[2] q; bit[2] c; bit[3] r; h q[0]; h q[1]; c = measure q; uint[3] n = 0;"
       "for int i in {int(c[0]), 2, int(c)} { n += i; } for bit b in c { n += b; } r = n; c = 0;",
       {{2 << 2, 0.25}, {5 << 2, 0.5}, {(8 & 7) << 2, 0.25}}},
      {"return under a condition",
       "def tries(qubit a) -> int { bit b; for int k in [1:3] { reset a; h a; b = measure a;"
       "if (b) return k; } return 0; } qubit q; bit[2] r; uint[2] n = tries(q); r = n;",
       {{1, 0.5}, {2, 0.25}, {3, 0.125}, {0, 0.125}}},
      {"return out of an endless loop, and an effect behind it that does not happen",
       "def toss(qubit a, qubit f) -> uint[2] { uint[2] n = 0; while (true) { bit b; reset a; h a;"
       "b = measure a; n += 1; if (b) { return n; } if (n == 3) { return 0; } } x f; return 2; }"
       "qubit[2] q; bit[2] r; bit s; r = toss(q[0], q[1]); s = measure q[1];",
       {{1, 0.5}, {2, 0.25}, {3, 0.125}, {0, 0.125}}},
      {"a subroutine on a qubit that was measured for, and its result",
       "def look(qubit a) -> bit { bit b = measure a; return b; } qubit[3] q; bit c; bit r; x q[2];"
       "h q[0]; c = measure q[0]; int i = c; r = look(q[1 + i]);",
       {{0, 0.5}, {3, 0.5}}},
      {"until success with an angle that grows with the tries",
       "qubit q; bit c; uint[3] n = 0; bit[2] r; ry(pi / 2) q; c = measure q;"
       "while (!c) { n += 1; reset q; ry(pi * n / 2) q; c = measure q; } c = 0; r = n;",
       {{0, 0.5}, {2, 0.25}, {4, 0.25}}},
      {"functions of what a running loop counts",
       "qubit q; bit c; bit[2] r; uint[4] n = 1; h q; c = measure q; while (c) { n = rotl(n, 1);"
       "h q; c = measure q; if (n == 4) { c = 0; } } r[0] = popcount(n) == 1;"
       "r[1] = sqrt(n) + 2 ** n > 6;",
       {{2, 0.75}, {6, 0.25}}},
      {"comparisons and arithmetic of bits",
       "qubit[3] q; bit[3] c; bit[4] r; h q[0]; h q[1]; c = measure q; r[0] = c[0] ^ c[1];"
       "r[1] = c == \"011\"; r[2] = int[3](c) < 0; r[3] = (c << 1) == \"110\"; c = 0;",
       {{0, 0.25}, {8, 0.5}, {(2 | 8) << 3, 0.25}}},
      {"an index that is never reached where it is out of range",
       "qubit[5] q; bit[2] c; bit[3] r; h q[0]; h q[1]; c = measure q[0:1]; int i = c;"
       "if (i < 3) { x q[2 + i]; } if (i < 3 && r[i] == 0) { r[i] = 1; } c = 0;",
       {{4, 0.25}, {8, 0.25}, {16, 0.25}, {0, 0.25}}},
      {"a subroutine that runs a loop",
       "qubit q; bit[2] r; def tosses(qubit a) -> uint[2] { uint[2] n = 0; bit b; h a;"
       "b = measure a; while (b) { n += 1; reset a; h a; b = measure a; } return n; }"
       "r = tosses(q);",
       {{0, 8 / 15.0}, {1, 4 / 15.0}, {2, 2 / 15.0}, {3, 1 / 15.0}}},
  };
  constexpr std::uint64_t kShots = 40000;
  for (const Case& t : cases) {
    const circuit::Circuit c = language::parse_qasm3(
        std::string("OPENQASM 3.0; include \"stdgates.inc\";") + t.program, t.name);
    std::uint32_t bits = 0;
    for (const auto& r : c.cregs()) bits = std::max(bits, r.first + r.size);
    const bool fits = c.num_clbits() <= 64;  // the reference simulator
    const auto exact = fits ? visible(c, bits) : t.expected;
    for (const auto& [key, p] : t.expected) {
      const auto found = exact.find(key);
      EXPECT_NEAR(found == exact.end() ? 0 : found->second, p, 1e-12) << t.name << " " << key;
    }
    for (const std::string engine : {"statevector", "density"}) {
      if (engine == "density" && c.num_qubits() > 6) continue;
      simulate::Options options;
      options.shots = kShots;
      options.seed = 7;
      options.engine = parse_engine(engine);
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
            << t.name << " " << engine << " " << text;
      }
      EXPECT_EQ(total, kShots) << t.name << " " << engine;
    }
  }
}

TEST(Qasm3Dynamic, an_index_out_of_range_is_an_error_where_it_is_reached) {
  const struct {
    const char* program;
    const char* problem;
  } cases[] = {
      {"qubit[3] q;\nbit[2] c;\nx q[0]; x q[1]; c = measure q[0:1];\nint i = c;\nx q[i];",
       "line 5: an index that the circuit computed is out of range"},
      {"qubit[3] q;\nbit[2] c;\nx q[0]; c = measure q[0:1];\nint i = c;\ncx q[i], q[1];",
       "line 5: an index that the circuit computed is out of range"},
      {"qubit q;\nbit c;\nx q; c = measure q;\nint n = 3;\nwhile (c) { n -= 1; c = 4 / n > 0; }",
       "line 5: a classical expression divides by zero"},
  };
  for (const auto& t : cases) {
    const circuit::Circuit c =
        language::parse_qasm3(std::string("OPENQASM 3.0;") + t.program, "test");
    simulate::Options options;
    options.shots = 10;
    try {
      simulate::simulate(c, options);
      ADD_FAILURE() << t.program;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kInput);
      EXPECT_NE(std::string(error.what()).find(t.problem), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tilewave
