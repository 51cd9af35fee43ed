// Classical values of OpenQASM 3 three times: known while the program is read, as tables over
// measured bits, and as expressions that the running circuit computes. All three must give what
// integer arithmetic says.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <numbers>

#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/language/qasm3/qasm3.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave {
namespace {

using Bits = std::uint64_t;

Bits mask(int n) { return n == 64 ? ~Bits{0} : (Bits{1} << n) - 1; }

std::string row(Bits u, int n) {
  std::string text;
  for (int k = n; k-- > 0;) text += u >> k & 1 ? '1' : '0';
  return text;
}

std::string head() { return "OPENQASM 3.0; include \"stdgates.inc\";"; }

// What a program without randomness leaves in its registers, the last declared first.
std::string outcome(const std::string& program, const language::ProgramInputs& inputs = {}) {
  const circuit::Circuit c =
      language::parse_circuit(head() + program + "bit last = 1;", "test", inputs);
  simulate::Options options;
  options.shots = 1;
  options.seed = 1;
  const std::string all = simulate::simulate(c, options).counts.begin()->first;
  return all.substr(std::min<std::size_t>(2, all.size()));
}

std::string error_of(const std::string& program, const language::ProgramInputs& inputs = {}) {
  return first_line(tilewave::error_of([&] { outcome(program, inputs); }, ExitCode::kInput));
}

// The notes that reading a program leaves.
std::string notes(const std::string& program) {
  std::string all;
  const circuit::Circuit c = language::parse_circuit(program, "test");
  for (const std::string& note : c.notes()) all += note + '\n';
  return all;
}

enum class Way { kKnown, kMeasured, kRunning };

// A program that has u and v in `int_type` variables a and b, and `result` in register r.
std::string with_values(Way way, const std::string& type, int n, Bits u, Bits v,
                        const std::string& result, int result_bits) {
  const std::string size = std::to_string(n);
  std::string text = "bit[" + std::to_string(result_bits) + "] r;";
  if (way == Way::kKnown) {
    text += "qubit q; " + type + " a = bit[" + size + "](\"" + row(u, n) + "\"); " + type +
            " b = bit[" + size + "](\"" + row(v, n) + "\");";
    return text + "r = " + result + ";";
  }
  text += "qubit[" + std::to_string(2 * n) + "] q; bit[" + size + "] m; bit[" + size + "] w;";
  for (int k = 0; k < n; ++k) {
    if (u >> k & 1) text += "x q[" + std::to_string(k) + "];";
    if (v >> k & 1) text += "x q[" + std::to_string(n + k) + "];";
  }
  text += "m = measure q[0:" + std::to_string(n - 1) + "]; w = measure q[" + size + ":" +
          std::to_string(2 * n - 1) + "];";
  if (way == Way::kMeasured) {
    text += type + " a = m; " + type + " b = w; r = " + result + ";";
  } else {
    text += "qubit t; x t; " + type + " a = m; " + type +
            " b = w; bit go = measure t;"
            "while (go) { r = " +
            result + "; a = b; b = a; reset t; go = measure t; }";
  }
  return text + "m = 0; w = 0;";
}

// Register r is the first one, printed last.
std::string result_of(const std::string& counts) { return counts.substr(counts.rfind(' ') + 1); }

struct Operation {
  const char* text;
  std::function<Bits(Bits, Bits, int)> reference;  // of n bits
  bool divides = false;
};

TEST(Qasm3Values, angles_with_a_size_are_unsigned_integers) {
  const std::vector<Operation> operations = {
      {"a + b", [](Bits a, Bits b, int) { return a + b; }},
      {"a - b", [](Bits a, Bits b, int) { return a - b; }},
      {"-a", [](Bits a, Bits, int) { return 0 - a; }},
      {"~a", [](Bits a, Bits, int) { return ~a; }},
      {"a & b", [](Bits a, Bits b, int) { return a & b; }},
      {"a | b", [](Bits a, Bits b, int) { return a | b; }},
      {"a ^ b", [](Bits a, Bits b, int) { return a ^ b; }},
      {"a << 1", [](Bits a, Bits, int) { return a << 1; }},
      {"a >> 2", [](Bits a, Bits, int) { return a >> 2; }},
      {"3 * a", [](Bits a, Bits, int) { return 3 * a; }},
      {"a * 5", [](Bits a, Bits, int) { return 5 * a; }},
      {"a / 3", [](Bits a, Bits, int) { return a / 3; }},
      {"a / b", [](Bits a, Bits b, int) { return a / b; }, true},
      {"rotl(a, 1)", [](Bits a, Bits, int n) { return a << 1 | a >> (n - 1); }},
      {"rotr(a, 3)",
       [](Bits a, Bits, int n) {
         const int by = 3 % n;
         return by == 0 ? a : a >> by | a << (n - by);
       }},
      {"popcount(a)", [](Bits a, Bits, int) { return static_cast<Bits>(std::popcount(a)); }},
      {"(a == b) + 2 * (a < b)",
       [](Bits a, Bits b, int) { return static_cast<Bits>((a == b) + 2 * (a < b)); }},
      {"a[0:1]", [](Bits a, Bits, int) { return a & 3; }},
      {"a[-1]", [](Bits a, Bits, int n) { return a >> (n - 1); }},
  };
  for (const int n : {3, 5, 8}) {
    for (std::size_t k = 0; k < operations.size(); ++k) {
      const Operation& op = operations[k];
      const Bits seed = 17;
      const Bits u = random_bits(seed, static_cast<Bits>(n), k) & mask(n);
      Bits v = random_bits(seed, static_cast<Bits>(n), k + 100) & mask(n);
      if (op.divides && v == 0) v = 1;
      const std::string text = op.text;
      int bits = n;
      if (text == "a[0:1]") bits = 2;
      if (text == "a[-1]") bits = 1;
      const std::string want = row(op.reference(u, v, n) & mask(bits), bits);
      for (const Way way : {Way::kKnown, Way::kMeasured, Way::kRunning}) {
        if (op.divides && way == Way::kMeasured) continue;  // it might be by 0
        const std::string program =
            with_values(way, "angle[" + std::to_string(n) + "]", n, u, v, text, bits);
        EXPECT_EQ(result_of(outcome(program)), want) << program << " seed " << seed;
      }
    }
  }
}

TEST(Qasm3Values, integers_of_64_bits_are_unsigned_where_they_say_so) {
  const struct {
    const char* program;
    std::string want;
  } cases[] = {
      {"uint[64] a = \"1111111111111111111111111111111111111111111111111111111111111111\";"
       "uint[64] two = 2; bit r = a > two; bit s = a / two == 9223372036854775807; bit t = a >> 63 "
       "== 1;"
       "bit u = float(a) > 1.0e19; bit v = a + 1 == 0;",
       "1 1 1 1 1"},
      {"int a = -8; bit r = a / 2 == -4; bit s = a >> 1 == -4; bit t = a % 3 == -2; bit u = a < 1;",
       "1 1 1 1"},
      {"int[8] a = 127; a = a + 1; bit r = a == -128; uint[8] b = 255; b += 1; bit s = b == 0;",
       "1 1"},
      // beside an int, which cannot hold them
      {"uint[64] h = 1; h = h << 63; bit r = h > 5; bit s = h < 0; bit t = h / 2 == "
       "4611686018427387904; bit u = h % 10 == 8; bit v = h != 0;",
       "1 1 1 0 1"},
      {"bit[64] h = 0; h[63] = 1; bit r = h > 5; bit s = h < 0;", "0 1 1" + std::string(63, '0')},
      {"uint[64] h = 1; bit[1] c; x q; c[0] = measure q; h = h << (62 + uint(c)); bit r = h > 5; "
       "bit s = h < 0; bit t = h / 2 == 4611686018427387904; bit u = h % 10 == 8;",
       "1 1 0 1 1"},
      {"uint[64] h = 1; h = h << 63; int m = -1; bit r = h > m; bit s = m > h; bit t = h == -1;",
       "0 0 1"},
      {"uint[64] h = 1; bit[1] c; x q; c[0] = measure q; h = h << (62 + uint(c)); bit r = h > -1; "
       "bit s = -1 >= h;",
       "0 1 1"},
      {"uint i = 0; bit r = i - 1 < 0; bit s = float(i - 1) < 0; uint[64] u = i - 1; bit t = u > "
       "5;",
       "1 1 1"},
      // a number of the run beside one that it makes negative or not
      {"uint[64] h = 1; bit[1] c; x q; c[0] = measure q; h = h << (62 + uint(c)); int m = 5; "
       "m = m - 11 * int(c) ** 2; bit r = h > m; bit s = m >= h; bit t = m != h; bit u = h == m;",
       "0 1 0 1 1"},
      // and where it is computed shot by shot
      {"qubit[14] w; bit[14] c; x w[13]; c = measure w; uint[64] h = uint[64](c) << 50; "
       "int m = 5 - int(uint[14](c)); int p = int(uint[14](c)); bit r = h > m; bit s = m >= h; "
       "bit t = m != h; bit u = h == m; bit v = h > p; bit w2 = p < h; bit y = h <= p; bit z = h < "
       "0; "
       "bit v2 = 5 < h;",
       "1 0 0 1 1 0 1 0 1 10000000000000"},
      {"qubit[14] w; bit[14] c; x w[13]; c = measure w; uint[64] h = uint[64](c); "
       "int m = 5 - int(uint[14](c)); int p = int(uint[14](c)); bit r = h > m; bit s = m >= h; "
       "bit t = m != h; bit u = h == m; bit v = h > p; bit w2 = p < h; bit y = h <= p; bit z = h < "
       "0; "
       "bit v2 = 5 < h;",
       "1 0 1 0 0 0 1 0 1 10000000000000"},
      // of the longer one's size
      {"uint[8] one = 1; uint[8] two = 2; bit r = one - two < 0; bit s = one - two == 255; "
       "uint[4] x = 15; uint[4] y = 1; bit t = x + y == 0; bit u = (x << 1) == 14;",
       "1 1 1 0"},
      {"uint[4] x = 15; uint[8] y = 1; bit r = x + y == 16; bit s = x + 1 == 16; bit t = y - 2 < "
       "0;",
       "1 1 1"},
      {"bit r = 2 ** 62 == 4611686018427387904; bit s = (-2) ** 63 < 0; bit t = 1 ** 400 == 1;",
       "1 1 1"},
  };
  for (const auto& c : cases) EXPECT_EQ(outcome(std::string("qubit q;") + c.program), c.want);
}

TEST(Qasm3Values, floats_become_the_nearest_angle_and_back) {
  const std::string set = "qubit q; ";
  const struct {
    const char* value;
    int size;
    const char* bits;
  } cases[] = {{"pi", 4, "1000"},
               {"pi / 2", 6, "010000"},
               {"7 * (pi / 8)", 8, "01110000"},
               {"9 * (pi / 8)", 4, "1001"},
               {"-pi / 4", 3, "111"},
               {"2 * pi", 3, "000"},
               {"100 * pi + pi / 2", 2, "01"},
               {"6.283185307179586 * (127. / 512.)", 8, "01000000"},  // from the middle to the even
               {"6.283185307179586 * (129. / 512.)", 8, "01000000"},
               {"6.283185307179586 * (131. / 512.)", 8, "01000010"},
               {"6.283185307179586 * 0.999", 4, "0000"},
               {"0", 5, "00000"},
               {"pi", 64, "1000000000000000000000000000000000000000000000000000000000000000"}};
  for (const auto& c : cases) {
    const std::string n = std::to_string(c.size);
    EXPECT_EQ(outcome(set + "angle[" + n + "] a = " + c.value + "; bit[" + n + "] r = a;"), c.bits)
        << c.value;
    // the same of a number that depends on a measured bit, and of one that the circuit computes
    const std::string measured =
        "bit m; x q; m = measure q; float f = " + std::string(c.value) + " + (1 - m);";
    EXPECT_EQ(result_of(outcome("bit[" + n + "] r;" + set + measured + "angle[" + n +
                                "] a = f; r = a; m = 0;")),
              c.bits)
        << c.value;
    EXPECT_EQ(result_of(outcome("bit[" + n + "] r;" + set + "float f = " + c.value +
                                "; x q; bit go = measure q; while (go) { angle[" + n +
                                "] a = f; r = a; f = f + 1; reset q; go = measure q; }")),
              c.bits)
        << c.value;
  }
  // sizes: zeros behind, or rounded
  EXPECT_EQ(outcome("qubit q; angle[3] a = pi / 4; bit[6] r = angle[6](a);"), "001000");
  EXPECT_EQ(outcome("qubit q; angle[4] a = \"0011\"; bit[2] r = angle[2](a);"), "01");
  EXPECT_EQ(outcome("qubit q; angle[4] a = \"0010\"; bit[2] r = angle[2](a);"), "00");
  EXPECT_EQ(outcome("qubit q; angle[4] a = \"0110\"; bit[2] r = angle[2](a);"), "10");
  EXPECT_EQ(outcome("qubit q; angle[4] a = \"1111\"; bit[2] r = angle[2](a);"), "00");
}

TEST(Qasm3Values, an_angle_with_a_size_is_one_of_radians_in_gates_and_functions) {
  const double want = std::sin(5 * std::numbers::pi / 8);
  for (const char* program :
       {"bit[3] b = \"101\"; angle[3] t = b; ry(t) q;", "angle[3] t = 5 * pi / 4; ry(t) q;",
        "bit[3] b = \"101\"; ry(angle[3](b)) q;", "angle[3] t = \"101\"; ry(0.0 + t) q;",
        "angle[3] t = \"101\"; float f = t; ry(f) q;",
        "angle[3] t = \"101\"; angle a = t; ry(a) q;",
        "angle[3] t = \"101\"; ry(2 * arcsin(sin(t / 1) * -1) * 0 + t) q;",
        "gate g(a) x { ry(a) x; } angle[3] t = \"101\"; g(t) q;",
        "def f(angle[3] a, qubit x) { ry(a) x; } f(5 * pi / 4, q);",
        "array[angle[3], 2] t = {pi, 5 * pi / 4}; ry(t[1]) q;"}) {
    const circuit::Circuit c = language::parse_circuit(head() + "qubit q; " + program, "test");
    simulate::Options options;
    options.amplitudes = {{0, 2}};
    const auto result = simulate::simulate(c, options);
    EXPECT_NEAR(std::abs(result.amplitudes[1].value), want, 1e-14) << program;
  }
}

TEST(Qasm3Values, phase_estimation_that_shifts_its_digits_into_an_angle) {
  // 2 pi k/16, the newest digit on top of those before, which turn the next one
  for (int k = 0; k < 16; ++k) {
    const std::string program =
        "qubit q; qubit r; angle[4] c; bit[4] out; x r; uint[4] power = 8;"
        "for uint i in [0:3] { reset q; h q; ctrl @ pow(power) @ phase(2 * pi * " +
        std::to_string(k) +
        " / 16) q, r; c >>= 1; inv @ phase(c) q; h q; measure q -> c[3]; power >>= 1; } out = c;";
    EXPECT_EQ(outcome(program), row(static_cast<Bits>(k), 4)) << k;
  }
}

TEST(Qasm3Values, times_compare_exactly) {
  EXPECT_EQ(outcome("qubit q; bit[8] r; r[0] = 1000ns == 1us; r[1] = 0.57us == 570 ns;"
                    "r[2] = 3 * 0.1us == 0.3us; r[3] = 1s == 1_000ms; r[4] = 0.1ns * 3 == 0.3ns;"
                    "r[5] = 500ns / 1us == 0.5; duration d = 2 * 5ns - 1e-8s; r[6] = d == 0ns;"
                    "r[7] = -d <= 0\xC2\xB5s;"),
            "11111111");
  EXPECT_EQ(
      outcome("qubit q; duration a = 1us; duration b = 4us; float f = a / b; bit r = f == 0.25;"
              "bit s = b / (2 * a) == 2.0; for duration d in {1ns, 2ns} delay[d] q;"),
      "1 1");
}

TEST(Qasm3Values, loops_over_bits_floats_rows_and_sets) {
  const struct {
    const char* program;
    const char* want;
  } cases[] = {
      {"bit[4] a = \"0110\"; int n = 0; for bit b in a { n = 2 * n + b; } bit[4] r = n;",
       "0110 0110"},
      {"bit[4] a = \"0011\"; int n = 0; for bit b in a { n += ~b & 1; } bit[3] r = n; a = 0;",
       "010 0000"},
      {"bit[70] a; a[69] = 1; int n = 0; int at = -1; for bit b in a { if (b) at = n; n += 1; }"
       "a[69] = 0; bit[7] r = at;",
       nullptr},
      {"int n = 0; for float f in [0:0.1:1] { n += 1; } bit[4] r = n;", "1011"},
      {"float s = 0; for float f in [1:-0.25:-1] { s += f * f; } bit r = s == 3.75;", "1"},
      {"float s = 0; for float f in {0.5, -1, 2} { s += f; } bit r = s == 1.5;", "1"},
      {"array[float, 3] a = {0.5, 1.5, 2.5}; float s = 0; for float f in a { s += f; }"
       "bit r = s == 4.5;",
       "1"},
      {"array[int, 2, 3] a = {{1, 2, 3}, {4, 5, 6}}; int s = 0; for int i in a[1] { s += i; }"
       "for int i in a[0:1, 2] { s += 10 * i; } bit[8] r = s;",
       "01101001"},
      {"int n = 0; for int i in [3:1] { n += 1; } bit[2] r = n;", "00"},
  };
  for (const auto& c : cases) {
    if (c.want) {
      EXPECT_EQ(outcome(std::string("qubit q;") + c.program), c.want) << c.program;
    } else {
      EXPECT_EQ(outcome(std::string("qubit q;") + c.program).substr(0, 7), "1000101") << c.program;
    }
  }
}

TEST(Qasm3Values, arrays_have_rows_and_slices) {
  const struct {
    const char* program;
    int want;
  } cases[] = {
      {"array[int, 3, 2] a = {{1, 2}, {3, 4}, {5, 6}}; array[int, 2] b = a[2]; n = b[0] * 10 + "
       "b[1];",
       56},
      {"array[int, 3, 2] a = {{1, 2}, {3, 4}, {5, 6}}; a[0] = a[2]; n = a[0, 0] * 10 + a[0][1];",
       56},
      {"array[int, 3, 2] a = {{1, 2}, {3, 4}, {5, 6}}; a[0:1] = a[1:2]; n = a[0, 1] * 10 + a[1, "
       "1];",
       46},
      {"array[int, 3, 2] a = {{1, 2}, {3, 4}, {5, 6}}; array[int, 3, 2] b; b[1:2, 0] = a[0:1, 1];"
       "n = b[1, 0] * 10 + b[2, 0];",
       24},
      {"array[int, 4] a = {1, 2, 3, 4}; a[0:2:2] = {7, 9}; n = a[0] * 10 + a[2];", 79},
      {"array[int, 4] a = {1, 2, 3, 4}; a[-2:-1] = a[0:1]; n = a[2] * 10 + a[3];", 12},
      {"array[int, 2] a = {0, 1}; array[int, 3] b = {2, 3, 4}; array[int, 5] c = a ++ b;"
       "n = c[1] * 10 + c[4];",
       14},
      {"array[int, 2] a = {8, 1}; array[int, 4] c = a ++ a; a[0] = 5; n = c[0] * 10 + c[2];", 88},
      {"array[int, 2] a = {0, 1}; array[int, 4] b = {5, 6, 7, 8}; array[int, 4] c;"
       "c[0:3] = a[0:1] ++ b[1:2]; n = c[2] * 10 + c[3];",
       67},
      {"def total(readonly array[int, #dim = 1] v) -> int { int s = 0; for int i in v { s += i; }"
       "return s; } array[int, 2, 3] a = {{1, 2, 3}, {4, 5, 6}}; n = total(a[1]) * 5 + "
       "total(a[0, 0:1]);",
       78},
      {"def put(mutable array[int, #dim = 1] v, int k) { v[0] = k; v[1] = 2 * k; }"
       "array[int, 2, 3] a; put(a[1, 1:2], 3); put(a[0:1, 0], 2); n = a[1, 1] * 10 + a[1, 2] + "
       "a[0, 0] + a[1, 0];",
       42},
      {"array[int, 4, 3] a; n = sizeof(a[0]) + 10 * sizeof(a[1:2]) + sizeof(a, 0);", 27},
      {"array[uint[4], 2] a = {5, 10}; a[0][1] = 1; a[1][0:1] = \"01\"; n = a[0] * 10 + a[1];", 79},
      {"array[int[8], 2, 2,] a = {{1, 2,}, {3, 4,},}; n = a[1, 0,];", 3},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(outcome("qubit q; int n = 0;" + std::string(c.program) + "bit[7] r = n;"),
              row(static_cast<Bits>(c.want), 7))
        << c.program;
  }
  // a measured index inside a row
  EXPECT_EQ(outcome("qubit q; bit c; x q; c = measure q; array[int, 2, 2] a = {{1, 2}, {3, 4}};"
                    "a[1, int(c)] = 7; a[0] = a[1]; int n = a[int(c) - 1, int(c)]; bit[3] r = n;"),
            "111 1");
}

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

TEST(Qasm3Values, one_error_for_what_the_language_does_not_define) {
  const struct {
    const char* program;
    const char* error;
  } cases[] = {
      {"qubit[\"101\"] q;", "a size must be an integer"},
      {"qubit q; array[int, true] a;", "a size must be an integer"},
      {"qubit q; delay[-5ns] q;", "a time to wait cannot be negative"},
      {"qubit q; box[1ns - 2ns] { x q; }", "a time to wait cannot be negative"},
      {"qubit q; int b = 1 << -1;", "a shift by a negative number of bits"},
      {"qubit q; int b = 10 ** 400;", "the result needs more than 64 bits"},
      {"qubit q; bit[4] b = 16;", "test:1:58: 16 does not fit into 4 bits, which hold 0 to 15"},
      {"qubit q; bit b = 2;", "2 does not fit into 1 bit, which hold 0 to 1"},
      {"qubit q; bit[4] b; b = -9;", "-9 does not fit into 4 bits"},
      {"qubit q; bit[4] b; b[0:1] = 4;", "4 does not fit into 2 bits"},
      {"qubit q; const int n = 20; bit[4] b = n - 2;", "18 does not fit into 4 bits"},
      {"qubit q; const bit[4] b = 16;", "16 does not fit into 4 bits"},
      {"qubit q; bit[4] b = 15; b = -8; b = ~0; int n = 16; b = n; bit c = 1;", "no error"},
      {"qubit q; rx(2 ** 63) q;", "the result needs more than 64 bits"},
      {"qubit q; int b = 9223372036854775807 + 1;", "the result needs more than 64 bits"},
      {"qubit q; int b = 4294967296 * 4294967296;", "the result needs more than 64 bits"},
      {"qubit q; angle a = \"101\";", "bits become an angle of as many bits: write angle[3]"},
      {"qubit q; bit[3] b = \"101\"; rx(b) q;", "bits become an angle of as many bits"},
      {"qubit q; angle[4] a = \"101\";", "3 bits cannot be an angle[4]: the sizes must agree"},
      {"qubit q; angle[4] a = pi; bit[3] b = a;", "an angle[4] has 4 bits, not 3"},
      {"qubit q; angle[4] a = pi; bit[3] b = bit[3](a);", "an angle[4] has 4 bits, not 3"},
      {"qubit q; angle[4] a = pi; int i = int(a);", "an angle is no integer"},
      {"qubit q; angle[4] a = pi; rx(3 / a) q;", "'/' is not defined for an integer and an angle"},
      {"qubit q; angle[4] a = pi; rx(a * a) q;", "'*' is not defined for two angles"},
      {"qubit q; angle[4] a = true;", "a truth value is no angle"},
      {"qubit q; duration d = 5;", "this needs a time such as 100ns"},
      {"qubit q; float d = 5ns;", "a time is no number"},
      {"qubit q; duration d = 5ns + 1;", "'+' is not defined for a time and a number"},
      {"qubit q; duration d = 5ns * 2ns;", "'*' is not defined for two times"},
      {"qubit q; float d = 2 / 5ns;", "'/' is not defined for a time and a number"},
      {"qubit q; bit b = 5ns > 1;", "'>' is not defined for a time and a number"},
      {"qubit q; float d = sin(5ns);", "a time is no number"},
      {"qubit q; if (5ns) x q;", "a time is no number"},
      {"qubit q; const bit[4] b = \"01101\";", "the sizes differ: 4 bits and 5"},
      {"qubit q; if (true); x q;", "'if' needs a statement or a block here, not ';'"},
      {"qubit q; while (false);", "'while' needs a statement or a block here, not ';'"},
      {"qubit q; for int i in [0:1];", "'for' needs a statement or a block here, not ';'"},
      {"qubit[2] q; let a = q ++ q[0];", "this names an element twice"},
      {"qubit[2] q; let a = q[{0, 0}];", "this names an element twice"},
      {"def f(qubit a) { } qubit q; f q;",
       "'f' is a subroutine, not a gate: its qubits stand with its other arguments, 'f(...)'"},
      {"def f(qubit a) { } qubit q; ctrl @ f q;", "'f' is a subroutine, not a gate"},
      {"def f(float t, qubit a) { } qubit q; f(0.5) q;", "'f' is a subroutine, not a gate"},
      {"def f(float t, qubit a) { } qubit q; f(q);", "'f' takes 2 arguments, not 1"},
      {"def f(qubit a) { } qubit q; f;", "'f' takes 1 argument, not 0"},
      {"gate f a { x a; } qubit q; f(q);", "'f' is a gate, applied as 'f q;'"},
      {"gate f a { x a; } qubit q; bit b = f(q);", "'f' is a gate, applied as 'f q;'"},
      {"qubit[2] q; rx(0.5, q[0]);", "'rx' is a gate, applied as 'rx(angle) q;'"},
      {"qubit[2] q; cx(q[0], q[1]);", "'cx' is a gate, applied as 'cx q1, q2;'"},
      {"qubit[2] q; ctrl @ x(q[0], q[1]);", "'x' is a gate, applied as 'x q;'"},
      {"gate g(t) a { rx(t, a); } qubit q; g(1) q;", "'rx' is a gate, applied as 'rx(angle) q;'"},
      {"qubit q; float y = x(2);", "'x' is a gate, applied as 'x q;'"},
      {"qubit q; float y = foo(q);", "unknown function 'foo'"},
      {"qubit q; float y = sin(q);", "'q' is a quantum register, a classical value is needed"},
      {"qubit q; rx q;", "gate 'rx' takes 1 parameter, not 0"},
      {"qubit q; inv @ measure q;", "'measure' is no gate: it has no modifiers"},
      {"qubit x; x x;", "'x' names qubits here, not a gate"},
      {"qubit q; bit h; h q;", "'h' names bits here, not a gate"},
      {"qubit q; int if = 2;", "'if' cannot be declared: it is a word of the language"},
      {"qubit q; array[int, 2, 2] a; a[0] = 1;",
       "this is a single value where an array of 2 is needed"},
      {"qubit q; array[int, 2, 2] a; array[int, 3] b; a[0] = b;",
       "this is an array of 3 where an array of 2 is needed"},
      {"qubit q; array[int, 2] a; array[uint, 2] b; a = b;", "arrays of different types"},
      {"qubit q; const array[int, 2] a = {1, 2}; a[0:1] = {3, 4};", "'a' is constant"},
      {"qubit q; array[int, 2] a; int b = a[0:1];",
       "this is a part of an array: an element has 1 index"},
      {"qubit q; array[int, 2] a; a[{0, 1}] = {1, 2};",
       "an array has no index of numbers in braces"},
      {"def f(readonly array[int, 4] v) { } qubit q; array[int, 2] a; f(a ++ a);",
       "joined arrays are no argument"},
      {"qubit q; float f = 0.1; for float x in [0:f:1e9] { }", "this range is too long"},
      {"qubit[2] q; bit c; c = measure q;",
       "measure needs as many bits as qubits: 2 qubits into 1 bit (declare them with one size"},
      {"qubit[12] q; x q[0:12];", "index 12 is out of range: there are 12 elements, 0 to 11"},
      {"qubit[12] q; x q[0:2:13];", "no error"},
      {"qubit[12] q; x q[0:2:14];", "index 14 is out of range"},
  };
  for (const auto& c : cases) {
    EXPECT_NE(error_of(c.program).find(c.error), std::string::npos) << c.program << "\n"
                                                                    << error_of(c.program);
  }
}

TEST(Qasm3Values, inputs_are_read_in_the_type_of_their_declaration) {
  const struct {
    std::string declaration;
    std::string value;
    std::string want;  // what r is, or a part of the error
  } cases[] = {
      {"input bit[3] v; bit[3] r = v;", "101", "101"},
      {"input bit[3] v; bit[3] r = v;", "\"011\"", "011"},
      {"input bit[4] v; bit[4] r = v;", "9", "1001"},
      {"input bit[8] v; bit[8] r = v;", "0x1f", "00011111"},
      {"input bit[4] v; bit[4] r = v;", "0b11", "0011"},
      {"input bit[3] v; bit[3] r = v;", "9",
       "'v' must be from 0 to 7, or a row of 3 bits, not '9'"},
      {"input bit[3] v; bit[3] r = v;", "1011", "must be from 0 to 7, or a row of 3 bits"},
      {"input bit[3] v; bit[3] r = v;", "\"1011\"", "must have 3 bits, not '\"1011\"'"},
      {"input bit[3] v; bit[3] r = v;", "-1", "must be from 0 to 7"},
      {"input bit[3] v; bit[3] r = v;", "1.5", "must be an integer"},
      {"input bit[65] v; bit r = 1;", "1", "must have 65 bits, not '1'"},
      {"input bit[65] v; bit r = 1;", std::string(64, '0') + "2", "must be a row of 0 and 1"},
      {"input bit[66] v; bit[66] r = v;", "\"10" + std::string(63, '0') + "1\"",
       "10" + std::string(63, '0') + "1"},
      {"input bit[65] v; v[0] = 1;", std::string(65, '0'), "an input cannot be assigned to"},
      {"input bit v; bit r = v;", "1", "1"},
      {"input bool v; bit r = v;", "true", "1"},
      {"input bool v; bit r = v;", "2", "must be from 0 to 1"},
      {"input int[8] v; bit r = v == -128;", "-128", "1"},
      {"input int[8] v; bit r = v == -128;", "128", "must be from -128 to 127"},
      {"input int v; bit r = v == -9223372036854775807 - 1;", "-9223372036854775808", "1"},
      {"input int v; bit r = v == 8;", "2^3", "1"},
      {"input uint v; bit r = v == 9223372036854775807;", "0x7fffffffffffffff", "1"},
      {"input uint v; bit r = 1;", "18446744073709551615", "1"},
      {"input uint v; bit r = 1;", "18446744073709551616",
       "must be from 0 to 18446744073709551615"},
      {"input uint[4] v; bit r = 1;", "-3", "must be from 0 to 15"},
      {"input float v; bit r = v == pi / 2;", "pi/2", "1"},
      {"input float v; bit r = 1;", "abc", "must be a number: unknown name 'abc' in an expression"},
      {"input float v; bit r = 1;", "1e999", "must be a number: this number is too large"},
      {"input float v; bit r = 1;", "nan", "input 'v' must be a finite number, not 'nan'"},
      {"input float v; bit r = 1;", "-inf", "must be a finite number, not '-inf'"},
      {"input angle v; bit r = 1;", "Infinity", "must be a finite number, not 'Infinity'"},
      {"input int v; bit r = 1;", "nan", "must be a finite number, not 'nan'"},
      {"input angle v; bit r = v == -1.5;", "-1.5", "1"},
      {"input angle[3] v; bit[3] r = v;", "pi", "100"},
      {"input angle[3] v; bit[3] r = v;", "\"101\"", "101"},
      {"input duration v; bit r = v == 1us;", "1000ns", "1"},
      {"input duration v; bit r = v == -1us;", "-1 us", "1"},
      {"input duration v; bit r = 1;", "5", "must be a time such as 100ns"},
      {"input duration v; bit r = 1;", "1e9223372036854775807s", "must be a finite time"},
      {"input duration v; bit r = v == 0ns;", "1e-9223372036854775808s", "1"},
  };
  for (const auto& c : cases) {
    const std::string program = std::string("qubit q; ") + c.declaration;
    const std::string error = error_of(program, {{"v", c.value}});
    if (error == "no error") {
      EXPECT_EQ(outcome(program, {{"v", c.value}}), c.want) << program << " " << c.value;
    } else {
      EXPECT_NE(error.find(c.want), std::string::npos) << program << " " << c.value << "\n"
                                                       << error;
    }
  }
}

// U as the specification writes it, and its matrix from a circuit of one qubit.
std::vector<cplx> specified_u(double theta, double phi, double lambda) {
  const cplx i(0, 1), e = std::exp(i * theta);
  return {(1.0 + e) / 2.0, -i * std::exp(i * lambda) * (1.0 - e) / 2.0,
          i * std::exp(i * phi) * (1.0 - e) / 2.0, std::exp(i * (phi + lambda)) * (1.0 + e) / 2.0};
}

std::vector<cplx> column(const std::string& program, int num_qubits) {
  const circuit::Circuit c = language::parse_circuit(head() + program, "test");
  simulate::Options options;
  options.amplitudes = {{0, Bits{1} << num_qubits}};
  options.shots = c.is_unitary() ? 0 : 1;
  options.seed = 1;
  std::vector<cplx> out;
  for (const auto& a : simulate::simulate(c, options).amplitudes) out.push_back(a.value);
  return out;
}

void expect_near(const std::vector<cplx>& got, const std::vector<cplx>& want,
                 const std::string& of) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    EXPECT_LT(std::abs(got[k] - want[k]), 1e-14) << of << " " << k << " " << got[k] << want[k];
  }
}

