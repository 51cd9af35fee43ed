#include "tilewave/statevec/cpu/phase_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
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

// Lists the terms that depend on where the block lies. The sum of the others for each number below
// `count`, where a term counts if the number has the bits of its mask; empty without any.
template <class Phases>
Turns split(const SplitTerms& terms, std::uint32_t SplitTerm::*mask, std::size_t count,
            Phases& phases) {
  Turns sums;
  for (const SplitTerm& t : terms) {
    if (t.outside) {
      phases.dynamic.push_back({t.outside, t.*mask, t.turns, unit_of(t.turns)});
      continue;
    }
    if (sums.empty()) sums.assign(count, 0);
    for (std::size_t a = 0; a < count; ++a) {
      if ((a & t.*mask) == t.*mask) sums[a] += t.turns;
    }
  }
  return sums;
}

// The rows, counted, in runs of one product of tables.
RowOrder order_by_tables(std::uint32_t with_table, int num_row_bits) {
  RowOrder order;
  int num_free = 0;
  for (const bool has_table : {false, true}) {
    for (int b = 0; b < num_row_bits; ++b) {
      if ((with_table >> b & 1) == has_table)
        order.bits[order.num_bits++] = static_cast<std::uint8_t>(b);
    }
    if (!has_table) num_free = order.num_bits;
  }
  order.rows.resize(bit(order.num_bits));
  for (std::uint32_t k = 0; k < order.rows.size(); ++k) {
    for (int j = 0; j < order.num_bits; ++j)
      order.rows[k] |= static_cast<std::uint16_t>((k >> j & 1) << order.bits[j]);
  }
  order.runs.assign(order.rows.size() >> num_free, static_cast<std::uint16_t>(bit(num_free)));
  return order;
}

template <class V>
std::size_t heap(const V& v) {
  return v.capacity() * sizeof(v[0]);
}

}  // namespace

template <class T>
ColumnPhases<T> make_column_phases(const SplitTerms& terms, const LowFactors& factors) {
  ColumnPhases<T> phases;
  Turns turns = split(terms, &SplitTerm::low, kRowLength, phases);
  phases.has_table = !turns.empty() || factors != kNoFactors;
  if (turns.empty()) turns.assign(kRowLength, 0);
  if (!phases.is_one()) phases.table = to_table<T>(turns);
  for (int b = 0; b < kLowBits; ++b) {
    for (std::size_t a = 0; factors[b] != 1 && a < phases.table.size(); ++a)
      if (a >> b & 1) phases.table[a] = static_cast<T>(phases.table[a] * factors[b]);
  }
  return phases;
}

template <class T>
RowPhases<T> make_row_phases(const SplitTerms& terms, int num_row_bits) {
  RowPhases<T> phases;
  const Turns turns = split(terms, &SplitTerm::rows, bit(num_row_bits), phases);
  if (!turns.empty()) phases.table = to_table<T>(turns);
  return phases;
}

template <class T>
PhaseProgram<T> make_phase_program(const SplitTerms& terms, int num_row_bits,
                                   const LowFactors& factors) {
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
  program.root = make_column_phases<T>(of_factor[kMaxRowBits], factors);
  for (int b = 0; b < kMaxRowBits; ++b) program.bits[b] = make_column_phases<T>(of_factor[b]);
  program.scalars = make_row_phases<T>(scalars, num_row_bits);
  with_table = 0;
  for (int b = 0; b < num_row_bits; ++b)
    with_table |= static_cast<std::uint32_t>(!program.bits[b].is_one()) << b;
  program.order = order_by_tables(with_table, num_row_bits);
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
  std::size_t bytes = heap_bytes(program.root) + heap_bytes(program.scalars) +
                      heap(program.order.rows) + heap(program.order.runs) + heap(program.plain);
  for (const ColumnPhases<T>& factor : program.bits) bytes += heap_bytes(factor);
  return bytes;
}

template PhaseProgram<float> make_phase_program<float>(const SplitTerms&, int, const LowFactors&);
template ColumnPhases<float> make_column_phases<float>(const SplitTerms&, const LowFactors&);
template RowPhases<float> make_row_phases<float>(const SplitTerms&, int);
template std::size_t heap_bytes<float>(const ColumnPhases<float>&);
template std::size_t heap_bytes<float>(const RowPhases<float>&);
template std::size_t heap_bytes<float>(const PhaseProgram<float>&);
template PhaseProgram<double> make_phase_program<double>(const SplitTerms&, int, const LowFactors&);
template ColumnPhases<double> make_column_phases<double>(const SplitTerms&, const LowFactors&);
template RowPhases<double> make_row_phases<double>(const SplitTerms&, int);
template std::size_t heap_bytes<double>(const ColumnPhases<double>&);
template std::size_t heap_bytes<double>(const RowPhases<double>&);
template std::size_t heap_bytes<double>(const PhaseProgram<double>&);

}  // namespace tilewave::statevec::cpu
