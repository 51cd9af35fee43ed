// Phase terms as tables: what a block's kernels multiply rows by.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tilewave/statevec/cpu/block.h"
#include "tilewave/statevec/cpu/stages.h"

namespace tilewave::statevec::cpu {

/// A factor for each column of a row: a table of the terms inside the block, and the terms that
/// depend on where the block lies.
template <class T>
struct ColumnPhases {
  struct Term {                 // with bits outside the block
    std::uint64_t outside = 0;  // positions
    std::uint32_t low = 0;      // bits inside the row
    std::uint64_t turns = 0;
    Complex<double> z{1, 0};  // e^{2 pi i turns / 2^64}
  };
  bool has_table = false;  // the table of terms inside the block is not 1
  Lines<T> table;          // 64 re, 64 im
  std::vector<Term> dynamic;
  bool is_one() const { return !has_table && dynamic.empty(); }
};

/// A factor for each row, the same way.
template <class T>
struct RowPhases {
  struct Term {
    std::uint64_t outside = 0;
    std::uint32_t rows = 0;
    std::uint64_t turns = 0;
    Complex<double> z{1, 0};
  };
  Lines<T> table;  // 2^b re, 2^b im; empty when all 1
  std::vector<Term> dynamic;
  bool is_one() const { return table.empty() && dynamic.empty(); }
};

/// The order in which a phase block goes through its rows: counting, the bits of the number sorted
/// such that those without a table change first. See PhaseStep.
struct RowOrder {
  std::array<std::uint8_t, kMaxRowBits> bits = {};  ///< of the number
  int num_bits = 0;
  std::vector<std::uint16_t> rows, runs;
};

/// A phase block on one block of rows. Terms are sorted by their row bits: none, one, or several.
/// Several row bits together with low bits (degree three and more) do not fit this form and make a
/// second, plain program.
template <class T>
struct PhaseProgram {
  ColumnPhases<T> root;
  std::array<ColumnPhases<T>, kMaxRowBits> bits;
  RowPhases<T> scalars;  // of terms without low bits that no table has taken
  RowOrder order;
  struct PlainTerm {  // any term of degree three and more over rows and low bits
    std::uint64_t outside = 0;
    std::uint32_t rows = 0, low = 0;
    std::uint64_t turns = 0;
  };
  std::vector<PlainTerm> plain;
};

/// By which columns with each low bit are multiplied beside the phases: see low_weights.h.
using LowFactors = std::array<double, kLowBits>;
constexpr LowFactors kNoFactors{1, 1, 1, 1, 1, 1};

template <class T>
PhaseProgram<T> make_phase_program(const SplitTerms& terms, int num_row_bits,
                                   const LowFactors& factors = kNoFactors);

/// Of terms without row bits.
template <class T>
ColumnPhases<T> make_column_phases(const SplitTerms& terms, const LowFactors& factors = kNoFactors);

/// Of terms without low bits.
template <class T>
RowPhases<T> make_row_phases(const SplitTerms& terms, int num_row_bits);

/// Memory on the heap.
template <class T>
std::size_t heap_bytes(const ColumnPhases<T>& phases);
template <class T>
std::size_t heap_bytes(const RowPhases<T>& phases);
template <class T>
std::size_t heap_bytes(const PhaseProgram<T>& program);

}  // namespace tilewave::statevec::cpu
