// How a function's calls run: sets of values in groups, on the CPU or a device, through states that have
// moved forward. For the files of its calls, function.cc and function_states.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/parametric/cpu/kernels.h"
#include "tilewave/parametric/cuda/device_batch.h"
#include "tilewave/parametric/cuda/device_run.h"
#include "tilewave/parametric/function.h"
#include "tilewave/parametric/plan/absorb.h"
#include "tilewave/parametric/run.h"
#include "tilewave/runtime/threads.h"

namespace tilewave::parametric {

namespace detail {

// A state of more qubits does not fit a core's cache eight times.
inline constexpr int kBatchWires = 13;
inline constexpr std::size_t kLeastBatch = 3;  // sets that are worth a run of eight lanes
inline constexpr int kOneThreadWires = 14;
inline constexpr int kGibibyteWires = 26;  // of a state
inline constexpr std::size_t kGroupsBetweenStops = 512;

// Throws Error(kInput) where a state to start from is not of norm 1.
void need_starts(const Sets& sets, int num_qubits, int num_threads);

}  // namespace detail

// Runs that are kept for the next call. One that fails is not given back.
template <class R>
class Pool {
 public:
  template <class F>
  std::unique_ptr<R> take(F make) {
    {
      const std::lock_guard lock(mutex_);
      if (!kept_.empty()) {
        auto run = std::move(kept_.back());
        kept_.pop_back();
        return run;
      }
    }
    return make();
  }
  void give(std::unique_ptr<R> run) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(run));
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    kept_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<R>> kept_;
};

// Actions with observables, and what runs them.
struct Function::Engine {
  Actions actions;
  Strings strings;
  Program single, batch;
  bool has_batch = false;

  template <class T>
  struct Kept {
    Pool<Run<T>> single, batch;
    Pool<DeviceRun<T>> on_device;
    Pool<DeviceBatch<T>> batch_on_device;
  };
  std::tuple<Kept<float>, Kept<double>> all_kept;
  template <class T>
  Kept<T>& kept() {
    return std::get<Kept<T>>(all_kept);
  }

  Engine(Observed of, const std::vector<bool>& is_read, const FunctionOptions& options);
  // The passes of `single`. Its sweeps depend on the size of tiles alone, and stay.
  void plan(const std::vector<bool>& is_read, const FunctionOptions& options, bool searches);

  template <class T>
  std::unique_ptr<Run<T>> take(bool batches, int threads) {
    return (batches ? kept<T>().batch : kept<T>().single).take([&] {
      return std::make_unique<Run<T>>(batches ? batch : single, actions, threads);
    });
  }
  template <class T>
  std::unique_ptr<DeviceRun<T>> take_device_run(int device) {
    return kept<T>().on_device.take(
        [&] { return std::make_unique<DeviceRun<T>>(actions, strings, single, device); });
  }
};

struct Function::Data {
  FunctionOptions options;
  std::vector<bool> is_read;  // angles that depend on a parameter
  double most = 0;            // see most_value
  std::unique_ptr<Engine> whole;
  std::unique_ptr<Engine> shorter;  // null unless expectations are had with less: see absorb.h
  Engine& for_expectations() { return shorter ? *shorter : *whole; }
  // Frees large states of a CPU that the other one keeps. (Those on a device are freed on demand.)
  template <class T>
  void leave_room_for(const Engine& engine) const {
    Engine* const other = &engine == whole.get() ? shorter.get() : whole.get();
    if (other && engine.actions.num_wires >= detail::kGibibyteWires)
      other->kept<T>().single.clear();
  }

  // Throws Error(kInput) where a value, or an angle with these values, is not a finite number.
  void need_finite(const Sets& sets) const {
    constexpr std::size_t kMany = std::size_t{1} << 20;
    const std::size_t p = whole->actions.parameters.size(), count = sets.count * p;
    const int threads = count > kMany ? runtime::resolve_num_threads(options.num_threads) : 1;
    bool finite = true;
#pragma omp parallel for reduction(&& : finite) num_threads(threads) if (threads > 1)
    for (std::size_t k = 0; k < count; ++k) finite = finite && std::abs(sets.values[k]) <= most;
    for (std::size_t b = 0; !finite && b < sets.count; ++b)
      need_angles(whole->actions, {sets.values + b * p, p});
  }

  // f(run) of the precision that was asked for.
  template <class F>
  void with_device_run(Engine& engine, F f) {
    const auto call = [&]<class T>(T) {
      auto run = engine.take_device_run<T>(options.cuda_device);
      f(*run);
      engine.kept<T>().on_device.give(std::move(run));
    };
    options.precision == Precision::kDouble ? call(double{}) : call(float{});
  }

  // Whether many sets ran as a batch on a device, which they do where their states are small. `call` is
  // what is asked of them.
  bool runs_device_batch(const Sets& sets, BatchCall call) {
    if (options.cuda_device < 0 || std::max(sets.count, sets.all) < 2 ||
        whole->actions.num_wires > kMostBatchWires)
      return false;
    detail::need_starts(sets, whole->actions.num_wires, options.num_threads);
    call.values = sets.values;
    call.most_value = most;
    call.sets = sets.count;
    call.initial = sets.initial;
    call.shares_initial = sets.shares_initial;
    bool small = true;
    const auto run_as = [&]<class T>(T) {
      Pool<DeviceBatch<T>>& pool = whole->kept<T>().batch_on_device;
      auto run = pool.take([&] {
        return std::make_unique<DeviceBatch<T>>(whole->actions, whole->strings, is_read,
                                                options.cuda_device);
      });
      small = run->run(call);
      pool.give(std::move(run));
      if (!small)
        need_finite(sets);  // throws and says which, but where angles are finite after all
    };
    options.precision == Precision::kDouble ? run_as(double{}) : run_as(float{});
    return small;
  }
};

