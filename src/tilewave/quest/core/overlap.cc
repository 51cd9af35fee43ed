// See overlap.h.
#include "tilewave/quest/core/overlap.h"

#include <cmath>
#include <numeric>

namespace tilewave::quest {
namespace {

// f(first, block of a, the same amplitudes of b)
template <class F>
void for_each_pair(Register& a, Register& b, F f) {
  statevec::State& other = b.state();
  std::vector<std::uint64_t> indices;
  a.state().for_each_block([&](std::uint64_t first, std::span<const cplx> block) {
    if (&a == &b) {
      f(block, block);
      return;
    }
    indices.resize(block.size());
    std::iota(indices.begin(), indices.end(), first);
    f(block, std::span<const cplx>(other.amplitudes(indices)));
  });
}

}  // namespace

cplx inner_product(Register& a, Register& b) {
  cplx total = 0;
  for_each_pair(a, b, [&](std::span<const cplx> x, std::span<const cplx> y) {
    double re = 0, im = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      re += x[k].real() * y[k].real() + x[k].imag() * y[k].imag();
      im += x[k].real() * y[k].imag() - x[k].imag() * y[k].real();
    }
    total += cplx(re, im);
  });
  return total;
}

double distance(Register& a, Register& b) {
  double total = 0;
  for_each_pair(a, b, [&](std::span<const cplx> x, std::span<const cplx> y) {
    double sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) sum += std::norm(x[k] - y[k]);
    total += sum;
  });
  return std::sqrt(total);
}

double mixed_fidelity(Register& rho, Register& psi) {
  const std::vector<cplx> v = psi.all_amplitudes();
  const std::uint64_t rows = rho.dimension() - 1;
  cplx total = 0;
  rho.state().for_each_block([&](std::uint64_t first, std::span<const cplx> block) {
    cplx sum = 0;
    for (std::size_t k = 0; k < block.size(); ++k) {
      const std::uint64_t row = (first + k) & rows, column = (first + k) >> rho.num_qubits();
      sum += std::conj(v[row]) * block[k] * v[column];
    }
    total += sum;
  });
  return total.real();
}

void weighted_sum(cplx a, Register& x, cplx b, Register& y, cplx c, Register& out) {
  if (&x == &out) {
    c += a;
    a = 0;
  }
  if (&y == &out) {
    c += b;
    b = 0;
  }
  statevec::State &sx = x.state(), &sy = y.state();
  const bool takes_x = a != 0.0, takes_y = b != 0.0;
  out.update([&](std::uint64_t first, std::span<cplx> block) {
    std::vector<std::uint64_t> indices(block.size());
    std::iota(indices.begin(), indices.end(), first);
    for (cplx& z : block) z *= c;
    const auto add = [&](cplx factor, statevec::State& source) {
      const std::vector<cplx> values = source.amplitudes(indices);
      for (std::size_t k = 0; k < block.size(); ++k) block[k] += factor * values[k];
    };
    if (takes_x) add(a, sx);
    if (takes_y) add(b, sy);
  });
}

}  // namespace tilewave::quest
