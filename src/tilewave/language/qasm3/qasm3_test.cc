// OpenQASM 3 against the OpenQASM 2 reading of the same circuit, operation by operation, and the
// operations that only version 3 can say.
#include "tilewave/language/qasm3/qasm3.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "oracle/random_circuit.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/listing.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/language/qasm2/qasm2.h"
#include "tilewave/language/qasm3/errors_test.h"

namespace tilewave::language::qasm3_test {
namespace {

using circuit::Circuit;
using circuit::Op;
using circuit::OpKind;

Circuit program(const std::string& body, const ProgramInputs& inputs = {}) {
  return parse_qasm3("OPENQASM 3.0;\ninclude \"stdgates.inc\";\n" + body, "test", inputs);
}

bool holds(const circuit::Condition& c, const std::vector<std::uint64_t>& bits) {
  if (!c.expr.empty()) return circuit::evaluate(c.expr, bits) != 0;
  for (std::size_t k = 0; k < std::max<std::size_t>(c.size, 64 * c.value.size()); ++k) {
    const bool want = k / 64 < c.value.size() && (c.value[k / 64] >> (k % 64) & 1);
    const std::size_t at = c.first + k;
    if (k < c.size ? (bits[at / 64] >> (at % 64) & 1) != want : want) return false;
  }
  return true;
}

// The operations, one a line: "rz(0.5) 0", "x 1 if 1 3" (numbers that the classical bits make),
// "measure 1>0", "cch +0,-1,2" (added controls and the values they act on).
std::string listing(const Circuit& c) {
  std::string out;
  for (const Op& op : c.ops()) {
    out += circuit::operation_name(c, op);
    char separator = '(';
    for (const double p : c.params(op)) {
      char text[32];
      std::snprintf(text, sizeof text, "%c%.10g", separator, p);
      out += text;
      separator = ',';
    }
    if (separator == ',') out += ')';
    separator = ' ';
    const auto own = op.kind == OpKind::kGate ? circuit::gate_info(op.gate).num_controls : 0;
    for (std::size_t k = 0; k < c.qubits(op).size(); ++k) {
      out += separator;
      if (static_cast<int>(k) < op.num_controls - own) {
        out += op.control_values >> k & 1 ? "+" : "-";
      }
      out += std::to_string(c.qubits(op)[k]);
      separator = ',';
    }
    if (op.kind == OpKind::kMeasure) out += ">" + std::to_string(op.clbit);
    if (op.kind == OpKind::kAssign) {
      out += " " + std::to_string(c.assignment(op).first) + "=" +
             std::to_string(circuit::evaluate(c.assignment(op).value, {}));
    }
    if (op.condition >= 0) {
      const auto& k = c.conditions()[static_cast<std::size_t>(op.condition)];
      out += " if";
      for (std::uint64_t bits = 0; bits < (1u << c.num_clbits()); ++bits) {
        if (holds(k, {bits})) out += " " + std::to_string(bits);
      }
    }
    out += '\n';
  }
  return out;
}

std::string operations(const std::string& body, const ProgramInputs& inputs = {}) {
  return listing(program(body, inputs));
}

TEST(Qasm3, reads_what_version_2_says_as_version_2_does) {
  const std::string gates =
      "h q[0]; cx q[0],q[1]; rz(pi/4) q; u3(0.1,-pi/2,3*pi/4) q[2]; cu(0.1,0.2,0.3,0.4) q[0],q[2];"
      "gate mine(a,b) x,y { rx(a*2+b) x; cp(-b) x,y; h y; } mine(0.3,sin(0.4)) q[1],q[2];"
      "ccx q[0],q[1],q[2]; barrier q; reset q[1]; swap q[0],q[1]; sxdg q; p(1e-3) q[0]; U(1,2,3) "
      "q[0]; cx q,r; measure q -> c; measure q[0] -> c[2];";
  const Circuit a =
      parse_qasm2("include \"qelib1.inc\"; qreg q[3]; qreg r[3]; creg c[3];" + gates, "2");
  // u3 of stdgates.inc has a phase of -(phi + lambda) / 2, U of the language one of theta / 2
  const std::string wanted = listing(a) + "gphase(0.1073009183)\n";
  EXPECT_EQ(wanted, operations("qubit[3] q; qubit[3] r; bit[3] c;" + gates));
  EXPECT_EQ(wanted, operations("qreg q[3]; qreg r[3]; creg c[3];" + gates));
}

TEST(Qasm3, conditions_of_version_2_stay_the_same_conditions) {
  const Circuit a = parse_qasm2(
      "include \"qelib1.inc\"; qreg q[2]; creg c[2]; creg d[1]; h q[0]; measure q[0]->c[0];"
      "measure q[1]->c[1]; measure q[1]->d[0]; if(c==2) x q[0]; if(d==1) h q[1]; if(c==0) reset "
      "q[1];",
      "2");
  const Circuit b = program(
      "qubit[2] q; bit[2] c; bit[1] d; h q[0]; c = measure q; d[0] = measure q[1];"
      "if (c == 2) { x q[0]; } if (d == \"1\") h q[1]; if (!c[0] && !c[1]) reset q[1];");
  EXPECT_EQ(listing(a), listing(b));
  EXPECT_EQ(to_qasm2(a), to_qasm2(b));
}

TEST(Qasm3, random_circuits_written_as_version_2_read_the_same_as_version_3) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    circuit::RandomCircuitOptions options;
    options.num_qubits = 4;
    options.num_ops = 60;
    options.seed = seed;
    options.matrices = options.extra_controls = false;
    const Circuit made = circuit::make_random_circuit(options);
    std::string text;
    try {
      text = to_qasm2(made);
    } catch (const Error&) {
      continue;  // a matrix or controls that no text has
    }
    const std::string body = text.substr(text.find("qreg"));
    const Circuit a = parse_qasm2(text, "2"), b = program(body);
    // what the phases of u2 and u3 in stdgates.inc add up to stands at the end
    double phase = 0;
    for (const Op& op : a.ops()) {
      if (op.kind != OpKind::kGate) continue;
      const auto p = a.params(op);
      if (op.gate == circuit::GateId::kU2) phase -= (p[0] + p[1]) / 2;
      if (op.gate == circuit::GateId::kU3) phase -= (p[1] + p[2]) / 2;
    }
    std::string wanted = listing(a);
    if (std::remainder(phase, 2 * std::numbers::pi) != 0) {
      const auto last = b.params(b.ops().back());
      EXPECT_NEAR(std::remainder(last[0] - phase, 2 * std::numbers::pi), 0, 1e-12)
          << "seed " << seed;
      wanted += listing(b).substr(wanted.size());
      EXPECT_EQ(b.ops().size(), a.ops().size() + 1) << "seed " << seed;
    }
    EXPECT_EQ(wanted, listing(b)) << "seed " << seed;
  }
}

