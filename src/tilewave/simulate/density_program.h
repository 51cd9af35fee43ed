// A prepared circuit on n qubits as one on the 2n qubits of its density matrix: gates on both
// sides, channels and resets as superoperators, measurements on the row qubits.
#pragma once

#include "tilewave/simulate/program.h"

namespace tilewave::simulate {

struct DensityProgram {
  circuit::Circuit circuit;
  Program program;  ///< of `circuit`
  DensityProgram() = default;
  DensityProgram(const DensityProgram&) = delete;  // the program points to the circuit
  DensityProgram& operator=(const DensityProgram&) = delete;
};

void to_density(const Program& program, DensityProgram& out);

}  // namespace tilewave::simulate
