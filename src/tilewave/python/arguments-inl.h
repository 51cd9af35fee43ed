// Numbers as Python gives them. Methods of circuits take them as they come and convert them here,
// so that what is wrong is said in a sentence that names the argument.
#pragma once

#include <cstdint>
#include <vector>

#include <nanobind/nanobind.h>

#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/named_angles.h"

namespace tilewave::python {

/// Which argument of which call, for messages; `hint` ends the message about a wrong type.
struct ArgumentName {
  const char* call;
  const char* argument;
  const char* hint = "";
};

/// A qubit below `num_qubits`. Raises TypeError for what is no whole number, ValueError for one
/// that is out of range.
circuit::Qubit qubit_of(nanobind::handle value, std::uint32_t num_qubits, const ArgumentName& name);

/// The same of classical bits.
circuit::Clbit clbit_of(nanobind::handle value, std::uint32_t num_clbits, const ArgumentName& name);

/// Qubits of a list, of an array of one dimension, or of one number.
std::vector<circuit::Qubit> qubits_of(nanobind::handle value, std::uint32_t num_qubits,
                                      const ArgumentName& name);
std::vector<circuit::Clbit> clbits_of(nanobind::handle value, std::uint32_t num_clbits,
                                      const ArgumentName& name);

/// A number of qubits or bits, 0 or more. Raises TypeError for what is no whole number, ValueError
/// for a negative one and for more than a circuit can hold.
std::uint32_t count_of(nanobind::handle value, const ArgumentName& name);

/// A real number. Raises TypeError.
double number_of(nanobind::handle value, const ArgumentName& name);
std::vector<double> numbers_of(nanobind::handle value, const ArgumentName& name);

/// An angle: a number, or what tilewave.ParameterExpression is. Raises TypeError for what is neither.
circuit::NamedAngle angle_of(nanobind::handle value, const ArgumentName& name);
std::vector<circuit::NamedAngle> angles_of(nanobind::handle value, const ArgumentName& name);

}  // namespace tilewave::python
