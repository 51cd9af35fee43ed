// A near-Clifford circuit, compiled: Clifford gates, Pauli noise, measurements and feedback with
// some rotations about Paulis in between. The state of a shot is
//   |psi> = F |phi>,
// F a Pauli (the shot's frame) and |phi> in a space that the circuit alone chooses, whatever the
// noise: n - k stabilizers and k logical qubits, so 2^k amplitudes. An operation P meets it in one
// of these ways, S being the group of the stabilizers:
//
//                  P in S           P anticommutes with g in S        P commutes with S
//   rotation       a phase: left    k + 1: phi' = [c phi, -i s phi],  phi' = c phi -+ i s P phi
//                  out              F gains g where its sign is -
//   measurement    known            a coin, as in Clifford circuits   k - 1: probability
//                                                                     (1 + <P>) / 2
//
// Noise changes signs alone. A sign is 1 where F anticommutes with P as the rotation is met: a row of
// frame bits like a detector's, and so are the corrections to F. So there are two programs. The
// *frame program* is a Clifford circuit for the engines there are, with rotations replaced by hidden
// observables that say their signs. The *dense program* acts on amplitudes; it needs from a shot its
// signs, and what it tells are the outcomes of measurements with k - 1, the Born bits. What those
// change in the rows of the shot is linear again: each has a column of bits that flip with it.
//
// Everything is relative to the default history: no sign set, coins 0, and of every Born bit the
// outcome that is more likely after the outcomes before it in this history, those that resets hide
// included.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewave/stabilizer/dense_pauli.h"
#include "tilewave/stabilizer/frame_program.h"
#include "tilewave/stabilizer/stab_program.h"

namespace tilewave::stabilizer {

enum class DenseKind : std::uint8_t {
  kPromote,  ///< one coordinate more, the highest: [c phi, -i s phi]
  kRotate,   ///< c phi - i s P phi, s negative where the sign bit is 1
  kMeasure,  ///< of P; coordinate `pivot` goes
};

struct DenseOp {
  DenseKind kind = DenseKind::kRotate;
  DensePauli p;
  double c = 1, s = 0;      ///< cosine and sine of pi a / 2
  std::uint32_t sign = 0;   ///< kRotate: number of its sign bit
  std::uint32_t pivot = 0;  ///< kMeasure: a bit of x, or of z where x is 0
  std::uint32_t k = 0;      ///< coordinates before
};

struct NearCliffordProgram {
  /// The circuit without rotations and loops. Its detectors and observables are the `num_bits` bits
  /// of a shot, relative to the default history (where these are records, every one is a detector
  /// here), then the signs, an observable each.
  StabProgram frame;
  std::vector<DenseOp> dense;
  std::uint64_t num_bits = 0;
  std::uint32_t num_signs = 0, num_born = 0;
  std::uint32_t most_k = 0;
  std::vector<std::uint32_t> born_record;  ///< a record of `frame` that flips as a Born bit does
  std::vector<std::uint64_t> reference;    ///< the circuit's records in the default history
  std::vector<double> default_chance;      ///< of every Born bit to be 1 in the default history
  std::uint64_t num_rotations = 0;         ///< of the circuit, loops unrolled
  std::uint64_t num_fused = 0;             ///< of them, added to an earlier one
  /// Amplitudes that one shot goes through when nothing is shared.
  double amplitude_steps() const;
};

/// Dense states of more logical qubits than this are refused.
constexpr std::uint32_t kMostActive = 24;

/// A chance below this is 0: amplitudes that vanish exactly come out of the arithmetic smaller.
constexpr double kSmallestChance = 1e-13;

/// Outcomes whose chances differ from 1/2 by no more than this are equally likely, and the default
/// history has 0: sums that round otherwise on another machine must not make another reference.
constexpr double kTie = 1e-9;

/// Compiles a program lowered with Rotations::kKeep. Throws Error(kResources) where it is too long
/// when unrolled, or needs more than `most_active` logical qubits.
NearCliffordProgram compile_near_clifford(const StabProgram& program, FrameOutput output,
                                          std::uint32_t most_active = kMostActive);

/// For --explain: k over time, operations, work.
std::string describe(const NearCliffordProgram& program);

}  // namespace tilewave::stabilizer
