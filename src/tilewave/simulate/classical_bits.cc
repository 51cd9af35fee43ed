#include "tilewave/simulate/classical_bits.h"

#include <bit>

#include "tilewave/base/error.h"

namespace tilewave::simulate {

std::uint64_t evaluate_at(const circuit::ClassicalExpr& expr, const circuit::Op& op,
                          const Bits& bits) {
  try {
    return circuit::evaluate(expr, bits);
  } catch (const Error& error) {
    if (op.line == 0) throw;
    throw Error(error.code(), "line " + std::to_string(op.line) + ": " + error.what());
  }
}

void assign(const circuit::Circuit& circuit, const circuit::Op& op, Bits& bits) {
  const circuit::Assignment& to = circuit.assignment(op);
  const std::uint64_t value = evaluate_at(to.value, op, bits);
  for (std::uint32_t k = 0; k < to.size; ++k) set_bit(bits, to.first + k, value >> k & 1);
}

std::vector<double> angles_at(const circuit::Circuit& circuit, const circuit::Op& op,
                              const Bits& bits) {
  std::vector<double> angles;
  for (const circuit::ClassicalExpr& angle : circuit.angles(op))
    angles.push_back(std::bit_cast<double>(evaluate_at(angle, op, bits)));
  return angles;
}

void count_jump(std::uint64_t& jumps) {
  constexpr std::uint64_t kMostJumps = 4'000'000;
  if (++jumps > kMostJumps) {
    throw Error(ExitCode::kInput, "a loop goes round more than " + std::to_string(kMostJumps) +
                                      " times without measuring: it does not end");
  }
}

Counter::Counter(const Program& program) : program_(program) {}

// In Qiskit's order; see Result::counts.
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
    if (r + 1 < registers.size()) text.push_back(' ');  // also beside a register without bits
    append(registers[r].first, registers[r].size);
  }
  return text;
}

void Counter::add(const Bits& bits, std::uint64_t count) {
  counts_.emplace_hint(counts_.end(), key(bits), 0)->second += count;
}

}  // namespace tilewave::simulate
