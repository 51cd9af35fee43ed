// Phases of OpenQASM 3: of U, as the specification writes it, under modifiers and before an end.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "conformance/qasm3_programs.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::qasm3_test {
namespace {

// U as the specification writes it, and its matrix from a circuit of one qubit.
std::vector<cplx> specified_u(double theta, double phi, double lambda) {
  const cplx i(0, 1), e = std::exp(i * theta);
  return {(1.0 + e) / 2.0, -i * std::exp(i * lambda) * (1.0 - e) / 2.0,
          i * std::exp(i * phi) * (1.0 - e) / 2.0, std::exp(i * (phi + lambda)) * (1.0 + e) / 2.0};
}

std::vector<cplx> column(const std::string& program, int num_qubits) {
  const circuit::Circuit c = language::parse_circuit(head() + program, "test");
  simulate::Options options;
  options.amplitudes = {{0, Bits{1} << num_qubits}};
  options.shots = c.is_unitary() ? 0 : 1;
  options.seed = 1;
  std::vector<cplx> out;
  for (const auto& a : simulate::simulate(c, options).amplitudes) out.push_back(a.value);
  return out;
}

void expect_near(const std::vector<cplx>& got, const std::vector<cplx>& want,
                 const std::string& of) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    EXPECT_LT(std::abs(got[k] - want[k]), 1e-14) << of << " " << k << " " << got[k] << want[k];
  }
}

TEST(Qasm3Phase, U_has_the_phase_of_the_specification_everywhere) {
  const auto u = specified_u(.3, .4, .5);
  const cplx zero = 0, one = 1;
  // the first column, and the second one from |1>
  expect_near(column("qubit q; U(.3,.4,.5) q;", 1), {u[0], u[2]}, "U |0>");
  expect_near(column("qubit q; x q; U(.3,.4,.5) q;", 1), {u[1], u[3]}, "U |1>");
  expect_near(column("qubit[2] q; x q[0]; ctrl @ U(.3,.4,.5) q[0], q[1];", 2),
              {zero, u[0], zero, u[2]}, "ctrl @ U");
  expect_near(column("qubit[2] q; negctrl @ U(.3,.4,.5) q[0], q[1];", 2), {u[0], zero, u[2], zero},
              "negctrl @ U");
  expect_near(column("qubit q; inv @ U(.3,.4,.5) q;", 1), {std::conj(u[0]), std::conj(u[1])},
              "inv @ U");
  expect_near(column("qubit q; U(-.3,-.5,-.4) q;", 1), {std::conj(u[0]), std::conj(u[1])},
              "the inverse as the specification writes it");
  // what undoes itself is exactly the identity
  for (const char* program :
       {"U(.3,.4,.5) q; inv @ U(.3,.4,.5) q;", "pow(2) @ U(.3,.4,.5) q; pow(-2) @ U(.3,.4,.5) q;",
        "pow(0.5) @ U(.3,.4,.5) q; pow(0.5) @ U(.3,.4,.5) q; inv @ U(.3,.4,.5) q;",
        "gate g a { U(.3,.4,.5) a; } g q; inv @ g q;",
        "def f(qubit a) { U(.3,.4,.5) a; } f(q); inv @ U(.3,.4,.5) q;",
        "u3(.3,.4,.5) q; inv @ u3(.3,.4,.5) q;", "u2(.3,.4) q; inv @ u2(.3,.4) q;",
        "u3(.3,.4,.5) q; gphase(.6) ; inv @ U(.3,.4,.5) q;",
        "bit c; c = measure q; if (!c) { U(.3,.4,.5) q; inv @ U(.3,.4,.5) q; }",
        "bit c = 1; while (c) { U(.3,.4,.5) q; inv @ U(.3,.4,.5) q; c = 0; }",
        "bit c; c = measure q; U(.3 + c,.4,.5) q; inv @ U(.3,.4,.5) q;",
        "bit c; c = measure q; U(.3,.4,.5) q; inv @ U(.3,.4,.5) q; if (c) end; gphase(0.0);",
        "bit c; c = measure q; gphase(.7); ctrl @ gphase(.5) q; gphase(-.7); inv @ p(.5) q;"}) {
    expect_near(column(std::string("qubit q; ") + program, 1), {one, zero}, program);
  }
  // u3 is the U of OpenQASM 2, Rz Ry Rz
  const cplx turn = std::exp(cplx(0, -.6));
  expect_near(column("qubit q; u3(.3,.4,.5) q;", 1), {turn * u[0], turn * u[2]}, "u3");
  expect_near(column("qubit q; u2(.4,.5) q;", 1), column("qubit q; u3(pi/2,.4,.5) q;", 1), "u2");
  // controlled phases
  expect_near(column("qubit[2] q; x q[0]; ctrl @ gphase(.5) q[0]; negctrl @ gphase(.7) q[1];", 2),
              {zero, std::exp(cplx(0, 1.2)), zero, zero}, "ctrl @ gphase");
  expect_near(column("qubit[2] q; x q; ctrl(2) @ gphase(.5) q[0], q[1]; inv @ ctrl @ pow(2) @ "
                     "gphase(.1) q[1];",
                     2),
              {zero, zero, zero, std::exp(cplx(0, .3))}, "ctrl(2) @ gphase");
}

TEST(Qasm3Phase, a_phase_before_the_end_of_the_program_counts_in_every_shot) {
  // one shot ends early, the phases before count in both
  for (const char* start : {"", "x q[1];"}) {
    const auto got = column("qubit[2] q; bit c; U(.2,0,0) q[0]; " + std::string(start) +
                                "c = measure q[1]; if (c) end; U(.4,0,0) q[0]; U(-.4,0,0) q[0];",
                            2);
    const auto u = specified_u(.2, 0, 0);
    const cplx zero = 0;
    const bool early = *start != '\0';
    expect_near(got,
                early ? std::vector<cplx>{zero, zero, u[0], u[2]}
                      : std::vector<cplx>{u[0], u[2], zero, zero},
                start);
  }
}

}  // namespace
}  // namespace tilewave::qasm3_test
