// Launching a tile pass: which kernels exist, and how one is started on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/cuda/pass_arguments.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::cuda {

/// One tile shape, compiled for each set of operations. Tiles of two blocks need a device with
/// clusters.
template <class T>
struct TileKernel {
  int tile_qubits, register_bits, block_bits;
  int blocks[3];  ///< that share a multiprocessor, by tile::OpSet
  const char* name;
  void (*function[3])(PassArguments<T>);  ///< by tile::OpSet
};

/// The compiled kernels of a precision, by ascending size of their tiles, and how many of them,
/// from the first, a device can run.
template <class T>
std::span<const TileKernel<T>> tile_kernels();
template <class T>
std::size_t num_tile_kernels(const runtime::CudaDevice& device) {
  constexpr int kFirstWithClusters = 9;  // compute capability
  std::size_t count = 0;
  for (const TileKernel<T>& kernel : tile_kernels<T>())
    count += kernel.block_bits == 0 || device.major >= kFirstWithClusters;
  return count;
}
template <>
std::span<const TileKernel<double>> tile_kernels<double>();
template <>
std::span<const TileKernel<float>> tile_kernels<float>();
/// In a file of its own, compiled apart.
TileKernel<double> wide_double_kernel();

}  // namespace tilewave::statevec::cuda
