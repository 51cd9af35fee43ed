// Tiny states, of at most 2^kTinyQubits amplitudes: a gate is applied to them at once, in the time
// that a look for its plan would take. Their memory is in the order of basis states from the first
// such change on; nothing is known to be zero, nothing is allocated and no thread is asked. A gate
// on k qubits under c controls costs 2^(n-c) (2^k + 1) multiply-adds.
#include <array>
#include <complex>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/statevec/cpu/cpu_state.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"

namespace tilewave::statevec::cpu {

namespace {
constexpr std::size_t kMost = std::size_t{1} << kTinyQubits;

// (a + ib)(c + id) without the library's care for infinities, which are no amplitudes.
cplx product(cplx a, cplx b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
}  // namespace

template <class T>
bool CpuState<T>::is_tiny() const {
  return num_qubits_ <= kTinyQubits;
}

template <class T>
void CpuState<T>::order_tiny() {
  if (!known_zero_ && layout_.is_identity(num_qubits_)) return;
  std::array<Complex<T>, kMost> ordered{};
  for (std::uint64_t x = 0; x < num_amplitudes(); ++x) {
    const std::uint64_t p = layout_.physical(x, num_qubits_);
    if (!(p & known_zero_)) ordered[x] = amps()[p];
  }
  std::copy_n(ordered.begin(), num_amplitudes(), amps());
  assume(Layout::identity(), 0);
}

template <class T>
void CpuState<T>::apply_tiny(std::uint64_t mask, std::uint64_t value,
                             std::span<const circuit::Qubit> targets, std::span<const cplx> m) {
  TW_CHECK(is_tiny() && m.size() == bit(static_cast<int>(2 * targets.size())),
           "a matrix is applied at once to a tiny state");
  order_tiny();
  forget_answers();
  Complex<T>* const a = amps();
  const auto get = [&](std::uint64_t x) {
    return cplx(static_cast<double>(a[x].re), static_cast<double>(a[x].im));
  };
  const auto put = [&](std::uint64_t x, cplx z) {
    // a sum with 0 is never -0, which programs would print
    a[x] = {static_cast<T>(z.real() + 0.0), static_cast<T>(z.imag() + 0.0)};
  };
  if (targets.size() == 1) {
    const std::uint64_t one = bit(static_cast<int>(targets[0]));
    for (std::uint64_t high = 0; high < num_amplitudes(); high += 2 * one) {
      for (std::uint64_t x = high; x < high + one; ++x) {
        if ((x & mask) != value) continue;
        const cplx u = get(x), v = get(x | one);
        put(x, product(m[0], u) + product(m[1], v));
        put(x | one, product(m[2], u) + product(m[3], v));
      }
    }
    return;
  }
  const std::uint64_t dim = bit(static_cast<int>(targets.size()));
  std::array<std::uint64_t, kMost> offset{};
  for (std::uint64_t k = 0; k < dim; ++k) {
    for_each_bit(k, [&](int t) {
      offset[k] |= bit(static_cast<int>(targets[static_cast<std::size_t>(t)]));
    });
  }
  std::array<cplx, kMost> in;
  for (std::uint64_t x = 0; x < num_amplitudes(); ++x) {
    if (x & offset[dim - 1] || (x & mask) != value) continue;
    for (std::uint64_t k = 0; k < dim; ++k) in[k] = get(x | offset[k]);
    for (std::uint64_t row = 0; row < dim; ++row) {
      cplx sum = 0;
      for (std::uint64_t k = 0; k < dim; ++k) sum += product(m[row * dim + k], in[k]);
      put(x | offset[row], sum);
    }
  }
}

template <class T>
double CpuState<T>::sum_tiny(std::uint64_t mask, std::uint64_t value) const {
  double sum = 0;
  for (std::uint64_t p = 0; p < num_amplitudes(); ++p) {
    if (p & known_zero_ || (p & mask) != value) continue;
    const double re = amps()[p].re, im = amps()[p].im;
    sum += re * re + im * im;
  }
  return sum;
}

template class CpuState<float>;
template class CpuState<double>;

}  // namespace tilewave::statevec::cpu
