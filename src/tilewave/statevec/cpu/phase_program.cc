#include "tilewave/statevec/cpu/phase_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>

#include "tilewave/base/bits.h"

namespace tilewave::statevec::cpu {

namespace {

Complex<double> unit_of(std::uint64_t turns) {
  const double angle =
      static_cast<double>(static_cast<std::int64_t>(turns)) * 0x1p-63 * std::numbers::pi;
  return {std::cos(angle), std::sin(angle)};
}

using Turns = std::vector<std::uint64_t>;

template <class T>
Lines<T> to_table(const Turns& turns) {
  Lines<T> table(2 * turns.size());
  for (std::size_t a = 0; a < turns.size(); ++a) {
    const Complex<double> z = unit_of(turns[a]);
    table[a] = static_cast<T>(z.re);
    table[turns.size() + a] = static_cast<T>(z.im);
  }
  return table;
}

// Adds a term to all numbers below `count` that have the bits of its mask.
void add_turns(Turns& to, std::size_t count, std::uint32_t mask, std::uint64_t turns) {
  if (to.empty()) to.assign(count, 0);
  for (std::size_t a = 0; a < count; ++a) {
    if ((a & mask) == mask) to[a] += turns;
  }
}

Turns turns_of_rows(const SplitTerms& terms, int num_row_bits) {
  Turns turns;
  for (const SplitTerm& t : terms) {
    if (!t.outside) add_turns(turns, bit(num_row_bits), t.rows, t.turns);
  }
  return turns;
}

template <class T>
RowPhases<T> row_phases(const SplitTerms& terms, const Turns& turns) {
  RowPhases<T> phases;
  if (!turns.empty()) phases.table = to_table<T>(turns);
  for (const SplitTerm& t : terms) {
    if (t.outside) phases.dynamic.push_back({t.outside, t.rows, t.turns, unit_of(t.turns)});
  }
  return phases;
}

// A number for each different value; empty where there are more than a kernel keeps products of.
std::vector<std::uint8_t> classes_of(const Turns& turns) {
  Turns values;
  std::vector<std::uint8_t> classes;
  for (const std::uint64_t t : turns) {
    const auto found = std::find(values.begin(), values.end(), t);
    classes.push_back(static_cast<std::uint8_t>(found - values.begin()));
    if (found == values.end()) values.push_back(t);
    if (values.size() > kScalarClasses) return {};
  }
  return classes;
}

// Products of tables change seldom where the bits that have one are the last to change.
template <class T>
void set_order(PhaseProgram<T>& program, int num_row_bits) {
  int count = 0;
  for (const bool is_one : {true, false}) {
    for (int b = 0; b < num_row_bits; ++b) {
      if (program.bits[b].is_one() == is_one)
        program.bit_order[count++] = static_cast<std::uint8_t>(b);
    }
  }
  program.order.resize(bit(num_row_bits));
  for (std::uint32_t k = 0; k < program.order.size(); ++k) {
    for (int j = 0; j < num_row_bits; ++j)
      program.order[k] |= static_cast<std::uint8_t>((k >> j & 1) << program.bit_order[j]);
  }
}

template <class V>
std::size_t heap(const V& v) {
  return v.capacity() * sizeof(v[0]);
}

}  // namespace

template <class T>
ColumnPhases<T> make_column_phases(const SplitTerms& terms) {
  ColumnPhases<T> phases;
  Turns turns;
  for (const SplitTerm& t : terms) {
    if (t.outside) {
      phases.dynamic.push_back({t.outside, t.low, t.turns, unit_of(t.turns)});
    } else {
      phases.has_table = true;
      add_turns(turns, kRowLength, t.low, t.turns);
    }
  }
  if (turns.empty()) turns.assign(kRowLength, 0);
  if (!phases.is_one()) phases.table = to_table<T>(turns);
  return phases;
}

template <class T>
RowPhases<T> make_row_phases(const SplitTerms& terms, int num_row_bits) {
  return row_phases<T>(terms, turns_of_rows(terms, num_row_bits));
}

template <class T>
PhaseProgram<T> make_phase_program(const SplitTerms& terms, int num_row_bits) {
  std::uint32_t with_table = 0;  // row bits
  for (const SplitTerm& t : terms) {
    if (t.low && std::has_single_bit(t.rows)) with_table |= t.rows;
  }
  // A term of one row bit costs nothing in the bit's table; one that depends on the block's place
  // makes that table anew for each, and is worth it where no row needs a scalar then.
  const auto has_place = [&](const SplitTerm& t) {
    return std::has_single_bit(t.rows) && (t.rows & with_table);
  };
  const bool all_in_tables = std::all_of(terms.begin(), terms.end(), [&](const SplitTerm& t) {
    return t.low || !t.rows || has_place(t);
  });
  PhaseProgram<T> program;
  std::array<SplitTerms, kMaxRowBits + 1> of_factor;
  SplitTerms scalars;
  for (const SplitTerm& t : terms) {
    if (t.rows == 0) {
      of_factor[kMaxRowBits].push_back(t);
    } else if (t.low ? std::has_single_bit(t.rows)
                     : has_place(t) && (!t.outside || all_in_tables)) {
      of_factor[std::countr_zero(t.rows)].push_back(t);
    } else if (t.low) {
      program.plain.push_back({t.outside, t.rows, t.low, t.turns});
    } else {
      scalars.push_back(t);
    }
  }
  program.root = make_column_phases<T>(of_factor[kMaxRowBits]);
  for (int b = 0; b < kMaxRowBits; ++b) program.bits[b] = make_column_phases<T>(of_factor[b]);
  const Turns turns = turns_of_rows(scalars, num_row_bits);
  program.scalars = row_phases<T>(scalars, turns);
  if (program.scalars.dynamic.empty()) program.scalar_class = classes_of(turns);
  set_order(program, num_row_bits);
  return program;
}

template <class T>
std::size_t heap_bytes(const ColumnPhases<T>& phases) {
  return heap(phases.table) + heap(phases.dynamic);
}

template <class T>
std::size_t heap_bytes(const RowPhases<T>& phases) {
  return heap(phases.table) + heap(phases.dynamic);
}

template <class T>
std::size_t heap_bytes(const PhaseProgram<T>& program) {
  std::size_t bytes = heap_bytes(program.root) + heap_bytes(program.scalars) + heap(program.order) +
                      heap(program.scalar_class) + heap(program.plain);
  for (const ColumnPhases<T>& factor : program.bits) bytes += heap_bytes(factor);
  return bytes;
}

template PhaseProgram<float> make_phase_program<float>(const SplitTerms&, int);
template ColumnPhases<float> make_column_phases<float>(const SplitTerms&);
template RowPhases<float> make_row_phases<float>(const SplitTerms&, int);
template std::size_t heap_bytes<float>(const ColumnPhases<float>&);
template std::size_t heap_bytes<float>(const RowPhases<float>&);
template std::size_t heap_bytes<float>(const PhaseProgram<float>&);
template PhaseProgram<double> make_phase_program<double>(const SplitTerms&, int);
template ColumnPhases<double> make_column_phases<double>(const SplitTerms&);
template RowPhases<double> make_row_phases<double>(const SplitTerms&, int);
template std::size_t heap_bytes<double>(const ColumnPhases<double>&);
template std::size_t heap_bytes<double>(const RowPhases<double>&);
template std::size_t heap_bytes<double>(const PhaseProgram<double>&);

}  // namespace tilewave::statevec::cpu