TEST(Qasm3Phase, U_has_the_phase_of_the_specification_everywhere) {
  const auto u = specified_u(.3, .4, .5);
  const cplx zero = 0, one = 1;
  // the first column, and the second one from |1>
  expect_near(column("qubit q; U(.3,.4,.5) q;", 1), {u[0], u[2]}, "U |0>");
  expect_near(column("qubit q; x q; U(.3,.4,.5) q;", 1), {u[1], u[3]}, "U |1>");
  expect_near(column("qubit[2] q; x q[0]; ctrl @ U(.3,.4,.5) q[0], q[1];", 2),
              {zero, u[0], zero, u[2]}, "ctrl @ U");
  expect_near(column("qubit[2] q; negctrl @ U(.3,.4,.5) q[0], q[1];", 2), {u[0], zero, u[2], zero},
              "negctrl @ U");
  expect_near(column("qubit q; inv @ U(.3,.4,.5) q;", 1), {std::conj(u[0]), std::conj(u[1])},
              "inv @ U");
  expect_near(column("qubit q; U(-.3,-.5,-.4) q;", 1), {std::conj(u[0]), std::conj(u[1])},
              "the inverse as the specification writes it");
  // what undoes itself is exactly the identity
  for (const char* program :
       {"U(.3,.4,.5) q; inv @ U(.3,.4,.5) q;", "pow(2) @ U(.3,.4,.5) q; pow(-2) @ U(.3,.4,.5) q;",
        "pow(0.5) @ U(.3,.4,.5) q; pow(0.5) @ U(.3,.4,.5) q; inv @ U(.3,.4,.5) q;",
        "gate g a { U(.3,.4,.5) a; } g q; inv @ g q;",
        "def f(qubit a) { U(.3,.4,.5) a; } f(q); inv @ U(.3,.4,.5) q;",
        "u3(.3,.4,.5) q; inv @ u3(.3,.4,.5) q;", "u2(.3,.4) q; inv @ u2(.3,.4) q;",
        "u3(.3,.4,.5) q; gphase(.6) ; inv @ U(.3,.4,.5) q;",
        "bit c; c = measure q; if (!c) { U(.3,.4,.5) q; inv @ U(.3,.4,.5) q; }",
        "bit c = 1; while (c) { U(.3,.4,.5) q; inv @ U(.3,.4,.5) q; c = 0; }",
        "bit c; c = measure q; U(.3 + c,.4,.5) q; inv @ U(.3,.4,.5) q;",
        "bit c; c = measure q; U(.3,.4,.5) q; inv @ U(.3,.4,.5) q; if (c) end; gphase(0.0);",
        "bit c; c = measure q; gphase(.7); ctrl @ gphase(.5) q; gphase(-.7); inv @ p(.5) q;"}) {
    expect_near(column(std::string("qubit q; ") + program, 1), {one, zero}, program);
  }
  // u3 is the U of OpenQASM 2, Rz Ry Rz
  const cplx turn = std::exp(cplx(0, -.6));
  expect_near(column("qubit q; u3(.3,.4,.5) q;", 1), {turn * u[0], turn * u[2]}, "u3");
  expect_near(column("qubit q; u2(.4,.5) q;", 1), column("qubit q; u3(pi/2,.4,.5) q;", 1), "u2");
  // controlled phases
  expect_near(column("qubit[2] q; x q[0]; ctrl @ gphase(.5) q[0]; negctrl @ gphase(.7) q[1];", 2),
              {zero, std::exp(cplx(0, 1.2)), zero, zero}, "ctrl @ gphase");
  expect_near(column("qubit[2] q; x q; ctrl(2) @ gphase(.5) q[0], q[1]; inv @ ctrl @ pow(2) @ "
                     "gphase(.1) q[1];",
                     2),
              {zero, zero, zero, std::exp(cplx(0, .3))}, "ctrl(2) @ gphase");
}

