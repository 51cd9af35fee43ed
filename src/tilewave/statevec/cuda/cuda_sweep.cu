// Sweeps over a state on a CUDA device (see sweep.h): the amplitudes stay where they are, what the
// host brings along (tables, strings, matrices) comes to the device in parts. Bytes a sweep: the
// state once in and once out; tables once.
#include <algorithm>
#include <numeric>
#include <type_traits>

#include "tilewave/base/error.h"
#include "tilewave/statevec/cuda/cuda_state.cuh"
#include "tilewave/statevec/sweep.h"

namespace tilewave::statevec::cuda {

namespace rc = runtime::cuda;

namespace {

constexpr unsigned kBlocks = 1056;  // 8 a multiprocessor of 132
constexpr std::size_t kTermsAPass = 4096;
constexpr std::size_t kKept = std::size_t{1} << 16;  // of scratch memory, for sums

__device__ std::uint64_t first_index() {
  return blockIdx.x * std::uint64_t{kReduceThreads} + threadIdx.x;
}
__device__ std::uint64_t index_step() { return gridDim.x * std::uint64_t{kReduceThreads}; }

template <class T>
__device__ Complex<double> widened(Complex<T> z) {
  return {static_cast<double>(z.re), static_cast<double>(z.im)};
}
template <class T>
__device__ Complex<T> narrowed(Complex<double> z) {
  return {static_cast<T>(z.re), static_cast<T>(z.im)};
}

template <class T, Sweep::Kind kKind>
__global__ void __launch_bounds__(kReduceThreads)
    sweep_kernel(Complex<T>* amps, std::uint64_t begin, std::uint64_t end, std::uint64_t first,
                 Sweep s) {
  for (std::uint64_t i = begin + first_index(); i < end; i += index_step())
    amps[i] = narrowed<T>(swept<kKind>(s, first + i, widened(amps[i])));
}

/// partial[2 block], partial[2 block + 1]: real and imaginary part.
__device__ void put_sum(Complex<double> sum, double* partial) {
  const double re = block_sum(sum.re), im = block_sum(sum.im);
  if (threadIdx.x == 0) {
    partial[2 * blockIdx.x] = re;
    partial[2 * blockIdx.x + 1] = im;
  }
}

template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    sweep_sum_kernel(const Complex<T>* amps, std::uint64_t begin, std::uint64_t end,
                     std::uint64_t first, SweepSum s, double* partial) {
  Complex<double> sum = {0, 0};
  for (std::uint64_t i = begin + first_index(); i < end; i += index_step())
    sum = sum + summand(s, first + i, widened(amps[i]));
  put_sum(sum, partial);
}

template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    pair_sum_kernel(const Complex<T>* a, const Complex<T>* b, std::uint64_t count, PairSum kind,
                    double* partial) {
  Complex<double> sum = {0, 0};
  for (std::uint64_t i = first_index(); i < count; i += index_step())
    sum = sum + summand(kind, widened(a[i]), widened(b[i]));
  put_sum(sum, partial);
}

template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    add_scaled_kernel(Complex<T>* amps, const Complex<T>* other, std::uint64_t count,
                      Complex<double> a, Complex<double> c) {
  for (std::uint64_t i = first_index(); i < count; i += index_step())
    amps[i] = narrowed<T>(c * widened(amps[i]) + a * widened(other[i]));
}

template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    add_strings_kernel(Complex<T>* amps, const Complex<T>* other, std::uint64_t count,
                       std::uint64_t first, const StringTerm* terms, std::uint32_t num_terms) {
  for (std::uint64_t i = first_index(); i < count; i += index_step()) {
    Complex<double> sum = widened(amps[i]);
    for (std::uint32_t t = 0; t < num_terms; ++t) {
      const StringTerm term = terms[t];
      const double sign = term.is_odd(first + i) ? -1 : 1;
      sum = sum + Complex<double>{sign * term.c.re, sign * term.c.im} * widened(other[i ^ term.x]);
    }
    amps[i] = narrowed<T>(sum);
  }
}

/// Rows [row, row + rows) of products [begin, end) to out[product - begin][row]. A block holds the
/// amplitudes of one product in shared memory and goes over the matrix, whose rows are stored by
/// columns. With all rows, out may be the place of the products.
template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    dense_kernel(const Complex<T>* amps, Complex<T>* out, std::uint64_t begin, std::uint64_t end,
                 int num_targets, std::uint64_t first, std::uint64_t mask, std::uint64_t value,
                 const Complex<double>* columns, unsigned row, unsigned rows) {
  extern __shared__ double2 shared_memory[];
  auto* x = reinterpret_cast<Complex<T>*>(shared_memory);
  const unsigned dim = 1u << num_targets;
  for (std::uint64_t p = begin + blockIdx.x; p < end; p += gridDim.x) {
    const std::uint64_t base = p << num_targets;
    if (((first + base) & mask) != value) continue;
    __syncthreads();  // the product before has been read
    for (unsigned j = threadIdx.x; j < dim; j += kReduceThreads) x[j] = amps[base + j];
    __syncthreads();
    for (unsigned i = threadIdx.x; i < rows; i += kReduceThreads) {
      Complex<double> sum = {0, 0};
      for (unsigned j = 0; j < dim; ++j)
        sum = sum + columns[std::uint64_t{j} * rows + i] * widened(x[j]);
      out[((p - begin) << num_targets) + row + i] = narrowed<T>(sum);
    }
  }
}

/// Products [begin, end) from where they were put together.
template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    put_products_kernel(Complex<T>* amps, const Complex<T>* from, std::uint64_t begin,
                        std::uint64_t end, std::uint64_t first, std::uint64_t mask,
                        std::uint64_t value) {
  for (std::uint64_t i = begin + first_index(); i < end; i += index_step()) {
    if (((first + i) & mask) == value) amps[i] = from[i - begin];
  }
}

/// Host data on the device for a while: in scratch memory, or beside it what is too long.
class Guests {
 public:
  Guests(Workspace& workspace, const rc::Stream& stream)
      : lease_(workspace, stream), stream_(stream) {}

