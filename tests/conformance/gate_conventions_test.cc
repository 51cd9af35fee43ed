// What the gates of OpenQASM mean, checked against Qiskit's matrices once and written down here as
// identities: rotations are exp(-i angle/2 P), phases are kept, controls come first. Both sides of
// a line are programs; they must agree to rounding on every state, global phase included.
#include <gtest/gtest.h>

#include <string>

#include "oracle/naive_simulator.h"
#include "tilewave/language/qasm2/qasm2.h"
#include "tilewave/language/qsim/text.h"

namespace tilewave {
namespace {

using oracle::State;

State run(const std::string& body, std::uint64_t seed) {
  const auto c = language::parse_qasm2("include \"qelib1.inc\"; qreg q[5];" + body, "identity");
  return oracle::simulate(c, oracle::random_state(5, seed));
}

// Renames a, b, c, d, e to the qubits of the test.
std::string on_qubits(const std::string& text) {
  std::string out;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    const auto letter = [](char x) {
      return (x >= 'a' && x <= 'z') || (x >= '0' && x <= '9') || x == '_';
    };
    const bool alone =
        (k == 0 || !letter(text[k - 1])) && (k + 1 == text.size() || !letter(text[k + 1]));
    if (alone && c >= 'a' && c <= 'e') {
      out += "q[";
      out += "34012"[c - 'a'];
      out += "]";
    } else {
      out += c;
    }
  }
  return out;
}

struct Identity {
  const char* left;
  const char* right;
};

TEST(GateConventions, identities_hold_with_their_phases) {
  const Identity identities[] = {
      // one qubit; u3(theta, phi, lambda) = e^{i (phi + lambda)/2} rz(phi) ry(theta) rz(lambda)
      {"u3(.3,.7,-1.1) a;", "rz(-1.1) a; ry(.3) a; rz(.7) a; gphase((.7-1.1)/2);"},
      {"U(.3,.7,-1.1) a;", "u3(.3,.7,-1.1) a;"},
      {"u2(.7,-1.1) a;", "u3(pi/2,.7,-1.1) a;"},
      {"u1(.7) a;", "rz(.7) a; gphase(.35);"},
      {"rx(.7) a;", "h a; rz(.7) a; h a;"},
      {"ry(.7) a;", "sdg a; rx(.7) a; s a;"},
      {"z a;", "rz(pi) a; gphase(pi/2);"},
      {"x a;", "sx a; sx a;"},
      {"sx a;", "rx(pi/2) a; gphase(pi/4);"},
      {"sxdg a; sx a;", "id a;"},
      {"s a;", "t a; t a;"},
      {"sdg a;", "tdg a; tdg a;"},
      {"h a;", "ry(pi/2) a; rx(pi) a; gphase(pi/2);"},
      {"y a;", "z a; x a; gphase(pi/2);"},
      {"u0(3) a;", "id a;"},
      {"r(.3,.7) a;", "rz(-.7) a; rx(.3) a; rz(.7) a;"},
      {"sw a; sw a;", "r(pi,pi/4) a; gphase(pi/2);"},
      {"sy a; sy a;", "y a;"},
      // controls: the first qubit controls; a controlled rz is no controlled phase
      {"CX a,b;", "cx a,b;"},
      {"cx a,b;", "h b; cz a,b; h b;"},
      {"cy a,b;", "sdg b; cx a,b; s b;"},
      {"ch a,b;", "ry(-pi/4) b; cz a,b; ry(pi/4) b;"},
      {"cs a,b;", "cp(pi/2) a,b;"},
      {"csdg a,b;", "cp(-pi/2) a,b;"},
      {"crz(.7) a,b;", "rz(.35) b; cx a,b; rz(-.35) b; cx a,b;"},
      {"cu1(.7) a,b;", "crz(.7) a,b; u1(.35) a;"},
      {"cp(.7) a,b;", "cu1(.7) b,a;"},
      {"crx(.7) a,b;", "h b; crz(.7) a,b; h b;"},
      {"cry(.7) a,b;", "ry(.35) b; cx a,b; ry(-.35) b; cx a,b;"},
      {"csx a,b;", "h b; cu1(pi/2) a,b; h b;"},
      {"cu3(.3,.7,-1.1) a,b;",
       "u1(-.2) a; u1((-1.1-.7)/2) b; cx a,b; u3(-.15,0,.2) b; cx a,b; u3(.15,.7,0) b;"},
      {"cu(.3,.7,-1.1,.4) a,b;", "cu3(.3,.7,-1.1) a,b; p(.4) a;"},
      {"ccx a,b,c;",
       "h c; cx b,c; tdg c; cx a,c; t c; cx b,c; tdg c; cx a,c; t b; t c; h c; cx a,b; t a; tdg b; "
       "cx a,b;"},
      {"ccz a,b,c;", "h c; ccx a,b,c; h c;"},
      {"c3x a,b,c,d;", "c3sqrtx a,b,c,d; c3sqrtx a,b,c,d;"},
      {"c3x a,b,c,d; x a; c3x a,b,c,d; x a;", "ccx b,c,d;"},
      {"c4x a,b,c,d,e; x a; c4x a,b,c,d,e; x a;", "c3x b,c,d,e;"},
      {"ccp(.7) a,b,c; x a; ccp(.7) a,b,c; x a;", "cp(.7) b,c;"},
      {"cswap a,b,c;", "cx c,b; ccx a,b,c; cx c,b;"},
      // two targets
      {"swap a,b;", "cx a,b; cx b,a; cx a,b;"},
      {"iswap a,b;", "rxx(-pi/2) a,b; ryy(-pi/2) a,b;"},
      {"iswapdg a,b; iswap a,b;", "id a;"},
      {"dcx a,b;", "cx a,b; cx b,a;"},
      {"ecr a,b;", "rzx(pi/4) a,b; x a; rzx(-pi/4) a,b;"},
      {"rzz(.7) a,b;", "cx a,b; rz(.7) b; cx a,b;"},
      {"rxx(.7) a,b;", "h a; h b; rzz(.7) a,b; h a; h b;"},
      {"ryy(.7) a,b;", "sdg a; sdg b; rxx(.7) a,b; s a; s b;"},
      {"rzx(.7) a,b;", "h b; rzz(.7) a,b; h b;"},
      {"xx_plus_yy(.6,.4) a,b;",
       "rz(.4) a; rz(-pi/2) b; sx b; rz(pi/2) b; s a; cx b,a; ry(-.3) b; ry(-.3) a; cx b,a; sdg a; "
       "rz(-pi/2) b; sxdg b; rz(pi/2) b; rz(-.4) a;"},
      {"xx_plus_yy(.6,0) a,b;", "rxx(.3) a,b; ryy(.3) a,b;"},
      {"xx_minus_yy(.6,0) a,b;", "rxx(.3) a,b; ryy(-.3) a,b;"},
      {"xx_minus_yy(.6,.4) a,b;", "rz(-.4) b; xx_minus_yy(.6,0) a,b; rz(.4) b;"},
      {"fsim(.3,.7) a,b;", "rxx(.3) a,b; ryy(.3) a,b; cp(-.7) a,b;"},
      {"sqrtswap a,b; sqrtswap a,b;", "swap a,b;"},
      // relative-phase Toffolis
      {"rccx a,b,c;", "h c; t c; cx b,c; tdg c; cx a,c; t c; cx b,c; tdg c; h c;"},
      {"rc3x a,b,c,d;",
       "h d; t d; cx c,d; tdg d; h d; cx a,d; t d; cx b,d; tdg d; cx a,d; t d; cx b,d; tdg d; h d; "
       "t d; cx c,d; tdg d; h d;"},
  };
  for (const Identity& identity : identities) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const double difference = oracle::max_difference(run(on_qubits(identity.left), seed),
                                                       run(on_qubits(identity.right), seed));
      EXPECT_LT(difference, 1e-14) << identity.left << " is not " << identity.right;
    }
  }
}

