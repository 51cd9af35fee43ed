// See run.h.
#include "tilewave/parametric/run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/base/units.h"
#include "tilewave/parametric/run_tiles-inl.h"

namespace tilewave::parametric {

template <class T>
Run<T>::Run(const Program& program, const Actions& actions, int num_threads, std::uint64_t shard)
    : program_(program),
      actions_(actions),
      num_threads_(num_threads),
      shard_(shard),
      angles_(actions.angles.size() * kLanes<T>),
      share_(actions.angles.size(), 1.0),
      global_(kLanes<T>, 1.0) {
  for (const Action& a : actions.actions) {
    if (a.kind == ActionKind::kRotate) share_[a.angle] = 0.5;
  }
  wires_.resize(static_cast<std::size_t>(actions.num_wires));
  std::iota(wires_.begin(), wires_.end(), 0);
  if (is_batch()) {
    first_rows_ = rows_of(wires_);
    last_rows_ = rows_of(actions.wire_of_qubit);
  }
  factors_ = runtime::HostBuffer(std::max<std::size_t>(share_.size(), 1) * kRow<T> * sizeof(T));
  const int row_bits = program.passes.row_bits;
  for (int k = 0; k < num_threads_; ++k) {
    auto thread = std::make_unique<Thread>();
    thread->scratch = runtime::HostBuffer(cpu::scratch_parts(row_bits) * cpu::kRowBytes);
    if (program.passes.lane_bits + row_bits < program.passes.num_wires) {
      thread->psi = runtime::HostBuffer((kRow<T> * sizeof(T)) << row_bits);
      thread->lam = runtime::HostBuffer((kRow<T> * sizeof(T)) << row_bits);
      thread->rows.resize(std::size_t{1} << row_bits);
    }
    threads_.push_back(std::move(thread));
  }
}

template <class T>
Run<T>::~Run() = default;

template <class T>
int Run<T>::num_lanes() const {
  return is_batch() ? kLanes<T> : 1;
}

template <class T>
void Run<T>::need_states(int count) {
  const std::uint64_t bytes = (kRow<T> * sizeof(T))
                              << (program_.passes.num_wires - program_.passes.lane_bits);
  for (runtime::HostBuffer* buffer : {&psi_, &lam_}) {
    if (count-- <= 0 || buffer->data()) continue;
    const std::uint64_t available = runtime::available_host_bytes();
    if (bytes > available) {
      fail_memory("a state of ", actions_.num_wires, " qubits needs ", in_bytes(bytes),
                  " (a gradient two of them), ", in_bytes(available),
                  " are available: use single precision or fewer qubits");
    }
    *buffer = runtime::HostBuffer(bytes);
  }
}

template <class T>
void Run<T>::bind(const double* values, std::size_t count, std::size_t num_parameters) {
  for (std::size_t k = 0; k < share_.size(); ++k) {
    for (std::size_t lane = 0; lane < kLanes<T>; ++lane) {
      const double* set = values + (lane < count ? lane : 0) * num_parameters;
      angles_[k * kLanes<T> + lane] = share_[k] * actions_.angles[k].value({set, num_parameters});
    }
  }
  for (std::size_t lane = 0; lane < kLanes<T>; ++lane) {
    const double* set = values + (lane < count ? lane : 0) * num_parameters;
    global_[lane] = std::polar(1.0, actions_.global_phase.value({set, num_parameters}));
  }
  cpu::kernels<T>().sincos(angles_.data(), factors_.as<T>(), share_.size());
  moves_.clear();
}

template <class T>
void Run<T>::bind_directions(const std::uint32_t* parameters, std::size_t count) {
  constexpr std::size_t kL = kLanes<T>;
  if (!rates_.data())
    rates_ = runtime::HostBuffer(std::max<std::size_t>(share_.size(), 1) * kL * sizeof(T));
  moves_.assign(std::max<std::size_t>(share_.size(), 1), 0);
  for (std::size_t k = 0; k < share_.size(); ++k) {
    for (std::size_t lane = 0; lane < kL; ++lane) {
      double rate = 0;
      for (const circuit::AffineTerm& t : actions_.angles[k].terms) {
        if (t.parameter == parameters[lane < count ? lane : 0]) rate += share_[k] * t.coefficient;
      }
      rates_.as<T>()[k * kL + lane] = static_cast<T>(rate);
      moves_[k] |= rate != 0;
    }
  }
}

// Wires that number the tiles which are not known to be zero.
template <class T>
std::uint64_t Run<T>::outer(std::uint64_t active, std::uint64_t zeros) const {
  const Passes& p = program_.passes;
  return low_mask(p.num_wires) & ~low_mask(p.lane_bits) & ~active & ~zeros;
}

// Of the tile with these wires, its first row.
template <class T>
std::uint64_t Run<T>::row_of(std::uint64_t outer) const {
  const Passes& p = program_.passes;
  return (outer & low_mask(p.num_wires)) >> p.lane_bits;
}

template <class T>
std::uint64_t Run<T>::num_slots(std::uint64_t active, std::uint64_t zeros) const {
  return std::min(kSlots, bit(std::popcount(outer(active, zeros))));
}

template <class T>
std::uint64_t Run<T>::zeros_before(std::size_t pass) const {
  const Passes& p = program_.passes;
  if (!from_zero_) return 0;
  return pass < p.passes.size() ? p.passes[pass].zeros : p.zeros;
}

template <class T>
void Run<T>::forward() {
  need_states(moves_.empty() ? 1 : 2);
  from_zero_ = true;
  T* const psi = psi_.as<T>();
  // what is known to be zero is not read
  const bool is_whole = threads_[0]->rows.empty() || program_.passes.zeros;
  const std::size_t cleared = is_whole ? psi_.num_bytes() : kRow<T> * sizeof(T);
  std::memset(static_cast<void*>(psi), 0, cleared);
  if (!moves_.empty()) std::memset(lam_.data(), 0, cleared);
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(num_lanes()); ++lane) {
    psi[lane] = static_cast<T>(global_[lane].real());
    psi[kLanes<T> + lane] = static_cast<T>(global_[lane].imag());
  }
  move_forward();
}

