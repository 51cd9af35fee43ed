// Gates of other programs' dialects against their matrices.
#include "tilewave/language/qasm/gate_libraries.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tilewave/base/thrown_test.h"
#include "tilewave/language/qasm2/qasm2.h"
#include "tilewave/language/qasm3/qasm3.h"

namespace tilewave::language::gate_libraries_test {
namespace {

using circuit::Circuit;
using circuit::Op;

std::string error(const std::string& text) {
  return error_of([&] { parse_qasm3(text, "f"); });
}

TEST(GateLibraries, gates_of_other_dialects_are_those_of_the_table) {
  // matrices as Amazon Braket's simulator defines them, its first qubit the highest bit
  const double a = .3, b = .4, c = .7, r = std::sqrt(.5);
  const cplx i(0, 1);
  const auto e = [&](double x) { return std::exp(i * x); };
  using M = std::vector<cplx>;
  const cplx cs = std::cos(c / 2), sn = -i * std::sin(c / 2);
  const cplx ca = std::cos(a / 2), sa = std::sin(a / 2);
  const struct {
    const char* call;
    M matrix;
  } cases[] = {
      {"i q[0];", {1, 0, 0, 1}},
      {"v q[0];", {.5 + .5 * i, .5 - .5 * i, .5 - .5 * i, .5 + .5 * i}},
      {"vi q[0];", {.5 - .5 * i, .5 + .5 * i, .5 + .5 * i, .5 - .5 * i}},
      {"si q[0];", {1, 0, 0, -i}},
      {"ti q[0];", {1, 0, 0, e(-std::numbers::pi / 4)}},
      {"phaseshift(.3) q[0];", {1, 0, 0, e(a)}},
      {"gpi(.3) q[0];", {0, e(-a), e(a), 0}},
      {"gpi2(.3) q[0];", {r, -i * e(-a) * r, -i * e(a) * r, r}},
      {"prx(.3, .4) q[0];", {ca, -i * e(-b) * sa, -i * e(b) * sa, ca}},
      {"cnot q[0], q[1];", {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0}},
      {"cv q[0], q[1];",
       {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, .5 + .5 * i, .5 - .5 * i, 0, 0, .5 - .5 * i, .5 + .5 * i}},
      {"cphaseshift(.3) q[0], q[1];", {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, e(a)}},
      {"cphaseshift00(.3) q[0], q[1];", {e(a), 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
      {"cphaseshift01(.3) q[0], q[1];", {1, 0, 0, 0, 0, e(a), 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
      {"cphaseshift10(.3) q[0], q[1];", {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, e(a), 0, 0, 0, 0, 1}},
      {"pswap(.3) q[0], q[1];", {1, 0, 0, 0, 0, 0, e(a), 0, 0, e(a), 0, 0, 0, 0, 0, 1}},
      {"xy(.3) q[0], q[1];", {1, 0, 0, 0, 0, ca, i * sa, 0, 0, i * sa, ca, 0, 0, 0, 0, 1}},
      {"xx(.3) q[0], q[1];",
       {ca, 0, 0, -i * sa, 0, ca, -i * sa, 0, 0, -i * sa, ca, 0, -i * sa, 0, 0, ca}},
      {"yy(.3) q[0], q[1];",
       {ca, 0, 0, i * sa, 0, ca, -i * sa, 0, 0, -i * sa, ca, 0, i * sa, 0, 0, ca}},
      {"zz(.3) q[0], q[1];",
       {e(-a / 2), 0, 0, 0, 0, e(a / 2), 0, 0, 0, 0, e(a / 2), 0, 0, 0, 0, e(-a / 2)}},
      {"ms(.3, .4, .7) q[0], q[1];",
       {cs, 0, 0, sn * e(-a - b), 0, cs, sn * e(b - a), 0, 0, sn * e(a - b), cs, 0, sn * e(a + b),
        0, 0, cs}},
  };
  for (const auto& t : cases) {
    const std::size_t n = t.matrix.size() == 4 ? 1 : 2, dim = std::size_t{1} << n;
    const Circuit got = parse_qasm3("qubit[" + std::to_string(n) + "] q; " + t.call, "t");
    EXPECT_TRUE(got.notes().empty());
    // the whole matrix, column by column
    std::vector<cplx> total(dim * dim);
    for (std::size_t k = 0; k < dim; ++k) total[k * dim + k] = 1;
    cplx phase = 1;
    for (const Op& op : got.ops()) {
      const std::vector<cplx> m = got.whole_matrix(op);
      const auto qubits = got.qubits(op);
      if (qubits.empty()) {
        phase *= m[0];
        continue;
      }
      std::vector<cplx> next(dim * dim);
      const auto part = [&](std::size_t row) {
        std::size_t out = 0;
        for (std::size_t k = 0; k < qubits.size(); ++k) out |= (row >> qubits[k] & 1) << k;
        return out;
      };
      std::size_t used = 0;
      for (const auto q : qubits) used |= std::size_t{1} << q;
      const std::size_t small = std::size_t{1} << qubits.size();
      for (std::size_t row = 0; row < dim; ++row) {
        for (std::size_t mid = 0; mid < dim; ++mid) {
          if ((row & ~used) != (mid & ~used)) continue;
          for (std::size_t col = 0; col < dim; ++col) {
            next[row * dim + col] += m[part(row) * small + part(mid)] * total[mid * dim + col];
          }
        }
      }
      total = next;
    }
    const auto flipped = [&](std::size_t k) { return n == 1 ? k : (k & 1) << 1 | k >> 1; };
    for (std::size_t row = 0; row < dim; ++row) {
      for (std::size_t col = 0; col < dim; ++col) {
        EXPECT_LT(
            std::abs(phase * total[flipped(row) * dim + flipped(col)] - t.matrix[row * dim + col]),
            1e-14)
            << t.call << " " << row << " " << col;
      }
    }
  }
  const auto same = [](const Circuit& ours, const std::string& version_2) {
    EXPECT_EQ(to_qasm2(ours), to_qasm2(parse_qasm2("include \"qelib1.inc\";" + version_2, "2")));
  };
  same(parse_qasm3("qubit[3] q; ccnot q[0], q[1], q[2];", "t"), "qreg q[3]; ccx q[0],q[1],q[2];");
  // the program's own gate comes first
  same(parse_qasm3("gate xx(a) p, q { x p; } qubit[2] q; xx(1) q[0], q[1];", "t"),
       "qreg q[2]; x q[0];");
  const std::string native =
      "include \"hqslib1.inc\"; %s U1q(.3,.4) q[0]; Rz(.5) q[1]; ZZ q[0],q[1]; "
      "RZZ(.6) q[0],q[1]; Rxxyyzz(.1,.2,.3) q[0],q[1]; h q[0];";
  const std::string want =
      "qreg q[2]; r(.3,.4) q[0]; rz(.5) q[1]; rzz(pi/2) q[0],q[1]; rzz(.6) q[0],q[1];"
      "rxx(.1) q[0],q[1]; ryy(.2) q[0],q[1]; rzz(.3) q[0],q[1]; h q[0];";
  const auto with = [&](const std::string& head, const std::string& reg) {
    std::string text = native;
    return head + text.replace(text.find("%s"), 2, reg);
  };
  same(parse_qasm2(with("OPENQASM 2.0; ", "qreg q[2];"), "2"), want);
  same(parse_qasm3(with("OPENQASM 3.0; ", "qubit[2] q;"), "3"), want);
  EXPECT_TRUE(has(error("qubit q; U1q(1,2) q;"), "unknown gate 'U1q'"));
}

}  // namespace
}  // namespace tilewave::language::gate_libraries_test
