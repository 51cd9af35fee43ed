// Runs of physical amplitudes in and out of a state on the CPU, for exchanges between ranks. Memory
// is folded (address.h), so a run is copied row by row.
#include <algorithm>
#include <cstring>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/cpu/address.h"
#include "tilewave/statevec/cpu/cpu_state.h"

namespace tilewave::statevec::cpu {

namespace {

// f(place in the buffer, place in memory, amplitudes) for every row of every run.
template <class T, class F>
void for_each_row(std::span<const std::uint64_t> firsts, int run_bits, int num_threads, F f) {
  const int row_bits = std::min(run_bits, Address<T>::kRowBits), more = run_bits - row_bits;
  const std::uint64_t rows = firsts.size() << more;
#pragma omp parallel for num_threads(num_threads) schedule(static) if (rows > 256)
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t first = firsts[r >> more] | (r & low_mask(more)) << row_bits;
    f(r << row_bits, Address<T>::of(first), bit(row_bits));
  }
}

}  // namespace

template <class T>
void CpuState<T>::read_runs(std::span<const std::uint64_t> firsts, int run_bits, void* to) const {
  auto* out = static_cast<Complex<T>*>(to);
  const Complex<T>* in = amps();
  for_each_row<T>(firsts, run_bits, num_threads_,
                  [&](std::uint64_t at, std::uint64_t place, std::uint64_t count) {
                    std::memcpy(static_cast<void*>(out + at), in + place,
                                count * sizeof(Complex<T>));
                  });
}

template <class T>
void CpuState<T>::write_runs(std::span<const std::uint64_t> firsts, int run_bits,
                             const void* from) {
  forget_answers();
  const auto* in = static_cast<const Complex<T>*>(from);
  Complex<T>* out = amps();
  for_each_row<T>(firsts, run_bits, num_threads_,
                  [&](std::uint64_t at, std::uint64_t place, std::uint64_t count) {
                    std::memcpy(static_cast<void*>(out + place), in + at,
                                count * sizeof(Complex<T>));
                  });
}

template void CpuState<float>::read_runs(std::span<const std::uint64_t>, int, void*) const;
template void CpuState<double>::read_runs(std::span<const std::uint64_t>, int, void*) const;
template void CpuState<float>::write_runs(std::span<const std::uint64_t>, int, const void*);
template void CpuState<double>::write_runs(std::span<const std::uint64_t>, int, const void*);

}  // namespace tilewave::statevec::cpu
