// Inputs of a program that have no value, as parameters of its circuit.
//
// While the program is read such an input is a number in 64 classical bits that nobody writes, as
// values are that depend on measurements: angles become expressions of those bits. At the end each of
// them is found to be affine in the inputs, or is refused, and the bits are taken out.
#pragma once

#include <string>
#include <vector>

#include "tilewave/circuit/circuit.h"

namespace tilewave::language::qasm3 {

struct UnboundInput {
  std::string name;
  circuit::Clbit first = 0;  ///< of its 64 bits
};

/// The circuit with parameters in the place of those bits. Throws Error(kInput) that names the file
/// and the line of what is not affine in them, and of what else depends on them.
circuit::Circuit with_parameters(circuit::Circuit circuit, const std::vector<UnboundInput>& inputs,
                                 const std::string& file_name);

}  // namespace tilewave::language::qasm3
