// What OpenQASM 3 computes, and fails to compute, under conditions: in branches that are taken or not,
// with divisors that are measured, behind statements that end early.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "conformance/qasm3_programs.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::qasm3_test {
namespace {

TEST(Qasm3Values, a_condition_guards_what_stands_under_it) {
  const struct {
    const char* program;
    std::map<std::string, double> want;
  } cases[] = {
      // b of two random bits; 4 / b where b is not 0
      {"bit[2] b = measure q; int d = 0; if (b != 0) { d = 4 / int(b); } bit[3] r = d;",
       {{"000 00", .25}, {"100 01", .25}, {"010 10", .25}, {"001 11", .25}}},
      {"bit[2] b = measure q; bit r = b != 0 && 4 / int(b) > 1; ",
       {{"0 00", .25}, {"1 01", .25}, {"1 10", .25}, {"0 11", .25}}},
      {"bit[2] b = measure q; bit r = b == 0 || 4 / int(b) > 1; ",
       {{"1 00", .25}, {"1 01", .25}, {"1 10", .25}, {"0 11", .25}}},
      {"bit[2] b = measure q; int d = 0; if (b == 0) { d = 7; } else { d = 4 % int(b); }"
       "bit[3] r = d;",
       {{"111 00", .25}, {"000 01", .25}, {"000 10", .25}, {"001 11", .25}}},
      {"bit[2] b = measure q; float f = 1 - 2 * int(b[0]); reset q; int n = 0;"
       "if (b[0] == 0) { ry(pi * sqrt(f)) q[0]; } bit r = measure q[0]; b = 0;",
       {{"1 00", .5}, {"0 00", .5}}},
      {"bit[2] b = measure q; int d = 0; switch (int(b)) { case 0 { d = 1; } case 1, 2, {"
       "d = 6 / int(b); } default { d = 6 / (int(b) - 2); } } bit[3] r = d;",
       {{"001 00", .25}, {"110 01", .25}, {"011 10", .25}, {"110 11", .25}}},
      {"bit[2] b = measure q; int d = 0; if (b[0]) { if (b[1]) { d = 5 / (int(b) - 2); } }"
       "bit[3] r = d;",
       {{"000 00", .25}, {"000 01", .25}, {"000 10", .25}, {"101 11", .25}}},
      {"bit[2] b = measure q; int d = 1; if (b != 0) { bit[2] old = b; b = measure q;"
       "d = 4 / int(old); } b = 0; bit[3] r = d;",
       {{"001 00", .5}, {"100 00", .25}, {"010 00", .25}}},
      // where the circuit computes the values
      {"bit[2] b = measure q; int n = int(b); int d = 0; bit go = 1; while (go) {"
       "if (n != 0 && 4 / n > 1) { d = 1; } if (n != 0) { d += 4 / n; } go = 0; } go = 0; bit[3] r "
       "= d;",
       {{"000 0 00", .25}, {"101 0 01", .25}, {"011 0 10", .25}, {"001 0 11", .25}}},
      {"bit[2] b = measure q; float x = 0; if (b != 0) { x = ln(int(b)); } bit r = x > 1; ",
       {{"0 00", .25}, {"0 01", .25}, {"0 10", .25}, {"1 11", .25}}},
      {"bit[2] b = measure q; int d = 0; float big = 1e30; if (b != 0) big = 3.7; if (b != 0) d = "
       "int(big); bit[3] r = d;",
       {{"000 00", .25}, {"011 01", .25}, {"011 10", .25}, {"011 11", .25}}},
  };
  constexpr std::uint64_t kShots = 4000;
  for (const auto& c : cases) {
    const circuit::Circuit circuit =
        language::parse_circuit(head() + "qubit[2] q; h q;" + c.program, "test");
    simulate::Options options;
    options.shots = kShots;
    options.seed = 3;
    std::map<std::string, double> want;
    for (const auto& [key, p] : c.want) want[key] += p;
    for (const auto& [key, count] : simulate::simulate(circuit, options).counts) {
      EXPECT_NEAR(static_cast<double>(count) / kShots, want[key], 0.035) << c.program << " " << key;
    }
  }
  EXPECT_EQ(error_of("qubit[2] q; bit[2] b = measure q; int d = 4 / int(b);"),
            "line 1: a classical expression divides by zero");
  // only the circuit can tell whether it comes there with a 0
  EXPECT_EQ(error_of("qubit[2] q; bit[2] b = measure q; int d = 0; if (b != 1) d = 4 / int(b);"),
            "line 1: a classical expression divides by zero");
}

TEST(Qasm3Values, divisors_that_are_measured_need_not_be_0_in_the_shots_that_there_are) {
  const struct {
    const char* program;
    const char* want;  // the last declared first
  } cases[] = {
      {"bit r = 9 / int(c) == 4; bit s = 9 % int(c) == 1; bit t = 1.0 / int(c) == 0.5; "
       "bit u = 0 ** (int(c) - 2) == 1; bit v = log(int(c)) < 0.7; bit w2 = mod(7, int(c)) == 1; "
       "bit x2 = 7.5 - 2 * int(7.5 / int(c)) == 1.5; c = 0;",
       "1 1 1 1 1 1 1 00"},
      // what it was, after the bits have changed
      {"int d = 8 / int(c); c = 0; bit r = d == 4;", "1 00"},
      {"int d = 1; d = 8 / int(c); int e = d - 1; c = 1; bit r = e == 3; c = 0;", "1 00"},
      {"int d = 8; d /= int(c); c = 0; bit r = d == 4;", "1 00"},
      {"array[int, 2] a = {8 / int(c), 3}; c = 0; bit r = a[0] + a[1] == 7;", "1 00"},
      {"array[int, 3] a; a[int(c)] = 6 / int(c); c = 0; bit r = a[2] == 3; bit s = a[1] == 0;",
       "1 1 00"},
      {"def half(int n) -> int { return n / 2; } def over(int n) -> int { int k = 12 / n; return "
       "k; }"
       "int d = over(int(c)) + half(8 / int(c)); c = 0; bit r = d == 8;",
       "1 00"},
      {"angle[4] a = pi; angle[4] b = a / int(c); bit[4] r = b; c = 0;", "0100 00"},
      {"rx(2 * pi / int(c)) q; bit r = measure q; c = 0;", "1 00"},
      {"bit r = 0; if (8 / int(c) == 4) r = 1; c = 0;", "1 00"},
      {"int n = 0; for int i in [0:8 / int(c)] { n += 1; } bit r = n == 5; c = 0;", "1 00"},
      {"bit r = false && 1 / (int(c) - 2) == 0; bit s = int(c) == 2 || 1 / (int(c) - 2) == 0; c = "
       "0;",
       "1 0 00"},
  };
  for (const auto& c : cases) {
    const std::string start = "qubit q; qubit[2] w; x w[1]; bit[2] c; c = measure w;";
    EXPECT_EQ(outcome(start + c.program), c.want) << c.program;
  }
  // 14 bits, of which none is 1: the circuit does not come to the division, nor to what copies it
  EXPECT_EQ(outcome("qubit[14] w; qubit q; bit[14] c; c = measure w; int n = int(uint[14](c)); "
                    "int d = 7; if (n != 0) { d = 8 / n; int e = 8 % n; c[0] = 1; "
                    "if (d + e == 3) d = 4; } bit r = d == 7;"),
            "1 00000000000000");
  const struct {
    const char* program;
    const char* error;
  } errors[] = {
      {"int d = 4 / int(c);", "line 1: a classical expression divides by zero"},
      {"int d = 4 % int(c);", "line 1: a classical expression divides by zero"},
      {"uint[4] d = 4; d /= uint[4](c);", "line 1: a classical expression divides by zero"},
      {"float f = 1.0 / int(c);", "line 1: a classical expression divides by zero"},
      {"float f = log(int(c));", "line 1: the result of a classical expression is not a finite"},
      {"float f = sqrt(int(c) - 1);",
       "line 1: the result of a classical expression is not a finite number"},
      {"float f = 0 ** (int(c) - 1);",
       "line 1: the result of a classical expression is not a finite number"},
      {"rx(pi / int(c)) q;", "line 1: a classical expression divides by zero"},
      {"def f(int n) { } f(1 / int(c));", "line 1: a classical expression divides by zero"},
      // whatever is measured
      {"int d = 4 / (int(c) - int(c));", "division by zero"},
  };
  for (const auto& c : errors) {
    const std::string start = "qubit q; qubit[2] w; bit[2] c; c = measure w;";
    EXPECT_NE(error_of(start + c.program).find(c.error), std::string::npos)
        << c.program << "\n"
        << error_of(start + c.program);
  }
}

TEST(Qasm3Values, quotients_of_an_int_and_a_number_of_64_bits) {
  // the int as it is known, as a table of both signs, and as the circuit computes it
  const struct {
    const char* start;
    std::string zeros;  // the registers of the start
  } ways[] = {
      {"qubit q; int m = 5; int n = -6;", ""},
      {"qubit q; bit[1] c; x q; c[0] = measure q; int m = 16 - 11 * int(c); int n = 5 - 11 * "
       "int(c);"
       "c[0] = 0;",
       " 0"},
      {"qubit[14] w; bit[14] c; x w[13]; c = measure w; int b = int(uint[14](c) > 0);"
       "int m = 16 - 11 * b; int n = 5 - 11 * b; c = 0;",
       " 00000000000000"},
  };
  const struct {
    const char* program;  // of 2^63 + 5 = 9223372036854775813
    const char* want;
  } cases[] = {
      {"bit r = h / n == -1537228672809129302; bit s = h % n == 1; bit t = n / h == 0; "
       "bit u = n % h == -6;",
       "1 1 1 1"},
      {"bit r = h / m == 1844674407370955162; bit s = h % m == 3; bit t = m / h == 0; "
       "bit u = m % h == 5;",
       "1 1 1 1"},
      {"uint[64] k = 4; bit r = k / n == 0; bit s = k % n == 4; bit t = n / k == -1; "
       "bit u = n % k == -2;",
       "1 1 1 1"},
      {"bit r = (h >> (m - 4)) == 4611686018427387906; bit s = h > n; bit t = n < h; bit u = h != "
       "m;",
       "1 1 1 1"},
      {"uint[64] k = h; k /= m; bit r = k == 1844674407370955162; k = h; k %= n; bit s = k == 1;",
       "1 1"},
  };
  for (const auto& way : ways) {
    for (const auto& c : cases) {
      EXPECT_EQ(outcome(std::string(way.start) + "uint[64] h = 1; h = (h << 63) + 5;" + c.program),
                c.want + way.zeros)
          << way.start << c.program;
    }
  }
}

TEST(Qasm3Values, what_a_branch_that_is_not_taken_cannot_compute_is_no_error) {
  for (const char* guarded : {
           "if (n != 0) { r = 8 / n; }",
           "if (n != 0) { r += 8 / n; r += 8 / n; }",
           "if (n != 0) { r = 8 / n; r = r + 8 % n; }",
           "if (n != 0) { r = 8 / n; } if (n != 0) { r = r + 8 / n; }",
           "if (n == 0) { r = 0; } else { r = 8 / n; r = r + 8 / n; }",
           "if (n > 0) { f = 3.0; f = f / n; f = f * f + 1.0 / n; }",
           "if (n != 0) { int t = n; r = 8 / t; r = r + 8 / t; }",
           "if (n > 0) { f = sqrt(n - 1.0); f = f + sqrt(n - 2.0); f = log(f) + log(n); }",
           "if (n != 0) { if (8 / n > 2) { m = 3; r = 1; } }",
           "if (n != 0) { r = 8 / n + r; m[0] = 1; n = 8 / n; r = 8 / n; }",
           "if (n != 0 && 8 / n > 2) { r = 8 / n; r += 8 / n; }",
           "if (n != 0) { rx(pi / n) q; m[1] = measure q; rx(1.0 / n) q; }",
           "for int i in [0:2] { if (n == 0) continue; r += 8 / n; }",
           "for int i in [0:2] { if (n == 0) break; r += 8 / (i * n); }",
           "int i = 0; while (i < 2) { i += 1; if (n == 0) { continue; } r += 6 / n; }",
           "if (n != 0) { array[int[8], 2] a = {8 / n, 1}; a[0] = 9 / n; r = a[1] / a[0]; }",
           "if (n != 0) { int k = 0; r = 6 / k; r = r % k; f = 1.0 / k; f = log(k); }",
           "int k = 0; bool b = n != 0 && 6 / k > 1; r = int(b);",
           "for int i in [4:5] { if (n > 9999) { x q; m[i * 5] = 1; r = int(m[i * 5]); } }",
           "if (n > 9999) { array[int[8], 2] a = {1, 2}; int k = 2; r = a[k]; a[k] = 1; a[n] = 1; "
           "}",
           "if (n != 0) { r = 8 / n; r += 8 / n; end; }",
           "if (n != 0) { float g = (f + 1e200) * (f + 1e200); if (n == 3) { g = 1.0; } f = g; }",
           "if (n != 0) { f = 1e200; float g = f * f; while (n != 0) { g += f * f; n = 0; } }",
       }) {
    for (const int n : {5, 13}) {
      EXPECT_EQ(registers_of(zeros(n) + guarded + "bit[4] c = bit[4](uint[4](r));"),
                "0000 " + std::string(static_cast<std::size_t>(n), '0'))
          << n << " " << guarded;
    }
  }
  for (const char* program : {
           "qubit q; bit m; int r = 0; m = measure q;"
           "for int i in [0:1] { if (!m) { continue; } r += 6 / int(m); }",
           "def f(bit m) -> int { int r = 0; if (!m) { return r; } r += 6 / int(m);"
           "r += 6 / int(m); return r; } qubit q; bit m = measure q; int r = f(m);",
           "def f(int n, int t) -> float { if (n == 0) { return 0.0; } float a = float(t) / n;"
           "a = a * 2; return a; } qubit q; bit m = measure q; float r = f(int(m), 3);",
           "qubit q; bit m = measure q; int r; for int i in [0:1] { if (!m) { end; } r += 6 / "
           "int(m); }",
       }) {
    EXPECT_EQ(registers_of(program), "0") << program;
  }
}

TEST(Qasm3Values, what_a_branch_that_is_taken_cannot_compute_is_an_error) {
  for (const char* failing : {
           "if (n == 0) { r = 8 / n; r += 8 / n; }",
           "if (n == 0) { f = 3.0; f = f / n; }",
           "if (n == 0) { int k = 0; r = 6 / k; }",
           "if (n == 0) { if (8 / n > 2) { m = 3; r = 1; } }",
           "for int i in [0:1] { if (n != 0) continue; r += 8 / n; }",
           "int k = 0; bool b = n == 0 && 6 / k > 1;",
       }) {
    for (const int n : {5, 13}) {
      EXPECT_NE(error_of(zeros(n) + failing).find("divides by zero"), std::string::npos)
          << n << " " << failing << " " << error_of(zeros(n) + failing);
    }
  }
  for (const char* failing : {
           "int k = 13; if (n == 0) { m[k] = 1; }",
           "int k = 13; if (n == 0) { r = int(m[k]); }",
           "qubit[2] p; for int i in [2:2] { if (n == 0) { x p[i]; } }",
           "qubit[2] p; for int i in [1:1] { if (n == 0) { cx p[i], p[1]; } }",
           "array[int[8], 2] a = {1, 2}; int k = 2; if (n == 0) { r = a[k]; }",
       }) {
    EXPECT_NE(error_of(zeros(13) + failing).find("out of range or names a qubit twice"),
              std::string::npos)
        << failing << " " << error_of(zeros(13) + failing);
  }
  // what is written out is wrong wherever it stands
  EXPECT_NE(error_of(zeros(5) + "if (n != 0) { m[5] = 1; }").find("index 5 is out of range"),
            std::string::npos);
  EXPECT_NE(error_of("qubit[2] p; bit m = measure p[0]; int k = 0;"
                     "if (m) { const int j = 1 / k; x p[j]; }")
                .find("a constant has no value: a classical expression divides by zero"),
            std::string::npos);
}

// An index out of range under a condition ends a statement early; what follows is read as without it.
TEST(Qasm3Values, what_ends_early_leaves_nothing_behind) {
  const std::string start =
      "def f(qubit p) -> bit { bit r; r = measure p; return r; } def g(int a) -> int { return a; }"
      "qubit[3] q; bit[3] b; bit c; int k = 7; x q[1]; b[0] = measure q[0]; b[1] = measure q[1];";
  const std::string beyond = error_of(start + "int[32] y = 5 * b[1]; bit d; d = b[y];");
  EXPECT_NE(beyond.find("out of range"), std::string::npos) << beyond;
  EXPECT_EQ(error_of(start + "if (b[0]) { c = b[1] && f(q[k]); }"
                             "int[32] y = 5 * b[1]; bit d; d = b[y];"),
            beyond);
  EXPECT_EQ(
      error_of(start + "if (b[0]) { c = b[1] && f(q[k]); } int z = 0; int w = 8 / z;").substr(0, 5),
      "test:");  // of the program, not of its run
  const std::string twice = error_of(start + "bit r = b[0] && b[g(k)]; cx q[0], q[0];");
  EXPECT_NE(twice.find("'cx' names a qubit twice"), std::string::npos) << twice;
}

TEST(Qasm3Values, bits_that_end_as_zeros_are_records) {
  EXPECT_EQ(registers_of("qubit q; h q; output bit[4] c; c = \"0000\";"), "0000");
  EXPECT_EQ(registers_of("qubit q; h q; output bit[4] c;"), "0000");
  EXPECT_EQ(registers_of("qubit q; h q; bit[4] c; c = \"0000\";"), "0000");
  EXPECT_EQ(registers_of("qubit q; h q; bit[2] d; bit[3] c = 0;"), "000 00");
  EXPECT_EQ(registers_of("qubit q; h q; bit[4] c = 5; c = 0;"), "0000");
  for (const auto& [value, want] : {std::pair("0", "0000"), std::pair("9", "1001")}) {
    EXPECT_EQ(registers_of("input uint[4] x; output bit[4] c; qubit q; h q; c = bit[4](x);",
                           {{"x", value}}),
              want);
  }
  // nothing is assigned: the qubits are measured
  EXPECT_EQ(registers_of("qubit q; bit[4] c; h q; def f() -> int { return 1; } int k = f();"),
            "2 outcomes");
  EXPECT_EQ(registers_of("qubit[3] q; bit[4] c; x q[1];"), "010");
}

// Whether bits or qubits are counted is said by the program, not by which of its branches are taken.
TEST(Qasm3Values, measurements_that_never_happen_are_records) {
  const std::string start = "qubit q; h q; bit[2] c; bit d; ";
  for (const std::string branch :
       {"if (d == 1) { c[0] = measure q; }", "if (d) { measure q -> c[0]; }",
        "if (d) { if (c[1]) { c[0] = measure q; } }", "while (d) { c[0] = measure q; }",
        "switch (c) { case 3 { c[0] = measure q; } }", "if (d) { bit e = measure q; }",
        "if (d) { measure q; }"}) {
    EXPECT_EQ(registers_of(start + branch), "0 00") << branch;
  }
  // in a subroutine that nothing calls: the qubits are measured
  EXPECT_EQ(registers_of("qubit q; x q; bit[2] c; def f(qubit p) -> bit { return measure p; }"),
            "1");
}

}  // namespace
}  // namespace tilewave::qasm3_test
