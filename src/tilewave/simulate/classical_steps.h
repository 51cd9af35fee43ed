// What a circuit computes from its classical bits while it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/simulate/counts.h"

namespace tilewave::simulate {

/// The value of an expression that `op` holds; errors name the line of the operation.
std::uint64_t evaluate_at(const circuit::ClassicalExpr& expr, const circuit::Op& op,
                          const Bits& bits);

/// Of a kAssign operation.
void assign(const circuit::Circuit& circuit, const circuit::Op& op, Bits& bits);

/// The angles that a kRuntimeGate has now.
std::vector<double> angles_at(const circuit::Circuit& circuit, const circuit::Op& op,
                              const Bits& bits);

/// One jump more since the last measurement. Throws Error(kInput) for a loop that does not end.
void count_jump(std::uint64_t& jumps);

}  // namespace tilewave::simulate
