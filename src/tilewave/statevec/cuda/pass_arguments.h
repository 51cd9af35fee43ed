// What a tile pass on a CUDA device is started with.
#pragma once

#include "tilewave/statevec/tile/format.h"

namespace tilewave::statevec::cuda {

template <class T>
struct TileArguments {
  Complex<T>* state;
  const std::byte* code;
  const std::byte* tables;
  double* sums;        ///< tile after tile, of |a|^2 as it is stored; null: not asked for
  bool sums_of_slots;  ///< 1 + K sums a tile instead of one, see num_tile_sums()
  /// Those of the frame, so that threads need not convert them.
  bool scale_is_complex;
  Complex<T> scale;
  T bit_scale[tile::kMaxTileQubits];
};

/// Of the interpreter; kernels compiled for one program know the frame.
template <class T>
struct PassArguments : TileArguments<T> {
  tile::PassFrame frame;
};

/// Sums a tile: all of it, and, for every slot, the amplitudes whose bit of that slot is 1 before
/// the flips of the store, in the order of PassFrame::store_column.
constexpr int num_tile_sums(int tile_qubits, bool of_slots) {
  return of_slots ? 1 + tile_qubits : 1;
}

}  // namespace tilewave::statevec::cuda
