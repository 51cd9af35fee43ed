// Shots of error-correction circuits in Stim's language.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/error.h"
#include "tilewave/settings.h"

namespace tilewave {

/// What a row of shots holds.
enum class ShotContent : std::uint8_t {
  kMeasurements,  ///< all measurement results, in order
  kDetectors,     ///< detectors, then observables
};

/// What a Sampler draws, and where.
struct SamplerOptions {
  ShotContent content = ShotContent::kDetectors;  ///< what a row holds
  std::optional<std::uint64_t> seed;              ///< drawn where it is not given
  SamplingEngine engine = SamplingEngine::kAuto;  ///< how shots are drawn
  std::string device = "cpu";                     ///< as in SessionOptions
  int threads = 0;                                ///< 0: all cores
  /// Shots in which so many places of noise fire: "3", "3-8", "3+"; empty: any number. On the CPU.
  std::string faults;
};

/// Shots as rows of bits, eight a byte, the lowest first; the bits above the last are 0.
struct ShotTable {
  std::uint64_t num_shots = 0;      ///< rows
  std::uint64_t num_bits = 0;       ///< in a row
  std::uint64_t row_bytes = 0;      ///< (num_bits + 7) / 8
  std::vector<std::uint8_t> bytes;  ///< num_shots * row_bytes, row after row

  /// A bit of a shot, both counted from 0. The indices are not checked.
  bool bit(std::uint64_t shot, std::uint64_t index) const {
    return bytes[shot * row_bytes + index / 8] >> (index % 8) & 1;
  }
};

/// What post-selection leaves of shots.
struct KeptShots {
  std::uint64_t attempted = 0;             ///< shots made
  std::uint64_t kept = 0;                  ///< shots in which the chosen detectors are silent
  std::vector<std::uint64_t> observables;  ///< of every observable, the kept shots that flip it
};

/// Draws shots of an error-correction circuit, one call after the other. The same seed gives the
/// same shots on every device, with any number of threads, in any number of calls. One thread at a
/// time may call it.
class Sampler {
 public:
  /// Prepares a circuit in Stim's language. Throws Error(kInput) with line and column for a text
  /// that cannot be read, Error(kUsage) for options that do not fit, and Error(kResources) for a
  /// device that is not there or too little memory.
  explicit Sampler(std::string_view stim_circuit, const SamplerOptions& options = {});
  /// Takes the circuit of another sampler, which then may only be assigned to or destroyed.
  Sampler(Sampler&&) noexcept;
  /// Takes the circuit of another sampler, which then may only be assigned to or destroyed.
  Sampler& operator=(Sampler&&) noexcept;
  /// Gives the memory back.
  ~Sampler();

  /// The number of bits of a shot: of measurements, or of detectors and observables.
  std::uint64_t num_bits() const;
  /// The number of detectors of the circuit.
  std::uint64_t num_detectors() const;
  /// The number of logical observables of the circuit.
  std::uint64_t num_observables() const;
  /// The next `num_shots` shots of the sequence that the seed begins. Throws Error(kResources)
  /// where they do not fit into memory.
  ShotTable sample(std::uint64_t num_shots);
  /// Makes the next `num_shots` shots and counts those in which the detectors of `silent` are silent:
  /// `all`, or numbers and ranges such as "0,3,5-8". No shot is stored; on a GPU none leaves it.
  /// Throws Error(kUsage) where a row holds measurements, and for words that name no detectors.
  KeptShots count_kept(std::uint64_t num_shots, std::string_view silent = "all");
  /// The probability that a shot has as many faults as SamplerOptions::faults says; 1 where it
  /// says nothing.
  double weight() const;
  /// The chosen engine and its program, as a text to read.
  std::string explain() const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

/// The error model of a circuit in Stim's language, in Stim's detector error model format. With
/// `decompose_errors`, errors that flip more than two detectors are written as parts that flip at
/// most two. Throws Error(kInput) with line and column for a text that cannot be read, and for
/// circuits that have no such model (detectors whose value is random).
std::string detector_error_model(std::string_view stim_circuit, bool decompose_errors = false);

/// A circuit in Stim's language, written for another tool: `dialect` is tilewave, stim, clifft, symft,
/// tsim, deltakit or custabilizer. Instructions that the tool lacks are written exactly with those that
/// it has; records keep their order and their joint distribution. Throws Error(kInput) with line and
/// column for a text that cannot be read, with line, instruction and reason for what the dialect cannot
/// say, and Error(kUsage) for another dialect.
std::string convert_circuit(std::string_view stim_circuit, std::string_view dialect);

}  // namespace tilewave
