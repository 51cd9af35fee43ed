// Which project's words of leakage a circuit is written in, and which qubits may leak. deltakit's
// CX depolarises the partner of a leaked qubit, cuStabilizer's does not: the words decide.
#pragma once

#include <string>
#include <vector>

#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::circuit {

/// The words of leakage in a circuit. HERALD_LEAKAGE_EVENT is of both projects and not among them.
struct LeakageWords {
  std::string deltakit, custabilizer;  ///< the first of each, with its line; empty where none is
  bool deltakit_leaks = false;         ///< by LEAKAGE: gates depolarise partners of leaked qubits
  bool leaks = false;                  ///< by a word of either

  bool mixed() const { return !deltakit.empty() && !custabilizer.empty(); }
  /// Why a circuit with words of both is refused.
  std::string mixed_message() const;
};
LeakageWords leakage_words(const StabilizerCircuit& circuit);

/// The leakage that a pair of qubits gains by an instruction: the arguments of a gate, of
/// LEAKAGE_PROPAGATE or of LEAKAGE_PROPAGATE_MARK.
bool spreads_leakage(const StabilizerCircuit& circuit, const StabInstruction& op);

/// Qubits that may be leaked, walked along with a circuit. What it says is safe, not sharp: a qubit
/// that it does not name is never leaked there.
class MayLeak {
 public:
  /// At the start of a circuit, where none is.
  explicit MayLeak(std::uint64_t num_qubits) : now_(num_qubits, false) {}
  bool operator()(std::uint32_t qubit) const { return now_[qubit]; }
  void pass(const StabilizerCircuit& circuit, const StabInstruction& op);
  /// At the start of a loop's body, whatever the iteration.
  void enter_loop(const StabilizerCircuit& body);

 private:
  // What follows from `op` where `gain_only`: leakage ends nowhere.
  bool step(const StabilizerCircuit& circuit, const StabInstruction& op, bool gain_only);
  bool gather(const StabilizerCircuit& circuit);

  std::vector<bool> now_;
};

}  // namespace tilewave::circuit
