// Pauli strings on a state: P psi, and <psi|P|psi>. With f the bits that P flips and z those with Z
// or Y, (P psi)_x = i^{number of Y} (-1)^{parity((x ^ f) & z)} psi_{x ^ f}. For many strings of one f
// the signs of a block of rows come from a Walsh-Hadamard transform.
#if defined(TILEWAVE_PARAMETRIC_STRINGS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWAVE_PARAMETRIC_STRINGS_INL_H_
#undef TILEWAVE_PARAMETRIC_STRINGS_INL_H_
#else
#define TILEWAVE_PARAMETRIC_STRINGS_INL_H_
#endif

#include <bit>

#include "tilewave/parametric/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::parametric::cpu {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE void walsh_hadamard(V<T>* v, std::size_t count) {
  for (std::size_t half = 1; half < count; half *= 2) {
    for (std::size_t base = 0; base < count; base += 2 * half) {
      for (std::size_t i = base; i < base + half; ++i) {
        const V<T> a = v[i], b = v[i + half];
        v[i] = a + b;
        v[i + half] = a - b;
      }
    }
  }
}

constexpr int kMostBlockBits = 10;  // of rows whose signs are transformed together

HWY_INLINE bool is_minus(const StringGroup& group, std::size_t j, std::uint32_t first,
                         std::uint64_t outer) {
  const Bits &z = group.z[j], &f = group.flip;
  const int ones = std::popcount((first ^ f.row) & z.row) + std::popcount(f.lane & z.lane) +
                   std::popcount((outer ^ f.outer) & z.outer);
  return (ones & 1) ^ (group.y[j] >= 2);
}

template <class T>
void add_block(const StringGroup& group, const T* weights, const V<T>* psi, V<T>* lam,
               std::uint32_t first, std::uint32_t count, std::uint64_t outer, V<T>* re) {
  V<T>* im = re + count;
  const auto* weight = reinterpret_cast<const V<T>*>(weights);
  for (std::size_t i = 0; i < 2 * count; ++i) re[i] = V<T>{};
  bool has_real = false, has_imaginary = false;
  for (std::size_t j = 0; j < group.count; ++j) {
    V<T> w = is_minus(group, j, first, outer) ? -weight[j] : weight[j];
    if (group.z[j].lane) w = w * lane_signs<T>(group.z[j].lane);
    V<T>& to = (group.y[j] & 1 ? im : re)[group.z[j].row & (count - 1)];
    to = to + w;
    (group.y[j] & 1 ? has_imaginary : has_real) = true;
  }
  if (has_real) walsh_hadamard<T>(re, count);
  if (has_imaginary) walsh_hadamard<T>(im, count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t to = 2 * (first + i), from = 2 * ((first + i) ^ group.flip.row);
    const V<T> a = exchange_all<T>(psi[from], group.flip.lane);
    const V<T> b = exchange_all<T>(psi[from + 1], group.flip.lane);
    V<T> x = lam[to], y = lam[to + 1];
    if (has_real) {
      x = x + re[i] * a;
      y = y + re[i] * b;
    }
    if (has_imaginary) {
      x = x - im[i] * b;
      y = y + im[i] * a;
    }
    lam[to] = x;
    lam[to + 1] = y;
  }
}

// One string whose sign is that of the tile: no transform.
template <class T>
void add_plain(const StringGroup& group, V<T> weight, const V<T>* psi, V<T>* lam,
               std::size_t rows) {
  const bool imaginary = group.y[0] & 1;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t from = 2 * (i ^ group.flip.row);
    const V<T> a = exchange_all<T>(psi[from], group.flip.lane);
    const V<T> b = exchange_all<T>(psi[from + 1], group.flip.lane);
    lam[2 * i] = lam[2 * i] + weight * (imaginary ? -b : a);
    lam[2 * i + 1] = lam[2 * i + 1] + weight * (imaginary ? a : b);
  }
}

template <class T>
void add_strings(const StringGroup& group, const T* weights, const T* psi_in, T* lam_out,
                 std::uint64_t outer, int row_bits, T* scratch) {
  const auto* psi = reinterpret_cast<const V<T>*>(psi_in);
  auto* lam = reinterpret_cast<V<T>*>(lam_out);
  if (group.count == 1 && group.z[0].row == 0) {
    V<T> w = *reinterpret_cast<const V<T>*>(weights);
    if (is_minus(group, 0, 0, outer)) w = -w;
    if (group.z[0].lane) w = w * lane_signs<T>(group.z[0].lane);
    return add_plain<T>(group, w, psi, lam, std::size_t{1} << row_bits);
  }
  const auto count = 1u << (row_bits < kMostBlockBits ? row_bits : kMostBlockBits);
  for (std::uint32_t first = 0; first < 1u << row_bits; first += count)
    add_block<T>(group, weights, psi, lam, first, count, outer, reinterpret_cast<V<T>*>(scratch));
}

