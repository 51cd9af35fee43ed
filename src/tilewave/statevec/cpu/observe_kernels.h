// Vector kernels of the Pauli expectations on the CPU, for the best instruction set of the machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewave/base/complex.h"

namespace tilewave::statevec::cpu {

struct ObserveKernels {
  /// re[k] + i im[k] = conj(a[k]) * b[k ^ x] for k < count; count is a power of two of at least 64.
  void (*cross_f32)(const Complex<float>* a, const Complex<float>* b, std::uint32_t x,
                    std::size_t count, double* re, double* im);
  void (*cross_f64)(const Complex<double>* a, const Complex<double>* b, std::uint32_t x,
                    std::size_t count, double* re, double* im);
  /// Sum of v[k] with sign (-1)^parity(k & z): signs[k % 64] holds the part of z below bit 6.
  double (*signed_sum)(const double* v, std::size_t count, const double* signs, std::uint32_t z);
};

const ObserveKernels& observe_kernels();

}  // namespace tilewave::statevec::cpu