// Calls f(run, first, count) with a run that has moved forward, for groups of sets; groups of a batch
// side by side. Sets are numbered with their repeats; those of tangents are by one parameter each.
template <class T, class F>
void Function::run_sets(Engine& engine, const Sets& sets, Moves moves, F f) const {
  const Data& d = *data_;
  const std::size_t p = num_parameters(), all = sets.count * sets.repeats;
  d.need_finite(sets);
  detail::need_starts(sets, engine.actions.num_wires, d.options.num_threads);
  const auto start = [&](auto& run, std::size_t first, std::size_t count) {
    std::vector<double> repeated;
    for (std::size_t k = first; sets.repeats > 1 && k < first + count; ++k) {
      const double* const row = sets.values + k / sets.repeats * p;
      repeated.insert(repeated.end(), row, row + p);
    }
    run.bind(sets.repeats > 1 ? repeated.data() : sets.values + first * p, count, p);
    if constexpr (requires { run.bind_directions(nullptr, count); }) {
      std::vector<std::uint32_t> parameters;
      for (std::size_t k = first; moves == Moves::kTangents && k < first + count; ++k)
        parameters.push_back(static_cast<std::uint32_t>(k % p));
      if (!parameters.empty()) run.bind_directions(parameters.data(), count);
    }
    if (!sets.initial) return run.forward();
    std::vector<const std::complex<double>*> starts;
    for (std::size_t k = first; k < first + count; ++k) {
      const std::size_t set = sets.shares_initial ? 0 : k / sets.repeats;
      starts.push_back(sets.initial + (set << num_qubits()));
    }
    run.set_states(starts);
    run.forward_from_state();
  };
  const auto one_by_one = [&](auto& run) {
    for (std::size_t b = 0; b < all; ++b) {
      start(run, b, 1);
      f(run, b, std::size_t{1});
    }
  };
  if (d.options.cuda_device >= 0) {
    auto run = engine.take_device_run<T>(d.options.cuda_device);
    one_by_one(*run);
    run->rest();
    engine.kept<T>().on_device.give(std::move(run));
    return;
  }
  const int threads = runtime::resolve_num_threads(d.options.num_threads);
  if (!engine.has_batch || std::max(sets.count, sets.all) * sets.repeats < detail::kLeastBatch) {
    d.template leave_room_for<T>(engine);
    // threads that share one small state cost more than they save
    auto run =
        engine.take<T>(false, engine.actions.num_wires <= detail::kOneThreadWires ? 1 : threads);
    one_by_one(*run);
    engine.kept<T>().single.give(std::move(run));
    return;
  }
  const std::size_t lanes = cpu::kLanes<T>, groups = (all + lanes - 1) / lanes;
  const auto work = [&](Run<T>& run, std::size_t group) {
    const std::size_t first = group * lanes, count = std::min(lanes, all - first);
    start(run, first, count);
    f(run, first, count);
  };
  const int team =
      static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads), groups));
  std::exception_ptr failure;
  bool stops = false;
  std::mutex mutex;
#pragma omp parallel num_threads(team) if (team > 1)
  {
    std::unique_ptr<Run<T>> run;
    const auto guarded = [&](const auto& step) {
      try {
        step();
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    };
    guarded([&] { run = engine.take<T>(true, 1); });
    for (std::size_t first = 0; first < groups; first += detail::kGroupsBetweenStops) {
      const auto end =
          static_cast<std::int64_t>(std::min(groups, first + detail::kGroupsBetweenStops));
#pragma omp for schedule(dynamic, 1)
      for (auto group = static_cast<std::int64_t>(first); group < end; ++group) {
        if (run) guarded([&] { work(*run, static_cast<std::size_t>(group)); });
      }
#pragma omp master
      {
        if (!failure) guarded([] { check_interrupt(); });
        stops = failure != nullptr;
      }
#pragma omp barrier
      if (stops) break;  // all or none: it changes behind the next loop's barrier at the earliest
    }
    if (run) guarded([&] { engine.kept<T>().batch.give(std::move(run)); });
  }
  if (failure) std::rethrow_exception(failure);
}

template <class F>
void Function::dispatch(Engine& engine, const Sets& sets, F f, Moves moves) const {
  if (data_->options.precision == Precision::kDouble) {
    run_sets<double>(engine, sets, moves, f);
  } else {
    run_sets<float>(engine, sets, moves, f);
  }
}

namespace detail {

template <class T>
constexpr std::size_t lanes_of(const Run<T>&) {
  return cpu::kLanes<T>;
}
template <class T>
constexpr std::size_t lanes_of(const DeviceRun<T>&) {
  return 1;
}

// Derivatives by angles become those by parameters.
template <class R>
void chain(R& run, const Actions& actions, std::size_t first, std::size_t count, double* gradient) {
  const std::size_t lanes = lanes_of(run), p = actions.parameters.size();
  const auto angles = run.read_angles();
  std::vector<double> reads(std::max<std::size_t>(angles.size(), 1) * lanes);
  run.backward(reads);
  std::fill(gradient + first * p, gradient + (first + count) * p, 0.0);
  for (std::size_t j = 0; j < angles.size(); ++j) {
    for (const circuit::AffineTerm& t : actions.angles[angles[j]].terms) {
      for (std::size_t lane = 0; lane < count; ++lane)
        gradient[(first + lane) * p + t.parameter] += t.coefficient * reads[j * lanes + lane];
    }
  }
}

}  // namespace detail

}  // namespace tilewave::parametric
