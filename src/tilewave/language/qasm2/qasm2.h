// OpenQASM 2 to and from circuits.
//
// Reading streams: one pass over the text, every statement becomes operations at once, no syntax
// tree. Gate definitions are compiled when they are read (qubit slots and stack-machine angles), so
// calling them costs little more than calling a built-in gate. `qelib1.inc` is built in, in the
// extended form Qiskit writes, and its gates and Qiskit's further standard gates are rows of the
// gate table, known with or without the include; a definition in the file always wins over a
// built-in gate of that name. An `if` whose number does not fit its register can never hold and
// adds no operation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/language/qasm/reading.h"

namespace tilewave::language {

/// Reads a program. `file_name` stands in messages; further includes are looked up beside it,
/// and their paths are appended to `included`. Throws Error(kInput): `file:line:column: problem`,
/// the line and a caret.
circuit::Circuit parse_qasm2(std::string_view text, const std::string& file_name,
                             std::vector<std::string>* included = nullptr,
                             const Reading& reading = {});

/// Prints a circuit as OpenQASM 2; reading it gives the same operations and printing those the same
/// text. Angles are the shortest text that reads back to the same number. Throws Error(kInput) for
/// what the language cannot say: matrices and controls that no gate of the table has.
std::string to_qasm2(const circuit::Circuit& circuit);

}  // namespace tilewave::language
