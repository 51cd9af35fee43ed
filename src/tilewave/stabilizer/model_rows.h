// The shots of a detector error model as rows of bits: detectors, observables and, where they are
// asked for, a bit of its own for every error of the unrolled model, in the order of its text. An
// error is an independent mechanism of the sparse engine (sparse_program.h) that flips its bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewave/circuit/error_model.h"
#include "tilewave/stabilizer/fault_sites.h"
#include "tilewave/stabilizer/sparse_program.h"

namespace tilewave::stabilizer {

struct ModelRows {
  std::string name;  ///< of the model's source
  std::uint64_t num_detectors = 0, num_observables = 0;
  std::vector<IndependentError> errors;  ///< `bits` with its own bit, where rows have them
  bool with_errors = false;

  std::uint64_t first_error() const { return num_detectors + num_observables; }
  std::uint64_t num_bits() const { return first_error() + (with_errors ? errors.size() : 0); }
  std::uint64_t row_bytes() const { return (num_bits() + 7) / 8; }

  SparseProgram program() const;
  /// For shots with a given number of errors: each is a place of noise.
  FaultProgram faults() const;
  /// The rows of shots whose errors are given: `drawn` are rows of a bit for every error, `stride`
  /// bytes apart, `rows` get row_bytes() each.
  void replay(const std::uint8_t* drawn, std::size_t stride, std::size_t num_shots,
              std::uint8_t* rows) const;
};

/// `name` is that of the model's source. Throws Error(kResources) where a row or the unrolled model
/// is too large.
ModelRows model_rows(const circuit::ErrorModel& model, bool with_errors, const std::string& name);

}  // namespace tilewave::stabilizer
