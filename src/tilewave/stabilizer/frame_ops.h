// The actions of gates on Paulis, one source for every kind of word and every engine. A Pauli is
// two bits a qubit, x and z; a word holds those of many Paulis side by side: u32 (a GPU lane, 32
// shots), u64, a 512-bit vector. A frame has no signs. A tableau has, and a template argument keeps
// them:
//   NoPhase       frames (cpu/frame_run.cc, cuda/frame_machine.cuh)
//   LanePhase<W>  i^phase X^x Z^z, the phase in two words beside them: tableaux whose rows are
//                 lanes (tableau_gates.cc, tableau_collapse.cc)
//   and tableaux whose rows are words, x the image of Z and z that of X: there `^=` is a product,
//   which finds its sign by itself (tableau.cc).
// Every one-qubit Clifford is at most two of s, v, h behind a Pauli; every two-qubit Clifford is
// C(A, B), a swap and one-qubit Cliffords (circuit/clifford.h). Template arguments are Paulis.
#pragma once

#include "tilewave/base/host_device.h"
#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::stabilizer {

using circuit::Pauli;

/// Signs are of no interest.
struct NoPhase {
  template <Pauli P, class W>
  TW_HD void product(const W&, const W&) const {}
  template <class W>
  TW_HD void both(const W&, const W&) const {}
  template <class W>
  TW_HD void s(const W&, const W&) const {}
  template <class W>
  TW_HD void v(const W&, const W&) const {}
  template <class W>
  TW_HD void h(const W&, const W&) const {}
  template <class W>
  TW_HD void negate(bool, bool, const W&, const W&) const {}
};

/// The phases of a word's Paulis, mod 4, as two words of bits.
template <class W>
struct LanePhase {
  W &low, &high;

  TW_HD void turn(const W& s) const { high ^= low & s, low ^= s; }
  TW_HD void flip(const W& s) const { high ^= s; }

  /// Before (x, z) is multiplied by P = X, i X Z or Z in the lanes s: X goes past Z^z.
  template <Pauli P>
  TW_HD void product(const W& z, const W& s) const {
    if constexpr (P != Pauli::kZ) flip(z & s);
    if constexpr (P == Pauli::kY) turn(s);
  }
  /// Lanes that anticommute with both Paulis of C(A, B).
  TW_HD void both(const W& sa, const W& sb) const { flip(sa & sb); }
  TW_HD void s(const W& x, const W&) const { turn(x); }
  TW_HD void v(const W&, const W& z) const { turn(z); }
  TW_HD void h(const W& x, const W& z) const { flip(x & z); }
  TW_HD void negate(bool of_x, bool of_z, const W& x, const W& z) const {
    if (of_x) flip(x);
    if (of_z) flip(z);
  }
};

/// Lanes whose Pauli anticommutes with P.
template <Pauli P, class W>
[[gnu::always_inline]] TW_HD W anticommuting(const W& x, const W& z) {
  if constexpr (P == Pauli::kX) return z;
  if constexpr (P == Pauli::kZ) return x;
  return x ^ z;
}

/// Multiplies by P in the lanes `s`.
template <Pauli P, class W, class Phase = NoPhase>
[[gnu::always_inline]] TW_HD void multiply(W& x, W& z, const W& s, const Phase& phase = {}) {
  phase.template product<P>(z, s);
  if constexpr (P == Pauli::kX || P == Pauli::kY) x ^= s;
  if constexpr (P == Pauli::kZ || P == Pauli::kY) z ^= s;
}

/// C(A, B): B spreads to b where a's Pauli anticommutes with A, and the other way round:
///   Q -> Q B^sb' A^sa' (-1)^(sa' sb'),  sb' = Q anticommutes with A, sa' = with B.
template <Pauli A, Pauli B, class W, class Phase = NoPhase>
[[gnu::always_inline]] TW_HD void apply_controlled(W& ax, W& az, W& bx, W& bz,
                                                   const Phase& phase = {}) {
  const W sa = anticommuting<A>(ax, az);
  const W sb = anticommuting<B>(bx, bz);
  multiply<B>(bx, bz, sa, phase);
  multiply<A>(ax, az, sb, phase);
  phase.both(sa, sb);
}

/// X -> Y, Z -> Z.
template <class W, class Phase = NoPhase>
[[gnu::always_inline]] TW_HD void apply_s(W& x, W& z, const Phase& phase = {}) {
  phase.s(x, z);
  z ^= x;
}
/// X -> X, Z -> Y.
template <class W, class Phase = NoPhase>
[[gnu::always_inline]] TW_HD void apply_v(W& x, W& z, const Phase& phase = {}) {
  phase.v(x, z);
  x ^= z;
}
template <class W>
[[gnu::always_inline]] TW_HD void exchange(W& a, W& b) {
  const W old = a;
  a = b;
  b = old;
}
/// X -> Z, Z -> X.
template <class W, class Phase = NoPhase>
[[gnu::always_inline]] TW_HD void apply_h(W& x, W& z, const Phase& phase = {}) {
  phase.h(x, z);
  exchange(x, z);
}

/// The Clifford X -> x_to, Z -> z_to, with minus signs.
template <class W, class Phase = NoPhase>
[[gnu::always_inline]] TW_HD void apply_clifford1(Pauli x_to, Pauli z_to, bool x_negative,
                                                  bool z_negative, W& x, W& z,
                                                  const Phase& phase = {}) {
  const bool s_then_h = x_to == Pauli::kY && z_to == Pauli::kX;  // makes -Y of X by itself
  phase.negate(x_negative != s_then_h, z_negative, x, z);
  if (x_to == Pauli::kZ) {
    apply_h(x, z, phase);
    if (z_to == Pauli::kY) apply_s(x, z, phase);
  } else if (x_to == Pauli::kY) {
    apply_s(x, z, phase);
    if (s_then_h) apply_h(x, z, phase);
  } else if (z_to == Pauli::kY) {
    apply_v(x, z, phase);
  }
}

/// X, Y, Z (1, 2, 3) as bits x + 2 z.
[[gnu::always_inline]] TW_HD std::uint32_t xz_of(std::uint32_t pauli) {
  return pauli ^ (pauli >> 1);
}

/// An operand of noise: a slot, and the Paulis (1, 2, 3) that a logical X and Z are stored as.
TW_HD std::uint32_t slot_of(std::uint32_t target) { return target & 0xFFFFFFFu; }
/// The bits x + 2 z to flip there for the logical error x + 2 z; no branches: which error it is
/// cannot be foreseen.
[[gnu::always_inline]] TW_HD std::uint32_t stored_xz(std::uint32_t target, std::uint32_t xz) {
  return (xz_of((target >> 28) & 3) & (0u - (xz & 1))) ^ (xz_of(target >> 30) & (0u - (xz >> 1)));
}

/// The factors of a branch of SiteKind::kProduct: their number, then as many (slot | Pauli << 28).
[[gnu::always_inline]] TW_HD const std::uint32_t* factors_of(const std::uint32_t* operands,
                                                             std::uint32_t branch) {
  for (; branch > 0; --branch) operands += 1 + operands[0];
  return operands;
}

}  // namespace tilewave::stabilizer
