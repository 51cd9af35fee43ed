// A stabilizer circuit in the vocabulary of Stim's language: gates of the gate table, collapses,
// noise channels, annotations, rotations by any angle, and REPEAT blocks kept as blocks (10^12 iterations cost nothing).
// Layout: instructions are fixed-size records; targets and arguments live in flat pools of their
// block; a REPEAT holds the index of its body.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tilewave/circuit/gate_table.h"

namespace tilewave::circuit {

/// What an instruction does. kGate is every unitary of the gate table; the rest is listed once in
/// stabilizer_ops().
enum class StabKind : std::uint8_t {
  kGate,
  kXError,
  kYError,
  kZError,
  kDepolarize1,
  kDepolarize2,
  kPauliChannel1,
  kPauliChannel2,
  kCorrelatedError,
  kElseCorrelatedError,
  kHeraldedErase,
  kHeraldedPauliChannel1,
  kIError,
  kIIError,
  kM,
  kMX,
  kMY,
  kMR,
  kMRX,
  kMRY,
  kR,
  kRX,
  kRY,
  kMXX,
  kMYY,
  kMZZ,
  kMPP,
  kSPP,
  kSPPDag,
  // what is no Clifford gate (rotations.h); angles in half-turns
  kT,
  kTDag,
  kTPP,
  kTPPDag,
  kRotX,
  kRotY,
  kRotZ,
  kRotXX,
  kRotYY,
  kRotZZ,
  kRotPauli,
  kU3,
  kCCX,
  kCCZ,
  kCH,
  // leakage (docs/leakage.md); deltakit's words, then cuStabilizer's, then the one of both
  kLeakage,
  kRelax,
  kRL,
  kLeakageMark1,
  kLeakageMark2,
  kLeakageReset,
  kLeakageRelax,
  kLeakagePropagateMark,
  kLeakageScramble,
  kLeakageScramblePartner,
  kLeakagePauli1,
  kLeakagePauli2,
  kLeakage1,
  kLeakage2,
  kLeakagePropagate,
  kHeraldLeakageEvent,
  kRepeat,
  kDetector,
  kObservableInclude,
  kQubitCoords,
  kShiftCoords,
  kTick,
  kMpad,
  kCount
};

/// What may follow the name of an instruction.
enum class TargetRule : std::uint8_t {
  kNone,      ///< no targets
  kQubits,    ///< qubits
  kPairs,     ///< an even number of qubits, distinct in each pair
  kTriples,   ///< qubits by threes, distinct in each triple
  kMeasured,  ///< qubits, each perhaps with `!`
  kMeasuredPairs,
  kProducts,  ///< Pauli products such as X1*!Z2
  kPaulis,    ///< Pauli targets without products, for correlated errors
  kRecords,   ///< rec[-k]
  kRecordsOrPaulis,
  kBits,  ///< 0 or 1
};

constexpr bool is_leakage(StabKind kind) {
  return kind >= StabKind::kLeakage && kind <= StabKind::kHeraldLeakageEvent;
}
/// Outcomes become records; heralds are noise and not among them.
constexpr bool is_measurement(StabKind kind) {
  return (kind >= StabKind::kM && kind <= StabKind::kMRY) ||
         (kind >= StabKind::kMXX && kind <= StabKind::kMPP) || kind == StabKind::kMpad;
}
/// Gates that take four arguments, (s01, s10, m01, m10): how leakage spreads and moves from the
/// first qubit to the second and back.
constexpr bool may_spread_leakage(GateId gate) {
  return gate == GateId::kCx || gate == GateId::kCy || gate == GateId::kCz ||
         gate == GateId::kSqrtXx || gate == GateId::kSqrtXxdg;
}

/// What the targets must be, in words.
std::string_view describe(TargetRule rule);

/// The row of one instruction that is not a unitary gate.
struct StabOpInfo {
  StabKind kind;
  std::string_view name;
  std::string_view aliases;  ///< separated by spaces
  int min_args;
  int max_args;  ///< -1: any number
  /// The arguments are disjoint probabilities; of leakage they are so in groups.
  bool probabilities;
  TargetRule targets;
  std::string_view help;
};

std::span<const StabOpInfo> stabilizer_ops();
const StabOpInfo& stabilizer_op(StabKind kind);

enum class Pauli : std::uint8_t { kI = 0, kX = 1, kY = 2, kZ = 3 };

/// What an instruction of one basis flips, measures, resets to or rotates about, as X in X_ERROR, MRX,
/// RX, MXX, R_X and R_XX; kI of all others.
constexpr Pauli basis_of(StabKind kind) {
  constexpr Pauli kFromX[] = {Pauli::kX, Pauli::kY, Pauli::kZ};
  constexpr Pauli kFromZ[] = {Pauli::kZ, Pauli::kX, Pauli::kY};  // whose letter is left out
  const auto place = [kind](StabKind first) {
    return static_cast<unsigned>(kind) - static_cast<unsigned>(first);
  };
  for (const StabKind first :
       {StabKind::kXError, StabKind::kMXX, StabKind::kRotX, StabKind::kRotXX}) {
    if (place(first) < 3) return kFromX[place(first)];
  }
  for (const StabKind first : {StabKind::kM, StabKind::kMR, StabKind::kR}) {
    if (place(first) < 3) return kFromZ[place(first)];
  }
  return Pauli::kI;
}

struct StabTarget {
  enum class Kind : std::uint8_t { kQubit, kPauli, kRecord, kSweep, kCombiner };
  std::uint32_t value = 0;  ///< qubit, sweep index, or how far back the record lies (1: the last)
  Kind kind = Kind::kQubit;
  Pauli pauli = Pauli::kI;
  bool inverted = false;
  bool operator==(const StabTarget&) const = default;
};

struct StabInstruction {
  StabKind kind = StabKind::kGate;
  GateId gate = GateId::kId;
  std::uint16_t num_args = 0;
  std::uint32_t num_targets = 0;
  std::uint32_t first_target = 0;
  std::uint32_t first_arg = 0;
  std::uint32_t tag = 0;     ///< index in the circuit's tags, 0 is no tag
  std::uint32_t block = 0;   ///< kRepeat: the body
  std::uint32_t line = 0;    ///< in its source, 0 when unknown
  std::uint64_t repeat = 0;  ///< kRepeat: iterations
};

/// Numbers of things in a circuit; they stop at 2^64 - 1 instead of overflowing.
struct StabCounts {
  std::uint64_t measurements = 0;
  std::uint64_t detectors = 0;
  std::uint64_t ticks = 0;
  std::uint64_t observables = 0;  ///< the largest index used, plus one
  std::uint64_t qubits = 0;       ///< the largest index used, plus one
  std::uint64_t sweep_bits = 0;
  std::uint64_t max_lookback = 0;
};

class StabilizerCircuit {
 public:
  StabilizerCircuit() : tags_(1) {}

