// The state on a CUDA device: memory, layout and the passes over it. Observations are in
// cuda_observe.cu, the programs of passes in cuda_programs.cu.
#include "tilewave/statevec/cuda/cuda_state.cuh"

#include <algorithm>
#include <bit>
#include <deque>

#include "tilewave/base/error.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/statevec/cuda/cuda_tuning.h"
#include "tilewave/statevec/device_costs.h"

namespace tilewave::statevec {

namespace cuda {

namespace rc = runtime::cuda;

namespace {

std::string named(int num_qubits, Precision precision) {
  return "a state of " + std::to_string(num_qubits) + " qubits in " +
         (precision == Precision::kDouble ? "double" : "single") + " precision";
}

}  // namespace

template <class T>
CudaState<T>::CudaState(int num_qubits, int device, std::shared_ptr<Workspace> workspace)
    : State(num_qubits, sizeof(T) == 8 ? Precision::kDouble : Precision::kSingle),
      info_(rc::use_device(device)),
      // before the state takes its memory: rates are measured on the device once
      cost_(cuda_cost_model(info_, precision_, num_qubits >= kMeasureRatesFrom)),
      workspace_(workspace ? std::move(workspace) : Workspace::of_device(device)) {
  launchers_ = state_launchers<T>(info_);
  memory_ =
      rc::DeviceArena(state_bytes(), named(num_qubits, precision_), workspace_->reservation());
  amps_ = memory_.template take<Complex<T>>(num_amplitudes());
  workspace_->serve(state_bytes());
  try {
    set_zero_state();
  } catch (...) {
    workspace_->leave(state_bytes(), stream_);
    throw;
  }
}

template <class T>
bool CudaState<T>::rest(double most_share) {
  if (static_cast<double>(state_bytes()) >
      most_share * static_cast<double>(info_.total_memory_bytes))
    return false;
  rc::offer_idle(this, info_.index, [this] {
    memory_ = {};
    amps_ = nullptr;
  });
  return true;
}

template <class T>
bool CudaState<T>::wake() {
  rc::withdraw_idle(this);
  return amps_ != nullptr;
}

template <class T>
CudaState<T>::~CudaState() {
  rc::withdraw_idle(this);
  (void)rc::driver().set_device(info_.index);
  workspace_->leave(state_bytes(), stream_);
}

template <class T>
void CudaState<T>::use_device() const {
  rc::check(rc::driver().set_device(info_.index), "use the CUDA device");
}

template <class T>
TileLauncher<T>& CudaState<T>::launcher_of(const Pass& pass) {
  return launchers_[tile_for(pass, launchers_, [](const auto& l) { return l.shape(); })];
}

template <class T>
CostModel CudaState<T>::cost_model() const {
  return cost_;
}

template <class T>
void CudaState<T>::set_zero_state() {
  use_device();
  assume(Layout::identity(), low_mask(num_qubits_));
  const Complex<T> one{1, 0};
  rc::copy(amps_, &one, sizeof one, stream_);
  stream_.synchronize();
}

template <class T>
void CudaState<T>::set_product_state(std::span<const cplx> a) {
  TW_CHECK(a.size() == static_cast<std::size_t>(2 * num_qubits_),
           "a product state needs two amplitudes a qubit");
  use_device();
  assume(Layout::identity(), 0);
  std::vector<Complex<double>> tables[3];
  for (int t = 0; t < 3; ++t) {
    std::vector<cplx> table = {1};
    for (int q = 12 * t; q < std::min(num_qubits_, t == 2 ? kMaxQubits : 12 * (t + 1)); ++q) {
      const std::size_t size = table.size();
      for (std::size_t k = 0; k < size; ++k) {
        table.push_back(table[k] * a[static_cast<std::size_t>(2 * q + 1)]);
      }
      for (std::size_t k = 0; k < size; ++k) table[k] *= a[static_cast<std::size_t>(2 * q)];
    }
    for (const cplx& z : table) tables[t].push_back({z.real(), z.imag()});
    tables[t].resize(std::max<std::size_t>(tables[t].size(), 4096));
  }
  Workspace::Lease lease(*workspace_, stream_);
  const auto* low = to_device<Complex<double>>(lease, tables[0]);
  const auto* middle = to_device<Complex<double>>(lease, tables[1]);
  const auto* high = to_device<Complex<double>>(lease, tables[2]);
  rc::launch(product_kernel<T>, dim3(4096), dim3(256), 0, stream_, amps_, num_amplitudes(), low,
             middle, high);
  stream_.synchronize();
}

template <class T>
void CudaState<T>::set_amplitudes(std::span<const cplx> amplitudes) {
  TW_CHECK(amplitudes.size() == num_amplitudes(), "a state needs 2^n amplitudes");
  use_device();
  assume(Layout::identity(), 0);
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  std::vector<Complex<T>> block(std::min<std::size_t>(kBlock, amplitudes.size()));
  for (std::size_t first = 0; first < amplitudes.size(); first += block.size()) {
    for (std::size_t k = 0; k < block.size(); ++k) {
      const cplx z = amplitudes[first + k];
      block[k] = {static_cast<T>(z.real()), static_cast<T>(z.imag())};
    }
    rc::copy(amps_ + first, block.data(), block.size() * sizeof(Complex<T>), stream_);
    stream_.synchronize();
  }
}

template <class T>
bool CudaState<T>::has_new_kernels() const {
  JitCache* const cache = JitCache::of_process();
  return cache &&
         std::any_of(lowered_.steps.begin(), lowered_.steps.end(),
                     [&](const LoweredPlan::Step& step) {
                       return !step.kernel && step.jit &&
                              (cache->function(*step.jit) || JitCache::is_too_long(*step.jit));
                     });
}

template <class T>
void CudaState<T>::start(TileLauncher<T>& launcher, const LoweredPlan::Step& step,
                         Complex<T>* amplitudes, const TileSums& sums) {
  const std::byte* programs = workspace_->programs();
  JitCache* const cache = step.jit && !step.kernel ? JitCache::of_process() : nullptr;
  if (cache) cache->note(*step.jit, step.predicted_s);
  launcher.launch(step.frame, amplitudes, programs + step.code, programs + step.tables, stream_,
                  sums.at, sums.of_slots, step.kernel, step.numbers.data());
}

template <class T>
void CudaState<T>::run(const Plan& plan, const RunObserver& observer) {
  check_plan(plan);
  use_device();
  forget_answers();
  const std::uint64_t key = key_of(plan);
  Workspace::Lease lease(*workspace_, stream_);
  take_written();
  const auto kept = workspace_->kept_programs(key);  // of an earlier run
  ProgramStore::Plan made;                           // or of this one
  const bool known = lowered_.key == key && lowered_.epoch == workspace_->epoch() &&
                     !(kept && (kept != lowered_.programs || has_new_kernels()));
  std::optional<std::vector<tile::PassWays::Pass>> ways;
  if (!known) {
    workspace_->forget_programs(stream_);
    lowered_ = {};
    lowered_.epoch = workspace_->epoch();
    if (!kept) ways = known_ways(plan);
  }
  std::size_t program_bytes = 0;
  constexpr double kReportEvery_s = 0.05;  // waiting for a pass costs what it overlaps with
  double done_s = 0, reported_s = 0;
  std::size_t next = 0;  // of the known steps
  TileSums sums;         // of the last pass
  std::size_t made_until = 0;
  double busy_s =
      plan.passes.empty() ? 0 : 0.4 * plan.passes[0].predicted_s;  // with passes that were started
  const auto make = [&](std::size_t p) {
    if (known || kept || p < made_until || p >= plan.passes.size()) return;
    made_until = p == 0 ? 1 : std::min(p + at_once(), plan.passes.size());
    lower_ahead(plan, p, made_until, 0.5 * busy_s, ways, made);
    busy_s = 0;
  };
  struct Timed {
    std::size_t pass = 0;
    rc::Event before, after;
  };
  std::deque<Timed> timed;  // not told yet: the host is ahead of the device by so many
  const auto tell = [&](std::size_t most_left) {
    for (; timed.size() > most_left; timed.pop_front()) {
      const Pass& pass = plan.passes[timed[0].pass];
      StepTime step{"pass", pass.predicted_s, timed[0].after.seconds_since(timed[0].before),
                    pass.bytes};
      predict_step(plan, timed[0].pass, observer.wants_terms, step);
      observer.on_step(step);
    }
  };
  constexpr std::size_t kMostTimed = 64;
  make(0);
  for (std::size_t p = 0; p < plan.passes.size(); ++p) {
    const Pass& pass = plan.passes[p];
    TW_CHECK((pass.known_zero_before & ~known_zero_) == 0,
             "the plan takes positions for zero that are not");
    TileLauncher<T>& launcher = launcher_of(pass);
    if (p + 1 == plan.passes.size()) {
      sums = take_sums(lease, observer, launcher.shape().block_qubits());
    }
    const auto launch = [&] {
      if (known) {
        for (; next < lowered_.steps.size() && lowered_.steps[next].pass == p; ++next)
          start(launcher, lowered_.steps[next], amps_, sums);
        return;
      }
      for_each_step(kept ? *kept : made, plan, p, [&](const LoweredPlan::Step& step) {
        lowered_.steps.push_back(step);
        start(launcher, step, amps_, sums);
      });
      busy_s += pass.predicted_s;
      if (kept) return;
      for (const tile::TilePass& program : made.programs[p])
        program_bytes += ProgramStore::bytes_of(program);
      if (program_bytes > workspace_->store().most_bytes())
        made.programs[p].clear(), made.compiled[p].clear();
    };
    if (observer.on_step) {
      timed.push_back({.pass = p});
      timed.back().before.record(stream_);
      launch();
      timed.back().after.record(stream_);
      tell(kMostTimed);
    } else {
      launch();
    }
    make(p + 1);  // while the device is busy
    known_zero_ = pass.known_zero_after;
    done_s += pass.predicted_s;
    if (observer.on_progress && done_s - reported_s >= kReportEvery_s) {
      stream_.synchronize();
      observer.on_progress(reported_s = done_s, plan.predicted_s);
    }
  }
  layout_ = plan.layout_after;
  if (!known && !kept && program_bytes <= workspace_->store().most_bytes())
    lowered_.programs = workspace_->store().keep(key, std::move(made));
  if (!known && kept) lowered_.programs = kept;
  if (known || kept || plan.effort != Effort::kOnce)
    improve(plan, key, lowered_.programs.get());  // it comes again
  if (sums.at) finish_sums(lease, sums, lowered_.steps.back().frame);
  stream_.synchronize();
  lowered_.key = key;
  tell(0);
  if (observer.on_progress && done_s > reported_s) observer.on_progress(done_s, plan.predicted_s);
}

template <class T>
void CudaState<T>::materialize() {
  if (!known_zero_) return;
  use_device();
  rc::launch(clear_kernel<T>, dim3(4096), dim3(256), 0, stream_, amps_, num_amplitudes(),
             known_zero_);
  stream_.synchronize();
  known_zero_ = 0;
}

template <class T>
void CudaState<T>::collapse(circuit::Qubit qubit, int outcome, double scale) {
  use_device();
  forget_answers();
  const int q = static_cast<int>(qubit), p = layout_.position[static_cast<std::size_t>(q)];
  const int kept = outcome ^ static_cast<int>(layout_.flips >> q & 1);
  const std::uint64_t free = low_mask(num_qubits_) & ~known_zero_ & ~bit(p);
  const std::uint64_t from = kept ? bit(p) : 0;
  if (from & known_zero_) {  // an outcome that cannot be
    known_zero_ = low_mask(num_qubits_);
    const Complex<T> zero{0, 0};
    rc::copy(amps_, &zero, sizeof zero, stream_);
    stream_.synchronize();
    return;
  }
  rc::launch(collapse_kernel<T>, dim3(4096), dim3(256), 0, stream_, amps_, free,
             bit(std::popcount(free)), from, static_cast<T>(scale));
  stream_.synchronize();
  if (kept) layout_.flips ^= bit(q);
  known_zero_ |= bit(p);
}

template <class T>
std::unique_ptr<State> CudaState<T>::clone() const {
  auto copy = std::make_unique<CudaState<T>>(num_qubits_, info_.index, workspace_);
  copy->is_reproducible_ = is_reproducible_;
  copy->copy_from(*this);
  return copy;
}

template <class T>
void CudaState<T>::copy_from(const State& other) {
  const Complex<T>* from = memory_of(other);
  TW_CHECK(from && other.num_qubits() == num_qubits_, "a state takes over one of its kind");
  assume(other.layout(), other.known_zero());
  rc::copy(amps_, from, num_amplitudes() * sizeof(Complex<T>), stream_);
  stream_.synchronize();
}

template class CudaState<float>;
template class CudaState<double>;

}  // namespace cuda

namespace {

std::unique_ptr<State> make_state(int num_qubits, Precision precision, int device,
                                  std::shared_ptr<cuda::Workspace> workspace) {
  if (num_qubits < 0 || num_qubits > kMaxQubits) {
    throw Error(ExitCode::kResources, "cannot hold a state of " + std::to_string(num_qubits) +
                                          " qubits: at most " + std::to_string(kMaxQubits) +
                                          " are supported");
  }
  if (precision == Precision::kDouble) {
    return std::make_unique<cuda::CudaState<double>>(num_qubits, device, std::move(workspace));
  }
  return std::make_unique<cuda::CudaState<float>>(num_qubits, device, std::move(workspace));
}

}  // namespace

std::unique_ptr<State> make_cuda_state(int num_qubits, Precision precision, int device,
                                       double memory_fraction) {
  if (memory_fraction <= 0) return make_state(num_qubits, precision, device, nullptr);
  const runtime::CudaDevice info = runtime::cuda::use_device(device);
  if (num_qubits >= cuda::kMeasureRatesFrom) {  // needs memory of its own, for a moment
    cuda_cost_model(info, precision, true);
  }
  return cuda::make_state_apart(
      num_qubits, precision, device,
      std::make_shared<runtime::cuda::DeviceReservation>(info, memory_fraction));
}

namespace cuda {

std::unique_ptr<State> make_state_apart(int num_qubits, Precision precision, int device,
                                        std::shared_ptr<rc::DeviceReservation> reservation) {
  return make_state(num_qubits, precision, device,
                    std::make_shared<Workspace>(device, std::move(reservation)));
}

}  // namespace cuda

}  // namespace tilewave::statevec
