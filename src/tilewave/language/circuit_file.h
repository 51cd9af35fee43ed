// Circuits from files in whatever language they are written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/language/qasm3/qasm3.h"

namespace tilewave::language {

/// Reads OpenQASM 2 or 3 or qsim's text format, told apart by content: qsim's format starts with
/// the number of qubits, OpenQASM 3 with its version, or without one it looks like it
/// (qasm/version.h). "-" is the standard input. `inputs` are for OpenQASM 3. Throws Error(kInput)
/// for a file that cannot be read and for what is wrong in it, Error(kResources) for a circuit that
/// does not fit the memory. Appends the paths of the files that the program includes to `included`.
circuit::Circuit read_circuit_file(const std::string& path, const ProgramInputs& inputs = {},
                                   std::vector<std::string>* included = nullptr,
                                   Includes includes = Includes::kAllowed,
                                   UnboundInputs unbound = UnboundInputs::kRefused);

/// The same from a text; `name` stands in messages.
circuit::Circuit parse_circuit(std::string_view text, const std::string& name,
                               const ProgramInputs& inputs = {},
                               std::vector<std::string>* included = nullptr,
                               Includes includes = Includes::kAllowed,
                               UnboundInputs unbound = UnboundInputs::kRefused);

}  // namespace tilewave::language
