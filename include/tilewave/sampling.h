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
  std::string faults{};
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

/// An estimated probability and the ends of its confidence interval.
struct Estimate {
  double value = 0;  ///< the estimate
  double low = 0;    ///< the lower end
  double high = 0;   ///< the upper end
};

/// What sample_strata() does.
struct StrataOptions {
  std::uint64_t num_shots = 0;  ///< of all strata together, at least eight for each
  /// Numbers of faults such as "2-7,8+", each of them a stratum; what is left below, between and above
  /// becomes strata too. "auto": those that are neither very rare nor too many.
  std::string strata = "auto";
  /// Detectors that must be silent, as in Sampler::count_kept(): "all", "0,3,5-8"; empty: all shots
  /// are kept.
  std::string silent;
  /// No kept shot with fewer faults is wrong; 0: nothing is known. Where one is wrong after all,
  /// Error(kUsage) is thrown.
  std::uint64_t fault_distance = 0;
  bool even = false;  ///< as many shots for every stratum; else by what it adds to the variance
  double confidence = 0.95;           ///< of intervals, from 0.5 on and below 1
  std::optional<std::uint64_t> seed;  ///< drawn where it is not given
  int threads = 0;                    ///< 0: all cores
};

/// Shots with a number of faults, drawn given that they have it.
struct Stratum {
  std::string faults{};                    ///< the number, such as "3" or "8+"
  double weight = 0;                       ///< the probability of such a number
  std::uint64_t attempted = 0;             ///< shots made
  std::uint64_t kept = 0;                  ///< shots in which the chosen detectors are silent
  std::vector<std::uint64_t> observables;  ///< of every observable, the kept shots that flip it
  std::uint64_t any_observable = 0;        ///< kept shots that flip some observable
};

/// What sample_strata() finds.
struct StrataTable {
  std::vector<Stratum> strata;        ///< by numbers of faults; they cover all numbers
  std::uint64_t attempted = 0;        ///< shots of all strata
  std::uint64_t seed = 0;             ///< of the shots
  Estimate kept;                      ///< the share of shots that is kept
  std::vector<Estimate> observables;  ///< of every observable, the share of kept shots that flip it
  Estimate any_observable;            ///< the share of kept shots that flip some observable
};

/// Importance sampling by the number of faults, for errors too rare to wait for: shots with given
/// numbers of faults are drawn exactly and weighed by the exact probabilities of these numbers. On the
/// CPU; the result depends on the seed alone. Throws Error(kInput) with line and column for a text that
/// cannot be read, and for circuits with leakage; Error(kUsage) for threads out of 0 to 4096, for strata that overlap or that no shot
/// is in, and for too few shots.
StrataTable sample_strata(std::string_view stim_circuit, const StrataOptions& options);

/// The probabilities that 0, 1, ... `most` places of noise of a circuit fire in a shot, to some twelve
/// digits. Throws Error(kInput) as sample_strata(), Error(kUsage) above 2^20 and where more places than
/// `most` always fire.
std::vector<double> fault_probabilities(std::string_view stim_circuit, std::uint64_t most);

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
