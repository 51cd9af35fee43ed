// Launching a tile pass: which kernels exist, and how one is started on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::cuda {

template <class T>
struct PassArguments {
  tile::PassFrame frame;
  Complex<T>* state;
  const std::byte* code;
  const std::byte* tables;
};

/// One compiled kernel.
template <class T>
struct TileKernel {
  int tile_qubits, register_bits, min_blocks;
  const char* name;
  void (*function)(PassArguments<T>);
};

/// The compiled kernels of a precision, the preferred one first.
template <class T>
std::span<const TileKernel<T>> tile_kernels();
template <>
std::span<const TileKernel<double>> tile_kernels<double>();
template <>
std::span<const TileKernel<float>> tile_kernels<float>();

}  // namespace tilewave::statevec::cuda