  std::span<const StabInstruction> instructions() const { return instructions_; }
  std::span<const StabTarget> targets(const StabInstruction& op) const {
    return {targets_.data() + op.first_target, op.num_targets};
  }
  std::span<const double> args(const StabInstruction& op) const {
    return {args_.data() + op.first_arg, op.num_args};
  }
  const std::string& tag(const StabInstruction& op) const { return tags_[op.tag]; }
  const StabilizerCircuit& block(const StabInstruction& op) const { return blocks_[op.block]; }
  std::string_view name(const StabInstruction& op) const;
  bool empty() const { return instructions_.empty(); }

  /// Appends an instruction after checking it; an equal neighbour takes its targets over when the
  /// instruction may be fused. Throws Error(kInput) saying what is wrong.
  void append(StabKind kind, GateId gate, std::span<const StabTarget> targets,
              std::span<const double> args, std::string_view tag = {}, std::uint32_t line = 0);
  /// Appends by a name of Stim's language with plain qubit targets.
  void append(std::string_view name, std::span<const std::uint32_t> qubits,
              std::span<const double> args = {});
  void append_repeat(std::uint64_t count, StabilizerCircuit body, std::string_view tag = {},
                     std::uint32_t line = 0);

  /// Walks the circuit once per block, never per iteration.
  StabCounts counts() const;

 private:
  std::uint32_t tag_index(std::string_view tag);

  std::vector<StabInstruction> instructions_;
  std::vector<StabTarget> targets_;
  std::vector<double> args_;
  std::vector<std::string> tags_;
  std::vector<StabilizerCircuit> blocks_;
};

/// An instruction name of Stim's language: which instruction, and which gate when it is one.
struct StabName {
  bool found = false;
  StabKind kind = StabKind::kGate;
  GateId gate = GateId::kId;
};
/// Finds a name or alias; `upper` is in upper case.
StabName find_stabilizer_op(std::string_view upper);
/// Every name and alias, for suggestions.
std::vector<std::string_view> stabilizer_names();

/// Records that one instruction with these targets adds.
std::uint64_t count_measurements(StabKind kind, std::span<const StabTarget> targets);
inline std::uint64_t count_measurements(const StabilizerCircuit& circuit,
                                        const StabInstruction& op) {
  return count_measurements(op.kind, circuit.targets(op));
}

/// Numbers qubits in the order in which they are first asked for: a list searched from its start,
/// or a table where there are many.
class QubitPlaces {
 public:
  explicit QubitPlaces(std::size_t most_qubits) : listed_(most_qubits <= kListed) {}
  std::size_t of(std::uint32_t qubit) {
    if (!listed_) return table_.try_emplace(qubit, table_.size()).first->second;
    std::size_t k = 0;
    while (k < list_.size() && list_[k] != qubit) ++k;
    if (k == list_.size()) list_.push_back(qubit);
    return k;
  }

 private:
  static constexpr std::size_t kListed = 64;
  bool listed_;
  std::vector<std::uint32_t> list_;
  std::unordered_map<std::uint32_t, std::size_t> table_;
};

inline StabTarget qubit_target(std::uint32_t q, bool inverted = false) {
  return {q, StabTarget::Kind::kQubit, Pauli::kI, inverted};
}
inline StabTarget pauli_target(Pauli p, std::uint32_t q, bool inverted = false) {
  return {q, StabTarget::Kind::kPauli, p, inverted};
}
inline StabTarget record_target(std::uint32_t back) {
  return {back, StabTarget::Kind::kRecord, Pauli::kI, false};
}

}  // namespace tilewave::circuit
