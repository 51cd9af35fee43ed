// Choices of a run.
#pragma once

#include <cstdint>

namespace tilewave {

/// The floating-point format of amplitudes: each has a real and an imaginary part.
enum class Precision : std::uint8_t {
  kSingle,  ///< 32-bit numbers: 8 bytes an amplitude
  kDouble,  ///< 64-bit numbers: 16 bytes an amplitude
};

/// What computes the answers of a circuit.
enum class Engine : std::uint8_t {
  kAuto,          ///< the one with the shortest predicted time
  kStatevector,   ///< the 2^n amplitudes of n qubits
  kStabilizer,    ///< for Clifford circuits of thousands of qubits: shots, Pauli strings
  kDensity,       ///< for noisy circuits: the exact density matrix, a state of 2n qubits
  kTrajectories,  ///< for noisy circuits: a state vector for each history of the noise
};

/// What draws shots of an error-correction circuit.
enum class SamplingEngine : std::uint8_t {
  kAuto,    ///< the one with the shortest predicted time
  kFrame,   ///< moves Pauli frames through the circuit, gate by gate
  kSparse,  ///< draws the errors that happen and flips what each of them flips
};

/// How much planning a run is worth.
enum class Effort : std::uint8_t {
  kAuto,      ///< once at first; repeated where that pays for itself within the run, or when the
              ///< circuit comes again
  kOnce,      ///< a greedy plan, in a few milliseconds
  kRepeated,  ///< a plan that was searched for, about as long as a few passes take
  kBest,      ///< the same, and on one GPU seconds for what makes later runs faster (kernels of
              ///< their own)
};

}  // namespace tilewave
