// Rows of bits, arrays, sets and their parts in OpenQASM 3, known or measured.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "conformance/qasm3_programs.h"
#include "tilewave/base/thrown_test.h"

namespace tilewave::qasm3_test {
namespace {

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

TEST(Qasm3Values, constant_rows_beside_measured_ones_compare_as_they_are) {
  const std::string ones(70, '1');
  const std::string rest =
      " bit[20] m; qubit[20] q; x q; m = measure q; let w = a ++ m; bit r;"
      "if (w == \"" +
      ones + std::string(20, '1') + "\") { r = 1; }";
  EXPECT_EQ(registers_of("const bit[70] a = \"" + ones + "\";" + rest).substr(0, 1), "1");
  EXPECT_EQ(registers_of("input bit[70] a;" + rest, {{"a", "\"" + ones + "\""}}).substr(0, 1), "1");
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

}  // namespace
}  // namespace tilewave::qasm3_test
