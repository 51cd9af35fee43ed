// An error model while it is being made: stretches of the circuit, each with its errors, and loops
// that hold the stretches of one period. A walk backwards makes it, so everything is listed last
// first, and the numbers of a loop are those of its last period until it is known how often it
// repeats. Then the errors that flip more than two detectors are split, and the whole is printed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewave/circuit/error_model.h"
#include "tilewave/stabilizer/error_table.h"

namespace tilewave::stabilizer {

struct ModelNode;
using ModelNodes = std::vector<std::unique_ptr<ModelNode>>;  // last first

struct ModelNode {
  ErrorTable errors;  // of a stretch
  std::vector<circuit::DemInstruction>
      notes;                 // detectors, shifts and observables; absolute numbers
  ModelNodes body;           // of a loop
  std::uint64_t repeat = 1;  // periods of a loop; 1: a stretch
  std::uint64_t stride = 0;  // detectors of one period
  std::string tag;           // of a loop
};

/// Moves all detectors down.
void shift(ModelNode& node, std::uint64_t by);

/// Puts `more` behind `nodes`; stretches that meet become one.
void append(ModelNodes& nodes, ModelNodes more);

/// A loop of `times` periods from the nodes of its last one, which has `stride` detectors.
std::unique_ptr<ModelNode> make_loop(ModelNodes last, std::uint64_t times, std::uint64_t stride);

struct SplitOptions {
  bool keep_failures = false;  ///< errors that cannot be split stay
  bool only_known = false;     ///< no part that is not known elsewhere
};
/// Splits what flips more than two detectors. Throws Error(kInput) where there is no way to.
void split_errors(ModelNodes& nodes, const SplitOptions& options);

/// Writes the model. `tags`: of the errors.
void print_model(const ModelNodes& nodes, std::span<const std::string> tags,
                 circuit::DemSink& sink);

}  // namespace tilewave::stabilizer