template <class T>
void Run<T>::set_states(std::span<const std::complex<double>* const> of_lanes) {
  need_states(1);
  set_amplitudes(psi_.as<T>(), wires_, of_lanes, global_);
}

template <class T>
void Run<T>::forward_from_state() {
  from_zero_ = false;
  if (!moves_.empty()) {
    need_states(2);
    std::memset(lam_.data(), 0, lam_.num_bytes());
  }
  move_forward();
}

template <class T>
void Run<T>::move_forward() {
  const Passes& p = program_.passes;
  T* const psi = psi_.as<T>();
  T* const lam = moves_.empty() ? nullptr : lam_.as<T>();
  const auto kernel = lam ? cpu::kernels<T>().tangent : cpu::kernels<T>().forward;
  for (std::size_t k = 0; k < p.passes.size(); ++k) {
    if (!is_batch()) check_interrupt();
    const Pass& pass = p.passes[k];
    const std::uint64_t zeros = zeros_before(k);
    for_tiles(pass.active, zeros, num_slots(pass.active, zeros),
              [&](std::uint64_t outer, std::uint64_t, Thread& t, bool is_first) {
                cpu::TileWork<T> work{
                    &p, &pass, psi, lam, outer, factors_.as<T>(), t.scratch.template as<T>()};
                work.rates = rates_.as<T>();
                work.moves = moves_.data();
                if (t.rows.empty()) return kernel(work);
                if (is_first) place_rows(t.rows, pass.active, p.lane_bits);
                const std::uint64_t first = row_of(outer);
                work.psi = t.psi.template as<T>();
                load(psi, t.rows, first, work.psi, zeros >> p.lane_bits);
                if (lam) {
                  work.lam = t.lam.template as<T>();
                  load(lam, t.rows, first, work.lam, zeros >> p.lane_bits);
                }
                kernel(work);
                store(psi, t.rows, first, work.psi);
                if (lam) store(lam, t.rows, first, work.lam);
              });
  }
}

template <class T>
void Run<T>::backward(std::span<double> reads, bool keeps) {
  const Passes& p = program_.passes;
  T *const psi = psi_.as<T>(), *const lam = lam_.as<T>();
  constexpr std::size_t kL = kLanes<T>;
  std::fill(reads.begin(), reads.end(), 0.0);
  std::vector<double> sums;
  std::vector<T> start;        // the row of |0...0>, at the end
  std::size_t first_pass = 0;  // before it nothing is read
  while (!keeps && first_pass < p.passes.size() && p.passes[first_pass].num_reads == 0)
    ++first_pass;
  for (std::size_t k = p.passes.size(); k-- > first_pass;) {
    if (!is_batch()) check_interrupt();
    const Pass& pass = p.passes[k];
    const std::size_t own = pass.num_reads * kL;
    const std::uint64_t zeros = zeros_before(k), after = zeros_before(k + 1);
    const std::uint64_t slots = num_slots(pass.active, zeros);
    sums.assign(own * slots, 0.0);
    // before the pass psi is zero where a wire is still untouched; there lam is not asked any more
    for_tiles(pass.active, zeros, slots,
              [&](std::uint64_t outer, std::uint64_t slot, Thread& t, bool is_first) {
                cpu::TileWork<T> work{
                    &p, &pass, psi, lam, outer, factors_.as<T>(), t.scratch.template as<T>()};
                work.reads = sums.data() + slot * own;
                if (t.rows.empty()) {
                  cpu::kernels<T>().backward(work);
                  if (k == 0) start.assign(psi, psi + kRow<T>);
                  return;
                }
                if (is_first) place_rows(t.rows, pass.active, p.lane_bits);
                const std::uint64_t first = row_of(outer);
                work.psi = t.psi.template as<T>();
                work.lam = t.lam.template as<T>();
                load(psi, t.rows, first, work.psi, after >> p.lane_bits);
                load(lam, t.rows, first, work.lam, after >> p.lane_bits);
                cpu::kernels<T>().backward(work);
                if (k == 0 && row_of(outer) == 0) start.assign(work.psi, work.psi + kRow<T>);
                if (k == first_pass && !keeps) return;
                store(psi, t.rows, first, work.psi, zeros >> p.lane_bits);
                store(lam, t.rows, first, work.lam, zeros >> p.lane_bits);
              });
    for (std::size_t slot = 0; slot < slots; ++slot) {
      for (std::size_t j = 0; j < own; ++j) reads[pass.first_read * kL + j] += sums[slot * own + j];
    }
  }
  const bool checks = from_zero_ && !start.empty();
  for (std::size_t lane = 0; checks && lane < static_cast<std::size_t>(num_lanes()); ++lane) {
    const double tolerance = sizeof(T) == 8 ? 1e-8 : 1e-2;
    const std::complex<double> amplitude =
        std::complex<double>(start[lane], start[kL + lane]) * std::conj(global_[lane]);
    if (std::abs(amplitude - 1.0) <= tolerance) continue;
    fail(ExitCode::kVerification,
         "the state does not come back to |0...0> where a circuit is undone (its amplitude is ",
         std::to_string(amplitude.real()),
         "): this is a defect, or memory that loses bits; please report it");
  }
  if (is_batch()) return;
  for (std::size_t j = 0; j < p.num_reads; ++j) {  // of one state: all lanes together
    double sum = 0;
    for (std::size_t lane = 0; lane < kL; ++lane) sum += reads[j * kL + lane];
    reads[j * kL] = sum;
  }
}

