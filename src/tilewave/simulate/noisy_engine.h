// Which state-vector engine runs a noisy circuit: one density matrix of 2n qubits, exact, or as many
// trajectories as there are shots, whichever is predicted to be faster. simulate.cc compares the
// winner with the stabilizer engine where the circuit has Clifford gates and Pauli errors only.
#pragma once

#include <limits>
#include <span>
#include <string>

#include "tilewave/circuit/noise_model.h"
#include "tilewave/simulate/density_program.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::simulate {

enum class NoisyEngine : std::uint8_t { kDensity, kTrajectories };

struct NoisyChoice {
  NoisyEngine engine = NoisyEngine::kTrajectories;
  std::string reason;                 ///< with both costs where they are known
  std::string name = "trajectories";  ///< of the engine, with its cost where it is known
  double predicted_s = std::numeric_limits<double>::infinity();  ///< where it is known
};

/// Whether a density matrix of `program` finds means without a draw, by walk_outcomes(): no more
/// outcomes than shots that are asked for, of which as many states are made anyway, or a number that
/// is small in itself. `readout`: one a qubit of the state, or none.
bool walks_outcomes(const Program& program, const Options& options,
                    std::span<const circuit::ReadoutError> readout);

/// `density` is filled where that engine is chosen. Throws Error(kUsage) for a forced engine that
/// cannot run, Error(kResources) for a density matrix that does not fit.
NoisyChoice choose_noisy_engine(const Program& program, const Options& options,
                                std::uint64_t num_trajectories, DensityProgram& density,
                                std::span<const circuit::ReadoutError> readout = {});

}  // namespace tilewave::simulate
