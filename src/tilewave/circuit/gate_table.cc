// Rows and matrices of the gate table. Sources: OpenQASM 2 (Cross et al., 2017) with the gates
// Qiskit adds to qelib1, OpenQASM 3's stdgates, Stim's gate reference, qsim's input format.
#include "tilewave/circuit/gate_table.h"

#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <unordered_map>

#include "tilewave/base/error.h"

namespace tilewave::circuit {

namespace {

constexpr double kR2 = std::numbers::sqrt2 / 2;
constexpr cplx kI{0, 1};
using P = const double*;
using M = cplx*;

void fill(M m, std::initializer_list<cplx> values) { std::copy(values.begin(), values.end(), m); }
void fill4_zero(M m) { std::fill(m, m + 16, cplx{}); }
cplx phase(double angle) { return {std::cos(angle), std::sin(angle)}; }

// exp(-i angle/2 P (x) Q) on two targets for Paulis P (target 0) and Q (target 1)
void pauli_rotation2(double angle, std::array<cplx, 4> p, std::array<cplx, 4> q, M m) {
  const double c = std::cos(angle / 2), s = std::sin(angle / 2);
  for (int row = 0; row < 4; ++row) {
    for (int col = 0; col < 4; ++col) {
      const cplx pq = p[(row & 1) * 2 + (col & 1)] * q[(row >> 1) * 2 + (col >> 1)];
      m[row * 4 + col] = (row == col ? cplx{c, 0} : cplx{}) - kI * s * pq;
    }
  }
}
constexpr std::array<cplx, 4> kPauliX{0, 1, 1, 0};
constexpr std::array<cplx, 4> kPauliY{0, cplx{0, -1}, cplx{0, 1}, 0};
constexpr std::array<cplx, 4> kPauliZ{1, 0, 0, -1};

// (1 + P)/2 (x) 1 + (1 - P)/2 (x) Q: Q on target 1 when target 0 is in the -1 eigenstate of P
void pauli_controlled(std::array<cplx, 4> p, std::array<cplx, 4> q, M m) {
  for (int row = 0; row < 4; ++row) {
    for (int col = 0; col < 4; ++col) {
      const int r0 = row & 1, c0 = col & 1, r1 = row >> 1, c1 = col >> 1;
      const cplx one0 = r0 == c0 ? 1.0 : 0.0, one1 = r1 == c1 ? 1.0 : 0.0;
      const cplx pp = p[r0 * 2 + c0], qq = q[r1 * 2 + c1];
      m[row * 4 + col] = 0.5 * ((one0 + pp) * one1 + (one0 - pp) * qq);
    }
  }
}

// sqrt of the Pauli product P (x) P: e^{i pi/4} exp(-i pi/4 PP), or its inverse
void sqrt_pauli2(std::array<cplx, 4> p, int sign, M m) {
  pauli_rotation2(sign * std::numbers::pi / 2, p, p, m);
  const cplx g = phase(sign * std::numbers::pi / 4);
  for (int k = 0; k < 16; ++k) m[k] *= g;
}

void permutation4(std::array<int, 4> to, M m) {
  fill4_zero(m);
  for (int col = 0; col < 4; ++col) m[to[col] * 4 + col] = 1;
}

void u3(double theta, double phi, double lambda, M m) {
  const double c = std::cos(theta / 2), s = std::sin(theta / 2);
  fill(m, {c, -phase(lambda) * s, phase(phi) * s, phase(phi + lambda) * c});
}

// a single-qubit Clifford as a product of two listed with matrix entries up to global phase
void scaled(cplx g, std::initializer_list<cplx> v, M m) {
  fill(m, v);
  for (int k = 0; k < 4; ++k) m[k] *= g;
}

void m_id(P, M m) { fill(m, {1, 0, 0, 1}); }
void m_x(P, M m) { fill(m, {0, 1, 1, 0}); }
void m_y(P, M m) { fill(m, {0, -kI, kI, 0}); }
void m_z(P, M m) { fill(m, {1, 0, 0, -1}); }
void m_h(P, M m) { fill(m, {kR2, kR2, kR2, -kR2}); }
void m_s(P, M m) { fill(m, {1, 0, 0, kI}); }
void m_sdg(P, M m) { fill(m, {1, 0, 0, -kI}); }
void m_t(P, M m) { fill(m, {1, 0, 0, cplx{kR2, kR2}}); }
void m_tdg(P, M m) { fill(m, {1, 0, 0, cplx{kR2, -kR2}}); }
void m_sx(P, M m) { scaled(0.5, {cplx{1, 1}, cplx{1, -1}, cplx{1, -1}, cplx{1, 1}}, m); }
void m_sxdg(P, M m) { scaled(0.5, {cplx{1, -1}, cplx{1, 1}, cplx{1, 1}, cplx{1, -1}}, m); }
void m_sy(P, M m) { scaled(cplx{0.5, 0.5}, {1, -1, 1, 1}, m); }
void m_sydg(P, M m) { scaled(cplx{0.5, -0.5}, {1, 1, -1, 1}, m); }
// square root of W = (X + Y)/sqrt(2), with the phase that makes its square W: qsim's hz_1_2
void m_sw(P, M m) { fill(m, {cplx{0.5, 0.5}, -kI * kR2, kR2, cplx{0.5, 0.5}}); }
void m_hxy(P, M m) { scaled(kR2, {0, cplx{1, -1}, cplx{1, 1}, 0}, m); }
void m_hyz(P, M m) { scaled(kR2, {1, -kI, kI, -1}, m); }
void m_hnxy(P, M m) { scaled(kR2, {0, cplx{1, 1}, cplx{1, -1}, 0}, m); }
void m_hnxz(P, M m) { scaled(kR2, {-1, 1, 1, 1}, m); }
void m_hnyz(P, M m) { scaled(kR2, {-1, -kI, kI, 1}, m); }
void m_cxyz(P, M m) { scaled(0.5, {cplx{1, -1}, cplx{-1, -1}, cplx{1, -1}, cplx{1, 1}}, m); }
void m_czyx(P, M m) { scaled(0.5, {cplx{1, 1}, cplx{1, 1}, cplx{-1, 1}, cplx{1, -1}}, m); }
void m_cnxyz(P, M m) { scaled(0.5, {cplx{1, 1}, cplx{1, -1}, cplx{-1, -1}, cplx{1, -1}}, m); }
void m_cxnyz(P, M m) { scaled(0.5, {cplx{1, 1}, cplx{-1, 1}, cplx{1, 1}, cplx{1, -1}}, m); }
void m_cxynz(P, M m) { scaled(0.5, {cplx{1, -1}, cplx{1, 1}, cplx{-1, 1}, cplx{1, 1}}, m); }
void m_cnzyx(P, M m) { scaled(0.5, {cplx{1, 1}, cplx{-1, -1}, cplx{1, -1}, cplx{1, -1}}, m); }
void m_cznyx(P, M m) { scaled(0.5, {cplx{1, -1}, cplx{1, -1}, cplx{-1, -1}, cplx{1, 1}}, m); }
void m_czynx(P, M m) { scaled(0.5, {cplx{1, -1}, cplx{-1, 1}, cplx{1, 1}, cplx{1, 1}}, m); }
void m_gphase(P p, M m) { m[0] = phase(p[0]); }
void m_p(P p, M m) { fill(m, {1, 0, 0, phase(p[0])}); }
void m_u2(P p, M m) { u3(std::numbers::pi / 2, p[0], p[1], m); }
void m_u3(P p, M m) { u3(p[0], p[1], p[2], m); }
void m_r(P p, M m) {
  const double c = std::cos(p[0] / 2), s = std::sin(p[0] / 2);
  fill(m, {c, -kI * phase(-p[1]) * s, -kI * phase(p[1]) * s, c});
}
void m_rx(P p, M m) {
  const double c = std::cos(p[0] / 2), s = std::sin(p[0] / 2);
  fill(m, {c, -kI * s, -kI * s, c});
}
void m_ry(P p, M m) {
  const double c = std::cos(p[0] / 2), s = std::sin(p[0] / 2);
  fill(m, {c, -s, s, c});
}
void m_rz(P p, M m) { fill(m, {phase(-p[0] / 2), 0, 0, phase(p[0] / 2)}); }
void m_cu(P p, M m) {
  u3(p[0], p[1], p[2], m);
  for (int k = 0; k < 4; ++k) m[k] *= phase(p[3]);
}
void m_swap(P, M m) { permutation4({0, 2, 1, 3}, m); }
void m_iswap(P, M m) {
  permutation4({0, 2, 1, 3}, m);
  m[6] = m[9] = kI;
}
void m_iswapdg(P, M m) {
  permutation4({0, 2, 1, 3}, m);
  m[6] = m[9] = -kI;
}
void m_dcx(P, M m) { permutation4({0, 2, 3, 1}, m); }
void m_ecr(P, M m) {
  fill4_zero(m);
  m[1] = m[11] = kR2, m[3] = m[9] = kI * kR2, m[4] = m[14] = kR2, m[6] = m[12] = -kI * kR2;
}
void m_rxx(P p, M m) { pauli_rotation2(p[0], kPauliX, kPauliX, m); }
void m_ryy(P p, M m) { pauli_rotation2(p[0], kPauliY, kPauliY, m); }
void m_rzz(P p, M m) { pauli_rotation2(p[0], kPauliZ, kPauliZ, m); }
void m_rzx(P p, M m) { pauli_rotation2(p[0], kPauliZ, kPauliX, m); }
void m_xxplusyy(P p, M m) {
  const double c = std::cos(p[0] / 2), s = std::sin(p[0] / 2);
  fill4_zero(m);
  m[0] = m[15] = 1;
  m[5] = m[10] = c;
  m[6] = -kI * s * phase(-p[1]);
  m[9] = -kI * s * phase(p[1]);
}
void m_xxminusyy(P p, M m) {
  const double c = std::cos(p[0] / 2), s = std::sin(p[0] / 2);
  fill4_zero(m);
  m[5] = m[10] = 1;
  m[0] = m[15] = c;
  m[3] = -kI * s * phase(-p[1]);
  m[12] = -kI * s * phase(p[1]);
}
// fSim(theta, phi): the excitation hops with -i sin(theta); both ones get e^{-i phi}
void m_fsim(P p, M m) {
  const double c = std::cos(p[0]), s = std::sin(p[0]);
  fill4_zero(m);
  m[0] = 1, m[5] = m[10] = c, m[6] = m[9] = -kI * s, m[15] = phase(-p[1]);
}
void m_sqrtswap(P, M m) {
  fill4_zero(m);
  m[0] = m[15] = 1;
  m[5] = m[10] = cplx{0.5, 0.5};
  m[6] = m[9] = cplx{0.5, -0.5};
}
void m_sqrtxx(P, M m) { sqrt_pauli2(kPauliX, 1, m); }
void m_sqrtxxdg(P, M m) { sqrt_pauli2(kPauliX, -1, m); }
void m_sqrtyy(P, M m) { sqrt_pauli2(kPauliY, 1, m); }
void m_sqrtyydg(P, M m) { sqrt_pauli2(kPauliY, -1, m); }
void m_sqrtzz(P, M m) { sqrt_pauli2(kPauliZ, 1, m); }
void m_sqrtzzdg(P, M m) { sqrt_pauli2(kPauliZ, -1, m); }
void m_xcx(P, M m) { pauli_controlled(kPauliX, kPauliX, m); }
void m_xcy(P, M m) { pauli_controlled(kPauliX, kPauliY, m); }
void m_xcz(P, M m) { pauli_controlled(kPauliX, kPauliZ, m); }
void m_ycx(P, M m) { pauli_controlled(kPauliY, kPauliX, m); }
void m_ycy(P, M m) { pauli_controlled(kPauliY, kPauliY, m); }
void m_ycz(P, M m) { pauli_controlled(kPauliY, kPauliZ, m); }
void m_cxswap(P, M m) { permutation4({0, 3, 1, 2}, m); }  // CX 0 1, then SWAP
void m_swapcx(P, M m) { permutation4({0, 2, 3, 1}, m); }  // SWAP, then CX 0 1
void m_czswap(P, M m) {
  permutation4({0, 2, 1, 3}, m);
  m[15] = -1;
}
void m_ii(P, M m) { permutation4({0, 1, 2, 3}, m); }
void m_rccx(P, M m) {  // targets a, b, c: Toffoli up to the phases of Margolus
  std::fill(m, m + 64, cplx{});
  for (int k = 0; k < 8; ++k) m[k * 8 + k] = 1;
  m[5 * 8 + 5] = -1;
  m[3 * 8 + 3] = m[7 * 8 + 7] = 0;
  m[3 * 8 + 7] = -kI;
  m[7 * 8 + 3] = kI;
}
void m_rc3x(P, M m) {  // targets a, b, c, d
  std::fill(m, m + 256, cplx{});
  for (int k = 0; k < 16; ++k) m[k * 16 + k] = 1;
  m[3 * 16 + 3] = kI;
  m[11 * 16 + 11] = -kI;
  m[7 * 16 + 7] = m[15 * 16 + 15] = 0;
  m[7 * 16 + 15] = 1;
  m[15 * 16 + 7] = -1;
}

using S = Structure;
using G = GateId;
// clang-format off
constexpr GateInfo kTable[] = {
    // id, name, OpenQASM, Stim, qsim, params, controls, targets, structure, matrix, help
    {G::kId, "id", "id", "I", "id1 id_1", 0, 0, 1, S::kDiagonal, m_id, "identity"},
    {G::kX, "x", "x", "X", "x", 0, 0, 1, S::kPermutation, m_x, "Pauli X"},
    {G::kY, "y", "y", "Y", "y", 0, 0, 1, S::kPermutation, m_y, "Pauli Y"},
    {G::kZ, "z", "z", "Z", "z", 0, 0, 1, S::kDiagonal, m_z, "Pauli Z"},
    {G::kH, "h", "h", "H H_XZ", "h", 0, 0, 1, S::kHadamardLike, m_h, "Hadamard"},
    {G::kS, "s", "s", "S SQRT_Z", "s", 0, 0, 1, S::kDiagonal, m_s, "square root of Z"},
    {G::kSdg, "sdg", "sdg", "S_DAG SQRT_Z_DAG", "", 0, 0, 1, S::kDiagonal, m_sdg, "inverse of the square root of Z"},
    {G::kT, "t", "t", "", "t", 0, 0, 1, S::kDiagonal, m_t, "fourth root of Z"},
    {G::kTdg, "tdg", "tdg", "", "", 0, 0, 1, S::kDiagonal, m_tdg, "inverse of t"},
    {G::kSx, "sx", "sx", "SQRT_X", "x_1_2", 0, 0, 1, S::kGeneric, m_sx, "square root of X"},
    {G::kSxdg, "sxdg", "sxdg", "SQRT_X_DAG", "", 0, 0, 1, S::kGeneric, m_sxdg, "inverse of the square root of X"},
    {G::kSy, "sy", "sy", "SQRT_Y", "y_1_2", 0, 0, 1, S::kGeneric, m_sy, "square root of Y"},
    {G::kSydg, "sydg", "sydg", "SQRT_Y_DAG", "", 0, 0, 1, S::kGeneric, m_sydg, "inverse of the square root of Y"},
    {G::kSw, "sw", "sw", "", "hz_1_2", 0, 0, 1, S::kGeneric, m_sw, "square root of (X+Y)/sqrt(2)"},

    {G::kHxy, "h_xy", "h_xy", "H_XY", "", 0, 0, 1, S::kGeneric, m_hxy, "exchanges X and Y"},
    {G::kHyz, "h_yz", "h_yz", "H_YZ", "", 0, 0, 1, S::kGeneric, m_hyz, "exchanges Y and Z"},
    {G::kHnxy, "h_nxy", "h_nxy", "H_NXY", "", 0, 0, 1, S::kGeneric, m_hnxy, "X to -Y"},
    {G::kHnxz, "h_nxz", "h_nxz", "H_NXZ", "", 0, 0, 1, S::kGeneric, m_hnxz, "X to -Z"},
    {G::kHnyz, "h_nyz", "h_nyz", "H_NYZ", "", 0, 0, 1, S::kGeneric, m_hnyz, "Y to -Z"},
    {G::kCxyz, "c_xyz", "c_xyz", "C_XYZ", "", 0, 0, 1, S::kGeneric, m_cxyz, "X to Y to Z"},
    {G::kCzyx, "c_zyx", "c_zyx", "C_ZYX", "", 0, 0, 1, S::kGeneric, m_czyx, "Z to Y to X"},
    {G::kCnxyz, "c_nxyz", "c_nxyz", "C_NXYZ", "", 0, 0, 1, S::kGeneric, m_cnxyz, "-X to Y to Z"},
    {G::kCxnyz, "c_xnyz", "c_xnyz", "C_XNYZ", "", 0, 0, 1, S::kGeneric, m_cxnyz, "X to -Y to Z"},
    {G::kCxynz, "c_xynz", "c_xynz", "C_XYNZ", "", 0, 0, 1, S::kGeneric, m_cxynz, "X to Y to -Z"},
    {G::kCnzyx, "c_nzyx", "c_nzyx", "C_NZYX", "", 0, 0, 1, S::kGeneric, m_cnzyx, "-Z to Y to X"},
    {G::kCznyx, "c_znyx", "c_znyx", "C_ZNYX", "", 0, 0, 1, S::kGeneric, m_cznyx, "Z to -Y to X"},
    {G::kCzynx, "c_zynx", "c_zynx", "C_ZYNX", "", 0, 0, 1, S::kGeneric, m_czynx, "Z to Y to -X"},
    {G::kGlobalPhase, "gphase", "gphase", "", "p", 1, 0, 0, S::kDiagonal, m_gphase, "global phase e^{i angle}"},
    {G::kP, "p", "p u1 phase", "", "", 1, 0, 1, S::kDiagonal, m_p, "phase e^{i angle} on 1"},
    {G::kU0, "u0", "u0", "", "", 1, 0, 1, S::kDiagonal, m_id, "identity of a given length"},
    {G::kU2, "u2", "u2", "", "", 2, 0, 1, S::kGeneric, m_u2, "u3(pi/2, phi, lambda)"},
    {G::kU3, "u3", "u3", "", "", 3, 0, 1, S::kGeneric, m_u3, "general rotation (theta, phi, lambda)"},
    {G::kU, "u", "u U", "", "", 3, 0, 1, S::kGeneric, m_u3, "general rotation (theta, phi, lambda)"},
    {G::kR, "r", "r", "", "rxy", 2, 0, 1, S::kGeneric, m_r, "rotation by theta about cos(phi) X + sin(phi) Y"},
    {G::kRx, "rx", "rx", "", "rx", 1, 0, 1, S::kGeneric, m_rx, "exp(-i angle/2 X)"},
    {G::kRy, "ry", "ry", "", "ry", 1, 0, 1, S::kReal, m_ry, "exp(-i angle/2 Y)"},
    {G::kRz, "rz", "rz", "", "rz", 1, 0, 1, S::kDiagonal, m_rz, "exp(-i angle/2 Z)"},
    {G::kCx, "cx", "cx CX", "CX CNOT ZCX", "cnot cx", 0, 1, 1, S::kPermutation, m_x, "controlled X"},
    {G::kCy, "cy", "cy", "CY ZCY", "", 0, 1, 1, S::kPermutation, m_y, "controlled Y"},
    {G::kCz, "cz", "cz", "CZ ZCZ", "cz", 0, 1, 1, S::kDiagonal, m_z, "controlled Z"},
    {G::kCh, "ch", "ch", "", "", 0, 1, 1, S::kHadamardLike, m_h, "controlled H"},
    {G::kCs, "cs", "cs", "", "", 0, 1, 1, S::kDiagonal, m_s, "controlled S"},
    {G::kCsdg, "csdg", "csdg", "", "", 0, 1, 1, S::kDiagonal, m_sdg, "controlled inverse S"},
    {G::kCsx, "csx", "csx", "", "", 0, 1, 1, S::kGeneric, m_sx, "controlled square root of X"},
    {G::kCp, "cp", "cp cu1 cphase", "", "cp", 1, 1, 1, S::kDiagonal, m_p, "controlled phase"},
    {G::kCrx, "crx", "crx", "", "", 1, 1, 1, S::kGeneric, m_rx, "controlled rx"},
    {G::kCry, "cry", "cry", "", "", 1, 1, 1, S::kReal, m_ry, "controlled ry"},
    {G::kCrz, "crz", "crz", "", "", 1, 1, 1, S::kDiagonal, m_rz, "controlled rz"},
    {G::kCu3, "cu3", "cu3", "", "", 3, 1, 1, S::kGeneric, m_u3, "controlled u3"},
    {G::kCu, "cu", "cu", "", "", 4, 1, 1, S::kGeneric, m_cu, "controlled e^{i gamma} u3"},
    {G::kCcx, "ccx", "ccx", "", "", 0, 2, 1, S::kPermutation, m_x, "Toffoli"},
    {G::kCcz, "ccz", "ccz", "", "", 0, 2, 1, S::kDiagonal, m_z, "doubly controlled Z"},
    {G::kC3x, "c3x", "c3x mcx", "", "", 0, 3, 1, S::kPermutation, m_x, "X under three controls"},
    {G::kC4x, "c4x", "c4x", "", "", 0, 4, 1, S::kPermutation, m_x, "X under four controls"},
    {G::kC3sqrtx, "c3sqrtx", "c3sqrtx c3sx", "", "", 0, 3, 1, S::kGeneric, m_sx, "sx under three controls"},
    {G::kCswap, "cswap", "cswap", "", "", 0, 1, 2, S::kPermutation, m_swap, "Fredkin"},
    {G::kMcphase2, "ccp", "ccp", "", "", 1, 2, 1, S::kDiagonal, m_p, "phase under two controls"},
    {G::kSwap, "swap", "swap", "SWAP", "sw", 0, 0, 2, S::kPermutation, m_swap, "exchanges two qubits"},
    {G::kIswap, "iswap", "iswap", "ISWAP", "is", 0, 0, 2, S::kPermutation, m_iswap, "swap with i on exchange"},
    {G::kIswapdg, "iswapdg", "iswapdg", "ISWAP_DAG", "", 0, 0, 2, S::kPermutation, m_iswapdg, "inverse of iswap"},
    {G::kDcx, "dcx", "dcx", "", "", 0, 0, 2, S::kPermutation, m_dcx, "cx 0 1, then cx 1 0"},
    {G::kEcr, "ecr", "ecr", "", "", 0, 0, 2, S::kGeneric, m_ecr, "echoed cross resonance"},
    {G::kRxx, "rxx", "rxx", "", "", 1, 0, 2, S::kGeneric, m_rxx, "exp(-i angle/2 XX)"},
    {G::kRyy, "ryy", "ryy", "", "", 1, 0, 2, S::kGeneric, m_ryy, "exp(-i angle/2 YY)"},
    {G::kRzz, "rzz", "rzz", "", "", 1, 0, 2, S::kDiagonal, m_rzz, "exp(-i angle/2 ZZ)"},
    {G::kRzx, "rzx", "rzx", "", "", 1, 0, 2, S::kGeneric, m_rzx, "exp(-i angle/2 Z(0) X(1))"},
    {G::kXxPlusYy, "xx_plus_yy", "xx_plus_yy", "", "", 2, 0, 2, S::kGeneric, m_xxplusyy, "hopping of one excitation"},
    {G::kXxMinusYy, "xx_minus_yy", "xx_minus_yy", "", "", 2, 0, 2, S::kGeneric, m_xxminusyy, "pair creation"},
    {G::kFsim, "fsim", "fsim", "", "fs", 2, 0, 2, S::kGeneric, m_fsim, "fermionic simulation (theta, phi)"},
    {G::kSqrtSwap, "sqrtswap", "sqrtswap", "", "", 0, 0, 2, S::kGeneric, m_sqrtswap, "square root of swap"},
    {G::kSqrtXx, "sqrt_xx", "sqrt_xx", "SQRT_XX", "", 0, 0, 2, S::kGeneric, m_sqrtxx, "square root of XX"},
    {G::kSqrtXxdg, "sqrt_xx_dag", "sqrt_xx_dag", "SQRT_XX_DAG", "", 0, 0, 2, S::kGeneric, m_sqrtxxdg, "its inverse"},
    {G::kSqrtYy, "sqrt_yy", "sqrt_yy", "SQRT_YY", "", 0, 0, 2, S::kGeneric, m_sqrtyy, "square root of YY"},
    {G::kSqrtYydg, "sqrt_yy_dag", "sqrt_yy_dag", "SQRT_YY_DAG", "", 0, 0, 2, S::kGeneric, m_sqrtyydg, "its inverse"},
    {G::kSqrtZz, "sqrt_zz", "sqrt_zz", "SQRT_ZZ", "", 0, 0, 2, S::kDiagonal, m_sqrtzz, "square root of ZZ"},
    {G::kSqrtZzdg, "sqrt_zz_dag", "sqrt_zz_dag", "SQRT_ZZ_DAG", "", 0, 0, 2, S::kDiagonal, m_sqrtzzdg, "its inverse"},
    {G::kXcx, "xcx", "xcx", "XCX", "", 0, 0, 2, S::kGeneric, m_xcx, "X-controlled X"},
    {G::kXcy, "xcy", "xcy", "XCY", "", 0, 0, 2, S::kGeneric, m_xcy, "X-controlled Y"},
    {G::kXcz, "xcz", "xcz", "XCZ", "", 0, 0, 2, S::kPermutation, m_xcz, "X-controlled Z"},
    {G::kYcx, "ycx", "ycx", "YCX", "", 0, 0, 2, S::kGeneric, m_ycx, "Y-controlled X"},
    {G::kYcy, "ycy", "ycy", "YCY", "", 0, 0, 2, S::kGeneric, m_ycy, "Y-controlled Y"},
    {G::kYcz, "ycz", "ycz", "YCZ", "", 0, 0, 2, S::kPermutation, m_ycz, "Y-controlled Z"},
    {G::kCxSwap, "cxswap", "cxswap", "CXSWAP", "", 0, 0, 2, S::kPermutation, m_cxswap, "cx 0 1, then swap"},
    {G::kSwapCx, "swapcx", "swapcx", "SWAPCX", "", 0, 0, 2, S::kPermutation, m_swapcx, "swap, then cx 0 1"},
    {G::kCzSwap, "czswap", "czswap", "CZSWAP SWAPCZ", "", 0, 0, 2, S::kPermutation, m_czswap, "cz and swap"},
    {G::kIi, "ii", "ii", "II", "", 0, 0, 2, S::kDiagonal, m_ii, "identity on two qubits"},
    {G::kRccx, "rccx", "rccx", "", "", 0, 0, 3, S::kGeneric, m_rccx, "Toffoli up to relative phases"},
    {G::kRc3x, "rc3x", "rc3x rcccx", "", "", 0, 0, 4, S::kGeneric, m_rc3x, "C3X up to relative phases"},
};
// clang-format on
static_assert(std::size(kTable) == static_cast<std::size_t>(GateId::kCount));

using NameMap = std::unordered_map<std::string_view, const GateInfo*>;

NameMap names_of(std::string_view GateInfo::*field) {
  NameMap map;
  for (const GateInfo& g : kTable) {
    std::string_view rest = g.*field;
    while (!rest.empty()) {
      const auto space = rest.find(' ');
      map.emplace(rest.substr(0, space), &g);
      rest = space == std::string_view::npos ? std::string_view{} : rest.substr(space + 1);
    }
  }
  return map;
}

}  // namespace

std::span<const GateInfo> gate_table() { return kTable; }

const GateInfo& gate_info(GateId id) { return kTable[static_cast<std::size_t>(id)]; }

const GateInfo* find_gate(Language language, std::string_view name) {
  static const NameMap kMaps[] = {names_of(&GateInfo::name), names_of(&GateInfo::qasm),
                                  names_of(&GateInfo::stim), names_of(&GateInfo::qsim)};
  const NameMap& map = kMaps[static_cast<int>(language)];
  const auto it = map.find(name);
  return it == map.end() ? nullptr : it->second;
}

const GateInfo* find_controlled(GateId id, int extra) {
  const GateInfo& base = gate_info(id);
  for (const GateInfo& g : kTable) {
    if (g.matrix == base.matrix && g.num_params == base.num_params &&
        g.num_targets == base.num_targets && g.num_controls == base.num_controls + extra) {
      return extra == 0 ? &base : &g;
    }
  }
  return nullptr;
}

std::vector<cplx> gate_matrix(GateId id, std::span<const double> params) {
  const GateInfo& info = gate_info(id);
  TW_CHECK(static_cast<int>(params.size()) == info.num_params,
           "gate " + std::string(info.name) + " got a wrong number of parameters");
  std::vector<cplx> m(std::size_t{1} << (2 * info.num_targets));
  info.matrix(params.data(), m.data());
  return m;
}

}  // namespace tilewave::circuit