struct GoodCase {
  const char* text;
  const char* operations;
};

TEST(Qasm3, one_listing_for_each_construct) {
  const GoodCase cases[] = {
      // declarations, constants, expressions
      {"const int n = 3; qubit[n] q; h q[n-1];", "h 2\n"},
      {"qubit q; rz(2*pi/4) q; rz(tau/4) q; rz(1/2) q; rz(1.0/2) q; rz(2**3) q; rz(7 % 4) q;",
       "rz(1.570796327) 0\nrz(1.570796327) 0\nrz(0) 0\nrz(0.5) 0\nrz(8) 0\nrz(3) 0\n"},
      {"qubit q; uint[4] u = 17; rx(u) q; int[4] i = 9; rx(i) q; float f = 3; rx(f/2) q;",
       "rx(1) 0\nrx(-7) 0\nrx(1.5) 0\n"},
      {"qubit q; int i = 5; i += 2; i <<= 1; rx(i ^ 3) q; rx(float(i) / 4) q; rx(~0 + 2) q;",
       "rx(13) 0\nrx(3.5) 0\nrx(1) 0\n"},
      {"qubit q; rx(0x1F) q; rx(0b1_01) q; rx(1_000) q; rx(arcsin(1)*2) q; rx(mod(7,4)) q;",
       "rx(31) 0\nrx(5) 0\nrx(1000) 0\nrx(3.141592654) 0\nrx(3) 0\n"},
      {"qubit q; const bit[4] b = \"0110\"; rx(int(b)) q; rx(popcount(b)) q; rx(b[1]) q; "
       "rx(int(b[0:1])) q;",
       "rx(6) 0\nrx(2) 0\nrx(1) 0\nrx(2) 0\n"},
      {"qubit q; rx(-2*pi/4+0.5) q; rx(-(1.5-3)/2.0) q; rx(3-2*2) q; rx(2-.5) q; rx(7/2*1.0) q;",
       "rx(-1.070796327) 0\nrx(0.75) 0\nrx(-1) 0\nrx(1.5) 0\nrx(3) 0\n"},
      {"qubit[2] q; gate g(a, b) x { rx(-a/2 + 3*b) x; rx(2*3 - b) x; } g(1, 0.5) q[1];",
       "rx(1) 1\nrx(5.5) 1\n"},
      // indices, ranges, sets, aliases, broadcasts, physical qubits
      {"qubit[5] q; x q[1:2]; y q[{0,4}]; z q[-1]; h q[4:-2:0]; s q[:1];",
       "x 1\nx 2\ny 0\ny 4\nz 4\nh 4\nh 2\nh 0\ns 0\ns 1\n"},
      {"qubit[2] q; qubit r; let a = q[1:1] ++ r; x a; cx r, q;", "x 1\nx 2\ncx 2,0\ncx 2,1\n"},
      {"let a = $1; h $2; x a;", "h 2\nx 1\n"},
      {"qubit[3] q; for int i in [0:2] x q[i]; for i in {2,0} { y q[i]; } for uint i in [2:-2:0] z "
       "q[i];",
       "x 0\nx 1\nx 2\ny 2\ny 0\nz 2\nz 0\n"},
      {"qubit[4] q; for int i in [0:3] { if (i == 1) continue; if (i == 3) break; x q[i]; }",
       "x 0\nx 2\n"},
      {"qubit[4] q; int i = 0; while (i < 3) { x q[i]; i += 1; }", "x 0\nx 1\nx 2\n"},
      {"qubit q; int i = 4; switch (i) { case 1, 2 { x q; } case 4 { y q; } default { z q; } }",
       "y 0\n"},
      {"qubit q; int i = 5; switch (i) { case 1: { x q; } break; default: { z q; } break; }",
       "z 0\n"},
      {"qubit q; int i = 1; switch (i) { case 0: case 1: x q; y q; break; default: z q; break; }",
       "x 0\ny 0\n"},
      {"qubit q; x q; end; y q;", "x 0\n"},
      {"qubit q; delay[100ns] q; box[2us] { x q; } delay[2 * 3.5ms + 1s] q; delay[1_0dt];",
       "x 0\n"},
      {"bit a; bit b; qubit q; let c = {a, b}; c[1] = measure q; if (c == 2) x q;",
       "measure 0>1\nx 0 if 2 3\n"},
      {"@note\n#pragma x y z\nqubit q; /* a\nb */ { int t = 1; rx(t) q; }", "rx(1) 0\n"},
      // modifiers
      {"qubit[3] q; ctrl @ x q[0],q[1]; ctrl(2) @ x q[0],q[1],q[2]; ctrl @ cx q[2],q[1],q[0];",
       "cx 0,1\nccx 0,1,2\nccx 2,1,0\n"},
      {"qubit[3] q; negctrl @ x q[0],q[1]; ctrl @ negctrl @ h q[0],q[1],q[2];",
       "cx -0,1\ncch +0,-1,2\n"},
      {"qubit q; inv @ s q; inv @ rx(0.5) q; inv @ inv @ t q; pow(2) @ t q; pow(-2) @ t q;",
       "sdg 0\nrx(-0.5) 0\nt 0\nt 0\nt 0\ntdg 0\ntdg 0\n"},
      {"qubit[2] q; ctrl @ gphase(0.5) q[0]; gphase(0.25); ctrl @ ctrl @ gphase(1) q[0],q[1];",
       "p(0.5) 0\ngphase(0.25)\ncp(1) 0,1\n"},
      {"qubit[2] q; ctrl @ U(1,2,3) q[0],q[1];", "cu3(1,2,3) 0,1\np(0.5) 0\n"},
      {"qubit[2] q; gate g(a) x { rx(a) x; t x; } inv @ g(0.5) q[0]; ctrl @ g(0.5) q[0],q[1];",
       "tdg 0\nrx(-0.5) 0\ncrx(0.5) 0,1\nct +0,1\n"},
      {"qubit[4] q; ctrl @ x q[0:1],q[2:3];", "cx 0,2\ncx 1,3\n"},
      // measurement
      {"qubit[2] q; bit[2] c = measure q; bit b = measure q[0]; measure q[1] -> c[0];",
       "measure 0>0\nmeasure 1>1\nmeasure 0>2\nmeasure 1>0\n"},
      {"qubit q; bit c; c = measure q; if (c) x q; else y q;", "measure 0>0\nx 0 if 1\ny 0 if 0\n"},
      {"qubit q; bit[2] c; c[0] = measure q; c[1] = measure q; if (c >= 2) { x q; } else if (c == "
       "1) y q;",
       "measure 0>0\nmeasure 0>1\nx 0 if 2 3\ny 0 if 1\n"},
      {"qubit q; bit[2] c; c[0] = measure q; c[1] = measure q; if (c[0]) if (c[1]) { z q; }",
       "measure 0>0\nmeasure 0>1\nz 0 if 3\n"},
      {"qubit q; bit[2] c; c[0] = measure q; c[1] = measure q; int s = c; s = s + 1;"
       "switch (s) { case 1 { x q; } case 2, 3 { y q; } default { z q; } }",
       "measure 0>0\nmeasure 0>1\nx 0 if 0\ny 0 if 1 2\nz 0 if 3\n"},
      {"qubit q; bit c; c = measure q; int k = 0; if (c) { k = 3; } if (k > 1) x q;",
       "measure 0>0\nx 0 if 1\n"},
      // a bit overwritten while its old value is still needed goes to a hidden one
      {"qubit q; bit c; c = measure q; bool old = c; c = measure q; if (old) x q; if (c) y q;",
       "measure 0>0\nassign 1=1 if 1 3\nmeasure 0>0\nx 0 if 2 3\ny 0 if 1 3\n"},
      {"qubit q; bit c; c = measure q; if (c) { c = measure q; x q; } else { y q; }",
       "measure 0>0\nassign 1=1 if 1 3\nmeasure 0>0 if 2 3\nx 0 if 2 3\ny 0 if 0 1\n"},
      {"qubit q; bit[2] c; c[0] = measure q; c[1] = c[0] ^ 1; if (c[1]) x q;",
       "measure 0>0\nassign 1=1 if 0 2\nassign 1=0 if 1 3\nx 0 if 2 3\n"},
      {"qubit q; bit[2] c = \"10\"; if (c[1]) x q; if (c[0]) y q;", "assign 1=1\nx 0\n"},
      // parts of registers and roots that depend on a measurement: each case under its condition
      {"qubit[2] q; bit c = measure q[0]; let a = q[c]; c = measure q[1]; x a;",
       "measure 0>0\nassign 1=1 if 1 3\nmeasure 1>0\nx 0 if 0 1\nx 1 if 2 3\n"},
      {"qubit[3] q; bit c = measure q[0]; z q[c:1];",
       "measure 0>0\nz 0 if 0\nz 1 if 0\nz 1 if 1\n"},
      // arrays
      {"qubit q; const array[int[8], 2, 2] a = {{1, 2}, {3, 4}}; rx(a[1, 0]) q; rx(a[-1][1]) q;",
       "rx(3) 0\nrx(4) 0\n"},
      {"qubit q; array[float, 3] a; a[1] = 0.5; a[2] = a[1] * 3; for float x in a rx(x) q;",
       "rx(0) 0\nrx(0.5) 0\nrx(1.5) 0\n"},
      {"qubit q; array[int, 2] a = {1, 2}; array[int, 2] b = a; b[0] = 7; a = {a[1], a[0]}; "
       "rx(a[0] "
       "+ b[0]) q; rx(sizeof(a)) q; rx(a[1]) q;",
       "rx(9) 0\nrx(2) 0\nrx(1) 0\n"},
      // subroutines
      {"qubit[3] q; def f(qubit[2] a, int n) { rx(n) a[0]; cx a[0],a[1]; } f(q[1:2], 4);",
       "rx(4) 1\ncx 1,2\n"},
      {"qubit[2] q; def m(qubit a) -> bit { bit b; b = measure a; return b; } bit c; c = m(q[0]);"
       "if (c) x q[1];",
       "measure 0>1\nassign 0=1 if 2 3\nassign 0=0 if 0 1\nx 1 if 1 3\n"},
      {"qubit q; def fib(int n) -> int { if (n < 2) return n; return fib(n-1) + fib(n-2); }"
       "rx(fib(10)) q;",
       "rx(55) 0\n"},
      {"input float[64] th; input int n; qubit q; rx(th/2) q; rx(n) q;", "rx(0.25) 0\nrx(7) 0\n"},
  };
  for (const GoodCase& c : cases) {
    const bool has_input = std::string(c.text).starts_with("input");
    EXPECT_EQ(
        operations(c.text, has_input ? ProgramInputs{{"th", "0.5"}, {"n", "7"}} : ProgramInputs{}),
        c.operations)
        << c.text;
  }
}

