// OpenQASM 3 against the OpenQASM 2 reading of the same circuit, operation by operation, and the
// operations that only version 3 can say.
#include "tilewave/language/qasm3/qasm3.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "oracle/random_circuit.h"
#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/circuit/listing.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/language/qasm2/qasm2.h"

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

std::string error(const std::string& text) {
  return first_line(error_of([&] { parse_qasm3(text, "f"); }, ExitCode::kInput));
}

TEST(Qasm3, one_message_for_each_mistake) {
  const GoodCase cases[] = {
      {"qubit q; hh q;", "f:1:10: unknown gate 'hh': did you mean 'h'?"},
      {"qubit q; h q", "f:1:13: expected ';', found the end of the file"},
      {"qubit q; h r;", "f:1:12: unknown register 'r'"},
      {"qubit[2] q; h q[2];", "f:1:17: index 2 is out of range: there are 2 elements, 0 to 1"},
      {"qubit[2] q; cx q[0],q[0];", "f:1:22: gate 'cx' names a qubit twice: use distinct qubits"},
      {"qubit[2] q; cx q[0];", "f:1:13: gate 'cx' takes 2 qubits, not 1"},
      {"qubit[2] q; ctrl @ x q[0];", "f:1:20: gate 'x' with its modifiers takes 2 qubits, not 1"},
      {"qubit q; rz q;", "f:1:10: gate 'rz' takes 1 parameter, not 0"},
      {"qubit q; rz(1/0) q;", "f:1:14: division by zero"},
      {"qubit[2] q; qubit[3] r; cx q,r;",
       "f:1:30: registers of different sizes in one call: 2 and 3 qubits"},
      {"qubit q; qubit q;", "f:1:16: 'q' is declared twice"},
      {"qubit pi;", "f:1:7: 'pi' cannot be declared: it is a word of the language"},
      {"bit c;", "f:1:7: no qubits are declared: add a line such as 'qubit[2] q;'"},
      {"input float th; qubit q;",
       "f:1:13: input 'th' has no value: give one with --input th=<number>"},
      {"qubit[2] q; bit c; c = measure q[0]; let a = q[c:1]; x a[c];",
       "f:1:58: an index depends on a measurement, which this part of a register may not: index it "
       "in the statement that uses the qubit"},
      {"qubit[3] q; bit c; c = measure q[0]; let a = q[c:1]; x a[2];",
       "f:1:58: index 2 is out of range: there is 1 element"},
      {"qubit q; bit c = measure q; pow(c / 2.0) @ x q;",
       "f:1:35: a power depends on a measurement: it must be known before the circuit runs"},
      {"qubit q; bit[13] c; for int k in [0:12] { c[k] = measure q; } pow(0.5) @ rx(int(c)) q;",
       "f:1:74: the angles of a gate under a root: this depends on more than 12 measured bits, or "
       "on "
       "what a running loop changes"},
      {"qubit q; const int k = 1; k = 2;", "f:1:27: 'k' is constant"},
      {"qubit q; int k = \"01\" + \"1\" ++ 2;", "f:1:29: ++ joins registers: it stands in 'let'"},
      {"cal { }",
       "f:1:1: 'cal' belongs to the pulse-level part of OpenQASM 3, which is not "
       "simulated: remove it"},
      {"defcal x q { }",
       "f:1:1: 'defcal' belongs to the pulse-level part of OpenQASM 3, which is "
       "not simulated: remove it"},
      {"array[int] a;", "f:1:10: expected ',', found ']'"},
      {"array[qubit, 3] a;", "f:1:7: an array has no elements of this type"},
      {"array[int, 2] a = {1};", "f:1:19: 1 element where 2 are needed"},
      {"array[int, 2, 2] a; int b = a[1];",
       "f:1:30: this is a part of an array: an element has 2 indices"},
      {"complex[float] a;", "f:1:1: 'complex' of OpenQASM 3 is not read"},
      {"gate g a { measure a; } qubit q; g q;",
       "f:1:12: 'measure' cannot stand in a gate definition"},
      {"gate g a { g a; }", "f:1:12: gate 'g' calls itself: definitions may not be recursive"},
      {"def f(int n) -> int { return f(n); } qubit q; rx(f(1)) q;",
       "f:1:30: subroutines call each other more than 200 deep"},
      {"int i = 0; while (true) { i += 1; }", "f:1:12: this loop runs more than 1048576 times"},
      {"qubit q; x q; }", "f:1:15: expected a statement, found '}'"},
      {"qubit q; if (true) { x q;", "f:1:26: expected '}', found the end of the file"},
      {"/* open", "f:1:1: this comment is not closed"},
      {"qubit q; delay[5] q;", "f:1:16: this needs a time such as 100ns"},
      {"qubit q; duration d = 2 * 5ns; stretch s; delay[d + s] q; rx(d) q;",
       "f:1:62: a time is no angle"},
      {"qubit q; float f = 1us;", "f:1:20: a time is no number"},
      {"extern f(int) -> int;",
       "f:1:1: an extern function is computed outside of the program: write it as a 'def'"},
      {"qubit q; switch (1) { case 0: x q; case 1: y q; break; }",
       "f:1:36: expected '{', or 'break;' at the end of the case, found 'case'"},
      {"OPENQASM 2.0;", "f:1:10: expected a version such as 3.0"},
      {"qubit q; ctrl(0) @ x q;", "f:1:15: a gate can have 1 to 64 controls"},
      {"qubit q; rx(((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))) "
       "q; y r;",
       "f:1:97: unknown register 'r'"},
      {"qubit q; break;", "f:1:10: 'break' stands in a loop"},
  };
  for (const GoodCase& c : cases) EXPECT_EQ(error(c.text), c.operations) << c.text;
}