  void* place(std::size_t num_bytes) {
    if (num_bytes + kKept <= lease_.free_bytes()) return lease_.take<std::byte>(num_bytes);
    more_.emplace_back(num_bytes, "the data of an operator");
    return more_.back().take<std::byte>(num_bytes);
  }
  template <class V>
  const V* put(const V* values, std::size_t count) {
    if (count == 0) return nullptr;
    void* at = place(count * sizeof(V));
    rc::copy(at, values, count * sizeof(V), stream_);
    stream_.synchronize();
    return static_cast<const V*>(at);
  }
  /// Entries [first, first + count) of a table.
  Table put(const Table& t, std::uint64_t first, std::uint64_t count) {
    Table out = t;
    out.first = first;
    out.count = count;
    const std::size_t size = t.is_double ? 8 : 4;
    const auto part = [&](const void* from) -> const void* {
      return put(static_cast<const std::byte*>(from) + (first - t.first) * size, count * size);
    };
    out.re = part(t.re);
    out.im = part(t.im);
    return out;
  }

 private:
  Workspace::Lease lease_;
  const rc::Stream& stream_;
  std::vector<rc::DeviceArena> more_;
};

/// f(part of the table, first and last amplitude it is about) for every part. A table with an entry
/// for every amplitude is about its own part of them only.
template <class F>
void for_each_part(const Table& table, bool is_whole, std::uint64_t first, std::uint64_t count,
                   Workspace& workspace, const rc::Stream& stream, F f) {
  const std::uint64_t fitting =
      Workspace::Lease(workspace, stream).num_fitting(2 * sizeof(double), 2 * kKept);
  for (std::uint64_t at = 0; at < table.count; at += fitting) {
    const std::uint64_t from = table.first + at, size = std::min(fitting, table.count - at);
    std::uint64_t begin = 0, end = count;
    if (is_whole) {
      begin = std::max(from, first) - first;
      end = std::min(from + size, first + count);
      if (end <= first + begin) continue;
      end -= first;
    }
    Guests guests(workspace, stream);
    f(guests.put(table, is_whole ? first + begin : from, is_whole ? end - begin : size), begin,
      end);
    stream.synchronize();
  }
}

cplx total(const std::vector<double>& partial) {
  cplx sum = 0;
  for (std::size_t b = 0; b + 1 < partial.size(); b += 2) sum += cplx(partial[b], partial[b + 1]);
  return sum;
}

}  // namespace

template <class T>
void CudaState<T>::sweep(const Sweep& s, std::uint64_t first) {
  use_device();
  forget_answers();
  const auto start = [&](const Sweep& on_device, std::uint64_t begin, std::uint64_t end) {
    with_kind(s.kind, [&]<Sweep::Kind kKind>() {
      rc::launch(sweep_kernel<T, kKind>, dim3(kBlocks), dim3(kReduceThreads), 0, stream_, amps_,
                 begin, end, first, on_device);
    });
  };
  Sweep on_device = s;
  if (s.kind == Sweep::Kind::kTable && !s.is_both) {
    const bool is_whole = s.digits.are_lowest && s.digits.count == s.row_bits &&
                          first + num_amplitudes() <= bit(s.row_bits);
    for_each_part(s.table, is_whole, first, num_amplitudes(), *workspace_, stream_,
                  [&](const Table& part, std::uint64_t begin, std::uint64_t end) {
                    on_device.table = part;
                    start(on_device, begin, end);
                  });
    return;
  }
  Guests guests(*workspace_, stream_);
  if (s.table.count) on_device.table = guests.put(s.table, s.table.first, s.table.count);
  const PhaseFunction& f = s.phase;
  const auto terms = static_cast<std::size_t>(
      f.coefficients ? std::accumulate(f.num_terms, f.num_terms + f.num_numbers, 0) : 0);
  const auto exceptions = static_cast<std::size_t>(f.num_exceptions);
  on_device.phase.coefficients = guests.put(f.coefficients, terms);
  on_device.phase.exponents = guests.put(f.exponents, terms);
  on_device.phase.exception_numbers =
      guests.put(f.exception_numbers, exceptions * static_cast<std::size_t>(f.num_numbers));
  on_device.phase.exception_phases = guests.put(f.exception_phases, exceptions);
  on_device.strings = guests.put(s.strings, s.num_strings);
  start(on_device, 0, num_amplitudes());
  stream_.synchronize();
}

template <class T>
cplx CudaState<T>::sweep_sum(const SweepSum& s, std::uint64_t first) {
  use_device();
  cplx sum = 0;
  const auto add = [&](const Table& table, std::uint64_t begin, std::uint64_t end) {
    SweepSum on_device = s;
    on_device.table = table;
    Workspace::Lease lease(*workspace_, stream_);
    double* partial = lease.take<double>(2 * kBlocks);
    rc::launch(sweep_sum_kernel<T>, dim3(kBlocks), dim3(kReduceThreads), 0, stream_, amps_, begin,
               end, first, on_device, partial);
    sum += total(to_host(partial, 2 * kBlocks));
  };
  if (s.is_sandwich) {
    Guests guests(*workspace_, stream_);
    add(guests.put(s.table, s.table.first, s.table.count), 0, num_amplitudes());
  } else {
    const bool is_whole = first + num_amplitudes() <= bit(s.row_bits);
    for_each_part(s.table, is_whole, first, num_amplitudes(), *workspace_, stream_, add);
  }
  return sum;
}

template <class T>
const Complex<T>* CudaState<T>::memory_of(const State& other) const {
  const auto* state = dynamic_cast<const CudaState<T>*>(&other);
  if (!state) return nullptr;
  if (state->info_.index != info_.index) rc::connect({info_.index, state->info_.index});
  state->use_device();
  state->stream_.synchronize();
  use_device();
  return state->amps_;
}

template <class T>
cplx CudaState<T>::pair_sum(PairSum kind, const State& other) {
  const Complex<T>* b = memory_of(other);
  if (!b) return State::pair_sum(kind, other);
  Workspace::Lease lease(*workspace_, stream_);
  double* partial = lease.take<double>(2 * kBlocks);
  rc::launch(pair_sum_kernel<T>, dim3(kBlocks), dim3(kReduceThreads), 0, stream_, amps_, b,
             num_amplitudes(), kind, partial);
  return total(to_host(partial, 2 * kBlocks));
}

template <class T>
void CudaState<T>::add_scaled(const State& other, cplx a, cplx c) {
  const Complex<T>* b = memory_of(other);
  if (!b) return State::add_scaled(other, a, c);
  forget_answers();
  rc::launch(add_scaled_kernel<T>, dim3(kBlocks), dim3(kReduceThreads), 0, stream_, amps_, b,
             num_amplitudes(), Complex<double>{a.real(), a.imag()},
             Complex<double>{c.real(), c.imag()});
  stream_.synchronize();
}

template <class T>
void CudaState<T>::add_strings(State& other, std::span<const StringTerm> terms,
                               std::uint64_t first) {
  const Complex<T>* b = memory_of(other);
  if (!b) return State::add_strings(other, terms, first);
  forget_answers();
  for (std::size_t at = 0; at < terms.size(); at += kTermsAPass) {
    const std::size_t count = std::min(kTermsAPass, terms.size() - at);
    Guests guests(*workspace_, stream_);
    rc::launch(add_strings_kernel<T>, dim3(kBlocks), dim3(kReduceThreads), 0, stream_, amps_, b,
               num_amplitudes(), first, guests.put(terms.data() + at, count),
               static_cast<std::uint32_t>(count));
    stream_.synchronize();
  }
}

template <class T>
void CudaState<T>::apply_dense(const DenseOp& op, std::uint64_t first) {
  use_device();
  forget_answers();
  const std::size_t dim = std::size_t{1} << op.num_targets, shared = dim * sizeof(Complex<T>);
  const std::uint64_t products = num_amplitudes() >> op.num_targets;
  rc::allow_shared(info_.index, reinterpret_cast<const void*>(dense_kernel<T>), shared);
  // A matrix that fits is applied in place; of others as many rows as fit in half of the scratch
  // memory, to as many products as fit in the rest.
  Workspace::Lease lease(*workspace_, stream_);
  const std::size_t row_bytes = dim * sizeof(Complex<double>);
  const bool is_whole = dim * row_bytes + kKept <= lease.free_bytes();
  const std::size_t half = lease.free_bytes() / 2 - kKept;
  const std::size_t rows = is_whole ? dim : std::min(dim, half / row_bytes);
  const std::uint64_t batch =
      is_whole ? products : std::min<std::uint64_t>(products, half / shared);
  TW_CHECK(rows > 0 && batch > 0, "a row of a matrix is larger than the scratch memory");
  auto* matrix = lease.take<Complex<double>>(rows * dim);
  Complex<T>* results = is_whole ? amps_ : lease.take<Complex<T>>(batch * dim);
  std::vector<Complex<double>> columns(rows * dim);
  for (std::uint64_t begin = 0; begin < products; begin += batch) {
    const std::uint64_t end = std::min(begin + batch, products);
    for (std::size_t row = 0; row < dim; row += rows) {
      const std::size_t count = std::min(rows, dim - row);
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < dim; ++j) {
          const cplx z = op.m[(row + i) * dim + j];
          columns[j * count + i] = {z.real(), z.imag()};
        }
      }
      rc::copy(matrix, columns.data(), count * row_bytes, stream_);
      rc::launch(dense_kernel<T>, dim3(kBlocks), dim3(kReduceThreads), shared, stream_, amps_,
                 results, begin, end, op.num_targets, first, op.mask, op.value, matrix,
                 static_cast<unsigned>(row), static_cast<unsigned>(count));
      stream_.synchronize();
    }
    if (is_whole) break;
    rc::launch(put_products_kernel<T>, dim3(kBlocks), dim3(kReduceThreads), 0, stream_, amps_,
               results, begin << op.num_targets, end << op.num_targets, first, op.mask, op.value);
  }
  stream_.synchronize();
}

#define TW_SWEEPS_OF(T)                                                                        \
  template void CudaState<T>::sweep(const Sweep&, std::uint64_t);                              \
  template cplx CudaState<T>::sweep_sum(const SweepSum&, std::uint64_t);                       \
  template const Complex<T>* CudaState<T>::memory_of(const State&) const;                      \
  template cplx CudaState<T>::pair_sum(PairSum, const State&);                                 \
  template void CudaState<T>::add_scaled(const State&, cplx, cplx);                            \
  template void CudaState<T>::add_strings(State&, std::span<const StringTerm>, std::uint64_t); \
  template void CudaState<T>::apply_dense(const DenseOp&, std::uint64_t)
TW_SWEEPS_OF(float);
TW_SWEEPS_OF(double);

}  // namespace tilewave::statevec::cuda
