// Choices of a run.
#pragma once

#include <cstdint>

namespace tilewave {

/// Of amplitudes.
enum class Precision : std::uint8_t { kSingle, kDouble };

/// What computes the answers of a circuit.
enum class Engine : std::uint8_t {
  kAuto,          ///< by predicted time
  kStatevector,   ///< 2^n amplitudes
  kStabilizer,    ///< Clifford circuits: counts and shots
  kDensity,       ///< noisy circuits, exact: a state of 2n qubits
  kTrajectories,  ///< noisy circuits: a state vector for each history of the noise
};

/// What draws shots of an error-correction circuit.
enum class SamplingEngine : std::uint8_t {
  kAuto,    ///< by predicted time
  kFrame,   ///< Pauli frames, gate by gate
  kSparse,  ///< what each error flips, error by error
};

/// How much planning a run is worth.
enum class Effort : std::uint8_t {
  kAuto,      ///< once at first; repeated where that pays for itself within the run, or when the
              ///< circuit comes again
  kOnce,      ///< a greedy plan, in a few milliseconds
  kRepeated,  ///< a plan that was searched for, about as long as a few passes take
  kBest,      ///< the same, and seconds for what makes later runs faster (kernels of their own)
};

}  // namespace tilewave