constexpr std::size_t kMostPlain = 3;  // strings of a group whose signs are not transformed

// conj(psi_x) psi_{x ^ f} where it is real, and i times it where that is.
template <class T>
HWY_INLINE V<T> product(const StringGroup& group, const V<T>* bra, const V<T>* ket, std::size_t row,
                        bool imaginary) {
  const std::size_t from = 2 * (row ^ group.flip.row);
  const V<T> a = exchange_all<T>(ket[from], group.flip.lane);
  const V<T> b = exchange_all<T>(ket[from + 1], group.flip.lane);
  const V<T> x = bra[2 * row], y = bra[2 * row + 1];
  return imaginary ? y * a - x * b : x * a + y * b;
}

// Few strings: sums with the sign of every row.
template <class T>
void read_plain(const StringGroup& group, const V<T>* bra, const V<T>* ket, std::uint64_t outer,
                std::size_t rows, double* sums) {
  constexpr std::size_t kPiece = 512;  // rows that are summed in single precision
  for (std::size_t j = 0; j < group.count; ++j) {
    const bool imaginary = group.y[j] & 1;
    const std::uint32_t z = group.z[j].row;
    for (std::size_t first = 0; first < rows; first += kPiece) {
      const std::size_t end = first + kPiece < rows ? first + kPiece : rows;
      V<T> even{}, odd{};
      if (z == 0) {
        for (std::size_t i = first; i < end; ++i)
          even = even + product<T>(group, bra, ket, i, imaginary);
      } else {
        for (std::size_t i = first; i < end; ++i) {
          const V<T> v = product<T>(group, bra, ket, i, imaginary);
          if (std::popcount(static_cast<std::uint32_t>(i) & z) & 1) {
            odd = odd + v;
          } else {
            even = even + v;
          }
        }
      }
      V<T> v = even - odd;
      if (group.z[j].lane) v = v * lane_signs<T>(group.z[j].lane);
      add_lanes<T>(is_minus(group, j, 0, outer) ? -v : v, sums + j * kLanes<T>);
    }
  }
}

template <class T>
void read_strings(const StringGroup& group, const T* bra_in, const T* ket_in, std::uint64_t outer,
                  int row_bits, T* scratch, double* sums) {
  const auto count = 1u << (row_bits < kMostBlockBits ? row_bits : kMostBlockBits);
  auto* re = reinterpret_cast<V<T>*>(scratch);
  V<T>* im = re + count;
  const auto* bra = reinterpret_cast<const V<T>*>(bra_in);
  const auto* ket = reinterpret_cast<const V<T>*>(ket_in);
  if (group.count <= kMostPlain)
    return read_plain<T>(group, bra, ket, outer, std::size_t{1} << row_bits, sums);
  bool has_real = false, has_imaginary = false;
  for (std::size_t j = 0; j < group.count; ++j) (group.y[j] & 1 ? has_imaginary : has_real) = true;
  for (std::uint32_t first = 0; first < 1u << row_bits; first += count) {
    for (std::size_t i = 0; i < count; ++i) {  // conj(psi_x) psi_{x ^ f}
      const std::size_t to = 2 * (first + i), from = 2 * ((first + i) ^ group.flip.row);
      const V<T> a = exchange_all<T>(ket[from], group.flip.lane);
      const V<T> b = exchange_all<T>(ket[from + 1], group.flip.lane);
      const V<T> x = bra[to], y = bra[to + 1];
      re[i] = x * a + y * b;
      im[i] = y * a - x * b;  // i times the imaginary part is real: minus that part
    }
    if (has_real) walsh_hadamard<T>(re, count);
    if (has_imaginary) walsh_hadamard<T>(im, count);
    for (std::size_t j = 0; j < group.count; ++j) {
      V<T> v = (group.y[j] & 1 ? im : re)[group.z[j].row & (count - 1)];
      if (group.z[j].lane) v = v * lane_signs<T>(group.z[j].lane);
      add_lanes<T>(is_minus(group, j, first, outer) ? -v : v, sums + j * kLanes<T>);
    }
  }
}

template <class T>
void dot(const T* a_in, const T* b_in, std::size_t count, double* re, double* im) {
  const auto* a = reinterpret_cast<const V<T>*>(a_in);
  const auto* b = reinterpret_cast<const V<T>*>(b_in);
  V<T> r{}, i{};
  for (std::size_t k = 0; k < count; ++k) {
    r = r + a[2 * k] * b[2 * k] + a[2 * k + 1] * b[2 * k + 1];
    i = i + a[2 * k] * b[2 * k + 1] - a[2 * k + 1] * b[2 * k];
  }
  add_lanes<T>(r, re);
  add_lanes<T>(i, im);
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::parametric::cpu
HWY_AFTER_NAMESPACE();
#endif
