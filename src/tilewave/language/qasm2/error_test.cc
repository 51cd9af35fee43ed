// Every way a program can be wrong gives one error that points at its place; no input crashes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tilewave/base/concat.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/language/qasm2/qasm2.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language::qasm2_error_test {
namespace {

std::string whole_error(const std::string& text) {
  return error_of([&] { parse_qasm2(text, "f.qasm"); }, ExitCode::kInput);
}

std::string error(const std::string& text) {
  const std::string all = whole_error(text);
  return all.substr(0, all.find('\n'));
}

TEST(Qasm2Error, shows_the_line_and_a_caret) {
  EXPECT_EQ(whole_error("qreg q[2];\n\tcx q[0], q[2]; // \xC3\xA9\n"),
            "f.qasm:2:13: index 2 is out of range: register 'q' has 2 qubits, 0 to 1\n"
            " cx q[0], q[2]; // \xC3\xA9\n"
            "            ^");
  EXPECT_EQ(whole_error("// \xC3\xA9\nqreg q[1"),
            "f.qasm:2:9: expected ']', found the end of the file\nqreg q[1\n        ^");
  const std::string line = whole_error(concat("qreg q[1];", std::string(100000, ' '), "hh q[0];",
                                              std::string(100000, ' '), "x q[0];"));
  EXPECT_TRUE(line.starts_with("f.qasm:1:100011: unknown gate 'hh'"));
  EXPECT_LT(line.size(), 400u);
}

struct Case {
  const char* text;
  const char* error;  // without the file's name
};

TEST(Qasm2Error, one_message_for_each_mistake) {
  const Case cases[] = {
      // gates
      {"qreg q[1];hh q[0];", "1:11: unknown gate 'hh': did you mean 'h'?"},
      {"qreg q[2];cxx q[0],q[1];", "1:11: unknown gate 'cxx': did you mean 'cx'?"},
      {"qreg q[1];H q[0];", "1:11: unknown gate 'H': did you mean 'h'?"},
      {"qreg q[2];cnot q[0],q[1];", "1:11: unknown gate 'cnot': did you mean 'cx'?"},
      {"qreg q[2];meazure q[0];", "1:11: unknown gate 'meazure': did you mean 'measure'?"},
      {"qreg q[1];frobnicate q[0];", "1:11: unknown gate 'frobnicate'"},
      {"gate mine a {h a;} qreg q[1];mime q[0];",
       "1:30: unknown gate 'mime': did you mean 'mine'?"},
      {"qreg q[2];cx q[0];", "1:11: gate 'cx' takes 2 qubits, not 1"},
      {"qreg q[2];h q[0],q[1];", "1:11: gate 'h' takes 1 qubit, not 2"},
      {"qreg q[1];x(q[0]);", "1:11: 'x' is a gate, applied as 'x q;'"},
      {"qreg q[2];cu3(q[0],1,2) q[1];",
       "1:11: 'cu3' is a gate, applied as 'cu3(angle1, angle2, angle3) q1, q2;'"},
      {"gate f(t) a {rx(t,a) a;}", "1:14: 'rx' is a gate, applied as 'rx(angle) q;'"},
      {"qreg q[1];rz q[0];", "1:11: gate 'rz' takes 1 parameter, not 0"},
      {"qreg q[1];h(1) q[0];", "1:11: gate 'h' takes 0 parameters, not 1"},
      {"qreg q[1];u3(1,2) q[0];", "1:11: gate 'u3' takes 3 parameters, not 2"},
      {"qreg q[2];cx q[1],q[1];",
       "1:19: gate 'cx' names the qubit q[1] twice: use distinct qubits"},
      {"qreg q[2];cx q,q[1];", "1:16: gate 'cx' names the qubit q[1] twice: use distinct qubits"},
      {"qreg q[2];qreg r[3];cx q,r;",
       "1:26: registers of different sizes in one call: q has 2 qubits, r has 3"},
      {"opaque o a;qreg q[1];o q[0];",
       "1:22: gate 'o' is opaque: give it a body with 'gate' before using it"},
      // registers
      {"qreg q[2];h q[2];", "1:15: index 2 is out of range: register 'q' has 2 qubits, 0 to 1"},
      {"qreg q[1];h q[18446744073709551616];",
       "1:15: index 18446744073709551616 is out of range: register 'q' has 1 qubit"},
      {"qreg q[1];h q[-1];", "1:15: expected an index, found '-'"},
      {"qreg q[1];h r;", "1:13: register 'r' is not declared"},
      {"qreg q[1];creg c[1];h c;", "1:23: 'c' is a classical register, a qubit is needed"},
      {"qreg q[1];creg c[1];measure q->q;",
       "1:32: 'q' is a quantum register, a classical one is needed"},
      {"qreg q[2];creg c[3];measure q->c;",
       "1:32: measure needs as many classical bits as qubits: 'q' has 2 qubits, 'c' has 3 bits "
       "(declare them with one size, or measure single bits)"},
      {"qreg q[2];creg c[2];measure q[0]->c;",
       "1:35: measure takes two registers or two single bits: 'c' is a register, 'q[0]' is not"},
      {"qreg q[1];creg q[1];", "1:16: the register 'q' is declared twice"},
      {"qreg q[0];", "1:8: a register needs at least one qubit"},
      {"qreg q[9223372036854775808];", "1:8: too many qubits: a program may declare 1048576"},
      {"qreg q[1];creg c[1048577];",
       "1:18: too many classical bits: a program may declare 1048576"},
      {"qreg pi[1];", "1:6: 'pi' cannot name a register: it is a word of the language"},
      {"creg c[2];", "1:11: no qubits are declared: add a line such as 'qreg q[2];'"},
      {"// nothing", "1:11: no qubits are declared: add a line such as 'qreg q[2];'"},
      // definitions
      {"gate g a {g a;}", "1:11: gate 'g' calls itself: definitions may not be recursive"},
      {"gate g a {k a;} gate k a {g a;}", "1:11: unknown gate 'k'"},
      {"gate g a {} gate g b {}", "1:18: gate 'g' is defined twice"},
      {"gate g(a) a {}", "1:11: the name 'a' is used twice"},
      {"gate g a {h b;}", "1:13: 'b' is not a qubit of gate 'g'"},
      {"gate g a,b {cx a,a;}", "1:18: gate 'cx' names the qubit a twice: use distinct qubits"},
      {"gate g a {cx a;}", "1:11: gate 'cx' takes 2 qubits, not 1"},
      {"gate g a {rz(t) a;}", "1:14: unknown name 't' in an expression"},
      {"gate g a {measure a;}", "1:11: 'measure' cannot stand in a gate definition"},
      {"gate g a {h a;", "1:15: expected a gate or '}', found the end of the file"},
      {"gate g(t) a {rz(1/t) a;} qreg q[1];\ng(0) q[0];",
       "2:1: an angle in the definition of 'g' is not a finite number (division by zero or "
       "overflow)"},
      // expressions
      {"qreg q[1];rz(1/0) q[0];", "1:15: division by zero"},
      {"qreg q[1];rz(1/(2-2)) q[0];", "1:15: division by zero"},
      {"qreg q[1];rz(nan) q[0];", "1:14: unknown name 'nan' in an expression"},
      {"qreg q[1];rz(ln(0)) q[0];", "1:14: the result is not a finite number"},
      {"qreg q[1];rz(sqrt(-1)) q[0];", "1:14: the result is not a finite number"},
      {"qreg q[1];rz(exp(1e9)) q[0];", "1:14: the result is not a finite number"},
      {"qreg q[1];rz(1e999) q[0];", "1:14: this number is too large for a double"},
      {"qreg q[1];rz(1e) q[0];", "1:16: the exponent of a number needs digits"},
      {"qreg q[1];rz(.) q[0];", "1:14: a number needs digits beside its point"},
      {"qreg q[1];rz(2pi) q[0];", "1:15: a letter directly after a number"},
      {"qreg q[1];rz(1+) q[0];",
       "1:16: expected a number, pi, a parameter, a function or '(', found ')'"},
      {"qreg q[1];rz(1 q[0];", "1:16: expected ',' or ')', found 'q'"},
      // conditions
      {"qreg q[1];creg c[1];if(c=1)x q[0];", "1:25: the character '=' has no meaning here"},
      {"qreg q[1];creg c[1];if(c==-1)x q[0];", "1:27: expected a natural number, found '-'"},
      {"qreg q[1];if(q==1)x q[0];", "1:14: 'q' is a quantum register, a classical one is needed"},
      {"qreg q[1];creg c[1];if(c==1)barrier q;",
       "1:29: 'barrier' cannot be conditional: if takes a gate, measure or reset"},
      {"qreg q[1];creg c[1];if(c==1)if(c==1)x q;",
       "1:29: 'if' cannot be conditional: if takes a gate, measure or reset"},
      // the file
      {"OPENQASM 3.0;\nqubit q;",
       "1:10: this is OpenQASM 3 where OpenQASM 2 is expected: write 2.0, or read it as a file of "
       "its own"},
      {"OPENQASM 4.0;",
       "1:10: version 4.0 of OpenQASM is not read: write the program in OpenQASM 2.0 or 3.0"},
      {"qubit[2] q;", "1:1: 'qubit' belongs to OpenQASM 3: start the file with 'OPENQASM 3.0;'"},
      {"qreg q[1];OPENQASM 2.0;", "1:11: the version must be the first statement of a file"},
      {"qreg q[1]", "1:10: expected ';', found the end of the file"},
      {"qreg q[1];h q[0", "1:16: expected ']', found the end of the file"},
      {"qreg q[1]; @", "1:12: the character '@' has no meaning here"},
      {"qreg q[1]; \xC3\xA9", "1:12: a byte that OpenQASM allows only in comments"},
      {"include \"nowhere.inc\";",
       "1:9: nowhere.inc: cannot read the file: No such file or directory"},
      {"include \"qelib1.inc;", "1:9: this string is not closed on its line"},
      {"include qelib1;", "1:9: expected the name of a file in quotes, found 'qelib1'"},
      {"; qreg q[1];", "1:1: expected a statement, found ';'"},
  };
  for (const Case& c : cases) EXPECT_EQ(error(c.text), std::string("f.qasm:") + c.error) << c.text;
}

TEST(Qasm2Error, limits_hold_before_memory_does) {
  const std::string deep = concat(std::string(300, '('), "1", std::string(300, ')'));
  EXPECT_EQ(error("qreg q[1];rz(" + deep + ") q[0];"),
            "f.qasm:1:270: an expression may be nested 256 deep, no more");
  EXPECT_EQ(error(concat("qreg q[1];rz(", std::string(100000, '-'), "1) q[0];")),
            "f.qasm:1:270: an expression may be nested 256 deep, no more");

  std::string bomb = "gate g0 a {h a;}";
  for (int k = 1; k <= 70; ++k) {
    const std::string inner = concat("g", k - 1, " a;");
    bomb += concat("gate g", k, " a {", inner, inner, "}");
  }
  EXPECT_TRUE(has(error(bomb + "qreg q[1];g70 q[0];"), "expands to more than"));
  EXPECT_TRUE(has(error(bomb + "qreg q[1000000];g20 q;"), "expands to more than"));

  std::string chain = "gate g0 a {h a;}";
  for (int k = 1; k <= 2000; ++k) {
    chain += concat("gate g", k, " a {g", k - 1, " a;}");
  }
  EXPECT_TRUE(has(error(chain), "nested more than 1000 deep"));
  EXPECT_EQ(error("qreg q[1];creg c[4];if(c==" + std::string(100000, '9') + ") x q[0];"),
            "no error");
}

TEST(Qasm2Error, files_that_are_no_text) {
  EXPECT_EQ(whole_error(""), "f.qasm: the file is empty");
  EXPECT_EQ(error(std::string("qreg q[1];\n\0x", 13)),
            "f.qasm:2:1: a NUL byte: this is not a text file (ASCII or UTF-8 is read)");
  for (const char* path : {"/tmp", "/nowhere/at/all"}) {
    const std::string message = error_of([&] { read_circuit_file(path); }, ExitCode::kInput);
    EXPECT_TRUE(message.starts_with(std::string(path) + ": cannot read the file: ")) << message;
  }
}

// Random changes of valid programs: each parses, or gives one error with a place in it. More rounds
// than the usual 6000: TILEWAVE_FUZZ_ROUNDS in the environment.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    static const char* const kPieces[] = {
        "qreg ", "creg ", "gate ", "opaque ", "measure ",     "reset ", "barrier ", "if(",
        "==",    "->",    "q",     "c",       "[0]",          "[1]",    ";",        "{",
        "}",     "(",     ")",     ",",       "pi",           "1e9",    "/0",       "-",
        "^",     "sin(",  "cx ",   "h ",      "ccx",          "U(",     "999",      "\n",
        "//",    "\"",    "\xC3",  "include", "OPENQASM 2.0;"};
    const int changes = 1 + static_cast<int>(random_() % 4);
    for (int k = 0; k < changes; ++k) {
      const std::size_t at = text.empty() ? 0 : random_() % text.size();
      const std::size_t length = random_() % 12;
      switch (random_() % 6) {
        case 0:
          if (!text.empty()) text[at] = static_cast<char>(random_() % 128);
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, kPieces[random_() % std::size(kPieces)]);
          break;
        case 3:
          text.insert(at, text.substr(random_() % (text.size() + 1), length));
          break;
        case 4:
          if (random_() % 4 == 0) text.resize(at);
          break;
        default:
          if (!text.empty()) text[at] = static_cast<char>("0123456789;,()[]{}"[random_() % 18]);
      }
    }
    return text;
  }

 private:
  std::mt19937_64 random_;
};