// Of a batch: the row of each basis state of qubits on these wires.
template <class T>
std::vector<std::uint32_t> Run<T>::rows_of(const std::vector<int>& wires) const {
  std::vector<std::uint32_t> rows(bit(static_cast<int>(wires.size())));
  for (std::size_t q = 0; q < wires.size(); ++q) {
    const std::size_t half = std::size_t{1} << q;
    for (std::size_t x = 0; x < half; ++x)
      rows[half + x] = rows[x] | static_cast<std::uint32_t>(bit(wires[q]));
  }
  return rows;
}

// Of a state by itself: the lane and the row of a basis state of qubits on these wires.
template <class T>
std::size_t Run<T>::lane_of(std::uint64_t index, const std::vector<int>& wires,
                            std::size_t* row) const {
  std::uint64_t on = 0;
  for_each_bit(index, [&](int q) { on |= bit(wires[static_cast<std::size_t>(q)]); });
  *row = on >> program_.passes.lane_bits;
  return on & low_mask(program_.passes.lane_bits);
}

template <class T>
void Run<T>::set_amplitudes(T* state, const std::vector<int>& wires,
                            std::span<const std::complex<double>* const> of_lanes,
                            std::span<const std::complex<double>> factors) {
  constexpr std::size_t kL = kLanes<T>;
  const auto set = [](T* row, std::size_t lane, std::complex<double> f, std::complex<double> a) {
    row[lane] = static_cast<T>(f.real() * a.real() - f.imag() * a.imag());
    row[kL + lane] = static_cast<T>(f.real() * a.imag() + f.imag() * a.real());
  };
  if (is_batch()) {
    const auto& rows = &wires == &wires_ ? first_rows_ : last_rows_;
    for (std::size_t x = 0; x < rows.size(); ++x) {
      T* const row = state + rows[x] * kRow<T>;
      for (std::size_t lane = 0; lane < of_lanes.size(); ++lane)
        set(row, lane, factors[lane], of_lanes[lane][x]);
      for (std::size_t lane = of_lanes.size(); lane < kL; ++lane) set(row, lane, 0, 0);
    }
    return;
  }
  // wires beyond those of qubits stay |0>
  if (program_.passes.num_wires > actions_.num_wires) std::memset(state, 0, psi_.num_bytes());
  for (std::uint64_t x = 0; x < bit(actions_.num_wires); ++x) {
    std::size_t row;
    const std::size_t lane = lane_of(x, wires, &row);
    set(state + row * kRow<T>, lane, factors[0], of_lanes[0][x]);
  }
}

template <class T>
void Run<T>::set_lams(std::span<const std::complex<double>* const> of_lanes) {
  need_states(2);
  const std::vector<std::complex<double>> halves(of_lanes.size(), 0.5);
  set_amplitudes(lam_.as<T>(), actions_.wire_of_qubit, of_lanes, halves);
}

template <class T>
void Run<T>::get_state(std::size_t lane, std::complex<double>* amplitudes) const {
  const T* const psi = psi_.as<T>();
  constexpr std::size_t kL = kLanes<T>;
  const auto get = [&](std::size_t row, std::size_t l) {
    return std::complex<double>(psi[row * kRow<T> + l], psi[row * kRow<T> + kL + l]);
  };
  if (is_batch()) {
    for (std::size_t x = 0; x < last_rows_.size(); ++x) amplitudes[x] = get(last_rows_[x], lane);
    return;
  }
  for (std::uint64_t x = 0; x < bit(actions_.num_wires); ++x) {
    std::size_t row;
    const std::size_t l = lane_of(x, actions_.wire_of_qubit, &row);
    amplitudes[x] = get(row, l);
  }
}

template class Run<float>;
template class Run<double>;

}  // namespace tilewave::parametric
