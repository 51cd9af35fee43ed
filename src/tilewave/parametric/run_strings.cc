// Sums over the states of a run: Pauli strings that are read or multiplied, and products. And what
// processes that share a state need of its shards.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/base/units.h"
#include "tilewave/parametric/run_tiles-inl.h"

namespace tilewave::parametric {

template <class T>
void Run<T>::dot(std::span<double> re, std::span<double> im) {
  constexpr std::size_t kL = kLanes<T>;
  const T *const psi = psi_.as<T>(), *const lam = lam_.as<T>();
  const std::uint64_t rows = bit(program_.passes.num_wires - program_.passes.lane_bits);
  const std::uint64_t slots = std::min(kSlots, rows), each = rows / slots;
  std::vector<double> sums(2 * slots * kL);
#pragma omp parallel for num_threads(num_threads_) schedule(dynamic, 1) if (num_threads_ > 1)
  for (std::int64_t s = 0; s < static_cast<std::int64_t>(slots); ++s) {
    const auto slot = static_cast<std::uint64_t>(s);
    constexpr std::uint64_t kPiece = 512;  // rows whose products are summed in single precision
    for (std::uint64_t r = slot * each; r < (slot + 1) * each; r += kPiece) {
      cpu::kernels<T>().dot(lam + r * kRow<T>, psi + r * kRow<T>,
                            std::min(kPiece, (slot + 1) * each - r), sums.data() + 2 * slot * kL,
                            sums.data() + (2 * slot + 1) * kL);
    }
  }
  std::fill(re.begin(), re.end(), 0.0);
  std::fill(im.begin(), im.end(), 0.0);
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    for (std::size_t lane = 0; lane < kL; ++lane) {
      re[is_batch() ? lane : 0] += sums[2 * slot * kL + lane];
      im[is_batch() ? lane : 0] += sums[(2 * slot + 1) * kL + lane];
    }
  }
}

template <class T>
void Run<T>::read_strings(std::span<double> values) {
  std::fill(values.begin(), values.end(), 0.0);
  for (const StringSweep& sweep : program_.sweeps) read_sweep(sweep, psi_.as<T>(), values);
}

template <class T>
void Run<T>::read_sweep(const StringSweep& sweep, const T* all, std::span<double> values) {
  const Passes& p = program_.passes;
  constexpr std::size_t kL = kLanes<T>;
  const T* const psi = psi_.as<T>();
  const std::size_t own = sweep.z.size() * kL;
  const std::uint64_t most = std::bit_floor(std::max<std::uint64_t>(kMostSums / own, 1));
  const std::uint64_t slots = std::min(num_slots(sweep.active, 0), most);
  std::vector<double> sums(own * slots);
  for_tiles(sweep.active, 0, slots,
            [&](std::uint64_t outer, std::uint64_t slot, Thread& t, bool is_first) {
              const T *bra = psi, *ket = all;
              if (!t.rows.empty()) {
                if (is_first) place_rows(t.rows, sweep.active, p.lane_bits);
                load(psi, t.rows, row_of(outer), t.psi.template as<T>());
                bra = ket = t.psi.template as<T>();
                if (sweep.flip_outer) {
                  load(all, t.rows, row_of(outer ^ sweep.flip_outer), t.lam.template as<T>());
                  ket = t.lam.template as<T>();
                }
              }
              for (const SweepGroup& g : sweep.groups) {
                const cpu::StringGroup group{g.flip, g.count, sweep.z.data() + g.first,
                                             sweep.y.data() + g.first};
                cpu::kernels<T>().read_strings(group, bra, ket, outer, p.row_bits,
                                               t.scratch.template as<T>(),
                                               sums.data() + slot * own + g.first * kL);
              }
            });
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    for (std::size_t j = 0; j < sweep.z.size(); ++j) {
      for (std::size_t lane = 0; lane < kL; ++lane)
        values[sweep.string[j] * kL + (is_batch() ? lane : 0)] += sums[slot * own + j * kL + lane];
    }
  }
}

template <class T>
void Run<T>::make_lam(std::span<const double> weights) {
  need_states(2);
  if (program_.sweeps.empty()) std::memset(lam_.data(), 0, lam_.num_bytes());
  for (const StringSweep& sweep : program_.sweeps)
    add_sweep(sweep, psi_.as<T>(), weights, &sweep == program_.sweeps.data());
}

