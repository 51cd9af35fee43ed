// Matrices of tile programs on one thread's amplitudes and on a tile in shared memory, for host and
// device. Multiply-adds an amplitude: complex 2x2 8, 4x4 12 or, in factors, 16.
#pragma once

#include "tilewave/statevec/tile/ops.h"

namespace tilewave::statevec::tile {

template <class T>
TW_HD void accumulate(Complex<T>& sum, Complex<T> m, Complex<T> v) {
  sum.re += m.re * v.re;
  sum.re -= m.im * v.im;
  sum.im += m.re * v.im;
  sum.im += m.im * v.re;
}

template <int R, int RB, class T>
TW_HD void matrix1(Complex<T> (&a)[1 << RB], const T* m, std::uint32_t pairs) {
  Complex<T> c[4];
  TW_UNROLL
  for (int k = 0; k < 4; ++k) c[k] = {m[2 * k], m[2 * k + 1]};
  TW_UNROLL
  for (int k = 0; k < 1 << (RB - 1); ++k) {
    if (!(pairs >> without_bit<R>(k) & 1)) continue;
    Complex<T>&x = a[without_bit<R>(k)], &y = a[without_bit<R>(k) | 1 << R];
    Complex<T> u = c[0] * x, v = c[2] * x;
    accumulate(u, c[1], y);
    accumulate(v, c[3], y);
    x = u;
    y = v;
  }
}

/// A 4x4 matrix A + iB on bits R < S as three real ones: with v = x + iz,
///   k = A (x + z),  (A + iB) v = k - (A + B) z + i (k + (B - A) x),
/// 48 multiply-adds instead of 64. m: for every row, the rows of A, A + B and B - A.
template <int R, int S, int RB, class T>
TW_HD void matrix2(Complex<T> (&a)[1 << RB], const T* m, std::uint32_t pairs) {
  constexpr int kTogether = sizeof(T) == 8 && RB == 4 ? 1 : 2;
  TW_UNROLL
  for (int g = 0; g < 1 << (RB - 2); g += kTogether) {
    Complex<T> out[kTogether][4];
    T sum[kTogether][4];
    const auto place = [&](int h, int j) {
      return without_bit<S>(without_bit<R>(g + h)) | (j & 1) << R | (j >> 1) << S;
    };
    TW_UNROLL
    for (int h = 0; h < kTogether; ++h) {
      TW_UNROLL
      for (int j = 0; j < 4; ++j) sum[h][j] = a[place(h, j)].re + a[place(h, j)].im;
    }
    TW_UNROLL
    for (int i = 0; i < 4; ++i) {
      TW_UNROLL
      for (int h = 0; h < kTogether; ++h) {
        T k = m[12 * i] * sum[h][0];
        TW_UNROLL
        for (int j = 1; j < 4; ++j) k += m[12 * i + j] * sum[h][j];
        T re = k, im = k;
        TW_UNROLL
        for (int j = 0; j < 4; ++j) {
          re -= m[12 * i + 4 + j] * a[place(h, j)].im;
          im += m[12 * i + 8 + j] * a[place(h, j)].re;
        }
        out[h][i] = {re, im};
      }
    }
    TW_UNROLL
    for (int h = 0; h < kTogether; ++h) {
      if (!(pairs >> place(h, 0) & 1)) continue;
      TW_UNROLL
      for (int i = 0; i < 4; ++i) a[place(h, i)] = out[h][i];
    }
  }
}

/// x += f y, every step in place.
template <class T>
TW_HD void add_multiple(Complex<T>& x, Complex<T> f, const Complex<T>& y) {
  x.re += f.re * y.re;
  x.im += f.re * y.im;
  x.re -= f.im * y.im;
  x.im += f.im * y.re;
}

/// A 4x4 matrix on bits R < S as L D U (unit triangles): no step needs a copy of an amplitude, and
/// every coefficient is read once for all groups. m: row-major, L below, D on, U above the
/// diagonal.
template <int R, int S, int RB, class T>
TW_HD void factored2(Complex<T> (&a)[1 << RB], const Complex<T>* m, bool first_scaled) {
  const auto place = [](int g, int j) {
    return without_bit<S>(without_bit<R>(g)) | (j & 1) << R | (j >> 1) << S;
  };
  TW_UNROLL
  for (int i = 0; i < 3; ++i) {
    TW_UNROLL
    for (int j = i + 1; j < 4; ++j) {
      const Complex<T> f = m[4 * i + j];
      TW_UNROLL
      for (int g = 0; g < 1 << (RB - 2); ++g) add_multiple(a[place(g, i)], f, a[place(g, j)]);
    }
  }
  if (first_scaled) {
    const Complex<T> f = m[0];
    TW_UNROLL
    for (int g = 0; g < 1 << (RB - 2); ++g) multiply(a[place(g, 0)], f);
  }
  TW_UNROLL
  for (int i = 1; i < 4; ++i) {
    const Complex<T> f = m[5 * i];
    TW_UNROLL
    for (int g = 0; g < 1 << (RB - 2); ++g) multiply(a[place(g, i)], f);
  }
  TW_UNROLL
  for (int i = 3; i > 0; --i) {
    TW_UNROLL
    for (int j = 0; j < i; ++j) {
      const Complex<T> f = m[4 * i + j];
      TW_UNROLL
      for (int g = 0; g < 1 << (RB - 2); ++g) add_multiple(a[place(g, i)], f, a[place(g, j)]);
    }
  }
}

/// One output of a shared matrix: row `row`, the group's lowest address `base` (bytes) in `tile`.
template <class T>
TW_HD Complex<T> shared_matrix_row(const SharedMatrix& m, const std::byte* tables,
                                   std::uint32_t row, std::uint32_t base,
                                   const std::byte* tile_amplitudes) {
  const std::uint32_t size = 1u << m.num_targets;
  const Complex<T>* entry =
      table<Complex<T>>(tables, m.matrix) + static_cast<std::size_t>(row) * size;
  Complex<T> sum{0, 0};
  for (std::uint32_t c = 0; c < size; ++c) {
    std::uint32_t address = base;
    for (std::uint32_t k = 0; k < m.num_targets; ++k) {
      address ^= c >> k & 1 ? m.target_column[k] : 0;
    }
    accumulate(sum, entry[c], *reinterpret_cast<const Complex<T>*>(tile_amplitudes + address));
  }
  return sum;
}

/// The row of amplitude (thread, j), and the XOR that clears its target bits from the address.
TW_HD void shared_matrix_place(const SharedMatrix& m, std::uint32_t thread, std::uint32_t j,
                               std::uint32_t& row, std::uint32_t& clear) {
  row = clear = 0;
  for (std::uint32_t k = 0; k < m.num_targets; ++k) {
    const std::uint32_t bit = m.target_bit[k];
    if ((bit < 16 ? j >> bit : thread >> (bit - 16)) & 1) {
      row |= 1u << k;
      clear ^= m.target_column[k];
    }
  }
}

}  // namespace tilewave::statevec::tile
