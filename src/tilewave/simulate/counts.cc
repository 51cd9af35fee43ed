// Keys in Qiskit's order; see Result::counts.
#include "tilewave/simulate/counts.h"

namespace tilewave::simulate {

Counter::Counter(const Program& program) : program_(program) {}

std::string Counter::key(const Bits& bits) const {
  const auto& circuit = *program_.circuit;
  std::string text;
  const auto append = [&](std::uint32_t first, std::uint32_t size) {
    for (std::uint32_t k = size; k-- > 0;) text.push_back(get_bit(bits, first + k) ? '1' : '0');
  };
  if (!program_.records) {
    append(0, program_.qubits.num_qubits());
    return text;
  }
  const auto registers = circuit.cregs();
  if (registers.empty()) append(0, circuit.num_clbits());
  for (std::size_t r = registers.size(); r-- > 0;) {
    if (!text.empty()) text.push_back(' ');
    append(registers[r].first, registers[r].size);
  }
  return text;
}

void Counter::add(const Bits& bits, std::uint64_t count) {
  counts_.emplace_hint(counts_.end(), key(bits), 0)->second += count;
}

}  // namespace tilewave::simulate