constexpr const char* kEverything =
    "OPENQASM 3.0; include \"stdgates.inc\"; const int n = 2; qubit[n] q; bit[n] c; input float th;"
    "gate g(a) x,y { ctrl @ rx(a) x,y; inv @ t y; } def f(qubit a, int k) -> bit { return measure "
    "a; } for int i in [0:1] { g(pi/2) q[0],q[1]; } c[0] = f(q[0], 3); switch (c) { case 0 { x q; "
    "} default { y q; } } if (c == \"01\") { let b = q[0:1]; h b; } else { pow(0.5) @ z q[0]; }"
    "array[int[8], 2] w = {1, 2}; w[int(c[0])] += 1; def g2(mutable array[int[8], 2] v) { v[0] = "
    "3; "
    "} g2(w); let z = q[int(c[0]):1]; y z; pow(0.5) @ rx(w[1]) q[0]; for int i in w { rx(i) z[0]; }"
    "int[4] k = c; k += 1; while (n < 1) { reset q; } if (k > 1) { c = measure q; } measure q -> "
    "c; while (c[0]) { k += 1; if (k > 2) { break; } c = measure q; } delay[2ns] q; end;";

void parses_or_gives_one_error(const std::string& text) {
  const std::string message = error_of(
      [&] {
        parse_qasm3(text, "f", {{"th", "0.5"}});
      },
      ExitCode::kInput);
  EXPECT_TRUE(message == "no error" || message.starts_with("f:")) << text << "\n" << message;
}

TEST(Qasm3, every_prefix_parses_or_gives_one_error) {
  const std::string text = kEverything;
  EXPECT_NO_THROW(parse_qasm3(text, "f", {{"th", "0.5"}}));
  for (std::size_t k = 0; k <= text.size(); ++k) parses_or_gives_one_error(text.substr(0, k));
}

