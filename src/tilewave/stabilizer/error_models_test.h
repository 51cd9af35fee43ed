// The error model of a circuit as text, for tests.
#pragma once

#include <string>

#include "tilewave/base/thrown_test.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/error_analysis.h"

namespace tilewave::stabilizer::error_models_test {

inline std::string model(const std::string& circuit, const AnalysisOptions& options = {}) {
  return language::print_dem(analyze_errors(lower(language::parse_stim(circuit)), options));
}

inline AnalysisOptions folding() {
  AnalysisOptions o;
  o.fold_loops = true;
  return o;
}

/// The error that analysing the circuit ends with, or "no error".
inline std::string refusal(const std::string& circuit, const AnalysisOptions& options) {
  return error_of([&] { model(circuit, options); });
}

}  // namespace tilewave::stabilizer::error_models_test
