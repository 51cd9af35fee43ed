// What goes into an OpenQASM 3 program and comes out of it: inputs, outputs, notes, and the errors of
// what the language does not define.
#include <gtest/gtest.h>

#include <string>

#include "conformance/qasm3_programs.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/language/qasm3/qasm3.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::qasm3_test {
namespace {

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
}  // namespace tilewave::qasm3_test
