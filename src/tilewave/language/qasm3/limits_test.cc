// Programs that are long, deep or expand without end: read, or refused before they cost anything.
#include <gtest/gtest.h>

#include "tilewave/base/thrown_test.h"
#include "tilewave/language/qasm3/errors_test.h"
#include "tilewave/language/qasm3/qasm3.h"

namespace tilewave::language::qasm3_limits_test {
namespace {

using circuit::Circuit;
using qasm3_test::error;

Circuit program(const std::string& body) {
  return parse_qasm3("OPENQASM 3.0;\ninclude \"stdgates.inc\";\n" + body, "test");
}

// Of the last gate.
double angle(const std::string& body) {
  const Circuit c = program(body);
  return c.params(c.ops().back())[0];
}

bool holds(const circuit::Condition& c, const std::vector<std::uint64_t>& bits) {
  return c.expr.empty() ? (bits[0] >> c.first & ((1u << c.size) - 1)) == c.value[0]
                        : circuit::evaluate(c.expr, bits) != 0;
}

std::string repeated(const std::string& part, int count, const std::string& last) {
  std::string all;
  for (int k = 0; k < count; ++k) all += part;
  return all + last;
}

TEST(Qasm3Limits, long_chains_are_no_deep_trees) {
  constexpr int kMany = 100000;
  EXPECT_EQ(angle("qubit q; rx(" + repeated("1+", kMany, "1") + ") q;"), kMany + 1);
  EXPECT_EQ(angle("qubit q; rx(" + repeated("1.0+", kMany, "1") + ") q;"), kMany + 1);
  EXPECT_EQ(angle("qubit q; rx(" + repeated("1-", kMany, "pi*0") + ") q;"), 2 - kMany);
  EXPECT_EQ(angle("qubit q; rx(" + repeated("1*2-", kMany, "1") + ") q;"), 3 - 2 * kMany);
  for (const std::string& text :
       {"if (" + repeated("true&&", kMany, "true") + ") rx(7) q;",
        "bit c; if (" + repeated("c||", kMany, "true") + ") rx(7) q;",
        "bit c; c = measure q; if (" + repeated("c^", kMany, "c") + ") rx(7) q;"}) {
    EXPECT_EQ(angle("qubit q; " + text), 7) << text.substr(0, 40);
  }
  EXPECT_EQ(program("bit[3000] c; qubit[3000] q; let b = q[0]" +
                    [] {
                      std::string all;
                      for (int k = 1; k < 3000; ++k) all += " ++ q[" + std::to_string(k) + "]";
                      return all;
                    }() +
                    "; x b;")
                .ops()
                .size(),
            3000u);
  // more measured bits than a table holds: an expression that grows term by term
  std::string sum = "c[0]";
  for (int k = 1; k < 20000; ++k) sum += "^c[" + std::to_string(k) + "]";
  const Circuit c = program("qubit q; bit[20000] c; for int i in [0:19999] c[i] = measure q; if (" +
                            sum + ") x q;");
  std::vector<std::uint64_t> bits(20000 / 64 + 1);
  const circuit::Condition& odd = c.conditions().back();
  EXPECT_FALSE(holds(odd, bits));
  bits[300] = 7;
  EXPECT_TRUE(holds(odd, bits));
}

TEST(Qasm3Limits, long_chains_of_else_if_are_no_nesting) {
  constexpr int kMany = 3000;
  std::string text = "qubit q; int i = 2900; int j = 0; ";
  for (int k = 0; k < kMany; ++k) {
    text += "if (i == " + std::to_string(k) + ") { j = " + std::to_string(k + 1) + "; } else ";
  }
  EXPECT_EQ(angle(text + "{ j = -1; } rx(j) q;"), 2901);
  // of measured bits: the last one happens where none before does
  text = "qubit[6] q; bit[6] c; c = measure q; ";
  for (int k = 0; k < 63; ++k) text += "if (c == " + std::to_string(k) + ") h q[0]; else ";
  const Circuit c = program(text + "x q[0];");
  const circuit::Op& last = c.ops().back();
  EXPECT_EQ(last.gate, circuit::GateId::kX);
  for (std::uint64_t bits = 0; bits < 64; ++bits) {
    EXPECT_EQ(holds(c.conditions()[static_cast<std::size_t>(last.condition)], {bits}), bits == 63);
  }
}

TEST(Qasm3Limits, what_nests_is_refused_beyond_its_limit) {
  constexpr int kMany = 100000;
  for (const std::string& text :
       {"rx(" + repeated("(", kMany, "1"), "rx(" + repeated("-", kMany, "1"),
        "rx(" + repeated("1**", kMany, "1"), "rx(" + repeated("f(", kMany, "1"),
        "rx(" + repeated("int(", kMany, "1"), "array[int, 2] a = " + repeated("{", kMany, "1"),
        repeated("{", kMany, ""), repeated("if (true) ", kMany, "x q;"),
        repeated("for int i in [0:1] ", kMany, "x q;"), "x q[" + repeated("q[", kMany, "0")}) {
    EXPECT_TRUE(has(error("qubit[2] q; " + text), "nested more than 256 deep"))
        << text.substr(0, 40) << error("qubit[2] q; " + text);
  }
  for (const std::string& text :
       {"x q" + repeated("[0]", kMany, ";"), "int i = q[" + repeated("0,", kMany, "0];"),
        "q" + repeated("[0]", kMany, " = 1;")}) {
    EXPECT_TRUE(has(error("qubit[2] q; " + text), "more than 64 indices"));
  }
}

TEST(Qasm3Limits, what_expands_is_counted_before_it_does) {
  std::string gates = "gate g0 a { } ", defs = "def f0() { } ",
              uses = "def f0() -> int { return 1; } ";
  for (int k = 1; k <= 60; ++k) {
    const std::string n = std::to_string(k), m = std::to_string(k - 1);
    gates += "gate g" + n + " a { g" + m + " a; g" + m + " a; } ";
    defs += "def f" + n + "() { f" + m + "(); f" + m + "(); } ";
    uses += "def f" + n + "() -> int { return f" + m + "() + f" + m + "(); } ";
  }
  const struct {
    std::string text;
    const char* error;
  } cases[] = {
      {gates + "qubit q; g60 q;", "expands to more than 134217728 steps"},
      {gates + "qubit q; if (true) { g60 q; }", "expands to more than"},
      {gates + "qubit q; inv @ g60 q;", "expands to more than"},
      {defs + "qubit q; f60();", "expands to more than"},
      {uses + "qubit q; int i = f60();", "expands to more than"},
      {"gate g a { x a; } qubit q; pow(1048576) @ pow(1048576) @ g q;", "expands to more than"},
      {"qubit q; " + repeated("pow(2) @ ", 30, "x q;"), "expands to more than"},
      {"qubit q; " + repeated("pow(-3) @ inv @ ", 30, "x q;"), "expands to more than"},
      {"qubit q; pow(1e30) @ x q;", "expands to more than"},
      {"gate g a { pow(100000) @ x a; } qubit q; pow(100000) @ g q;", "expands to more than"},
      {"gate g a { for int i in [0:100000] { x a; } } qubit q; for int i in [1:100000] g q;",
       "expands to more than"},
      {"qubit q; for int i in [0:100000] for int j in [0:100000] { }", "expands to more than"},
      {"const int n = 100000; qubit q; for int i in [0:n] for int j in [0:100000] { int k = 1; }",
       "expands to more than"},
      // what does not happen, or is left early, costs nothing
      {gates + "qubit q; if (false) { g60 q; } for int i in [3:1] { g60 q; }", "no error"},
      {gates + "qubit q; pow(0) @ g26 q;", "expands to more than"},
      {"qubit q; pow(1e30) @ gphase(0);", "expands to more than"},
      {"gate g a { } qubit q; " + repeated("pow(1048576) @ ", 30, "g q;"), "no error"},
      {defs + "def f() { return; f60(); } qubit q; f(); bit b = false && (f60() == 1);",
       "no error"},
      {"qubit q; for int i in [0:1000000] { for int j in [0:1000000] { if (j == i) break; break; } "
       "if (i == 3) break; }",
       "no error"},
      {"qubit q; pow(3) @ inv @ pow(2) @ x q;", "no error"},
  };
  for (const auto& c : cases) {
    EXPECT_TRUE(has(error("OPENQASM 3; " + c.text), c.error))
        << c.text.substr(c.text.size() > 200 ? c.text.size() - 200 : 0) << "\n"
        << error("OPENQASM 3; " + c.text);
  }
}

}  // namespace
}  // namespace tilewave::language::qasm3_limits_test
