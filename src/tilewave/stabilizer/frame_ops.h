// The maths of Pauli frames, one source for every word type: u32 (a GPU lane, 32 shots), u64, and a
// 512-bit vector. A frame is two bits a qubit and shot: x, z. Template arguments are Paulis.
#pragma once

#include "tilewave/base/host_device.h"
#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::stabilizer {

using circuit::Pauli;

/// Shots whose frame anticommutes with P.
template <Pauli P, class W>
[[gnu::always_inline]] TW_HD W anticommuting(const W& x, const W& z) {
  if constexpr (P == Pauli::kX) return z;
  if constexpr (P == Pauli::kZ) return x;
  return x ^ z;
}

/// Multiplies P into the frames of the shots `s`.
template <Pauli P, class W>
[[gnu::always_inline]] TW_HD void multiply(W& x, W& z, const W& s) {
  if constexpr (P == Pauli::kX || P == Pauli::kY) x ^= s;
  if constexpr (P == Pauli::kZ || P == Pauli::kY) z ^= s;
}

/// C(A, B): B spreads to b where a's frame anticommutes with A, and the other way round.
template <Pauli A, Pauli B, class W>
[[gnu::always_inline]] TW_HD void apply_controlled(W& ax, W& az, W& bx, W& bz) {
  const W sa = anticommuting<A>(ax, az);
  const W sb = anticommuting<B>(bx, bz);
  multiply<B>(bx, bz, sa);
  multiply<A>(ax, az, sb);
}

}  // namespace tilewave::stabilizer
