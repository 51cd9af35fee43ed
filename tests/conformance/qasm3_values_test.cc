// Classical numbers of OpenQASM 3 three times: known while the program is read, as tables over
// measured bits, and as expressions that the running circuit computes. All three must give what
// integer arithmetic says.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "conformance/qasm3_programs.h"
#include "tilewave/base/philox.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::qasm3_test {
namespace {

Bits mask(int n) { return n == 64 ? ~Bits{0} : (Bits{1} << n) - 1; }

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

}  // namespace
}  // namespace tilewave::qasm3_test
