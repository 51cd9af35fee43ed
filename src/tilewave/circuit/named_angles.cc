#include "tilewave/circuit/named_angles.h"

namespace tilewave::circuit {

void add_controlled_gate(Circuit& circuit, GateId gate, std::span<const Qubit> controls,
                         std::uint64_t control_values, std::span<const Qubit> qubits,
                         std::span<const NamedAngle> angles) {
  std::vector<double> numbers;
  bool any = false;
  for (const NamedAngle& a : angles) {
    numbers.push_back(a.constant);
    any |= !a.terms.empty();
  }
  if (!any) {
    circuit.add_controlled_gate(gate, controls, control_values, qubits, numbers);
    return;
  }
  circuit.all_or_nothing([&] {
    circuit.add_controlled_gate(gate, controls, control_values, qubits, numbers);
    for (std::size_t k = 0; k < angles.size(); ++k) {
      if (angles[k].terms.empty()) continue;
      AffineAngle affine{angles[k].constant};
      for (const auto& [parameter, coefficient] : angles[k].terms)
        affine.terms.push_back({circuit.add_parameter(parameter), coefficient});
      circuit.set_affine(circuit.ops().size() - 1, k, std::move(affine));
    }
  });
}

}  // namespace tilewave::circuit