TEST(Qasm3, mutated_programs_parse_or_give_one_error) {
  const std::string bytes = "0123456789qcxyab[](){};:,=<>!~+-*/&|^@\"# \n";
  for (std::uint64_t trial = 0; trial < 4000; ++trial) {
    std::string text = kEverything;
    const std::uint64_t edits = 1 + random_bits(3, trial, 0) % 3;
    for (std::uint64_t k = 1; k <= edits; ++k) {
      const std::uint64_t r = random_bits(3, trial, k);
      const std::size_t at = r % text.size();
      const char c = bytes[(r >> 32) % bytes.size()];
      if (r >> 62 == 0) {
        text.erase(at, 1);
      } else if (r >> 62 == 1) {
        text.insert(at, 1, c);
      } else {
        text[at] = c;
      }
    }
    parses_or_gives_one_error(text);
  }
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

TEST(Qasm3, what_is_never_run_is_checked) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      // bodies of gates
      {"gate g a { rx a; } qubit q;", "f:1:12: gate 'rx' takes 1 parameter, not 0"},
      {"gate g a { cx a; } qubit q;", "f:1:12: gate 'cx' takes 2 qubits, not 1"},
      {"gate g a { ctrl(2) @ x a; } qubit q;",
       "f:1:22: gate 'x' with its modifiers takes 3 qubits, not 1"},
      {"gate g(t) a { rx(u) a; } qubit q;", "f:1:18: unknown name 'u'"},
      {"gate g(theta) a { rx(thta) a; } qubit q;",
       "f:1:22: unknown name 'thta': did you mean 'theta'?"},
      {"gate g a { x b; } qubit q;", "f:1:14: unknown name 'b'"},
      {"gate g(t) a { x t; } qubit q;", "f:1:17: this is a classical value, a qubit is needed"},
      {"gate g a { rx(a) a; } qubit q;", "f:1:12: 'rx' is a gate, applied as 'rx(angle) q;'"},
      {"gate g a { rx(2 * a) a; } qubit q;",
       "f:1:19: 'a' is a quantum register, a classical value is needed"},
      {"gate g a { rx(sin()) a; } qubit q;", "f:1:15: 'sin' takes 1 argument, not 0"},
      {"gate g a { rx(foo(1)) a; } qubit q;", "f:1:15: unknown function 'foo'"},
      {"gate g a { int n = 2; x a; } qubit q;", "f:1:12: 'int' cannot stand in a gate definition"},
      {"gate g a { measure a; } qubit q;", "f:1:12: 'measure' cannot stand in a gate definition"},
      {"gate g a { for int i in [0:1] { break; } } qubit q;",
       "f:1:33: 'break' cannot stand in a gate definition"},
      {"gate g a { x $0; } qubit q;", "f:1:14: a gate works on its own qubits"},
      {"gate g a { x q; } qubit q;", "f:1:14: unknown name 'q'"},
      {"int n = 2; gate g a { rx(n) a; } qubit q;", "f:1:26: unknown name 'n'"},
      {"gate g a { x a[0]; } qubit q;", "f:1:15: a single bit has no index"},
      {"gate g a { cx a, a; } qubit q;",
       "f:1:18: gate 'cx' names a qubit twice: use distinct qubits"},
      // of subroutines
      {"def f(int a, qubit a) { } qubit q;", "f:1:20: the name 'a' is used twice"},
      {"def f() { int k = 1; bit k; } qubit q;", "f:1:26: 'k' is declared twice"},
      {"def f(qubit[2] a) { cx a, a; } qubit q;",
       "f:1:27: gate 'cx' names a qubit twice: use distinct qubits"},
      {"def f(qubit a) { foo a; } qubit q;", "f:1:18: unknown gate 'foo'"},
      {"def f(qubit a) { x b; } qubit q;", "f:1:20: unknown name 'b'"},
      {"def f(int n) -> int { return m; } qubit q;", "f:1:30: unknown name 'm'"},
      {"def f(int n) { g(n, 1); } def g(int k) { } qubit q;",
       "f:1:16: 'g' takes 1 argument, not 2"},
      {"def f(int n) { int k = f(); } qubit q;", "f:1:24: 'f' takes 1 argument, not 0"},
      {"def f() { { int k = 1; } int j = k; } qubit q;", "f:1:34: unknown name 'k'"},
      {"def f(qubit a) { if (a) x a; } qubit q;",
       "f:1:22: 'a' is a quantum register, a classical value is needed"},
      {"def f() { break; } qubit q;", "f:1:11: 'break' stands in a loop"},
      {"def f(bit[2] b) { measure b; } qubit q;",
       "f:1:27: this is a classical register, a qubit is needed"},
      {"def f() -> bit[m] { return 0; } qubit q;", "f:1:16: unknown name 'm'"},
      // branches that are not taken
      {"qubit q; if (false) { foo q; }", "f:1:23: unknown gate 'foo'"},
      {"qubit q; if (true) { x q; } else { rx q; }", "f:1:36: gate 'rx' takes 1 parameter, not 0"},
      {"qubit q; while (false) { x r; }", "f:1:28: unknown name 'r'"},
      {"qubit q; for int i in {} { int k = j; }", "f:1:36: unknown name 'j'"},
      {"qubit q; switch (2) { case 1 { x q, q; } default { } }",
       "f:1:32: gate 'x' takes 1 qubit, not 2"},
      {"qubit q; if (false) { return; }", "f:1:23: 'return' stands in a subroutine"},
      {"qubit q; if (false) { def f() { } }", "f:1:23: 'def' stands outside of blocks"},
  };
  for (const auto& c : cases) EXPECT_EQ(error(c.text), c.error) << c.text;
  const char* good[] = {
      "const int n = 2; gate g(t) a, b { rx(n * t + pi) a; for int i in [0:n] { cx a, b; } ctrl @ "
      "inv @ pow(n) @ x a, b; gphase(t); barrier a; } qubit q;",
      // what stands below is there when it is called
      "def f(qubit[m] a) { g(a[0]); let b = a[0] ++ a[1]; x b; } def g(qubit a) { x a; } const int "
      "m = 2; qubit q;",
      "def f(mutable array[int[8], #dim = 1] a, qubit r) -> bit { int k = sizeof(a); a[0] = k; for "
      "int i in a { if (i == 2) { continue; } else { break; } } bit[2] c; c[0] = measure r; "
      "measure r -> c[1]; let z = c[0:1]; while (z[0]) { reset r; z[0] = 0; } delay[5ns] r; "
      "return c[0]; } qubit q;",
      "def f() { x $0; bit b = measure $1; } x $0;",
      "qubit[2] q; bit[2] c; int k = 1; let r = q[0:1]; if (false) { let s = r[{0, 1}]; cx s[0], "
      "r[k]; c = measure s; box { h r; } float f = int(rotl(c, 1)) + sin(pi); }",
  };
  for (const char* text : good) EXPECT_EQ(error(text), "no error") << text;
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
