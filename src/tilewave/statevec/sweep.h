// Operators on all amplitudes at once that are no circuits: every amplitude becomes a function of
// itself and of its index, or adds a term to a sum. The functions are written once, for the CPU and
// for CUDA devices; each goes over its memory in its own way (sweep.cc, cuda/cuda_sweep.cu).
//
// An index is a basis state, or row + column 2^r of a density matrix. Cost: one pass over the
// state.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "tilewave/base/bits.h"
#include "tilewave/base/complex.h"
#include "tilewave/statevec/phase_function.h"

namespace tilewave::statevec {

/// Entries [first, first + count) of a table of complex numbers, in two arrays.
struct Table {
  const void* re = nullptr;
  const void* im = nullptr;
  bool is_double = true;
  std::uint64_t first = 0, count = 0;

  TW_HD bool has(std::uint64_t k) const { return k - first < count; }
  TW_HD Complex<double> at(std::uint64_t k) const {
    k -= first;
    if (is_double) return {static_cast<const double*>(re)[k], static_cast<const double*>(im)[k]};
    return {static_cast<const float*>(re)[k], static_cast<const float*>(im)[k]};
  }
};

/// Chosen bits of an index, in order, as a number.
struct Digits {
  int count = 0;
  bool are_lowest = true;  ///< bits 0, 1, ... in order
  std::uint8_t place[64] = {};

  void add(int p) {
    are_lowest = are_lowest && p == count;
    place[count++] = static_cast<std::uint8_t>(p);
  }
  TW_HD std::uint64_t read(std::uint64_t index) const {
    if (are_lowest) return index & low_mask(count);
    std::uint64_t out = 0;
    for (int k = 0; k < count; ++k) out |= (index >> place[k] & 1) << k;
    return out;
  }
};

/// c i^(number of Y) P; <row|P|row ^ x> is +-1 times that.
struct StringTerm {
  std::uint64_t x = 0, z = 0;
  Complex<double> c = {0, 0};

  TW_HD bool is_odd(std::uint64_t row) const {
    std::uint64_t signs = (row ^ x) & z;
    for (int half = 32; half >= 4; half /= 2) signs ^= signs >> half;
    return 0x6996 >> (signs & 15) & 1;  // bit k: the parity of k
  }
};

struct Sweep {
  enum class Kind : std::uint8_t {
    kTable,    ///< a d[digits]
    kOuter,    ///< d[row] conj(d[column])
    kPhase,    ///< a e^{i phase}
    kStrings,  ///< the element (row, column) of a sum of Pauli strings
    kRamp,     ///< (2 index + (2 index + 1) i) / 10
  };
  Kind kind = Kind::kRamp;
  int row_bits = 0;      ///< the rest of the index is the column
  bool is_both = false;  ///< kTable, kPhase: columns get the conjugate too
  Digits digits;
  Table table;
  PhaseFunction phase;
  const StringTerm* strings = nullptr;
  std::uint32_t num_strings = 0;
};

TW_HD Complex<double> conjugate(Complex<double> z) { return {z.re, -z.im}; }

template <Sweep::Kind kKind>
TW_HD Complex<double> swept(const Sweep& s, std::uint64_t index, Complex<double> a) {
  const std::uint64_t row = index & low_mask(s.row_bits), column = index >> s.row_bits;
  if constexpr (kKind == Sweep::Kind::kTable) {
    const std::uint64_t k = s.digits.read(row);
    if (!s.table.has(k)) return a;
    a = a * s.table.at(k);
    return s.is_both ? a * conjugate(s.table.at(s.digits.read(column))) : a;
  } else if constexpr (kKind == Sweep::Kind::kOuter) {
    return s.table.at(row) * conjugate(s.table.at(column));
  } else if constexpr (kKind == Sweep::Kind::kPhase) {
    double angle = s.phase(row);
    if (s.is_both) angle -= s.phase(column);
    return a * Complex<double>{cos(angle), sin(angle)};
  } else if constexpr (kKind == Sweep::Kind::kStrings) {
    Complex<double> sum = {0, 0};
    for (std::uint32_t t = 0; t < s.num_strings; ++t) {
      const StringTerm& term = s.strings[t];
      if ((row ^ column) != term.x) continue;
      const double sign = term.is_odd(row) ? -1 : 1;
      sum = sum + Complex<double>{sign * term.c.re, sign * term.c.im};
    }
    return sum;
  } else {
    const auto x = static_cast<double>(index);
    return {2 * x / 10, (2 * x + 1) / 10};
  }
}

/// Calls f with the kind as a constant.
template <class F>
void with_kind(Sweep::Kind kind, F f) {
  using Kind = Sweep::Kind;
  switch (kind) {
    case Kind::kTable:
      return f.template operator()<Kind::kTable>();
    case Kind::kOuter:
      return f.template operator()<Kind::kOuter>();
    case Kind::kPhase:
      return f.template operator()<Kind::kPhase>();
    case Kind::kStrings:
      return f.template operator()<Kind::kStrings>();
    case Kind::kRamp:
      return f.template operator()<Kind::kRamp>();
  }
}

/// A sum over all amplitudes.
struct SweepSum {
  bool is_sandwich = false;  ///< conj(d[row]) a d[column]; otherwise |a|^2 d[row]
  int row_bits = 0;
  Table table;
};

TW_HD Complex<double> summand(const SweepSum& s, std::uint64_t index, Complex<double> a) {
  const std::uint64_t row = index & low_mask(s.row_bits), column = index >> s.row_bits;
  if (s.is_sandwich) return conjugate(s.table.at(row)) * a * s.table.at(column);
  if (!s.table.has(row)) return {0, 0};
  const double p = a.re * a.re + a.im * a.im;
  const Complex<double> d = s.table.at(row);
  return {p * d.re, p * d.im};
}

/// Sums over the amplitudes of two states: conj(a) b, or |a - b|^2.
enum class PairSum : std::uint8_t { kInner, kDistance };

TW_HD Complex<double> summand(PairSum kind, Complex<double> a, Complex<double> b) {
  if (kind == PairSum::kInner) return conjugate(a) * b;
  const double re = a.re - b.re, im = a.im - b.im;
  return {re * re + im * im, 0};
}

/// A matrix on the lowest `num_targets` positions where the index has the bits of `mask` as in
/// `value`; row-major.
struct DenseOp {
  int num_targets = 0;
  std::uint64_t mask = 0, value = 0;
  std::span<const cplx> m;
};
constexpr int kMaxDenseTargets = 12;

}  // namespace tilewave::statevec
