#include "tilewave/simulate/classical_steps.h"

#include <bit>
#include <string>

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

}  // namespace tilewave::simulate
