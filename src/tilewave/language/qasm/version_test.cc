// Texts without a version line are read in the version that they look like.
#include "tilewave/language/qasm/version.h"

#include <gtest/gtest.h>

#include "tilewave/base/thrown_test.h"
#include "tilewave/language/circuit_file.h"

namespace tilewave::language {
namespace {

TEST(QasmVersion, a_version_line_decides) {
  EXPECT_TRUE(is_qasm3("// a\n/* b */ OPENQASM 3;"));
  EXPECT_TRUE(is_qasm3("OPENQASM 3.1;"));
  EXPECT_FALSE(is_qasm3("OPENQASM 2.0; qubit q;"));
  EXPECT_EQ(version_line("OPENQASM 3.0; qreg q[1];"), QasmVersion::k3);
  EXPECT_EQ(version_line("qubit q; // OPENQASM 3.0;"), QasmVersion::kUnknown);
}

TEST(QasmVersion, without_one_the_statements_do) {
  for (const char* text :
       {"qubit q; x q;", "include \"stdgates.inc\";\nqubit[2] q;", "/* a */ bit c; qubit q;",
        "bit[2] c; qubit[2] q; c = measure q;", "def f(qubit a) { x a; } qubit q; f(q);",
        "pragma x y\nqubit q;", "#pragma x\nqubit q;", "@note\nqubit q;",
        "const int n = 2; qubit[n] q;", "array[int, 2] a; qubit q;", "let a = $0; x a;", "x $0;",
        "gate g a { ctrl @ gphase(1) a; } qubit q;", "gate g a { } qubit q; g q;",
        "int i = 1; qubit q;", "duration d = 5ns; qubit q;", "include 'stdgates.inc'; qubit q;",
        "gate g(\xCE\xB8) a { U(0, 0, \xCE\xB8 / 2) a; } qubit q; g(1) q;"}) {
    EXPECT_TRUE(is_qasm3(text)) << text;
    EXPECT_NO_THROW(parse_circuit(text, "t")) << text;
  }
  for (const char* text :
       {"qreg q[2]; x q;", "include \"qelib1.inc\"; qreg q[2]; x q;",
        "gate g a { x a; } qreg q[1]; g q;", "// qubit q;\nqreg q[2]; creg c[2]; measure q -> c;",
        "opaque g a; qreg q[1]; x q[0];", "qreg qubit[2]; x qubit;",
        "gate g a { x a; } creg c[1]; qreg q[1]; if(c==1) g q[0];"}) {
    EXPECT_FALSE(is_qasm3(text)) << text;
    EXPECT_NO_THROW(parse_circuit(text, "t")) << text;
  }
}

TEST(QasmVersion, what_version_2_cannot_read_is_tried_as_version_3) {
  for (const char* text :
       {"qreg q[2]; creg c[2]; c = measure q;", "qreg q[2]; for int i in [0:1] { x q[i]; }",
        "qreg q[2]; ctrl @ x q[0], q[1];", "qreg q[2]; /* a comment */ x q;",
        "include \"qelib1.inc\"; qreg q[2]; bit c; c = measure q[0];",
        "qreg q[1]; creg c[1]; if (c[0] == 1) x q[0]; else y q[0];"}) {
    EXPECT_NO_THROW(parse_circuit(text, "t")) << text;
  }
  const auto error = [](const char* text) {
    return first_line(error_of([&] { parse_circuit(text, "t"); }));
  };
  // the error is that of the version it looks like
  EXPECT_EQ(error("qreg q[2]; hh q;"), "t:1:12: unknown gate 'hh': did you mean 'h'?");
  EXPECT_EQ(error("qreg q[2]; hh q; for int i in [0:1] { x q[i]; }"),
            "t:1:12: unknown gate 'hh': did you mean 'h'?");
  EXPECT_EQ(error("include \"stdgates.inc\"; qubit q; h r;"), "t:1:36: unknown register 'r'");
  EXPECT_EQ(error("/* open"), "t:1:1: this comment is not closed");
  EXPECT_EQ(error("gate \"open"), "t:1:6: this string is not closed on its line");
}

TEST(QasmVersion, inputs_are_for_version_3) {
  EXPECT_EQ(parse_circuit("OPENQASM 3; qubit[2] q; x q;", "a").ops().size(), 2u);
  EXPECT_EQ(parse_circuit("OPENQASM 2.0; qreg q[2]; x q;", "a").ops().size(), 2u);
  EXPECT_NO_THROW(parse_circuit("input float t; qubit q; rx(t) q;", "a", {{"t", "1"}}));
  EXPECT_NO_THROW(parse_circuit("qreg q[1]; input float t; rx(t) q;", "a", {{"t", "1"}}));
  EXPECT_THROW(parse_circuit("qreg q[2]; x q;", "a", {{"t", "1"}}), Error);
  EXPECT_THROW(parse_circuit("1\n0 x 0", "a", {{"t", "1"}}), Error);
  EXPECT_THROW(parse_circuit("OPENQASM 3; qubit q;", "a", {{"t", "1"}}), Error);
}

TEST(QasmVersion, any_text_has_an_answer) {
  const std::string text = "/* a */ include \"x\"; gate g(a) b { U(a,0,0) b; } c = d; @e\n#f\n'";
  for (std::size_t k = 0; k <= text.size(); ++k) {
    for (const bool whole : {false, true}) guess_version(text.substr(0, k), whole);
    version_line(text.substr(0, k));
  }
}

}  // namespace
}  // namespace tilewave::language