TEST(Qasm3Phase, a_phase_before_the_end_of_the_program_counts_in_every_shot) {
  // one shot ends early, the phases before count in both
  for (const char* start : {"", "x q[1];"}) {
    const auto got = column("qubit[2] q; bit c; U(.2,0,0) q[0]; " + std::string(start) +
                                "c = measure q[1]; if (c) end; U(.4,0,0) q[0]; U(-.4,0,0) q[0];",
                            2);
    const auto u = specified_u(.2, 0, 0);
    const cplx zero = 0;
    const bool early = *start != '\0';
    expect_near(got,
                early ? std::vector<cplx>{zero, zero, u[0], u[2]}
                      : std::vector<cplx>{u[0], u[2], zero, zero},
                start);
  }
}

TEST(Qasm3Notes, what_is_read_but_not_meant_leaves_one_note) {
  const std::string v3 = head();
  EXPECT_EQ(notes(v3 + "qubit q; rx(3/5) q; rx(1/2) q;"),
            "line 1: 3 / 5 is 0, as both are integers: write 3.0 / 5 for the fraction\n");
  EXPECT_NE(notes(v3 + "qubit q; float f = 1 / 3;").find("1 / 3 is 0"), std::string::npos);
  EXPECT_NE(notes(v3 + "qubit q; rx(pi - arccos(3 / 5)) q;").find("3 / 5 is 0"), std::string::npos);
  EXPECT_EQ(notes(v3 + "qubit q; int i = 3 / 2; rx(4 / 2) q; rx(pi / 3) q; rx(1.0 / 3) q;"), "");
  EXPECT_EQ(notes(v3 + "qubit[12] q;\nlet e = q[0:2:12]; x e; let f = q[1:2:12]; x f;"),
            "line 2: this range names index 12 of 12 elements, which is left out\n");
  EXPECT_EQ(
      notes("OPENQASM 3.0;\nqubit q;\nU(1,2,3) q; gphase(1);\nh q; x q;"),
      "line 4: gate 'h' is known here without an include: elsewhere the program needs include "
      "\"stdgates.inc\";\n");
  EXPECT_EQ(notes("OPENQASM 3.0; qubit[2] q; cnot q[0], q[1]; h q;"), "");
  EXPECT_EQ(notes(v3 + "qubit q; uint[4] a = 16; int[4] b = 8;"),
            "line 1: 16 does not fit uint[4] and becomes 0\n");
  EXPECT_EQ(notes(v3 + "qubit q; int[4] b = 8;"), "line 1: 8 does not fit int[4] and becomes -8\n");
  EXPECT_EQ(notes(v3 + "qubit q; uint[4] a = 15; a = -1; int[4] b = 7; b = -8; b = a + 9;"), "");
  EXPECT_EQ(
      notes("OPENQASM 2.0;\nqreg q[2];\nU(1,2,3) q[0]; CX q[0],q[1];\nh q;"),
      "line 4: gate 'h' is known here without an include: elsewhere the program needs include "
      "\"qelib1.inc\";\n");
  EXPECT_EQ(
      notes("OPENQASM 2.0; include \"qelib1.inc\"; qreg q[1]; qreg Q[2]; creg C[1]; h q;"),
      "line 1: 'Q' is read, but names of OpenQASM 2 start with a small letter: other programs "
      "may refuse it\n");
  EXPECT_NE(notes("OPENQASM 2.0; gate G a { } qreg q[1]; G q[0];").find("'G' is read"),
            std::string::npos);
  EXPECT_NE(notes(v3 + "qubit t; h t;").find("'t' is a gate of stdgates.inc as well"),
            std::string::npos);
  EXPECT_NE(notes("OPENQASM 2.0; include \"qelib1.inc\"; qreg t[1]; h t;")
                .find("'t' is a gate of qelib1.inc as well"),
            std::string::npos);
  EXPECT_EQ(notes("OPENQASM 2.0; include \"hqslib1.inc\"; qreg q[2]; U1q(1,2) q[0]; ZZ q[0],q[1];"),
            "");
  // they reach the people who run it
  simulate::Options options;
  options.shots = 1;
  const auto result =
      simulate::simulate(language::parse_circuit(v3 + "qubit q; rx(3/5) q;", "test"), options);
  ASSERT_EQ(result.warnings.size(), 1u);
}

