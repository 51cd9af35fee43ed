// Gates whose angles hold parameters that go by name, as people write them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tilewave/circuit/circuit.h"

namespace tilewave::circuit {

/// A constant and the coefficients of parameters; without those a number.
struct NamedAngle {
  double constant = 0;
  std::vector<std::pair<std::string, double>> terms{};
};

/// Appends a gate with such angles (see Circuit::add_controlled_gate), and parameters that are new;
/// nothing at all where it throws.
void add_controlled_gate(Circuit& circuit, GateId gate, std::span<const Qubit> controls,
                         std::uint64_t control_values, std::span<const Qubit> qubits,
                         std::span<const NamedAngle> angles);

}  // namespace tilewave::circuit
