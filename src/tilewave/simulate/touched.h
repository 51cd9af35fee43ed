// A program on the qubits it touches; see qubit_map.h.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/simulate/program.h"

namespace tilewave::simulate {

/// The qubits that some operation changes or reads, in ascending order, and as many others as make
/// `least` of them. Measurements at the end touch nothing: what they read is 0 unless another
/// operation did. O(operations + qubits).
std::vector<circuit::Qubit> touched_qubits(const Program& program, std::uint32_t least = 1);

/// Takes all other qubits out of the program; `storage` holds its circuit then, and is left alone
/// where every qubit stays.
void keep_only(Program& program, std::vector<circuit::Qubit> kept, circuit::Circuit& storage);

}  // namespace tilewave::simulate