TEST(Qasm2Fuzz, mutated_programs_parse_or_give_one_positioned_error) {
  const std::string corpus[] = {
      "OPENQASM 2.0;\ninclude \"qelib1.inc\";\nqreg q[3];\ncreg c[3];\nh q;\ncx q[0],q[1];\n"
      "u3(pi/2,-1.5e-3,2^0.5) q[2];\nbarrier q;\nmeasure q->c;\nif(c==5) x q[1];\nreset q[0];\n",
      "gate a(t,s) x,y { cx x,y; rz(t*-s/(1+s)) y; cx x,y; }\ngate b(t) x,y,z { a(t,sin(t)) x,y; "
      "a(-t,2) z,x; barrier x; }\nqreg q[2];qreg r[2];\nb(0.3) q[0],q[1],r[0]; a(1,2) q,r;\n",
      "opaque o(a) b,c; qreg q[1]; creg c[70]; if(c==1180591620717411303423) measure q[0]->c[69];"};
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Mutator mutator(seed);
  int parsed = 0, refused = 0;
  const char* const wanted = std::getenv("TILEWAVE_FUZZ_ROUNDS");
  const int rounds = wanted ? std::atoi(wanted) : 6000;
  for (int round = 0; round < rounds; ++round) {
    const std::string text = mutator.mutate(corpus[round % 3]);
    try {
      const circuit::Circuit c = parse_qasm2(text, "<f>");
      ++parsed;
      const std::string printed = to_qasm2(c);
      EXPECT_EQ(to_qasm2(parse_qasm2(printed, "f")), printed) << text;
    } catch (const Error& e) {
      ++refused;
      const std::string what = e.what();
      EXPECT_EQ(e.code(), ExitCode::kInput) << text;
      if (text.empty()) continue;
      unsigned line = 0, column = 0;
      ASSERT_EQ(std::sscanf(what.c_str(), "<f>:%u:%u: ", &line, &column), 2) << what;
      EXPECT_LE(line, 1 + std::count(text.begin(), text.end(), '\n')) << what;
      const bool is_text = text.find('\0') == std::string::npos;
      EXPECT_EQ(std::count(what.begin(), what.end(), '\n'), is_text ? 2 : 0) << what;
      EXPECT_EQ(what.back() == '^', is_text) << what;
    }
  }
  EXPECT_GT(parsed, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tilewave::language::qasm2_error_test
