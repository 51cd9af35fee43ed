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

enum class ShotContent : std::uint8_t {
  kMeasurements,  ///< all measurement results, in order
  kDetectors,     ///< detectors, then observables
};

struct SamplerOptions {
  ShotContent content = ShotContent::kDetectors;
  std::optional<std::uint64_t> seed;  ///< drawn where it is not given
  SamplingEngine engine = SamplingEngine::kAuto;
  std::string device = "cpu";  ///< as in SessionOptions
  int threads = 0;             ///< 0: all cores
};

/// Rows of bits, eight a byte, the lowest first.
struct ShotTable {
  std::uint64_t num_shots = 0, num_bits = 0;
  std::uint64_t row_bytes = 0;  ///< (num_bits + 7) / 8
  std::vector<std::uint8_t> bytes;

  bool bit(std::uint64_t shot, std::uint64_t index) const {
    return bytes[shot * row_bytes + index / 8] >> (index % 8) & 1;
  }
};

/// The same seed gives the same shots on every device, with any number of threads, in any number of
/// calls.
class Sampler {
 public:
  /// Throws Error(kInput) with line and column.
  explicit Sampler(std::string_view stim_circuit, const SamplerOptions& options = {});
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;
  ~Sampler();

  std::uint64_t num_bits() const;
  std::uint64_t num_detectors() const;
  std::uint64_t num_observables() const;
  /// The next shots of the sequence.
  ShotTable sample(std::uint64_t num_shots);
  /// The chosen engine and its program.
  std::string explain() const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

/// The error model of a circuit, in Stim's detector error model format.
std::string detector_error_model(std::string_view stim_circuit, bool decompose_errors = false);

}  // namespace tilewave
