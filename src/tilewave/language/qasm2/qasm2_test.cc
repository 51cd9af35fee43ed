#include "tilewave/language/qasm2/qasm2.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <numbers>

#include "oracle/random_circuit.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/circuit/families.h"
#include "tilewave/circuit/inverse.h"
#include "tilewave/circuit/listing.h"
#include "tilewave/language/circuit_file.h"

namespace tilewave::language::qasm2_test {
namespace {

using circuit::Circuit;
using circuit::GateId;
using circuit::Op;
using circuit::OpKind;
using std::numbers::pi;

Circuit parse(const std::string& body) { return parse_qasm2(body, "test.qasm"); }

// The operations of a program, one a line: "rz(0.5) 0", "measure 1>0 if[0,2]==3".
std::string listing(const Circuit& c) {
  std::string out;
  for (const Op& op : c.ops()) {
    out += circuit::operation_name(c, op);
    char separator = '(';
    for (const double p : c.params(op)) {
      char text[32];
      std::snprintf(text, sizeof text, "%c%.6g", separator, p);
      out += text;
      separator = ',';
    }
    if (separator == ',') out += ')';
    separator = ' ';
    for (const auto q : c.qubits(op)) {
      out += separator;
      out += std::to_string(q);
      separator = ',';
    }
    if (op.kind == OpKind::kMeasure) out += std::string(">").append(std::to_string(op.clbit));
    if (op.condition >= 0) {
      const auto& k = c.conditions()[static_cast<std::size_t>(op.condition)];
      out += " if[";
      out += std::to_string(k.first) + "," + std::to_string(k.size) + "]==";
      for (const auto w : k.value) out += std::to_string(w) + ".";
    }
    out += '\n';
  }
  return out;
}

double angle(const std::string& expression) {
  const Circuit c = parse("qreg q[1];rz(" + expression + ") q[0];");
  return c.params(c.ops()[0])[0];
}

TEST(Qasm2, reads_registers_broadcasts_measurements_and_conditions) {
  const Circuit c = parse(
      "OPENQASM 2.0;\r\ninclude \"qelib1.inc\"; // \xC3\xA9t\xC3\xA9 \xFF\r\n"
      "qreg a[2]; qreg b[2];\r\ncreg c[2];creg d[3];\n"
      "h a; cx a,b; cx a[1],b; cx b[1],b[0]; barrier a,b[0]; measure b->c; measure a[0]->d[2];\n"
      "reset a; if(d==5) rz(-pi/2) b[1];\nif (c == 0) measure a[1] -> c[0]; if(c==0)x a;\n");
  EXPECT_EQ(listing(c),
            "h 0\nh 1\ncx 0,2\ncx 1,3\ncx 1,2\ncx 1,3\ncx 3,2\nbarrier\nmeasure 2>0\nmeasure 3>1\n"
            "measure 0>4\nreset 0\nreset 1\nrz(-1.5708) 3 if[2,3]==5.\nmeasure 1>0 if[0,2]==0.\n"
            "x 0 if[0,2]==0.\nx 1 if[0,2]==0.\n");
  EXPECT_EQ(c.num_qubits(), 4u);
  EXPECT_EQ(c.num_clbits(), 5u);
  EXPECT_EQ(c.qregs()[1].name, "b");
  EXPECT_EQ(c.ops()[0].line, 5u);
  EXPECT_EQ(c.ops().back().line, 7u);
}

TEST(Qasm2, version_and_include_are_optional_and_registers_may_follow_gates) {
  EXPECT_EQ(listing(parse("qreg q[1]; U(0,0,pi) q[0]; qreg r[1]; CX q[0],r[0];")),
            "u(0,0,3.14159) 0\ncx 0,1\n");
  EXPECT_EQ(listing(parse("\xEF\xBB\xBF"
                          "OPENQASM 2;qreg a[1];h a;")),
            "h 0\n");
}

TEST(Qasm2, expressions) {
  EXPECT_EQ(angle("pi"), pi);
  EXPECT_EQ(angle("-pi/2+3*4"), -pi / 2 + 12);
  EXPECT_EQ(angle("1/2"), 0.5);
  EXPECT_EQ(angle("2^3^2"), 512);
  EXPECT_EQ(angle("-2^2"), -4);
  EXPECT_EQ(angle("2^-1"), 0.5);
  EXPECT_EQ(angle("2*-3"), -6);
  EXPECT_EQ(angle("--1"), 1);
  EXPECT_EQ(angle("+1-+2"), -1);
  EXPECT_EQ(angle("10-4-3"), 3);
  EXPECT_EQ(angle("24/4/2"), 3);
  EXPECT_EQ(angle("sin(1)+cos(2)*tan(0.5)"), std::sin(1) + std::cos(2) * std::tan(0.5));
  EXPECT_EQ(angle("ln(exp(2))+sqrt(2)"), std::log(std::exp(2)) + std::sqrt(2));
  EXPECT_EQ(angle("1e3+.5+2.+1.5E-1+1e+1"), 1e3 + .5 + 2. + 1.5e-1 + 1e1);
  EXPECT_EQ(angle("1e-999"), 0);
  EXPECT_EQ(angle("pi/281474976710656"), pi / 281474976710656.0);
  EXPECT_EQ(angle("123456789012345678901234567890"), 123456789012345678901234567890.0);
  std::string nested(250, '('), closed(250, ')');
  EXPECT_EQ(angle(nested + "1" + closed), 1);
}

TEST(Qasm2, definitions_expand_with_their_angles) {
  const Circuit c = parse(
      "qreg q[3];\n"
      "gate one(a,b) x, y { rz(a/2+b) x; cx x,y; barrier x,y; ry(-sin(a)*(3-b)^2) y; }\n"
      "gate two(t) a,b,c { one(t,1) a,b; one(2*t,-t) c,a; h c; }\n"
      "gate none a {}\n"
      "gate empty() a { U(0,0,0) a; }\n"
      "two(0.5) q[2],q[0],q[1]; none q; empty() q[1];\n");
  EXPECT_EQ(listing(c),
            "rz(1.25) 2\ncx 2,0\nbarrier\nry(-1.9177) 0\n"
            "rz(0) 1\ncx 1,2\nbarrier\nry(-10.308) 2\nh 1\nu(0,0,0) 1\n");
  EXPECT_EQ(c.ops()[0].line, 6u);
  EXPECT_EQ(listing(parse("qreg a[2];qreg b[2];creg c[1];gate g x,y{cx x,y;}if(c==1)g a,b;")),
            "cx 0,2 if[0,1]==1.\ncx 1,3 if[0,1]==1.\n");
}

TEST(Qasm2, a_definition_of_the_file_wins_over_a_built_in_gate) {
  EXPECT_EQ(listing(parse("gate cx a,b { CX a,b; } gate h a { U(pi/2,0,pi) a; } qreg q[2];"
                          "h q[0]; cx q[0],q[1];")),
            "u(1.5708,0,3.14159) 0\ncx 0,1\n");
  EXPECT_EQ(listing(parse("include \"qelib1.inc\"; gate ryy(t) a,b { rx(t) a; } qreg q[2];"
                          "ryy(1) q[0],q[1];")),
            "rx(1) 0\n");
}

TEST(Qasm2, every_gate_of_the_table_is_called_by_each_of_its_names) {
  for (const circuit::GateInfo& g : circuit::gate_table()) {
    std::string_view names = g.qasm;
    ASSERT_FALSE(names.empty());
    while (!names.empty()) {
      const std::string_view name = names.substr(0, names.find(' '));
      names.remove_prefix(std::min(name.size() + 1, names.size()));
      std::string text = "qreg q[5];";
      text += name;
      for (int k = 0; k < g.num_params; ++k) text += k == 0 ? "(0.25" : ",0.25";
      if (g.num_params > 0) text += ")";
      for (int k = 0; k < g.num_controls + g.num_targets; ++k) {
        text += k == 0 ? " q[" : ",q[";
        text += std::to_string(k) + "]";
      }
      const Circuit c = parse(text + ";");
      ASSERT_EQ(c.ops().size(), 1u) << name;
      EXPECT_EQ(c.ops()[0].gate, g.id) << name;
    }
  }
}

TEST(Qasm2, qelib1_is_built_in_as_qiskit_writes_it) {
  for (const char* name :
       {"id",  "u0",  "u",    "p",   "u1",    "u2",   "u3",  "x",       "y",   "z",  "h",
        "s",   "sdg", "t",    "tdg", "sx",    "sxdg", "rx",  "ry",      "rz",  "cx", "cy",
        "cz",  "ch",  "swap", "ccx", "cswap", "crx",  "cry", "crz",     "cu1", "cp", "cu3",
        "csx", "cu",  "rxx",  "rzz", "rccx",  "rc3x", "c3x", "c3sqrtx", "c4x"}) {
    EXPECT_NE(circuit::find_gate(circuit::Language::kQasm, name), nullptr) << name;
  }
}

TEST(Qasm2, conditions_compare_registers_of_hundreds_of_bits) {
  // 2^200 + 2^64 + 5
  const std::string number = "1606938044258990275541962092341162602522221440526866544852997";
  const Circuit c = parse("qreg q[1];creg c[301];if(c==" + number + ") x q[0];");
  const auto& value = c.conditions()[0].value;
  ASSERT_EQ(value.size(), 5u);
  EXPECT_EQ(value[0], 5u);
  EXPECT_EQ(value[1], 1u);
  EXPECT_EQ(value[2], 0u);
  EXPECT_EQ(value[3], 1u << 8);
  EXPECT_EQ(listing(parse("qreg q[1];creg c[32];if(c==2147483648)x q;if(c==2147483648)y q;")),
            "x 0 if[0,32]==2147483648.\ny 0 if[0,32]==2147483648.\n");
}

TEST(Qasm2, a_number_too_large_for_its_register_never_holds) {
  EXPECT_EQ(listing(parse("qreg q[1];creg c[2];if(c==4) x q[0];if(c==3) y q[0];")),
            "y 0 if[0,2]==3.\n");
}

TEST(Qasm2, opaque_gates_may_be_declared) {
  EXPECT_EQ(listing(parse("opaque magic(a,b) x,y; qreg q[1]; h q;")), "h 0\n");
}

TEST(Qasm2, includes_are_read_beside_their_file) {
  char folder[] = "/tmp/tilewave_qasm_XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string base = folder;
  const auto put = [&](const char* name, const std::string& text) {
    std::ofstream(base + "/" + name) << text;
  };
  put("a.qasm", "include \"b.inc\"; qreg q[1]; two q[0];");
  put("b.inc", "include \"c.inc\"; gate two a { one a; one a; }");
  put("c.inc", "gate one a { h a; }");
  EXPECT_EQ(listing(read_circuit_file(base + "/a.qasm")), "h 0\nh 0\n");
  put("c.inc", "gate one a { hh a; }");
  const auto read = [&] { read_circuit_file(base + "/a.qasm"); };
  EXPECT_TRUE(error_of(read).starts_with(base + "/c.inc:1:14: unknown gate 'hh'"));
  put("c.inc", "include \"b.inc\";");
  expect_error(read, "include each other more than 16 deep", ExitCode::kInput);
  for (const char* name : {"/a.qasm", "/b.inc", "/c.inc"}) ::unlink((base + name).c_str());
  ::rmdir(folder);
}

void expect_fixpoint(const Circuit& c, const std::string& where) {
  const std::string text = to_qasm2(c);
  const Circuit again = parse_qasm2(text, where);
  EXPECT_EQ(listing(again), listing(c)) << where;
  EXPECT_EQ(to_qasm2(again), text) << where;
}

TEST(Qasm2Print, is_a_fixpoint_on_programs) {
  expect_fixpoint(parse("qreg a[2];creg c[70];qreg b[3];creg d[1];h a;cx a[1],b[2];barrier b;"
                        "if(c==1180591620717411303423)measure b[2]->d[0];if(d==0)rz(1e-17/3) a;"
                        "reset b;measure b[0]->c[69];gphase(0.3);u2(pi,-pi) a[0];"),
                  "features");
  for (const std::string_view name : circuit::family_names()) {
    const Circuit family = circuit::make_family(name, 7);
    expect_fixpoint(family, std::string(name));
  }
}

TEST(Qasm2Print, is_a_fixpoint_on_random_circuits) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    circuit::RandomCircuitOptions options;
    options.seed = seed;
    options.num_qubits = 6;
    options.num_clbits = 5;
    options.extra_controls = options.matrices = false;
    options.measure = options.reset = options.conditions = true;
    expect_fixpoint(circuit::make_random_circuit(options), "seed " + std::to_string(seed));
  }
}