TEST(Qasm3, powers_between_are_roots) {
  // (x^(1/3))^3 = x, and the fraction of a controlled gate stays controlled.
  const Circuit c = program(
      "qubit[2] q; pow(1/3.0) @ x q[0]; pow(0.5) @ ctrl @ y q[0],q[1];"
      "pow(0.25) @ swap q[0],q[1]; pow(0.5) @ gphase(1);");
  const auto cube = [](std::vector<cplx> m, int times) {
    const std::size_t n = m.size() == 4 ? 2 : 4;
    std::vector<cplx> out = m;
    for (int k = 1; k < times; ++k) {
      std::vector<cplx> next(m.size());
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
          for (std::size_t l = 0; l < n; ++l) next[i * n + j] += out[i * n + l] * m[l * n + j];
      out = next;
    }
    return out;
  };
  const circuit::GateId whole[] = {circuit::GateId::kX, circuit::GateId::kY,
                                   circuit::GateId::kSwap};
  const int times[] = {3, 2, 4};
  ASSERT_EQ(c.ops().size(), 4u);
  EXPECT_EQ(c.ops()[1].num_controls, 1);
  for (std::size_t k = 0; k < 3; ++k) {
    const auto got = cube(c.matrix(c.ops()[k]), times[k]);
    const auto want = circuit::gate_matrix(whole[k], {});
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_LT(std::abs(got[i] - want[i]), 1e-13) << k;
  }
  EXPECT_DOUBLE_EQ(c.params(c.ops()[3])[0], 0.5);
}

