// The few primitives every stabilizer engine works on. A circuit of Stim's 81 instructions is
// lowered once: two-qubit gates to C(a, b), a swap and one-qubit Cliffords (circuit/clifford.h);
// pair and product measurements to controlled Paulis around a one-qubit measurement; measurement
// noise to a flip of records, all other noise to one of four kinds (kPauli1, kPauli2, kCorrelated,
// kHerald). Blocks stay blocks. Layout: block 0 is the whole circuit; primitives are fixed-size
// records, their longer operands live in two pools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tilewave/circuit/clifford.h"
#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::stabilizer {

using circuit::Clifford1;
using circuit::Pauli;

enum class PrimKind : std::uint8_t {
  kClifford1,        ///< one-qubit Clifford number `first` of `cliffords` on a
  kControlled,       ///< C(p on a, q on b)
  kSwap,             ///< a and b
  kMeasure,          ///< a in basis p into the next record; `flag`: inverted
  kReset,            ///< a to the + eigenstate of p
  kRecordFlip,       ///< flips each of the last `count` records with probability params[param]
  kPad,              ///< a constant record, `flag` its value
  kPauli1,           ///< list of qubits; X, Y, Z with params[param .. +3]
  kPauli2,           ///< list of pairs; 15 probabilities IX ... ZZ; `flag`: all equal
  kCorrelated,       ///< list of (qubit, Pauli); params[param]; `flag`: continues a chain
  kHerald,           ///< list of qubits; I, X, Y, Z with params[param .. +4]; one record each
  kFeedback,         ///< Pauli p on a when the record b back is 1
  kSweep,            ///< Pauli p on a when sweep bit b is 1
  kDetector,         ///< list of lookbacks; `b` coordinates from param
  kObservable,       ///< observable a; list of lookbacks
  kObservablePauli,  ///< observable a changes sign with Pauli p on qubit b
  kShift,            ///< shifts coordinates by b parameters from param
  kRepeat,           ///< block a, repeats[b] times
  kRotation,  ///< list of (qubit, Pauli); half-turns params[param]; near_clifford/ alone runs it
  // of leakage, a bit of every qubit beside its state; the frame engine alone runs them
  kLeak,             ///< list of qubits; leaks with params[param], scrambles as `a` says
  kLeakPair,         ///< list of pairs; leaks both, the first, the second with params[param .. +3]
  kSeal,             ///< list of qubits; leaked ones come back with params[param]
  kScramble,         ///< list of qubits; leaked ones are fully depolarised
  kScramblePartner,  ///< list of pairs; where one is leaked the other is fully depolarised
  kSpread,           ///< list of pairs; where one is leaked: 01 both, 10 both, 01 moves, 10 moves;
  ///< `flag`: after a kScramblePartner of the same pair; a = 1: both of the first
  ///< as source, then of the second, which the first may have leaked
  kLeakPauli1,  ///< list of qubits; X, Y, Z of unleaked ones, then of leaked ones
  kLeakPauli2,  ///< list of pairs; 15 each where none, the second, the first, both are leaked
  kLeakHerald,  ///< list of qubits; a record each: is it leaked; missed, false probabilities
  kFrameSign,   ///< the next record: whether the frame anticommutes with p on a, which stays
};

/// How many probabilities a primitive of this kind has.
constexpr std::size_t num_probabilities(PrimKind kind) {
  switch (kind) {
    case PrimKind::kRecordFlip:
    case PrimKind::kCorrelated:
    case PrimKind::kLeak:
    case PrimKind::kSeal:
      return 1;
    case PrimKind::kLeakHerald:
      return 2;
    case PrimKind::kPauli1:
    case PrimKind::kLeakPair:
      return 3;
    case PrimKind::kHerald:
    case PrimKind::kSpread:
      return 4;
    case PrimKind::kLeakPauli1:
      return 6;
    case PrimKind::kLeakPauli2:
      return 60;
    case PrimKind::kPauli2:
      return 15;
    default:
      return 0;
  }
}

/// Whose frame a kLeak or kLeakPair makes uniformly random, in `a`: of no qubit, of those it leaks
/// that were not leaked, of all it leaks.
enum class LeakScramble : std::uint32_t { kNone, kFresh, kAll };

struct Prim {
  PrimKind kind;
  Pauli p = Pauli::kI, q = Pauli::kI;
  bool flag = false;
  std::uint32_t a = 0, b = 0;
  std::uint32_t first = 0, count = 0;  ///< in lists
  std::uint32_t param = 0;             ///< in params
  std::uint32_t source = 0;            ///< number of the instruction in the source, in text order
};

/// An instruction of the source.
struct StabSource {
  circuit::StabKind kind = circuit::StabKind::kGate;
  std::uint32_t line = 0;  ///< 0 when unknown
  std::uint32_t tag = 0;   ///< in tags, 0 is no tag
};

