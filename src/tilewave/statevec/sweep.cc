// Sweeps over states in host memory, block by block; CUDA devices and states of several ranks have
// their own. A block of 2^12 amplitudes stays in a core's cache.
#include "tilewave/statevec/sweep.h"

#include <algorithm>
#include <bit>
#include <exception>
#include <map>
#include <numeric>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/runtime/multiversion.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec {

namespace {

constexpr std::uint64_t kBlock = std::uint64_t{1} << 12;

Complex<double> inner(const cplx& z) { return {z.real(), z.imag()}; }
cplx outer(Complex<double> z) { return {z.re, z.im}; }

// The sum of f(first index, amplitudes) over all blocks, added in their order.
template <class F>
cplx sum_blocks(const State& state, F f) {
  const std::uint64_t size = std::min(kBlock, state.num_amplitudes());
  std::vector<cplx> sums(state.num_amplitudes() / size);
  std::exception_ptr failure;
#pragma omp parallel num_threads(state.host_threads()) if (sums.size() >= 8)
  {
    std::vector<cplx> block(size);
#pragma omp for schedule(static)
    for (std::uint64_t b = 0; b < sums.size(); ++b) {
      try {
        state.read_local(b * size, block);
        sums[b] = f(b * size, block);
      } catch (...) {
#pragma omp critical(tw_sum_blocks)
        failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
  return std::accumulate(sums.begin(), sums.end(), cplx(0));
}

// Amplitudes of another state, in memory of the thread until its next call.
std::span<const cplx> read_beside(const State& other, std::uint64_t first, std::size_t count) {
  thread_local std::vector<cplx> block;
  block.resize(count);
  other.read_local(first, block);
  return block;
}

// x <- M x, M by columns: their real parts, then their imaginary parts; scratch: 4 dim numbers.
TW_MULTIVERSION void multiply(const double* columns, cplx* x, std::size_t dim, double* scratch) {
  double *re = scratch, *im = scratch + dim, *in = scratch + 2 * dim;
  for (std::size_t j = 0; j < dim; ++j) {
    in[2 * j] = x[j].real();
    in[2 * j + 1] = x[j].imag();
    re[j] = im[j] = 0;
  }
  for (std::size_t j = 0; j < dim; ++j) {
    const double *cr = columns + 2 * j * dim, *ci = cr + dim;
    const double xr = in[2 * j], xi = in[2 * j + 1];
    for (std::size_t i = 0; i < dim; ++i) {
      re[i] += cr[i] * xr - ci[i] * xi;
      im[i] += cr[i] * xi + ci[i] * xr;
    }
  }
  for (std::size_t i = 0; i < dim; ++i) x[i] = {re[i], im[i]};
}

}  // namespace

void State::read_local(std::uint64_t first, std::span<cplx> out) const {
  const int bits = std::countr_zero(out.size());
  if (precision_ == Precision::kDouble) {
    read_runs({&first, 1}, bits, out.data());
    return;
  }
  std::vector<std::complex<float>> part(out.size());
  read_runs({&first, 1}, bits, part.data());
  std::copy(part.begin(), part.end(), out.begin());
}

void State::write_local(std::uint64_t first, std::span<const cplx> in) {
  const int bits = std::countr_zero(in.size());
  if (precision_ == Precision::kDouble) {
    write_runs({&first, 1}, bits, in.data());
    return;
  }
  std::vector<std::complex<float>> part(in.begin(), in.end());
  write_runs({&first, 1}, bits, part.data());
}

void State::sweep(const Sweep& s, std::uint64_t first) {
  with_kind(s.kind, [&]<Sweep::Kind kKind>() {
    update_blocks([&](std::uint64_t at, std::span<cplx> block) {
      for (std::size_t k = 0; k < block.size(); ++k)
        block[k] = outer(swept<kKind>(s, first + at + k, inner(block[k])));
    });
  });
}

cplx State::sweep_sum(const SweepSum& s, std::uint64_t first) {
  return sum_blocks(*this, [&](std::uint64_t at, std::span<const cplx> block) {
    Complex<double> sum = {0, 0};
    for (std::size_t k = 0; k < block.size(); ++k)
      sum = sum + summand(s, first + at + k, inner(block[k]));
    return outer(sum);
  });
}

cplx State::pair_sum(PairSum kind, const State& other) {
  return sum_blocks(*this, [&](std::uint64_t at, std::span<const cplx> block) {
    const std::span<const cplx> others = read_beside(other, at, block.size());
    Complex<double> sum = {0, 0};
    for (std::size_t k = 0; k < block.size(); ++k)
      sum = sum + summand(kind, inner(block[k]), inner(others[k]));
    return outer(sum);
  });
}

void State::add_scaled(const State& other, cplx a, cplx c) {
  update_blocks([&](std::uint64_t at, std::span<cplx> block) {
    const std::span<const cplx> others = read_beside(other, at, block.size());
    for (std::size_t k = 0; k < block.size(); ++k) {
      block[k] = outer(inner(c) * inner(block[k]) + inner(a) * inner(others[k]));
    }
  });
}

// A block needs, for every flip mask, one block of the other state: masks with the same high bits
// share it.
void State::add_strings(State& other, std::span<const StringTerm> terms, std::uint64_t first) {
  const std::uint64_t size = std::min(kBlock, num_amplitudes()), inside = size - 1;
  std::map<std::uint64_t, std::vector<const StringTerm*>> by_high;
  for (const StringTerm& term : terms) by_high[term.x & ~inside].push_back(&term);
  update_blocks([&](std::uint64_t begin, std::span<cplx> all) {
    std::vector<cplx> values(size);
    for (std::uint64_t at = begin; at < begin + all.size(); at += size) {
      cplx* block = all.data() + (at - begin);
      for (const auto& [high, list] : by_high) {
        other.read_local(at ^ high, values);
        for (const StringTerm* term : list) {
          const double sign = term->is_odd(first + at) ? -1 : 1;
          const Complex<double> c = {sign * term->c.re, sign * term->c.im};
          const std::uint64_t low = term->x & inside;
          for (std::uint64_t k = 0; k < size; ++k) {
            const cplx z = outer(c * inner(values[k ^ low]));
            block[k] += std::popcount(k & term->z) & 1 ? -z : z;
          }
        }
      }
    }
  });
}

void State::apply_dense(const DenseOp& op, std::uint64_t first) {
  const std::size_t dim = std::size_t{1} << op.num_targets;
  std::vector<double> columns(2 * dim * dim);
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t j = 0; j < dim; ++j) {
      columns[2 * j * dim + i] = op.m[i * dim + j].real();
      columns[(2 * j + 1) * dim + i] = op.m[i * dim + j].imag();
    }
  }
  update_blocks([&](std::uint64_t at, std::span<cplx> block) {
    TW_CHECK(block.size() % dim == 0, "a block holds whole products");
    std::vector<double> scratch(4 * dim);
    for (std::size_t base = 0; base < block.size(); base += dim) {
      if (((first + at + base) & op.mask) == op.value)
        multiply(columns.data(), block.data() + base, dim, scratch.data());
    }
  });
}

}  // namespace tilewave::statevec
