// A prepared circuit written in the stabilizer engine's vocabulary: gates as Clifford gates and
// rotations beyond them, channels as Pauli errors, classical bits as records, feedback as Paulis that a
// record controls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilewave/circuit/noise_model.h"
#include "tilewave/circuit/stabilizer_circuit.h"
#include "tilewave/simulate/steered_clifford.h"

namespace tilewave::simulate {

struct Program;

/// A prepared circuit in the stabilizer engine's vocabulary, and where its records belong.
struct CliffordProgram {
  circuit::StabilizerCircuit circuit;
  std::vector<std::uint64_t> record_of;  ///< of every classical bit, or of every qubit when nothing
                                         ///< is measured; kNoRecord: never written
  static constexpr std::uint64_t kNoRecord = ~std::uint64_t{0};
  /// Records that are misread more often in one direction; the others' errors are in the circuit.
  struct Misread {
    std::uint64_t record;
    circuit::ReadoutError error;
  };
  std::vector<Misread> misread;
  /// Where measurements steer it more than frames can follow: what runs in the place of the circuit,
  /// whose records are the classical bits.
  std::shared_ptr<const SteeredClifford> steered{};
  /// Amplitudes that a shot goes through, at most: above 0 where there are gates beyond Clifford.
  double amplitude_steps = 0;
};

/// Gates beyond Clifford may be among others, as long as they need few active qubits and are not
/// many: any of one qubit, and of up to three where each of these has X, Y or Z as an axis in whose
/// basis the gate is diagonal, as CCX and R_XX have.
struct MagicLimits {
  std::uint32_t most_active = 10;
  std::uint64_t most_rotations = 1000;
};

/// Translates; empty with the reason in `why_not` when a gate is none that the engine runs, a
/// channel no mixture of Pauli errors or a condition more than one bit on a Pauli, and it is no
/// steered Clifford circuit either. `readout`: one a qubit, or none.
std::optional<CliffordProgram> to_clifford(const Program& program,
                                           std::span<const circuit::ReadoutError> readout,
                                           std::string* why_not, const MagicLimits& limits = {});

/// The program whose shots tableaux draw.
CliffordProgram of_steered(std::shared_ptr<const SteeredClifford> steered);

}  // namespace tilewave::simulate
