// Launching a tile pass: which kernels exist, and how one is started on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "tilewave/statevec/cuda/pass_arguments.h"

namespace tilewave::statevec::cuda {

/// One tile shape, compiled for each set of operations.
template <class T>
struct TileKernel {
  int tile_qubits, register_bits, block_bits;
  int blocks[3];  ///< that share a multiprocessor, by tile::OpSet
  const char* name;
  void (*function[3])(PassArguments<T>);  ///< by tile::OpSet
};

/// The compiled kernels of a precision, by ascending size of their tiles.
template <class T>
std::span<const TileKernel<T>> tile_kernels();
template <>
std::span<const TileKernel<double>> tile_kernels<double>();
template <>
std::span<const TileKernel<float>> tile_kernels<float>();
/// In files of their own, compiled apart.
TileKernel<double> small_double_kernel();
TileKernel<float> small_single_kernel();
TileKernel<double> wide_double_kernel();

}  // namespace tilewave::statevec::cuda
