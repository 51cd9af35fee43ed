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

std::string print_stim(const circuit::StabilizerCircuit& circuit);

/// The shortest decimal that reads back as `value`.
std::string shortest_number(double value);

/// A tag between brackets, with newline, carriage return, backslash and `]` escaped.
std::string escape_tag(std::string_view tag);

}  // namespace tilewave::language
