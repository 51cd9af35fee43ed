// The state on the CPU: memory, layout and the passes over it. Observations are in cpu_observe.cc.
#include "tilewave/statevec/cpu/cpu_state.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/runtime/multiversion.h"
#include "tilewave/runtime/team.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/statevec/cpu/address.h"
#include "tilewave/statevec/cpu/cpu_numbers.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/cpu/free_indices.h"
#include "tilewave/statevec/cpu/pass_costs.h"
#include "tilewave/statevec/cpu/pass_runner.h"
#include "tilewave/statevec/cpu/row_moves.h"

namespace tilewave::statevec {

namespace cpu {

namespace {

// out = s in, two runs that are apart or the same.
template <class T>
[[gnu::always_inline]] inline void scale(const T* in, T* out, std::size_t count, T s) {
#pragma omp simd
  for (std::size_t k = 0; k < count; ++k) out[k] = in[k] * s;
}
TW_MULTIVERSION void scale_run(const float* in, float* out, std::size_t count, float s) {
  scale(in, out, count, s);
}
TW_MULTIVERSION void scale_run(const double* in, double* out, std::size_t count, double s) {
  scale(in, out, count, s);
}

// Of every two stretches of `half` numbers the second, scaled, to the place of the first.
template <class T>
[[gnu::always_inline]] inline void halve(T* v, std::size_t count, std::size_t half, T s) {
  for (std::size_t k = 0; k < count; k += 2 * half)
    for (std::size_t j = 0; j < half; ++j) v[k + j] = v[k + half + j] * s;
}
template <class T>
[[gnu::always_inline]] inline void halve_any(T* v, std::size_t count, std::size_t half, T s) {
  switch (half) {  // short loops of known length
    case 2:
      return halve(v, count, 2, s);
    case 4:
      return halve(v, count, 4, s);
    default:
      return halve(v, count, half, s);
  }
}
TW_MULTIVERSION void halve_run(float* v, std::size_t count, std::size_t half, float s) {
  halve_any(v, count, half, s);
}
TW_MULTIVERSION void halve_run(double* v, std::size_t count, std::size_t half, double s) {
  halve_any(v, count, half, s);
}

}  // namespace

template <class T>
CpuState<T>::CpuState(int num_qubits, int num_threads)
    : State(num_qubits, sizeof(T) == 8 ? Precision::kDouble : Precision::kSingle),
      num_threads_(runtime::resolve_num_threads(num_threads)),
      memory_(sizeof(Complex<T>) << num_qubits) {
  set_zero_state();
  untouched_ = known_zero_;
}

namespace {

template <class T>
CostModel cost_model_of(int num_qubits, int num_threads) {
  CostModel cost;
  constexpr bool kDouble = sizeof(T) == 8;
  cost.tile_qubits = kDouble ? kTileBitsDouble : kTileBitsSingle;
  cost.row_bits = kDouble ? kStateRowBitsDouble : kStateRowBitsSingle;
  cost.wide_tile_qubits = cost.tile_qubits + 1;
  cost.factored_share = kFactoredShare;
  cost.exposed = cost.wide_exposed = 1;  // a thread moves tiles or works on them
  const int threads = std::max(1, std::min(num_threads, runtime::default_num_threads()));
  const auto tuned = tuned_cpu();
  // Where nothing is known of the machine, predictions of small states are not worth a measurement;
  // those of very small ones are not worth looking at a pass closely.
  const bool is_close = num_qubits >= (tuned ? kPriceFrom : kMeasureRatesFrom);
  if (tuned) {
    constexpr Precision kPrecision = kDouble ? Precision::kDouble : Precision::kSingle;
    set_costs(cost, rates::from_flat<CpuNumbers>(tuned->of(kPrecision)),
              std::ldexp(sizeof(Complex<T>), num_qubits), threads);
  } else {
    set_by_rates(cost, is_close ? cpu_rates<T>() : CpuRates::shipped<T>(), kDouble);
    cost.share_arithmetic(threads);
  }
  if (is_close) {
    cost.price = pass_seconds;
    cost.threads = threads;
    cost.block_bits = block_row_bits(kDouble);
    cost.move_positions = most_move_positions(num_qubits, kDouble);
    cost.small_tile_qubits = kSmallTileBits<T>;
  } else {
    cost.pass_overhead_s = CostModel{}.pass_overhead_s;  // threads do not share states so small
  }
  return cost;
}

}  // namespace

template <class T>
CostModel CpuState<T>::cost_model() const {
  return cost_model_of<T>(num_qubits_, num_threads_);
}

template <class T>
double CpuState<T>::touch() {
  const double before = std::ldexp(sizeof(Complex<T>), num_qubits_ - std::popcount(untouched_));
  untouched_ &= known_zero_;
  return std::ldexp(sizeof(Complex<T>), num_qubits_ - std::popcount(untouched_)) - before;
}

template <class T>
int CpuState<T>::team() const {
  return num_amplitudes() >> std::popcount(known_zero_) < kSharedAmplitudes ? 1 : num_threads_;
}

template <class T>
void CpuState<T>::forget_answers() {
  marginals_.clear();
  norm_ = -1;
}

template <class T>
void CpuState<T>::set_zero_state() {
  assume(Layout::identity(), low_mask(num_qubits_));
  amps()[0] = {T(1), T(0)};
}

template <class T>
void CpuState<T>::set_product_state(std::span<const cplx> a) {
  TW_CHECK(a.size() == static_cast<std::size_t>(2 * num_qubits_),
           "a product state needs two amplitudes a qubit");
  assume(Layout::identity(), 0);
  const int low = std::min(num_qubits_, 12);
  std::vector<cplx> table = {1};
  for (int q = 0; q < low; ++q) {
    const std::size_t size = table.size();
    for (std::size_t k = 0; k < size; ++k) table.push_back(table[k] * a[2 * q + 1]);
    for (std::size_t k = 0; k < size; ++k) table[k] *= a[2 * q];
  }
  Complex<T>* out = amps();
  runtime::for_all(team(), num_amplitudes() >> low, [&](std::uint64_t c) {
    cplx factor = 1;
    for (int q = low; q < num_qubits_; ++q) factor *= a[2 * q + (c >> (q - low) & 1)];
    for (std::uint64_t k = 0; k < bit(low); ++k) {
      const cplx z = factor * table[k];
      out[Address<T>::of(c << low | k)] = {static_cast<T>(z.real()), static_cast<T>(z.imag())};
    }
  });
}

template <class T>
void CpuState<T>::set_amplitudes(std::span<const cplx> amplitudes) {
  TW_CHECK(amplitudes.size() == num_amplitudes(), "a state needs 2^n amplitudes");
  assume(Layout::identity(), 0);
  for (std::uint64_t x = 0; x < amplitudes.size(); ++x) {
    amps()[Address<T>::of(x)] = {static_cast<T>(amplitudes[x].real()),
                                 static_cast<T>(amplitudes[x].imag())};
  }
}

template <class T>
void CpuState<T>::run(const Plan& plan, const RunObserver& observer) {
  check_plan(plan);
  forget_answers();
  double done_s = 0;
  touch();  // what was written before
  const double touch_byte_s = observer.on_step ? cost_model().touch_byte_s : 0;
  for (const Pass& pass : plan.passes) {
    TW_CHECK((pass.known_zero_before & ~known_zero_) == 0,
             "the plan takes positions for zero that are not");
    runtime::Timer timer;
    run_pass<T>(plan, pass, amps(), num_threads_, observer.tables);
    const double taken_s = timer.elapsed_s();
    known_zero_ = pass.known_zero_after;
    done_s += pass.predicted_s;
    const double touched_s = touch_byte_s * touch();
    if (observer.on_step) {
      StepTime step{"pass", pass.predicted_s + touched_s, taken_s, pass.bytes};
      if (observer.wants_terms) {
        const Terms terms = terms_of(plan, pass, block_row_bits(sizeof(T) == 8),
                                     std::min(num_threads_, runtime::default_num_threads()));
        step.terms.assign(terms.begin(), terms.end());
      }
      observer.on_step(step);
    }
    if (observer.on_progress) observer.on_progress(done_s, plan.predicted_s);
  }
  layout_ = plan.layout_after;
}

template <class T>
void CpuState<T>::materialize() {
  if (!known_zero_) return;
  Complex<T>* out = amps();
  const int row_bits = std::min(num_qubits_, Address<T>::kRowBits);
  const std::uint64_t high = known_zero_ & ~low_mask(row_bits),
                      low = known_zero_ & low_mask(row_bits);
  runtime::for_all(team(), num_amplitudes() >> row_bits, [&](std::uint64_t r) {
    Complex<T>* row = out + (r << row_bits);
    if (Address<T>::of(r << row_bits) & high) {
      std::memset(static_cast<void*>(row), 0, sizeof(Complex<T>) << row_bits);
    } else if (low) {
      for (std::uint64_t k = 0; k < bit(row_bits); ++k) {
        if (k & low) row[k] = {};
      }
    }
  });
  known_zero_ = 0;
}

// The half that stays moves to the place where the position's bit is 0, row by row of 256 bytes;
// inside a row also what is known to be zero moves, as anything may stand there. Nothing moves
// where it stands there already and keeps its scale.
template <class T>
void CpuState<T>::collapse(circuit::Qubit qubit, int outcome, double scale) {
  forget_answers();
  const int q = static_cast<int>(qubit), p = layout_.position[q];
  const bool is_one = outcome ^ static_cast<int>(layout_.flips >> q & 1);
  if (is_one && known_zero_ >> p & 1) {  // an outcome that cannot be
    known_zero_ = low_mask(num_qubits_);
    amps()[0] = {};
    return;
  }
  const FixedRows<T> rows(num_qubits_, known_zero_ | bit(p), 0);
  T* const all = reinterpret_cast<T*>(amps());
  const T s = static_cast<T>(scale);
  if (p < Address<T>::kRowBits && is_one) {
    rows.for_each_run_parallel(team(), [&](std::uint64_t first, std::uint64_t count) {
      halve_run(all + 2 * first, 2 * count, std::size_t{2} << p, s);
    });
  } else if (is_one || s != T(1)) {
    // what lies side by side at the place it goes to comes in stretches from where it is
    const std::uint64_t from = is_one ? Address<T>::of(bit(p)) : 0;
    const std::uint64_t stretch = from ? from & (~from + 1) : num_amplitudes();
    rows.for_each_run_parallel(team(), [&](std::uint64_t first, std::uint64_t count) {
      const std::uint64_t size = std::min(stretch, count);
      for (std::uint64_t at = first; at < first + count; at += size)
        scale_run(all + 2 * (at ^ from), all + 2 * at, 2 * size, s);
    });
  }
  if (is_one) layout_.flips ^= bit(q);
  known_zero_ |= bit(p);
}

template <class T>
std::unique_ptr<State> CpuState<T>::clone() const {
  auto copy = std::make_unique<CpuState<T>>(num_qubits_, num_threads_);
  copy->copy_from(*this);
  return copy;
}

template <class T>
void CpuState<T>::copy_from(const State& other) {
  const auto* from = dynamic_cast<const CpuState<T>*>(&other);
  TW_CHECK(from && from->num_qubits_ == num_qubits_, "a state takes over one of its kind");
  assume(from->layout_, from->known_zero_);
  const Complex<T>* in = from->amps();
  Complex<T>* out = amps();
  const int row_bits = std::min(num_qubits_, Address<T>::kRowBits);
  const std::uint64_t high = known_zero_ & ~low_mask(row_bits);
  runtime::for_all(team(), num_amplitudes() >> row_bits, [&](std::uint64_t r) {
    if (Address<T>::of(r << row_bits) & high) return;
    std::memcpy(static_cast<void*>(out + (r << row_bits)), in + (r << row_bits),
                sizeof(Complex<T>) << row_bits);
  });
}

template <class T>
runtime::HostBuffer CpuState<T>::take_amplitudes() {
  restore_layout();
  // Address::of moves whole rows and is its own inverse: rows change places in pairs.
  constexpr int kRowBits = Address<T>::kRowBits;
  if (num_qubits_ > Address<T>::kTopBits) {
    Complex<T>* out = amps();
#pragma omp parallel for num_threads(team()) schedule(static)
    for (std::uint64_t r = 0; r < num_amplitudes() >> kRowBits; ++r) {
      const std::uint64_t other = Address<T>::of(r << kRowBits) >> kRowBits;
      if (other <= r) continue;
      std::swap_ranges(out + (r << kRowBits), out + ((r + 1) << kRowBits),
                       out + (other << kRowBits));
    }
  }
  forget_answers();
  return std::move(memory_);
}

template class CpuState<float>;
template class CpuState<double>;

}  // namespace cpu

std::uint64_t needed_bytes(int num_qubits, Precision precision, int num_threads) {
  if (num_qubits >= 60) return ~std::uint64_t{0};
  return (amplitude_bytes(precision) << num_qubits) +
         static_cast<std::uint64_t>(runtime::resolve_num_threads(num_threads)) *
             cpu::scratch_bytes_per_thread();
}

CostModel cpu_cost_model(int num_qubits, Precision precision, int num_threads) {
  const int threads = runtime::resolve_num_threads(num_threads);
  return precision == Precision::kDouble ? cpu::cost_model_of<double>(num_qubits, threads)
                                         : cpu::cost_model_of<float>(num_qubits, threads);
}

std::unique_ptr<State> make_cpu_state(int num_qubits, Precision precision, int num_threads) {
  if (num_qubits < 0 || num_qubits > kMaxQubits) {
    fail(ExitCode::kResources, "cannot hold a state of ", num_qubits, " qubits: at most ",
         kMaxQubits, " are supported");
  }
  if (precision == Precision::kDouble)
    return std::make_unique<cpu::CpuState<double>>(num_qubits, num_threads);
  return std::make_unique<cpu::CpuState<float>>(num_qubits, num_threads);
}

}  // namespace tilewave::statevec