TEST(GateConventions, qsim_text_agrees_with_openqasm) {
  const Identity identities[] = {
      {"cp(-.7) q[1],q[0];", "0 cp 0 1 .7"},  // qsim's sign
      {"r(.7,.3) q[1];", "0 rxy 1 .3 .7"},    // axis, then angle
      {"sx q[0]; sy q[1];", "0 x_1_2 0\n0 y_1_2 1"},
      {"gphase(pi/4); r(pi/2,pi/4) q[0];", "0 hz_1_2 0"},
      {"fsim(.3,.7) q[0],q[1];", "0 fs 0 1 .3 .7"},
      {"gphase(.3); id q[0];", "0 p .3\n0 id2 0 1"},
      {"ccx q[2],q[0],q[1]; cswap q[0],q[1],q[2];", "0 c 2 0 x 1\n1 c 0 sw 1 2"},
  };
  for (const Identity& identity : identities) {
    std::string left = "qreg q[3];", right = "3\n";
    const auto a = language::parse_qasm2(left += identity.left, "left");
    const auto b = language::parse_qsim_text(right += identity.right, "right");
    const State start = oracle::random_state(3, 5);
    EXPECT_LT(oracle::max_difference(oracle::simulate(a, start), oracle::simulate(b, start)), 1e-14)
        << identity.right;
  }
}

}  // namespace
}  // namespace tilewave
