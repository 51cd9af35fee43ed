// A register in a folder, with the checksums and the single rename of a run's checkpoint: what
// programs keep of a state between their own steps. Its record is
//   the register     (RegisterInfo: which state, and of which precision)
//   how it lies      (layout and known zeros)
// and its amplitudes are slot 0 (folder.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/runtime/ranks.h"
#include "tilewave/settings/precision.h"
#include "tilewave/simulate/checkpoint/folder.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

struct RegisterInfo {
  std::uint32_t num_qubits =
      0;  ///< of the register; a density matrix has twice as many in its state
  bool is_density = false;
  Precision precision = Precision::kDouble;
  std::vector<circuit::Qubit> kept;  ///< of the register, in the state (QubitMap); empty: all

  std::uint32_t state_qubits() const {
    if (!kept.empty()) return static_cast<std::uint32_t>(kept.size());
    return is_density ? 2 * num_qubits : num_qubits;
  }
};

/// Keeps a register; a checkpoint that was in the folder is replaced by one rename. Collective where
/// there are processes (null: none). Throws Error(kResources) where it cannot be written.
void save_register(const std::string& folder, std::shared_ptr<runtime::Ranks> processes,
                   const RegisterInfo& info, statevec::State& state);

class SavedRegister {
 public:
  /// Throws Error(kInput) where the folder holds no checkpoint or a damaged one, Error(kUsage) where
  /// it is that of a run.
  explicit SavedRegister(const std::string& folder);
  const RegisterInfo& info() const { return info_; }
  /// Fills a state of info().state_qubits() qubits, on any number of ranks and devices. Throws
  /// Error(kInput) where a checksum is wrong.
  void load(statevec::State& state) const;

 private:
  SavedRun saved_;
  RegisterInfo info_;
  statevec::Layout layout_;
  std::uint64_t known_zero_ = 0;
};

}  // namespace tilewave::simulate