// Registers of programs in other languages, and of Python, may have any name.
TEST(Qasm2Print, registers_have_names_that_are_read_again) {
  for (const char* name :
       {"h", "cx", "U", "measure", "pi", "sin", "qreg", "x y", "\u03c0", "3", ""}) {
    for (const bool is_classical : {false, true}) {
      Circuit c;
      c.add_qreg(is_classical ? "q" : name, 2);
      c.add_qreg("empty", 0);
      c.add_creg("first", 1);
      c.add_creg(is_classical ? name : "c", 2);
      c.add_gate(GateId::kH, {0});
      c.add_gate(GateId::kCx, {0, 1});
      c.add_barrier();
      c.add_measure(1, 2);
      c.add_gate(GateId::kX, {1});
      c.set_condition(c.ops().size() - 1, {1, 2, {2}, {}});
      const std::string text = to_qasm2(c);
      const Circuit again = parse_qasm2(text, name);
      EXPECT_EQ(to_qasm2(again), text) << name;
      ASSERT_EQ(again.ops().size(), c.ops().size()) << text;
      ASSERT_EQ(again.cregs().size(), 2u) << text;  // keys of counts have a blank between them
      EXPECT_EQ(again.cregs()[1].size, 2u);
      EXPECT_EQ(again.num_qubits(), 2u);
    }
  }
  Circuit none;
  none.add_barrier();
  EXPECT_FALSE(has(to_qasm2(none), "barrier"));
}

TEST(Qasm2Print, says_what_it_can_of_further_controls) {
  Circuit c(4);
  const circuit::Qubit two[] = {0, 1}, one[] = {3};
  c.add_controlled_gate(GateId::kX, two, 0b01, one);
  EXPECT_EQ(to_qasm2(c),
            "OPENQASM 2.0;\ninclude \"qelib1.inc\";\nqreg q[4];\n"
            "x q[1];\nccx q[0],q[1],q[3];\nx q[1];\n");
  c.add_controlled_gate(GateId::kH, two, ~0ull, one);
  EXPECT_THROW(to_qasm2(c), Error);
  Circuit same_names;
  same_names.add_qreg("c", 1);
  same_names.add_creg("c", 1);
  EXPECT_TRUE(has(to_qasm2(same_names), "qreg c[1];\ncreg c_[1];"));
  Circuit m(1);
  m.add_matrix({}, 0, std::span(one, 1).first(0), {1});
  EXPECT_THROW(to_qasm2(m), Error);
}

}  // namespace
}  // namespace tilewave::language::qasm2_test
