// Circuits from files in whatever language they are written.
#pragma once

#include <string>
#include <string_view>

#include "tilewave/circuit/circuit.h"

namespace tilewave::io {

/// Reads OpenQASM 2 or qsim's text format, told apart by content: qsim's starts with the number of
/// qubits. Throws Error(kInput) for a file that cannot be read and for what is wrong in it.
circuit::Circuit read_circuit_file(const std::string& path);

/// The same from a text; `name` stands in messages.
circuit::Circuit parse_circuit(std::string_view text, const std::string& name);

}  // namespace tilewave::io
