// The sparse engine on the CPU: one unit of shots, written as the rows of a b8 file.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/stabilizer/sparse_program.h"

namespace tilewave::stabilizer {

/// Writes the shots of unit `unit` to `rows` (2^log2_unit rows of row_bytes()); `scratch` is
/// reused.
void run_sparse_unit(const SparseProgram& program, std::uint64_t seed, std::uint64_t unit,
                     std::uint8_t* rows, std::vector<std::uint64_t>& scratch);

}  // namespace tilewave::stabilizer
