// Clifford circuits, with Pauli errors or without, whose shots are all that is asked for: no state
// of 2^n amplitudes is needed, the stabilizer engine draws them from a frame of 2 n bits a shot.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/circuit/noise_model.h"
#include "tilewave/circuit/stabilizer_circuit.h"
#include "tilewave/simulate/saved_walk.h"
#include "tilewave/simulate/simulate.h"
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

/// What run_clifford will take, from the numbers of operations, errors and records.
double predict_clifford(const CliffordProgram& clifford, std::uint64_t shots);

/// True when the engine's answer is all that is asked: counts and shots.
bool asks_only_shots(const Options& options, std::uint32_t num_qubits);

/// Up to here a state vector answers as fast, with the same shots on every device.
constexpr std::uint32_t kMostSmallQubits = 20;

/// Throws the error of a state that does not fit, with the reason why the engine cannot do without.
[[noreturn]] void fail_without_state(const Error& error, const std::string& why_not);

/// The circuit as steps of tableaux, for the means of Pauli strings: of a Clifford circuit of more than
/// kMostSmallQubits qubits that something acts on, or of any where `options` name the engine. Where
/// outcomes or errors are drawn and a state vector fits memory, that one shares what shots have in
/// common, and is taken. Null with the reason in `why_not`, which stays empty in that case.
std::shared_ptr<const SteeredClifford> choose_tableaux(
    const Program& program, const Options& options, std::span<const circuit::ReadoutError> readout,
    std::string* why_not);

/// Fills the expectation values of `result`, whose seed is set, and what run_clifford() fills where
/// there are shots. Without noise and measurements in the middle the values are exact.
void run_tableaux(const Program& program, const std::shared_ptr<const SteeredClifford>& tableaux,
                  std::span<const circuit::ReadoutError> readout, const Options& options,
                  Result& result);

/// True when means of Pauli strings, and shots perhaps, are all that is asked.
bool asks_only_means(const Options& options);

/// Fills the counts, the shots where they are wanted, the plan, the device and the times of
/// `result`, whose seed is set. Keeps checkpoints behind `header` where the options say so, and goes
/// on with `resumed`; null: begins.
void run_clifford(const Program& program, const CliffordProgram& clifford, const Options& options,
                  RunHeader header, ResumedRun* resumed, Result& result);

}  // namespace tilewave::simulate
