// Dialects of Stim's language: what other tools read of it, and a circuit written for one of them.
// What a dialect has no word for is written with words that it has, exactly: the joint distribution
// of all records stays what it was, and so do their order, detectors and observables. What cannot be
// written so is refused. Some rewritings need a qubit of their own, behind those of the circuit.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::language {

enum class Dialect : std::uint8_t {
  kTilewave,  ///< the words of this program: all of the others, by their canonical names
  kStim,
  kClifft,
  kSymft,
  kTsim,  ///< with gates beyond Clifford as tags
  kDeltakit,
  kCustabilizer,
};

/// Their names, in the order of the enumeration.
std::span<const std::string_view> dialect_names();
/// Throws Error(kUsage) with the names that there are.
Dialect parse_dialect(std::string_view name);

/// The text of a circuit in a dialect. Throws Error(kInput) with `file`, line, word and reason where
/// the dialect cannot say what the circuit does.
std::string print_dialect(const circuit::StabilizerCircuit& circuit, Dialect dialect,
                          std::string_view file = "<circuit>");

}  // namespace tilewave::language
