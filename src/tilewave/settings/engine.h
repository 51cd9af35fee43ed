// What computes an answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewave {

/// Of a circuit's answers.
enum class Engine : std::uint8_t {
  kAuto,          ///< by predicted time
  kStatevector,   ///< 2^n amplitudes
  kStabilizer,    ///< Clifford circuits: counts and shots
  kDensity,       ///< noisy circuits, exact: a state of 2n qubits
  kTrajectories,  ///< noisy circuits: a state vector for each history of the noise
};
std::string_view name_of(Engine engine);
/// Throws Error(kUsage) with the list of words.
Engine parse_engine(std::string_view text);
/// "auto, statevector, stabilizer, density or trajectories"
std::string engine_words();

/// Of shots of an error-correction circuit.
enum class SamplingEngine : std::uint8_t {
  kAuto,    ///< by predicted time
  kFrame,   ///< Pauli frames, gate by gate
  kSparse,  ///< what each error flips, error by error
};
std::string_view name_of(SamplingEngine engine);
SamplingEngine parse_sampling_engine(std::string_view text);
std::string sampling_engine_words();

}  // namespace tilewave
