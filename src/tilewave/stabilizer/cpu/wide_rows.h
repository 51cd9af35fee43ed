// The sparse engine for rows of few words: what a mechanism flips is a mask of 1, 2, 4 or 8 words, so
// an event is an exclusive or of whole words, however many bits it flips. The draws are those of
// sparse_run.h, and so are the bits.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/stabilizer/sparse_program.h"

namespace tilewave::stabilizer {

struct WideTables {
  std::uint32_t words = 0;  ///< of a row: 1, 2, 4 or 8
  std::vector<std::uint64_t> mechanisms, branches, coins, always;
};

/// Whether rows of a program have so few bits, and its tiles no shifts.
bool has_wide_rows(const SparseProgram& program);
WideTables wide_tables(const SparseProgram& program);

/// Writes the shots of unit `unit`: 2^log2_unit rows of tables.words. `scratch` is reused.
void run_wide_unit(const SparseProgram& program, const WideTables& tables, std::uint64_t seed,
                   std::uint64_t unit, std::uint64_t* rows, std::vector<std::uint64_t>& scratch);

}  // namespace tilewave::stabilizer
