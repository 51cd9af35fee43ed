// qsim's text format: the number of qubits on the first line, then one gate a line,
// `time name qubits parameters`, `time c controls... name qubits parameters` for controlled gates
// and `time m qubits` for measurements, whose results fill classical bits in the order written.
// Times must grow along every qubit; gates are taken in the order of the file.
//
// Two gates count their angles their own way: `cp phi` is e^{-i phi} on 11, `rxy theta phi` turns
// by phi about cos(theta) X + sin(theta) Y. `hz_1_2` and the other roots carry qsim's phases.
#pragma once

#include <string>
#include <string_view>

#include "tilewave/circuit/circuit.h"

namespace tilewave::language {

/// Reads a circuit. Throws Error(kInput): `file:line:column: problem`, the line and a caret.
circuit::Circuit parse_qsim_text(std::string_view text, const std::string& file_name);

}  // namespace tilewave::language
