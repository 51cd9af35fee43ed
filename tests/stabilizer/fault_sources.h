// Sources of shots with a given number of faults, of circuits in files too.
#pragma once

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/sample/strata.h"

namespace tilewave::stabilizer {

inline std::unique_ptr<ShotSource> source_of(const StabProgram& program, ShotOutput output,
                                             FaultRange faults, int threads = 1) {
  SampleOptions options;
  options.output = output;
  options.num_threads = threads;
  options.faults = faults;
  return make_shot_source(program, options);
}

/// The circuit in a file of tests/data/near_clifford.
inline StabProgram file_program(const std::string& name) {
  std::ifstream in(std::string(TW_NEAR_CLIFFORD_DATA) + "/" + name);
  std::stringstream text;
  text << in.rdbuf();
  return lower(language::parse_stim(text.str()), name, Rotations::kKeep);
}

}  // namespace tilewave::stabilizer
