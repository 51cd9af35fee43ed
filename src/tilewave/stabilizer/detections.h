// Measured shots into detection events: detector = parity of its records, against the parity they
// have without noise (the reference sample), and against what the shot's sweep bits flip.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {

class DetectionConverter {
 public:
  /// `reference`: false takes all records of the noiseless shot as 0. `feedback`: false for shots
  /// that were measured without the circuit's feedback, whose effect is then put into the
  /// detectors. Throws Error(kResources) for a circuit whose detectors do not fit memory.
  DetectionConverter(const StabProgram& program, bool reference, bool feedback = true);

  std::uint64_t num_detectors() const { return num_detectors_; }
  std::uint64_t num_observables() const { return num_observables_; }
  std::uint64_t row_bytes() const { return (num_detectors_ + num_observables_ + 7) / 8; }

  /// rows of measurements (`stride` bytes apart) to rows of detectors, then observables; `sweep`
  /// may be null for zeros.
  void convert(const std::uint8_t* measurements, std::size_t stride, const std::uint8_t* sweep,
               std::size_t sweep_stride, std::size_t num_shots, std::uint8_t* out) const;

 private:
  std::uint64_t num_detectors_, num_observables_;
  // Records of output bit b: records_[first_[b] .. first_[b + 1]).
  std::vector<std::uint64_t> first_;
  std::vector<std::uint64_t> records_;
  std::vector<std::uint8_t> expected_;  // a row
  std::vector<std::vector<std::uint32_t>> sweep_flips_;
};

}  // namespace tilewave::stabilizer
