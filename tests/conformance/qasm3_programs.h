// What OpenQASM 3 programs leave in their registers, and the errors and notes of reading them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/language/qasm3/qasm3.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::qasm3_test {

using Bits = std::uint64_t;

inline std::string row(Bits u, int n) {
  std::string text;
  for (int k = n; k-- > 0;) text += u >> k & 1 ? '1' : '0';
  return text;
}

inline std::string head() { return "OPENQASM 3.0; include \"stdgates.inc\";"; }

/// What a program without randomness leaves in its registers, the last declared first.
inline std::string outcome(const std::string& program, const language::ProgramInputs& inputs = {}) {
  const circuit::Circuit c =
      language::parse_circuit(head() + program + "bit last = 1;", "test", inputs);
  simulate::Options options;
  options.shots = 1;
  options.seed = 1;
  const std::string all = simulate::simulate(c, options).counts.begin()->first;
  return all.substr(std::min<std::size_t>(2, all.size()));
}

inline std::string error_of(const std::string& program,
                            const language::ProgramInputs& inputs = {}) {
  return first_line(tilewave::error_of([&] { outcome(program, inputs); }, ExitCode::kInput));
}

/// The notes that reading a program leaves.
inline std::string notes(const std::string& program) {
  std::string all;
  const circuit::Circuit c = language::parse_circuit(program, "test");
  for (const std::string& note : c.notes()) all += note + '\n';
  return all;
}

/// What ends in the registers, first the last one declared.
inline std::string registers_of(const std::string& program,
                                const language::ProgramInputs& inputs = {}) {
  const circuit::Circuit c = language::parse_circuit(head() + program, "test", inputs);
  simulate::Options options;
  options.shots = 3;
  options.seed = 1;
  const auto counts = simulate::simulate(c, options).counts;
  return counts.size() == 1 ? counts.begin()->first : std::to_string(counts.size()) + " outcomes";
}

/// `n` measured bits, all 0, and their number.
inline std::string zeros(int n) {
  const std::string size = std::to_string(n);
  return "qubit q; bit[" + size + "] m; for int i in [0:" + std::to_string(n - 1) +
         "] { m[i] = measure q; } int n = int(uint[" + size + "](m)); int r = 0; float f = 0;";
}

}  // namespace tilewave::qasm3_test
