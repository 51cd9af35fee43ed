// What a thread does to the amplitudes of one tile. A row of a tile is kLanes real parts, then
// kLanes imaginary parts; every amplitude operation is one of whole rows, so that elements of a
// batch with angles of their own cost what equal ones do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewave/parametric/plan/passes.h"

namespace tilewave::parametric::cpu {

constexpr std::size_t kRowBytes = 64;  // of one part

template <class T>
constexpr int kLanes = static_cast<int>(kRowBytes / sizeof(T));

/// One tile of one pass.
template <class T>
struct TileWork {
  const Passes* passes = nullptr;
  const Pass* pass = nullptr;
  T* psi = nullptr;            ///< 2^row_bits rows
  T* lam = nullptr;            ///< backward: the other state
  std::uint64_t outer = 0;     ///< the wires that choose the tile
  const T* factors = nullptr;  ///< of every angle: a row of cosines, a row of sines
  T* scratch = nullptr;        ///< scratch_parts(row_bits) parts of rows
  double* reads = nullptr;     ///< backward: [read of the pass][lane], added to
  const T* rates = nullptr;    ///< tangents: of every angle a row, of rotations half of them
  /// Tangents: whether any lane's rate of an angle is not 0.
  const std::uint8_t* moves = nullptr;
};

/// How many parts of rows a tile needs for scratch.
constexpr std::size_t scratch_parts(int row_bits) {
  return 4 * (std::size_t{1} << row_bits) + 2 * 256;
}

/// Pauli strings with one mask of X and Y on a tile: sum_j weight_j P_j. Where `flip.outer` is not
/// zero, amplitudes come from another tile.
struct StringGroup {
  Bits flip;                        ///< where the strings have X or Y
  std::size_t count = 0;            ///< of strings
  const Bits* z = nullptr;          ///< where each has Z or Y
  const std::uint8_t* y = nullptr;  ///< how many Y each has, modulo 4
};

template <class T>
struct Kernels {
  /// Runs the pass.
  void (*forward)(const TileWork<T>& work);
  /// Undoes the pass on both states, and reads.
  void (*backward)(const TileWork<T>& work);
  /// Runs the pass on psi and on its derivative lam along a direction, in which the angles change at
  /// `rates`.
  void (*tangent)(const TileWork<T>& work);
  /// Cosines and sines of `count` rows of angles, which are doubles for every T: rounded to float an
  /// angle of many turns loses what the amplitudes need.
  void (*sincos)(const double* angles, T* factors, std::size_t count);
  /// lam += sum_j weights[j] P_j psi on 2^row_bits rows; `weights`: a row's part each. `outer`: the
  /// tile of lam. `scratch`: as for passes.
  void (*add_strings)(const StringGroup& group, const T* weights, const T* psi, T* lam,
                      std::uint64_t outer, int row_bits, T* scratch);
  /// sums[j][lane] += Re conj(bra) P_j ket, of tiles.
  void (*read_strings)(const StringGroup& group, const T* bra, const T* ket, std::uint64_t outer,
                       int row_bits, T* scratch, double* sums);
  /// sums[lane] += Re and Im of conj(a) b, of `count` rows.
  void (*dot)(const T* a, const T* b, std::size_t count, double* re, double* im);
  const char* target;  ///< the instruction set
};

template <class T>
const Kernels<T>& kernels();

}  // namespace tilewave::parametric::cpu
