// See function.h.
#include "tilewave/parametric/function.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/base/philox.h"
#include "tilewave/base/units.h"
#include "tilewave/parametric/cpu/kernels.h"
#include "tilewave/parametric/cuda/device_batch.h"
#include "tilewave/parametric/cuda/device_run.h"
#include "tilewave/parametric/plan/absorb.h"
#include "tilewave/parametric/run.h"
#include "tilewave/parametric/run_pool.h"
#include "tilewave/runtime/threads.h"

namespace tilewave::parametric {
namespace {

constexpr int kBatchWires = 13;  // a state of more qubits does not fit a core's cache eight times
constexpr std::size_t kLeastBatch = 3;  // sets that are worth a run of eight lanes
constexpr int kOneThreadWires = 14;
constexpr std::size_t kGroupsBetweenStops = 512;
constexpr int kTileRowBits = 11;  // 256 KiB of each state in a tile

void need_normalised(std::span<const std::complex<double>> state, std::size_t set) {
  double norm = 0;
  for (const std::complex<double>& a : state) norm += std::norm(a);
  if (std::abs(norm - 1) <= 1e-6) return;
  throw Error(ExitCode::kInput, "the initial state of set " + std::to_string(set) +
                                    " has the norm " + std::to_string(norm) + ": it must be 1");
}

}  // namespace

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
  Kept<float> kept32;
  Kept<double> kept64;
  template <class T>
  Kept<T>& kept() {
    if constexpr (sizeof(T) == 4) {
      return kept32;
    } else {
      return kept64;
    }
  }

  Engine(Observed of, const std::vector<bool>& is_read, const FunctionOptions& options)
      : actions(std::move(of.actions)), strings(std::move(of.strings)) {
    if (options.cuda_device >= 0) {
      single.passes =
          make_passes(actions, 0, kDeviceRowBits, is_read, kMostDeviceCost, kDeviceRowBits);
      single.sweeps = make_sweeps(strings, single.passes, kKeptLowWires);
      return;
    }
    const int lane_bits = options.precision == Precision::kDouble ? 3 : 4;
    const int row_bits = options.tile_row_bits > 0 ? options.tile_row_bits : kTileRowBits;
    single.passes = make_passes(actions, lane_bits, row_bits, is_read);
    single.sweeps = make_sweeps(strings, single.passes);
    has_batch = actions.num_wires <= kBatchWires;
    if (!has_batch) return;
    batch.passes = make_passes(actions, 0, actions.num_wires, is_read);
    batch.sweeps = make_sweeps(strings, batch.passes);
  }

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
  std::unique_ptr<Engine> whole;
  std::unique_ptr<Engine> shorter;  // null unless expectations are had with less: see absorb.h
  Engine& for_expectations() { return shorter ? *shorter : *whole; }

