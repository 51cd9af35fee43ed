// A complex number that lives on host and device: {real, imaginary}, trivially copyable, 2 *
// sizeof(T) aligned.
#pragma once

#include <complex>

#include "tilewave/base/host_device.h"

namespace tilewave {

template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T re, im;
};

template <class T>
TW_HD constexpr Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T>
TW_HD constexpr Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}

using cplx = std::complex<double>;  ///< matrices and amplitudes in descriptions and results

}  // namespace tilewave
