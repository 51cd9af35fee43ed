// OpenQASM 3 to circuits.
//
// A statement is read, run and forgotten; loops and subroutines are unrolled and inlined. Whatever
// does not depend on a measurement is computed while reading. What does becomes conditions and
// classical assignments of the circuit: every classical value is a table over the measured bits it
// depends on (value.h), an `if` on such a value puts its condition on every operation of its
// body, and a bit that is overwritten while something still refers to it is first copied to a
// hidden classical bit. `stdgates.inc` is built in, known with or without the include, together
// with every gate of the gate table; a definition in the file wins.
//
// Gates mean what their rows of the table say. U has the phase of the OpenQASM 3 text,
// e^{i theta/2} times the table's u, and u2 and u3 that of its stdgates.inc, where it can be
// observed: under ctrl @ and negctrl @, directly or inside a definition. Elsewhere it is left out.
//
// A while loop whose end depends on a measurement becomes jumps of the circuit, with the variables
// that it writes in classical bits (loops.cc). Times are read and checked, and nothing waits.
//
// Refused: the pulse level (cal, defcal, durationof), extern, complex numbers, and what has to be
// known before the circuit runs, such as sizes and numbers of controls, where it depends on a
// measurement (docs/openqasm3.md lists all of it).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/language/qasm/reading.h"

namespace tilewave::language {

/// Values of a program's `input` declarations, as text: a number or an expression (`pi/2`), `true`
/// or `false`, a row of bits (`0101` for bit[4], `"0101"` also for angle[4]), a time (`100ns`).
using ProgramInputs = std::map<std::string, std::string>;

/// Reads a program. `file_name` stands in messages; includes are looked up beside it, and
/// their paths are appended to `included`. Throws Error(kInput): `file:line:column: problem`, the
/// line and a caret.
circuit::Circuit parse_qasm3(std::string_view text, const std::string& file_name,
                             const ProgramInputs& inputs = {},
                             std::vector<std::string>* included = nullptr,
                             const Reading& reading = {});

}  // namespace tilewave::language
