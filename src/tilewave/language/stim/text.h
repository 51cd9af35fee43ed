// Stim's circuit language, text to circuit and back. Names are case-insensitive and may be aliases;
// tags, arguments, `!`, Pauli products, rec[-k], sweep[k] and nested REPEAT blocks are read. The
// printer writes canonical names, four spaces an indent: parse(print(c)) prints the same text.
#pragma once

#include <string>
#include <string_view>

#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::language {

/// Parses a whole circuit. Throws Error(kInput) with `file`:line:column, the line and a caret.
circuit::StabilizerCircuit parse_stim(std::string_view text, std::string_view file = "<circuit>");

/// How gates beyond Clifford are spelled, and numbers: 2e-06 except in kDecimals.
enum class StimSpelling : std::uint8_t {
  kNames,            ///< T 0, R_PAULI(0.5) X0*X1 Y2
  kDecimals,         ///< the same, but numbers have no exponent: 0.000002
  kOneProductALine,  ///< the same, but R_PAULI has a single product
  kTags,             ///< S[T] 0, SPP[R_PAULI(theta=0.5*pi)] X0*X1, one product a line
};
std::string print_stim(const circuit::StabilizerCircuit& circuit,
                       StimSpelling spelling = StimSpelling::kNames);

/// The shortest decimal that reads back as `value`.
std::string shortest_number(double value);

/// "(1, 2.5)", or nothing where there are no numbers.
std::string in_parentheses(std::span<const double> numbers);

/// A tag between brackets, with newline, carriage return, backslash and `]` escaped.
std::string escape_tag(std::string_view tag);

}  // namespace tilewave::language