  // Throws Error(kInput) where a value is not a finite number.
  void need_finite(const Sets& sets) const {
    constexpr std::size_t kMany = std::size_t{1} << 20;
    const std::vector<std::string>& parameters = whole->actions.parameters;
    const std::size_t p = parameters.size(), count = sets.count * p;
    const int threads = count > kMany ? runtime::resolve_num_threads(options.num_threads) : 1;
    bool finite = true;
#pragma omp parallel for reduction(&& : finite) num_threads(threads) if (threads > 1)
    for (std::size_t k = 0; k < count; ++k) finite = finite && std::isfinite(sets.values[k]);
    for (std::size_t b = 0; !finite && b < sets.count; ++b)
      circuit::need_values(parameters, {sets.values + b * p, p});
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

  // Whether many sets ran as a batch on a device, which they do where their states are small and start
  // from |0...0>.
  bool runs_device_batch(const Sets& sets, const double* v, double* expectations,
                         double* gradient) {
    if (options.cuda_device < 0 || sets.initial || std::max(sets.count, sets.all) < 2 ||
        whole->actions.num_wires > kMostBatchWires)
      return false;
    Engine& engine = for_expectations();
    const auto call = [&]<class T>(T) {
      Pool<DeviceBatch<T>>& pool = engine.kept<T>().batch_on_device;
      auto run = pool.take([&] {
        return std::make_unique<DeviceBatch<T>>(engine.actions, engine.strings, is_read,
                                                options.cuda_device);
      });
      const bool finite = run->run(sets.values, sets.count, v, expectations, gradient);
      pool.give(std::move(run));
      if (!finite) need_finite(sets);  // throws and says which
    };
    options.precision == Precision::kDouble ? call(double{}) : call(float{});
    return true;
  }
};

Function::Function(const circuit::Circuit& circuit,
                   const std::vector<circuit::PauliSum>& observables,
                   const FunctionOptions& options)
    : data_(std::make_unique<Data>()) {
  if (circuit.num_qubits() == 0) throw Error(ExitCode::kInput, "the circuit has no qubits");
  Data& d = *data_;
  d.options = options;
  Observed all{lower(circuit), {}};
  all.strings = make_strings(observables, all.actions.wire_of_qubit);
  for (const circuit::AffineAngle& angle : all.actions.angles)
    d.is_read.push_back(!angle.terms.empty());
  d.whole = std::make_unique<Engine>(std::move(all), d.is_read, options);
  const Engine& whole = *d.whole;
  if (whole.single.passes.passes.size() > 1) {
    const int kept = options.cuda_device >= 0 ? kKeptLowWires : 0;
    for (Observed& way : ways_to_absorb(whole.actions, whole.strings, [&](const Strings& strings) {
           return make_sweeps(strings, whole.single.passes, kept).size();
         })) {
      auto shorter = std::make_unique<Engine>(std::move(way), d.is_read, options);
      if (states_moved(shorter->single) < states_moved(d.for_expectations().single))
        d.shorter = std::move(shorter);
    }
  }
  if (options.cuda_device >= 0)
    d.with_device_run(d.for_expectations(), [](auto&) {});  // what fails does so here
}

Function::~Function() = default;

std::uint32_t Function::num_qubits() const {
  return static_cast<std::uint32_t>(data_->whole->actions.num_wires);
}
std::size_t Function::num_parameters() const { return data_->whole->actions.parameters.size(); }
std::size_t Function::num_observables() const { return data_->whole->strings.num_observables; }

// Calls f(run, first, count) with a run that has moved forward, for groups of sets; groups of a batch
// side by side. Sets are numbered with their repeats; those of tangents are by one parameter each.
template <class T, class F>
void Function::run_sets(Engine& engine, const Sets& sets, Moves moves, F f) const {
  const Data& d = *data_;
  const std::size_t p = num_parameters(), all = sets.count * sets.repeats;
  d.need_finite(sets);
  if (sets.initial) {
    for (std::size_t b = 0; b < (sets.shares_initial ? 1 : sets.count); ++b)
      need_normalised({sets.initial + (b << num_qubits()), std::size_t{1} << num_qubits()}, b);
  }
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
    for (std::size_t lane = 0; lane < count; ++lane) {
      const std::size_t set = sets.shares_initial ? 0 : (first + lane) / sets.repeats;
      run.set_state(lane, sets.initial + (set << num_qubits()));
    }
    run.forward_from_state();
  };
  if (d.options.cuda_device >= 0) {
    auto run = engine.take_device_run<T>(d.options.cuda_device);
    for (std::size_t b = 0; b < all; ++b) {
      start(*run, b, 1);
      f(*run, b, std::size_t{1});
    }
    run->rest();
    engine.kept<T>().on_device.give(std::move(run));
    return;
  }
  const int threads = runtime::resolve_num_threads(d.options.num_threads);
  if (!engine.has_batch || std::max(sets.count, sets.all) * sets.repeats < kLeastBatch) {
    // threads that share one small state cost more than they save
    auto run = engine.take<T>(false, engine.actions.num_wires <= kOneThreadWires ? 1 : threads);
    for (std::size_t b = 0; b < all; ++b) {
      start(*run, b, 1);
      f(*run, b, std::size_t{1});
    }
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
    for (std::size_t first = 0; first < groups; first += kGroupsBetweenStops) {
      const auto end = static_cast<std::int64_t>(std::min(groups, first + kGroupsBetweenStops));
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

namespace {

template <class T>
constexpr std::size_t lanes_of(const Run<T>&) {
  return cpu::kLanes<T>;
}
template <class T>
constexpr std::size_t lanes_of(const DeviceRun<T>&) {
  return 1;
}

// <psi|O|psi> is real: what is left of an imaginary part is rounding.
void check_real(const Strings& strings, std::span<const double> imaginary) {
  double most = 0;
  for (const Strings::Share& share : strings.shares) most += std::abs(share.coefficient);
  for (const double x : imaginary) {
    if (std::abs(x) <= 1e-4 * most) continue;
    throw Error(ExitCode::kVerification,
                "an expectation value has an imaginary part of " + std::to_string(x) +
                    ": this is a defect, or memory that loses bits; please report it");
  }
}

// Adds to out[set][observable]; `strings` is room for [string][lane].
template <class T>
void read_observables(Run<T>& run, const Strings& s, std::span<double> strings, std::size_t count,
                      double* out) {
  const std::size_t lanes = lanes_of(run);
  run.read_strings(strings);
  for (const Strings::Share& share : s.shares) {
    for (std::size_t lane = 0; lane < count; ++lane)
      out[lane * s.num_observables + share.observable] +=
          share.coefficient * strings[share.string * lanes + lane];
  }
}

template <class T>
void read_observables(DeviceRun<T>& run, const Strings&, std::span<double>, std::size_t,
                      double* out) {
  run.read_observables(out);
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

}  // namespace

void Function::expectations(const Sets& sets, double* out) const {
  Engine& engine = data_->for_expectations();
  const Strings& s = engine.strings;
  const std::size_t m = num_observables();
  if (data_->runs_device_batch(sets, nullptr, out, nullptr)) return;
  std::fill(out, out + sets.count * m, 0.0);
  dispatch(engine, sets, [&](auto& run, std::size_t first, std::size_t count) {
    const std::size_t lanes = lanes_of(run);
    std::vector<double> strings(s.strings.size() * lanes);
    read_observables(run, s, strings, count, out + first * m);
  });
}

void Function::vjp(const Sets& sets, const double* v, double* expectations,
                   double* gradient) const {
  Data& d = *data_;
  Engine& engine = d.for_expectations();
  const Strings& s = engine.strings;
  const std::size_t m = num_observables();
  if (d.runs_device_batch(sets, v, expectations, gradient)) return;
  if (expectations) std::fill(expectations, expectations + sets.count * m, 0.0);
  dispatch(engine, sets, [&](auto& run, std::size_t first, std::size_t count) {
    const std::size_t lanes = lanes_of(run);
    std::vector<double> strings(s.strings.size() * lanes);
    if (expectations && m != 1) {
      read_observables(run, s, strings, count, expectations + first * m);
      std::fill(strings.begin(), strings.end(), 0.0);
    }
    // one observable: lam = O psi, whose product with psi is the expectation; weights come last
    const bool is_one = m == 1;
    for (const Strings::Share& share : s.shares) {
      for (std::size_t lane = 0; lane < count; ++lane)
        strings[share.string * lanes + lane] +=
            share.coefficient * (is_one ? 1 : v[(first + lane) * m + share.observable]);
    }
    run.make_lam(strings);
    if (expectations && is_one) {
      std::vector<double> re(lanes), im(lanes);
      run.dot(re, im);
      check_real(s, im);
      for (std::size_t lane = 0; lane < count; ++lane) expectations[first + lane] = re[lane];
    }
    chain(run, engine.actions, first, count, gradient);
    if (!is_one) return;
    const std::size_t p = num_parameters();
    for (std::size_t lane = 0; lane < count; ++lane) {
      for (std::size_t k = 0; k < p; ++k) gradient[(first + lane) * p + k] *= v[first + lane];
    }
  });
}

void Function::states(const Sets& sets, std::complex<double>* out) const {
  dispatch(*data_->whole, sets, [&](auto& run, std::size_t first, std::size_t count) {
    for (std::size_t lane = 0; lane < count; ++lane)
      run.get_state(lane, out + ((first + lane) << num_qubits()));
  });
}

void Function::state_vjp(const Sets& sets, const std::complex<double>* g, double* gradient) const {
  Engine& engine = *data_->whole;
  dispatch(engine, sets, [&](auto& run, std::size_t first, std::size_t count) {
    for (std::size_t lane = 0; lane < count; ++lane)
      run.set_lam(lane, g + ((first + lane) << num_qubits()));
    const std::vector<circuit::AffineTerm>& global = engine.actions.global_phase.terms;
    std::vector<double> re(lanes_of(run)), im(lanes_of(run));
    if (!global.empty()) run.dot(re, im);
    chain(run, engine.actions, first, count, gradient);
    for (const circuit::AffineTerm& t : global) {
      for (std::size_t lane = 0; lane < count; ++lane)
        gradient[(first + lane) * num_parameters() + t.parameter] -= 2 * t.coefficient * im[lane];
    }
  });
}

// The row of a parameter: lam = d_j psi comes forward with psi, and undoing the circuit on both reads
// 2 Re <d_j psi|d_i psi> for every i at once.
void Function::metric_tensor(const Sets& sets, double* out) const {
  Data& d = *data_;
  if (d.options.cuda_device >= 0) {
    throw Error(
        ExitCode::kUsage,
        "the metric tensor is not computed on a CUDA device: compile the function for the CPU, "
        "device = cpu");
  }
  Engine& engine = d.for_expectations();  // a unitary at the end changes no metric
  const std::size_t p = num_parameters();
  if (p == 0) return d.need_finite(sets);
  Sets rows = sets;
  rows.repeats = p;
  std::vector<double> along(sets.count * p);  // Im <d_j psi|psi>, whose real part is 0
  const auto read = [&](auto& run, std::size_t first, std::size_t count) {
    std::vector<double> re(lanes_of(run)), im(lanes_of(run));
    run.dot(re, im);
    std::copy_n(im.begin(), count, along.begin() + static_cast<std::ptrdiff_t>(first));
    chain(run, engine.actions, first, count, out);
  };
  dispatch(engine, rows, read, Moves::kTangents);
  for (std::size_t b = 0; b < sets.count; ++b) {
    double* const g = out + b * p * p;
    for (std::size_t i = 0; i < p; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        g[i * p + j] = g[j * p + i] =
            (g[i * p + j] + g[j * p + i]) / 4 - along[b * p + i] * along[b * p + j];
      }
    }
  }
}

void Function::samples(const Sets& sets, std::uint64_t shots, std::uint64_t seed,
                       std::uint64_t* out) const {
  dispatch(*data_->whole, sets, [&](auto& run, std::size_t first, std::size_t count) {
    std::vector<std::complex<double>> state(std::size_t{1} << num_qubits());
    std::vector<double> sums(state.size());
    for (std::size_t lane = 0; lane < count; ++lane) {
      run.get_state(lane, state.data());
      double sum = 0;
      for (std::size_t x = 0; x < state.size(); ++x) sums[x] = sum += std::norm(state[x]);
      for (std::uint64_t shot = 0; shot < shots; ++shot) {
        const double u = random_uniform(seed, sets.first + first + lane, shot) * sum;
        auto at = std::upper_bound(sums.begin(), sums.end(), u);
        if (at == sums.end()) --at;
        out[(first + lane) * shots + shot] = static_cast<std::uint64_t>(at - sums.begin());
      }
    }
  });
}

namespace {

struct PassLine {
  std::size_t num_ops;
  std::uint32_t num_reads;
  std::uint64_t active;
};

std::string pass_table(const std::vector<PassLine>& passes) {
  std::string text = "pass  operations  derivatives  active qubits\n";
  for (std::size_t k = 0; k < passes.size(); ++k) {
    char line[96];
    std::snprintf(line, sizeof line, "%4zu  %10zu  %11u ", k + 1, passes[k].num_ops,
                  passes[k].num_reads);
    text += line;
    for_each_bit(passes[k].active, [&](int w) { text += ' ' + std::to_string(w); });
    text += '\n';
  }
  return text;
}

}  // namespace

std::string Function::explain() const {
  Data& d = *data_;
  Engine& engine = d.for_expectations();
  const Passes& passes = engine.single.passes;
  std::vector<PassLine> lines;
  std::string kernels;
  if (d.options.cuda_device >= 0) {
    d.with_device_run(engine, [&](auto& run) {
      for (const StagePass& pass : run.program().passes)
        lines.push_back(
            {pass.num_ops, pass.num_reads, pass.active & low_mask(engine.actions.num_wires)});
      kernels = run.kernels();
    });
  } else {
    for (const Pass& pass : passes.passes)
      lines.push_back({pass.ops.size(), pass.num_reads, pass.active | low_mask(passes.lane_bits)});
  }
  std::string text = std::to_string(num_qubits()) + " qubits, " + std::to_string(num_parameters()) +
                     " parameters, " + std::to_string(engine.actions.actions.size()) +
                     " actions in " + std::to_string(lines.size()) +
                     (lines.size() == 1 ? " pass" : " passes") + " forward and as many backward, " +
                     std::to_string(passes.num_reads) + " derivatives read, " +
                     std::to_string(engine.strings.strings.size()) + " Pauli strings in " +
                     std::to_string(engine.single.sweeps.size()) + " sweeps\n" + pass_table(lines);
  const std::size_t absorbed = d.whole->actions.actions.size() - engine.actions.actions.size();
  if (absorbed)
    text += "expectations: " + std::to_string(absorbed) +
            " Clifford actions at the end act on the observables\n";
  if (!kernels.empty()) text += "kernels of their own: " + kernels + ", the others interpreted\n";
  if (engine.has_batch)
    text += "batches: " + std::to_string(d.options.precision == Precision::kDouble ? 8 : 16) +
            " sets side by side in vectors\n";
  return text;
}

}  // namespace tilewave::parametric
