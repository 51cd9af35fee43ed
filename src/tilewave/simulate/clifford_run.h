// Clifford circuits, with Pauli errors or without, whose shots are all that is asked for: no state
// of 2^n amplitudes is needed, the stabilizer engine draws them from a frame of 2 n bits a shot.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/circuit/noise_model.h"
#include "tilewave/simulate/clifford_program.h"
#include "tilewave/simulate/saved_walk.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::simulate {

/// What run_clifford will take, from the numbers of operations, errors and records.
double predict_clifford(const CliffordProgram& clifford, std::uint64_t shots);

/// True when the engine's answer is all that is asked: counts and shots, or those of no shots.
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