// What ends in the registers, first the last one declared.
std::string registers_of(const std::string& program, const language::ProgramInputs& inputs = {}) {
  const circuit::Circuit c = language::parse_circuit(head() + program, "test", inputs);
  simulate::Options options;
  options.shots = 3;
  options.seed = 1;
  const auto counts = simulate::simulate(c, options).counts;
  return counts.size() == 1 ? counts.begin()->first : std::to_string(counts.size()) + " outcomes";
}

// `n` measured bits, all 0, and their number.
std::string zeros(int n) {
  const std::string size = std::to_string(n);
  return "qubit q; bit[" + size + "] m; for int i in [0:" + std::to_string(n - 1) +
         "] { m[i] = measure q; } int n = int(uint[" + size + "](m)); int r = 0; float f = 0;";
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

TEST(Qasm3Values, integers_of_the_upper_half_are_no_places) {
  const std::string start = "qubit[3] q; bit[3] c; uint[64] u = 18446744073709551615;";
  for (const char* wrong :
       {"x q[18446744073709551615];", "x q[u];", "x q[{0, 18446744073709551615}];",
        "c[18446744073709551615] = 1;", "array[int[8], 2] a = {1, 2}; a[18446744073709551615] = 4;",
        "for uint i in [0:18446744073709551615] { x q[0]; }", "bit[18446744073709551615] w;"}) {
    const std::string error = error_of(start + wrong);
    EXPECT_NE(error.find("must be below 2^63"), std::string::npos) << wrong << ": " << error;
  }
}

TEST(Qasm3Values, constant_rows_beside_measured_ones_compare_as_they_are) {
  const std::string ones(70, '1');
  const std::string rest =
      " bit[20] m; qubit[20] q; x q; m = measure q; let w = a ++ m; bit r;"
      "if (w == \"" +
      ones + std::string(20, '1') + "\") { r = 1; }";
  EXPECT_EQ(registers_of("const bit[70] a = \"" + ones + "\";" + rest).substr(0, 1), "1");
  EXPECT_EQ(registers_of("input bit[70] a;" + rest, {{"a", "\"" + ones + "\""}}).substr(0, 1), "1");
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

TEST(Qasm3Values, outputs_alone_are_returned) {
  EXPECT_EQ(registers_of("qubit[2] q; bit[2] tmp; output bit c; output int[8] k;"
                         "x q[0]; tmp = measure q; c = tmp[0]; k = 5;"),
            "00000101 1");
  EXPECT_EQ(registers_of("output int[8] k; qubit q; k = -5;"), "11111011");
  EXPECT_EQ(registers_of("output bool b; output angle[4] a; output uint[6] u; qubit q; x q;"
                         "bit m = measure q; b = m; a = pi / 2; u = 40; if (m) { u += 30; }"),
            "000110 0100 1");
  EXPECT_EQ(registers_of("output int[4] k = 3; output bit[2] c; qubit q; h q;"), "00 0011");
  // a measured value of more bits than a table has, and one of a loop
  EXPECT_EQ(registers_of("output uint[16] u; qubit[13] q; bit[13] m; x q; m = measure q;"
                         "u = uint[16](uint[13](m)); u += 1;"),
            "0010000000000000");
  EXPECT_EQ(registers_of("output int[6] k; qubit q; x q; bit m = measure q;"
                         "while (m) { k += 7; m = k < 20; }"),
            "010101");
  // what they are where the program ends
  EXPECT_EQ(registers_of("output int[4] k; qubit q; x q; bit m = measure q; k = 1; if (m) { end; }"
                         "k = 2;"),
            "0001");
  EXPECT_EQ(registers_of("output int[4] k; qubit q; bit m = measure q; k = 1; if (m) { end; }"
                         "k = 2;"),
            "0010");
  const std::string real = "OPENQASM 3.0; qubit q; bit c; output float f; f = 1.5; c = 1;";
  EXPECT_EQ(
      notes(real),
      "line 1: the output 'f' is a real number, which is not returned: counts hold outputs of "
      "bits, integers, truth values and angles with a size\n");
  EXPECT_EQ(registers_of("qubit q; bit c; output float f; f = 1.5; c = 1;"), "1");
  EXPECT_NE(error_of("qubit q; if (true) { output int k; }").find("outside of blocks"),
            std::string::npos);
}

TEST(Qasm3Values, shifts_by_more_places_than_there_are_leave_nothing) {
  EXPECT_EQ(registers_of("qubit q; uint[4] a = 3; a <<= 5; bit[4] c = a;"), "0000");
  EXPECT_EQ(registers_of("qubit q; bit[2] a = \"11\"; bit[2] c; c = a << 3;"), "00 11");
  EXPECT_EQ(registers_of("qubit q; uint[4] a = 15; a >>= 100; bit[4] c = a;"), "0000");
  EXPECT_EQ(registers_of("qubit q; int[4] a = -1; a >>= 9; bit[4] c = a;"), "1111");
}

TEST(Qasm3Values, floats_become_integers_within_one_range) {
  const std::string measured =
      "qubit q; x q; bit m = measure q; m = 0; float one = 1;"
      "bit k = measure q; one = float(int(k)); k = 0;";
  const std::string running = measured + "bit go = 1; while (go) { one = one * 1.0; go = 0; }";
  for (const std::string& way : {std::string("qubit q; float one = 1;"), measured, running}) {
    const std::string all =
        registers_of(way +
                     "uint[64] u = 1.5e19 * one; int[64] i = -9223372036854775808.0 * one;"
                     "bit[64] c = u; bit[64] d = i;");
    EXPECT_EQ(all.substr(0, 129), row(Bits{1} << 63, 64) + " " + row(15000000000000000000u, 64));
    for (const char* beyond :
         {"int[32] i = 1e19 * one;", "uint[32] u = 18446744073709551616.0 * one;",
          "int[64] i = -9223372036854777856.0 * one;"}) {
      EXPECT_NE(error_of(way + beyond), "no error") << way << beyond;
    }
  }
}

TEST(Qasm3Values, integers_of_64_bits_wrap_around_and_are_written_out) {
  const std::string measured =
      "qubit q; x q; bit m = measure q; m = 0; int one = 1;"
      "bit k = measure q; one = int(k); k = 0;";
  for (const std::string& way : {std::string("qubit q; int one = 1;"), measured}) {
    const auto last = [&](const std::string& program) {
      const std::string all = registers_of(way + program);
      return all.substr(0, all.find(' '));
    };
    const std::string least = "1" + std::string(63, '0');
    EXPECT_EQ(last("int[64] a = 9223372036854775807; a += one; bit[64] c = a;"), least);
    EXPECT_EQ(last("int a = -9223372036854775808; a -= one; a = a + 1; bit[64] c = a;"), least);
    EXPECT_EQ(last("int a = -9223372036854775808; a = -a * one; bit[64] c = a;"), least);
    EXPECT_EQ(last("int a = 4611686018427387904; a *= 2 * one; bit[64] c = a;"), least);
    EXPECT_EQ(last("int a = 2; a = a ** (63 * one); bit[64] c = a;"), least);
  }
  EXPECT_EQ(registers_of("qubit q; uint[64] a = 14695981039346656037; bit[64] c = a;"),
            row(14695981039346656037u, 64));
  EXPECT_EQ(registers_of(
                "qubit q; uint[64] a = 0xFFFFFFFFFFFFFFFF; bit c = a / 2 == 0x7FFFFFFFFFFFFFFF;"),
            "1");
  EXPECT_EQ(registers_of("qubit q; bit[64] c = 0x8000000000000000;"), row(Bits{1} << 63, 64));
  EXPECT_EQ(registers_of("qubit q; bit c = 0xFFFFFFFFFFFFFFFF > 1;"), "1");
  EXPECT_EQ(notes("OPENQASM 3.0; qubit q; int a = 9223372036854775808;"),
            "line 1: 9223372036854775808 does not fit int[64] and becomes -9223372036854775808\n");
  EXPECT_EQ(notes("OPENQASM 3.0; qubit q; int a = -9223372036854775808;"), "");
  EXPECT_NE(error_of("qubit q; bit[32] c = 0xFFFFFFFFFFFFFFFF;")
                .find("18446744073709551615 does not fit into 32 bits"),
            std::string::npos);
  EXPECT_NE(error_of("qubit q; int a = 0x1FFFFFFFFFFFFFFFF;").find("needs more than 64 bits"),
            std::string::npos);
}

// Rows of 100 bits, known or measured.
TEST(Qasm3Values, registers_of_more_than_64_bits) {
  std::string u(100, '0'), v(100, '1');
  for (const std::size_t k : {0u, 3u, 40u, 63u, 64u, 98u}) u[k] = '1', v[99 - k] = '0';
  const auto map = [&](const std::function<bool(bool, bool)>& f) {
    std::string out;
    for (std::size_t k = 0; k < u.size(); ++k) out += f(u[k] == '1', v[k] == '1') ? '1' : '0';
    return out;
  };
  const std::string known = "qubit q; bit[100] a = \"" + u + "\"; bit[100] b = \"" + v + "\";";
  std::string measured = "qubit[200] q; bit[100] a; bit[100] b;";
  for (int k = 0; k < 100; ++k) {
    if (u[static_cast<std::size_t>(99 - k)] == '1') measured += "x q[" + std::to_string(k) + "];";
    if (v[static_cast<std::size_t>(99 - k)] == '1')
      measured += "x q[" + std::to_string(100 + k) + "];";
  }
  measured += "a = measure q[0:99]; b = measure q[100:199];";
  const auto zeros_of = [](std::size_t n) { return std::string(n, '0'); };
  const std::pair<std::string, std::string> cases[] = {
      {"c = a;", u},
      {"c = ~a;", map([](bool a, bool) { return !a; })},
      {"c = a & b;", map([](bool a, bool b) { return a && b; })},
      {"c = a | ~b;", map([](bool a, bool b) { return a || !b; })},
      {"c = a ^ b ^ a;", v},
      {"c = a; c ^= b;", map([](bool a, bool b) { return a != b; })},
      {"c = a << 3;", u.substr(3) + zeros_of(3)},
      {"c = a << 70;", u.substr(70) + zeros_of(70)},
      {"c = a >> 5;", zeros_of(5) + u.substr(0, 95)},
      {"c = a >> 64;", zeros_of(64) + u.substr(0, 36)},
      {"c = (a << 1) >> 1;", "0" + u.substr(1)},
      {"c = a << 100;", zeros_of(100)},
      {"c = a; c = c << 1;", u.substr(1) + "0"},
      {"c = a; c <<= 2;", u.substr(2) + zeros_of(2)},
      {"c = rotl(a, 30);", u.substr(30) + u.substr(0, 30)},
      {"c = rotr(a, 70);", u.substr(30) + u.substr(0, 30)},
      {"c = rotl(a, -1);", u.substr(99) + u.substr(0, 99)},
      {"c[0:79] = a[20:99];", zeros_of(20) + u.substr(0, 80)},
      {"c = 5;", zeros_of(97) + "101"},
      {"c = 1267650600228229401496703205375;", std::string(100, '1')},
      {"c[0] = a == b; c[1] = a != b; c[2] = a == a; c[3] = a == \"" + u + "\"; c[4] = ~a == ~b;",
       zeros_of(95) + "01110"},
      {"c[0:7] = bit[8](uint[8](popcount(a)));", zeros_of(92) + "00000110"},
      {"if (a == \"" + u + "\") { c = b; }", v},
      {"if (a == b) { c = b; }", zeros_of(100)},
      {"let d = a; c = d;", u},
      {"const bit[100] k = \"" + v + "\"; c = k & a;", map([](bool a, bool b) { return a && b; })},
  };
  for (const std::string& way : {known, measured}) {
    for (const auto& [text, want] : cases) {
      const std::string all = registers_of(way + "bit[100] c;" + text);
      EXPECT_EQ(all.substr(0, all.find(' ')), want) << text;
    }
  }
  EXPECT_NE(error_of(known + "bit[99] c = a;").find("the sizes differ: 99 bits and 100"),
            std::string::npos);
  EXPECT_NE(error_of(known + "int c = int(a);").find("a row of more than 64 bits is no number"),
            std::string::npos);
  EXPECT_NE(error_of(known + "bit[100] c = a + b;").find("this is no row of 100 bits"),
            std::string::npos);
  EXPECT_NE(error_of(known + "bit[3] c = a;").find("a row of more than 64 bits is no number"),
            std::string::npos);
}

TEST(Qasm3Values, parts_at_measured_indices) {
  const std::string one =
      "qubit q; x q; bit m = measure q; m = 0; bit k = measure q; int i = int(k);";
  const std::string arrays = "array[int[8], 2, 2] B = {{1, 2}, {3, 4}}; array[int[8], 2] A;";
  const auto last = [&](const std::string& program) {
    const std::string all = registers_of(one + program);
    return all.substr(0, all.find(' '));
  };
  const std::string a = "bit[16] c; c[0:7] = bit[8](A[0]); c[8:15] = bit[8](A[1]);";
  EXPECT_EQ(last(arrays + "A = B[i];" + a), row(3, 8).insert(0, row(4, 8)));
  EXPECT_EQ(last(arrays + "A = B[i - 1];" + a), row(1, 8).insert(0, row(2, 8)));
  EXPECT_EQ(last(arrays + "A = B[0:1, i];" + a), row(2, 8).insert(0, row(4, 8)));
  EXPECT_EQ(last(arrays + "A = {7, 9}; B[i] = A; A = B[1];" + a), row(7, 8).insert(0, row(9, 8)));
  EXPECT_EQ(last(arrays + "A = {7, 9}; B[i] = A; A = B[0];" + a), row(1, 8).insert(0, row(2, 8)));
  EXPECT_EQ(last(arrays + "B[i] = B[1 - i]; A = B[1];" + a), row(1, 8).insert(0, row(2, 8)));
  EXPECT_EQ(last(arrays + "int[8] s = 0; for int[8] v in B[i] { s += v; } bit[8] c = s;"),
            row(7, 8));
  EXPECT_EQ(last("def f(readonly array[int[8], 2] a) -> int[8] { return a[0] * a[1]; }" + arrays +
                 "int[8] s = f(B[i]); bit[8] c = s;"),
            row(12, 8));
  EXPECT_NE(error_of("def f(mutable array[int[8], 2] a) { a[0] = 1; }" + one + arrays + "f(B[i]);")
                .find("is a copy: give it to a 'readonly array'"),
            std::string::npos);
  EXPECT_NE(error_of(one + arrays + "A = B[i + 1];").find("out of range"), std::string::npos);

  EXPECT_EQ(last("bit[4] b = \"1010\"; bit[2] d; d = b[i:i + 1];"), "01");
  EXPECT_EQ(last("bit[4] b = \"1010\"; bit[2] d; d = b[i - 1:i];"), "10");
  EXPECT_EQ(last("bit[4] b = \"1010\"; bit[2] d; d = b[{i, 3}];"), "11");
  EXPECT_EQ(last("bit[4] b = \"1010\"; bit c = i < 2 && b[i:i + 1] == 1;"), "1");
  EXPECT_EQ(last("bit[4] b = \"1010\"; int j = i + 2; bit c = j < 3 && b[j:j + 1] == 1;"), "0");
  EXPECT_NE(
      error_of(one + "bit[4] b; bit[2] d; int j = i + 2; d = b[j:j + 1];").find("out of range"),
      std::string::npos);
}

TEST(Qasm3Values, membership_in_a_set) {
  const std::string one =
      "qubit q; x q; bit m = measure q; m = 0; bit k = measure q; int i = int(k);";
  for (const std::string& way : {std::string("qubit q; int i = 1;"), one}) {
    const std::string all = registers_of(
        way +
        "bit[6] c; c[0] = i in {0, 1}; c[1] = i in {0, 3}; c[2] = !(i in {0, 3}) && i in {i};"
        "if (i in {0, 3}) { c[3] = 1; } if (i + 2 in {0, 3}) { c[4] = 1; } c[5] = i in {};");
    EXPECT_EQ(all.substr(0, all.find(' ')), "010101") << way;
  }
  EXPECT_NE(error_of("qubit q; bit c = 1.5 in {1};").find("must be an integer"), std::string::npos);
  EXPECT_NE(error_of("qubit q; bit c = 1 in 3;").find("expected a set such as {0, 3}"),
            std::string::npos);
}

// Messages about inputs that have no value blame these, not measurements.
TEST(Qasm3Values, inputs_without_values_are_named) {
  language::Reading reading;
  reading.unbound = language::UnboundInputs::kParameters;
  const auto error = [&](const std::string& program) {
    return first_line(tilewave::error_of(
        [&] { language::parse_qasm3(head() + program, "test", {}, nullptr, reading); },
        ExitCode::kInput));
  };
  const std::string which =
      " depends on the input 'x', which has no value: give one with --input x=<number>"
      " (Python: inputs={\"x\": ...})";
  for (const auto& [program, what] : {
           std::pair("input float x; qubit q; pow(0.5) @ rx(x) q;",
                     "an angle of a gate under a root"),
           std::pair("input float x; qubit q; pow(x) @ z q;", "a power"),
           std::pair("input float x; const float y = 2*x; qubit q; rx(y) q;", "a constant"),
           std::pair("input float x; qubit q; for float f in [0:x:1] { rx(f) q; }",
                     "the range of a loop"),
       }) {
    EXPECT_NE(error(program).find(what + which), std::string::npos) << error(program);
  }
  EXPECT_NE(
      error("input angle[4] x; qubit q; ry(x) q;")
          .find("input 'x' has no value, and an angle with a size is rounded to it, so that it "
                "cannot be a parameter of the circuit: give it a value, or declare 'input "
                "angle x;'"),
      std::string::npos);
}

TEST(Qasm3Values, pragmas_are_named_and_do_not_change_the_circuit_silently) {
  EXPECT_EQ(notes("OPENQASM 3.0;\nqubit q;\n#pragma braket result probability \n{ pragma foo\n }"),
            "line 3: '#pragma braket result probability' has no effect here\n"
            "line 4: 'pragma foo' has no effect here\n");
  for (const char* kind : {"unitary([[0, 1.0], [1.0, 0]]) q", "noise bit_flip(0.1) q"}) {
    for (const char* start : {"#pragma braket ", "pragma  braket ", "# pragma braket "}) {
      EXPECT_NE(error_of(std::string("qubit q; bit c;\n") + start + kind + "\nc = measure q;")
                    .find("changes what the circuit does"),
                std::string::npos)
          << start << kind;
    }
  }
}

}  // namespace
}  // namespace tilewave
