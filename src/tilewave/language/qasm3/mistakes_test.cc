// What is wrong with a program is told by one message that names the place: of what is run, of what
// never is, and of programs that end early or have bytes changed.
#include <gtest/gtest.h>

#include "tilewave/base/philox.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/qasm3/errors_test.h"
#include "tilewave/language/qasm3/qasm3.h"

namespace tilewave::language::qasm3_mistakes_test {
namespace {

using qasm3_test::error;

TEST(Qasm3, one_message_for_each_mistake) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
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
  for (const auto& c : cases) EXPECT_EQ(error(c.text), c.error) << c.text;
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

}  // namespace
}  // namespace tilewave::language::qasm3_mistakes_test