struct StabProgram {
  std::vector<std::vector<Prim>> blocks;
  std::vector<std::uint32_t> lists;
  std::vector<double> params;
  std::vector<std::uint64_t> repeats;
  std::vector<Clifford1> cliffords;
  circuit::StabCounts counts;
  std::vector<StabSource> sources;  ///< in text order
  std::vector<std::string> tags = {""};
  std::string name;                 ///< of the source, for messages
  std::uint64_t num_rotations = 0;  ///< primitives of that kind, loops counted once
  bool has_leakage = false;

  const StabSource& source(const Prim& p) const { return sources[p.source]; }
  /// "file:line: " where the line is known, else nothing.
  std::string place(const Prim& p) const;
  /// Empty where a primitive has none; the `count` of a kRecordFlip is one of records.
  std::span<const std::uint32_t> list(const Prim& p) const {
    if (p.count == 0 || p.kind == PrimKind::kRecordFlip) return {};
    return {lists.data() + p.first, p.count};
  }
  /// As many as its kind has, which noise alone does; empty for the others.
  std::span<const double> probabilities(const Prim& p) const {
    const std::size_t count = num_probabilities(p.kind);
    if (count == 0) return {};
    return {params.data() + p.param, count};
  }
};

/// Calls f(q) for the qubits that something happens to in a primitive and its list, a loop's body aside;
/// twice where a list names one twice. f may change q where both may be changed.
template <class AnyPrim, class List, class F>
void for_each_qubit_of(AnyPrim& p, List list, F f) {
  switch (p.kind) {
    case PrimKind::kControlled:
    case PrimKind::kSwap:
      f(p.b);
      [[fallthrough]];
    case PrimKind::kClifford1:
    case PrimKind::kMeasure:
    case PrimKind::kReset:
    case PrimKind::kFeedback:
    case PrimKind::kSweep:
    case PrimKind::kFrameSign:
      f(p.a);
      break;
    case PrimKind::kObservablePauli:
      f(p.b);
      break;
    case PrimKind::kCorrelated:
    case PrimKind::kRotation:
      for (std::size_t k = 0; k < list.size(); k += 2) f(list[k]);
      break;
    case PrimKind::kPauli1:
    case PrimKind::kPauli2:
    case PrimKind::kHerald:
    case PrimKind::kLeak:
    case PrimKind::kLeakPair:
    case PrimKind::kSeal:
    case PrimKind::kScramble:
    case PrimKind::kScramblePartner:
    case PrimKind::kSpread:
    case PrimKind::kLeakPauli1:
    case PrimKind::kLeakPauli2:
    case PrimKind::kLeakHerald:
      for (auto& q : list) f(q);
      break;
    case PrimKind::kRecordFlip:
    case PrimKind::kPad:
    case PrimKind::kDetector:
    case PrimKind::kObservable:
    case PrimKind::kShift:
    case PrimKind::kRepeat:
      break;
  }
}
template <class F>
void for_each_qubit(const StabProgram& program, const Prim& p, F f) {
  for_each_qubit_of(p, program.list(p), f);
}

/// What becomes of rotations that are no Clifford gates.
enum class Rotations : std::uint8_t { kRefuse, kKeep };
/// What becomes of leakage, which is neither a gate nor Pauli noise.
enum class Leakage : std::uint8_t { kRefuse, kKeep };

/// Lowers a circuit; `name` is that of its source. Throws Error(kInput) for what has no meaning,
/// such as an anti-Hermitian product, and for rotations and leakage that are refused. Rotations by
/// whole quarters of a turn become Clifford gates.
StabProgram lower(const circuit::StabilizerCircuit& circuit, std::string name = "<circuit>",
                  Rotations rotations = Rotations::kRefuse, Leakage leakage = Leakage::kRefuse);

/// Records must exist before they are looked back at: throws Error(kInput) where they do not.
void check_lookbacks(const StabProgram& program);

/// Of every qubit, whether something happens to it: numbers may have gaps, as on a lattice.
std::vector<bool> used_qubits(const StabProgram& program);

/// The same program on the qubits that something happens to alone, numbered without gaps in their
/// order.
StabProgram with_used_qubits(const StabProgram& program);

/// Operations with the blocks unrolled; 2^64 - 1 where there are more.
std::uint64_t count_unrolled(const StabProgram& program);

/// Whether a block does nothing but gates, resets and feedback, so that what it does when it is
/// repeated comes back after a period.
bool is_silent(const StabProgram& program, std::uint32_t block);

/// Throws Error(kResources) where the circuit is too long to be walked through operation by
/// operation, silent blocks aside; `advice`: what to do then.
void need_walkable(const StabProgram& program, const std::string& advice);

/// Branches of all noise channels, once a time that each runs: grows with REPEAT counts.
std::uint64_t count_branches(const StabProgram& program);

}  // namespace tilewave::stabilizer
