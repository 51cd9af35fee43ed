// A noise model: which channels act after (or before) which operations, and how often a measured
// bit is read wrongly. with_noise() writes the channels into a circuit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tilewave/circuit/channel.h"
#include "tilewave/circuit/circuit.h"

namespace tilewave::circuit {

/// Where a rule acts, or does not.
struct NoisePlaces {
  std::vector<Qubit> qubits;                   ///< the channel on these qubits
  std::vector<std::vector<Qubit>> operations;  ///< operations on just these qubits, in this order
  bool empty() const { return qubits.empty() && operations.empty(); }
};

/// Every rule that matches an operation adds its channel, in the order of the rules.
struct NoiseRule {
  std::string path;  ///< where it stands in its file, for errors
  std::shared_ptr<const Channel> channel;
  bool before = false;  ///< the operation; otherwise after it

  bool all_gates = false, on_measure = false, on_reset = false, on_idle = false;
  bool on_matrices = false;  ///< matrices given by the user
  bool on_delay = false;     ///< is_delay()
  std::vector<GateId> gates;
  /// Of these only operations that go by this name: by their label or, where they have none, the
  /// gate's own name in the table ("unitary" for matrices); empty: all.
  std::string label;
  GateId label_gate = GateId::kCount;  ///< the gate with this name

  NoisePlaces places;        ///< empty: everywhere
  NoisePlaces except;        ///< these are left out
  std::vector<int> acts_on;  ///< which qubits of the operation; empty: all, one by one when the
                             ///< channel has one qubit
};

/// A measured bit is read as 1 with probability p1_given_0 or 1 - p0_given_1.
struct ReadoutError {
  double p1_given_0 = 0, p0_given_1 = 0;
  bool is_none() const { return p1_given_0 == 0 && p0_given_1 == 0; }
};

struct ReadoutRule {
  std::string path;
  std::vector<Qubit> qubits;  ///< empty: all
  ReadoutError error;
};

struct NoiseModel {
  std::vector<NoiseRule> rules;
  std::vector<ReadoutRule> readout;  ///< the last that names a qubit counts
  bool ignores_absent = false;       ///< of a device: qubits a circuit does not have are no error
};

/// Waiting, as circuits for devices have it: an identity with this label. No gate to a rule.
inline constexpr const char* kDelayLabel = "delay";
bool is_delay(const Circuit& circuit, const Op& op);

/// The circuit with the channels of the model as operations, and notes about rules that seem to miss
/// what they are for. Throws Error(kInput) with the rule's path for a qubit the circuit does not have,
/// unless the model ignores those, and for a label that names an instruction which was replaced.
Circuit with_noise(const Circuit& circuit, const NoiseModel& model);

/// One entry a qubit; empty where no qubit is read wrongly. Throws as with_noise.
std::vector<ReadoutError> readout_errors(const NoiseModel& model, std::uint32_t num_qubits);

}  // namespace tilewave::circuit