template <class T>
void Run<T>::add_sweep(const StringSweep& sweep, const T* all, std::span<const double> weights,
                       bool is_first_sweep) {
  const Passes& p = program_.passes;
  constexpr std::size_t kL = kLanes<T>;
  T* const lam = lam_.as<T>();
  runtime::HostBuffer own(std::max<std::size_t>(sweep.z.size(), 1) * kL * sizeof(T));
  for (std::size_t j = 0; j < sweep.z.size(); ++j) {
    for (std::size_t lane = 0; lane < kL; ++lane) {
      own.as<T>()[j * kL + lane] =
          static_cast<T>(weights[sweep.string[j] * kL + (is_batch() ? lane : 0)]);
    }
  }
  for_tiles(sweep.active, 0, num_slots(sweep.active, 0),
            [&](std::uint64_t outer, std::uint64_t, Thread& t, bool is_first) {
              const T* from = all;
              T* to = lam;
              const std::size_t tile_bytes = (kRow<T> * sizeof(T)) << p.row_bits;
              if (!t.rows.empty()) {
                if (is_first) place_rows(t.rows, sweep.active, p.lane_bits);
                from = t.psi.template as<T>();
                to = t.lam.template as<T>();
                load(all, t.rows, row_of(outer ^ sweep.flip_outer), t.psi.template as<T>());
              }
              if (is_first_sweep) {
                std::memset(static_cast<void*>(to), 0, tile_bytes);
              } else if (!t.rows.empty()) {
                load(lam, t.rows, row_of(outer), to);
              }
              for (const SweepGroup& g : sweep.groups) {
                const cpu::StringGroup group{g.flip, g.count, sweep.z.data() + g.first,
                                             sweep.y.data() + g.first};
                cpu::kernels<T>().add_strings(group, own.as<T>() + g.first * kL, from, to, outer,
                                              p.row_bits, t.scratch.template as<T>());
              }
              if (!t.rows.empty()) store(lam, t.rows, row_of(outer), to);
            });
}

template <class T>
void Run<T>::need_shards(int others) {
  const std::uint64_t bytes = num_rows() * kRow<T> * sizeof(T);
  const std::uint64_t available = runtime::available_host_bytes();
  const auto count = static_cast<std::uint64_t>(2 + others);
  if (!lam_.data() && count * bytes > available) {
    fail_memory("a shard of the state needs ", count, " times ", in_bytes(bytes), ", ",
                in_bytes(available), " are available: use more processes");
  }
  need_states(2);
}

template <class T>
void Run<T>::start_shard() {
  from_zero_ = false;
  std::memset(psi_.data(), 0, psi_.num_bytes());
  for (std::size_t lane = 0; shard_ == 0 && lane < static_cast<std::size_t>(num_lanes()); ++lane) {
    psi_.as<T>()[lane] = static_cast<T>(global_[lane].real());
    psi_.as<T>()[kLanes<T> + lane] = static_cast<T>(global_[lane].imag());
  }
}

template <class T>
void Run<T>::forward_shard() {
  from_zero_ = false;
  move_forward();
}

template <class T>
std::size_t Run<T>::num_rows() const {
  return bit(program_.passes.num_wires - program_.passes.lane_bits);
}

template <class T>
void Run<T>::take_states(Run& from) {
  psi_ = std::move(from.psi_);
  lam_ = std::move(from.lam_);
}

template void Run<float>::dot(std::span<double>, std::span<double>);
template void Run<float>::read_strings(std::span<double>);
template void Run<float>::make_lam(std::span<const double>);
template void Run<float>::read_sweep(const StringSweep&, const float*, std::span<double>);
template void Run<float>::add_sweep(const StringSweep&, const float*, std::span<const double>,
                                    bool);
template void Run<float>::need_shards(int);
template void Run<float>::start_shard();
template void Run<float>::forward_shard();
template std::size_t Run<float>::num_rows() const;
template void Run<float>::take_states(Run<float>&);
template void Run<double>::dot(std::span<double>, std::span<double>);
template void Run<double>::read_strings(std::span<double>);
template void Run<double>::make_lam(std::span<const double>);
template void Run<double>::read_sweep(const StringSweep&, const double*, std::span<double>);
template void Run<double>::add_sweep(const StringSweep&, const double*, std::span<const double>,
                                     bool);
template void Run<double>::need_shards(int);
template void Run<double>::start_shard();
template void Run<double>::forward_shard();
template std::size_t Run<double>::num_rows() const;
template void Run<double>::take_states(Run<double>&);

}  // namespace tilewave::parametric
