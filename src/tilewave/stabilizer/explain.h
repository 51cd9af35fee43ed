// Which places of a circuit cause which symptoms: every error of every noise channel, grouped by
// the detectors and observables it flips, with the instruction, loop iterations and targets where
// it happens. One walk backwards (sensitivity.h) over the unrolled circuit.
#pragma once

#include <string>

#include "tilewave/circuit/error_model.h"
#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::stabilizer {

struct ExplainOptions {
  bool single = false;                          ///< the simplest place of each only
  const circuit::ErrorModel* filter = nullptr;  ///< explain these errors; null: all there are
  std::string name = "<circuit>";               ///< of the source, for messages
};

/// The explanation as text in the layout of Stim's command. Throws Error(kInput) when an observable
/// is random, Error(kResources) when the unrolled circuit has too many errors.
std::string explain_errors(const circuit::StabilizerCircuit& circuit,
                           const ExplainOptions& options);

}  // namespace tilewave::stabilizer
