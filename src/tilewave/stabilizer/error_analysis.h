// The detector error model of a circuit: every channel as independent errors, each with the
// detectors and observables it flips, found by one walk backwards (sensitivity.h).
#pragma once

#include "tilewave/circuit/error_model.h"
#include "tilewave/stabilizer/stab_program.h"

namespace tilewave::stabilizer {

struct AnalysisOptions {
  bool decompose_errors = false;       ///< suggest parts that flip at most two detectors
  bool fold_loops = false;             ///< keep loops as repeat blocks
  bool allow_gauge_detectors = false;  ///< detectors that are random together become error(0.5)
  /// Disjoint branches up to this probability count as independent.
  double approximate_disjoint_errors = 0;
  bool ignore_decomposition_failures = false;
  bool block_remnant_edges = false;  ///< only parts that are errors of their own
};

/// Throws Error(kInput) for what cannot be analysed under the options. The instructions go to
/// `sink` one by one: the text of a model takes more memory than what it is made from.
void analyze_errors(const StabProgram& program, const AnalysisOptions& options,
                    circuit::DemSink& sink);
circuit::ErrorModel analyze_errors(const StabProgram& program, const AnalysisOptions& options);

}  // namespace tilewave::stabilizer
