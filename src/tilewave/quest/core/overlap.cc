// See overlap.h.
#include "tilewave/quest/core/overlap.h"

#include <cmath>
#include <numeric>

#include "tilewave/quest/core/read_blocks.h"

namespace tilewave::quest {
namespace {

// The sum of f(block of a, the same amplitudes of b) over all blocks, in their order.
template <class F>
cplx sum_over_pairs(Register& a, Register& b, F f) {
  statevec::State& other = b.state();
  other.restore_layout();
  std::vector<cplx> sums(a.num_amplitudes() / block_size(a.state()));
  read_blocks(a.state(), [&](std::uint64_t first, std::span<const cplx> block) {
    cplx& sum = sums[first / block.size()];
    if (&a == &b) {
      sum = f(block, block);
      return;
    }
    std::vector<std::uint64_t> indices(block.size());
    std::iota(indices.begin(), indices.end(), first);
    sum = f(block, std::span<const cplx>(other.amplitudes(indices)));
  });
  return std::accumulate(sums.begin(), sums.end(), cplx(0));
}

}  // namespace

cplx inner_product(Register& a, Register& b) {
  return sum_over_pairs(a, b, [](std::span<const cplx> x, std::span<const cplx> y) {
    double re = 0, im = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      re += x[k].real() * y[k].real() + x[k].imag() * y[k].imag();
      im += x[k].real() * y[k].imag() - x[k].imag() * y[k].real();
    }
    return cplx(re, im);
  });
}

double distance(Register& a, Register& b) {
  const cplx total = sum_over_pairs(a, b, [](std::span<const cplx> x, std::span<const cplx> y) {
    double sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) sum += std::norm(x[k] - y[k]);
    return cplx(sum);
  });
  return std::sqrt(total.real());
}

double mixed_fidelity(Register& rho, Register& psi) {
  const std::vector<cplx> v = psi.all_amplitudes();
  const std::uint64_t rows = rho.dimension() - 1;
  std::vector<cplx> sums(rho.num_amplitudes() / block_size(rho.state()));
  read_blocks(rho.state(), [&](std::uint64_t first, std::span<const cplx> block) {
    cplx sum = 0;
    for (std::size_t k = 0; k < block.size(); ++k) {
      const std::uint64_t row = (first + k) & rows, column = (first + k) >> rho.num_qubits();
      sum += std::conj(v[row]) * block[k] * v[column];
    }
    sums[first / block.size()] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), cplx(0)).real();
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
  if (takes_x) sx.restore_layout();
  if (takes_y) sy.restore_layout();
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