TEST(Qasm3, long_registers_compare_and_negate) {
  const Circuit c = program(
      "qubit[70] q; bit[70] c; c = measure q; if (c == 1180591620717411303424) { x "
      "q[0]; } if (c != 0) { c[0] = measure q[0]; y q[0]; } else { z q[0]; }");
  std::vector<std::uint64_t> bits = {0, 64};  // bit 70: beyond the register
  const auto condition = [&](std::size_t op) {
    return c.conditions()[static_cast<std::size_t>(c.ops()[op].condition)];
  };
  EXPECT_FALSE(holds(condition(70), bits));  // 2^70 never fits
  // c != 0 goes to hidden bit 70 before c[0] is measured again
  EXPECT_EQ(c.ops()[71].kind, OpKind::kAssign);
  bits = {0, 0};
  EXPECT_FALSE(holds(condition(71), bits));
  bits = {0, 1};
  EXPECT_TRUE(holds(condition(71), bits));
  bits = {0, 64};
  EXPECT_TRUE(holds(condition(73), bits));
  EXPECT_FALSE(holds(condition(74), bits));
}

TEST(Qasm3, a_comma_may_end_every_list) {
  const struct {
    const char* text;
    const char* operations;
  } cases[] = {
      {"qubit[2] q; gate g(a, b,) x, y, { rx(a) x; rx(b,) y; } g(1, 2,) q[0], q[1],;",
       "rx(1) 0\nrx(2) 1\n"},
      {"qubit[2] q; def f(int n, qubit a,) { rx(n) a; } f(3, q[1],);", "rx(3) 1\n"},
      {"qubit q; int i = 1; switch (i) { case 0, 1, { x q; } default { y q; } }", "x 0\n"},
      {"qubit q; int i = 1; switch (i) { case 0, 1,: x q; break; default: y q; break; }", "x 0\n"},
      {"qubit[3] q; x q[{0, 2,}]; barrier q,; reset q[0],; delay[5ns] q[0], q[1],; nop q[0],;",
       "x 0\nx 2\nbarrier\nreset 0\n"},
      {"qubit q; array[int, 2, 1,] a = {{1,}, {2,},}; rx(a[1, 0,]) q; for int i in {4,} rx(i) q;",
       "rx(2) 0\nrx(4) 0\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(operations(c.text), c.operations) << c.text;
  EXPECT_NE(error("qubit q; rx(1,,) q;").find("expected an expression"), std::string::npos);
  EXPECT_NE(error("qubit q; rx(,) q;").find("expected an expression"), std::string::npos);
}

TEST(Qasm3, registers_may_be_empty_and_units_stand_apart) {
  EXPECT_EQ(
      operations("qubit[2] q; bit[0] c; qubit[0] r; x q; x r; delay[5 ns] q; delay[1.5\t us] q;"),
      "x 0\nx 1\n");
  EXPECT_EQ(error("bit[0] c; qubit q; c[0] = measure q;"),
            "f:1:22: index 0 is out of range: there are no elements");
  EXPECT_EQ(error("bit[-1] c; qubit q;"), "f:1:5: a size cannot be negative");
}

}  // namespace
}  // namespace tilewave::language::qasm3_test
