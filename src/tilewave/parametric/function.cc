// See function.h.
#include "tilewave/parametric/function.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/parametric/function_run-inl.h"
#include "tilewave/runtime/threads.h"

namespace tilewave::parametric {
namespace detail {

// Throws Error(kInput) where a state to start from is not of norm 1.
void need_starts(const Sets& sets, int num_qubits, int num_threads) {
  if (!sets.initial) return;
  constexpr std::size_t kMany = std::size_t{1} << 18;
  const std::size_t size = std::size_t{1} << num_qubits;
  const std::size_t count = sets.shares_initial ? 1 : sets.count;
  const int threads = count * size > kMany ? runtime::resolve_num_threads(num_threads) : 1;
  const auto norm_of = [&](std::size_t set) {
    double norm = 0;
    for (const std::complex<double>& a : std::span(sets.initial + set * size, size))
      norm += std::norm(a);
    return norm;
  };
  std::size_t bad = count;
#pragma omp parallel for reduction(min : bad) num_threads(threads) if (threads > 1)
  for (std::size_t b = 0; b < count; ++b) {
    if (!(std::abs(norm_of(b) - 1) <= 1e-6)) bad = std::min(bad, b);
  }
  if (bad == count) return;
  const std::string whose =
      sets.shares_initial ? "" : " of set " + std::to_string(sets.first + bad);
  fail(ExitCode::kInput, "the initial state", whose, " has the norm ", std::to_string(norm_of(bad)),
       ": it must be 1");
}

}  // namespace detail

namespace {

constexpr int kTileRowBits = 11;  // 256 KiB of each state in a tile

std::vector<StringSweep> sweeps_of(const Strings& strings, const Passes& passes,
                                   const FunctionOptions& options) {
  return make_sweeps(strings, passes, options.cuda_device >= 0 ? kKeptLowWires : 0);
}

}  // namespace

Function::Engine::Engine(Observed of, const std::vector<bool>& is_read,
                         const FunctionOptions& options)
    : actions(std::move(of.actions)), strings(std::move(of.strings)) {
  plan(is_read, options, false);
  single.sweeps = sweeps_of(strings, single.passes, options);
  has_batch = options.cuda_device < 0 && actions.num_wires <= detail::kBatchWires;
  if (!has_batch) return;
  batch.passes = make_passes(actions, 0, actions.num_wires, is_read);
  batch.sweeps = make_sweeps(strings, batch.passes);
}

void Function::Engine::plan(const std::vector<bool>& is_read, const FunctionOptions& options,
                            bool searches) {
  if (options.cuda_device >= 0) {
    single.passes = make_passes(actions, 0, kDeviceRowBits, is_read,
                                {kMostDeviceCost, kDeviceRowBits, searches});
    return;
  }
  const int lane_bits = options.precision == Precision::kDouble ? 3 : 4;
  const int row_bits = options.tile_row_bits > 0 ? options.tile_row_bits : kTileRowBits;
  single.passes = make_passes(actions, lane_bits, row_bits, is_read, {.searches = searches});
}

Function::Function(const circuit::Circuit& circuit,
                   const std::vector<circuit::PauliSum>& observables,
                   const FunctionOptions& options)
    : data_(std::make_unique<Data>()) {
  if (circuit.num_qubits() == 0) {
    fail(ExitCode::kInput,
         "the circuit has no qubits, so there is no state to run: declare at least one");
  }
  Data& d = *data_;
  d.options = options;
  Observed all{lower(circuit), {}};
  all.strings = make_strings(observables, all.actions.wire_of_qubit);
  for (const circuit::AffineAngle& angle : all.actions.angles)
    d.is_read.push_back(!angle.terms.empty());
  d.most = most_value(all.actions);
  d.whole = std::make_unique<Engine>(std::move(all), d.is_read, options);
  const Engine& whole = *d.whole;
  if (whole.single.passes.passes.size() > 1) {
    const auto num_sweeps = [&](const Strings& strings) {
      return sweeps_of(strings, whole.single.passes, options).size();
    };
    for (Observed& way :
         ways_to_absorb(whole.actions, whole.strings, whole.single.sweeps.size(), num_sweeps)) {
      auto shorter = std::make_unique<Engine>(std::move(way), d.is_read, options);
      if (states_moved(shorter->single) < states_moved(d.for_expectations().single))
        d.shorter = std::move(shorter);
    }
    // by greedy plans so far
    if (whole.actions.num_wires >= kLeastSearchedWires)
      d.for_expectations().plan(d.is_read, options, true);
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

namespace {

using detail::chain, detail::lanes_of;

// <psi|O|psi> is real: what is left of an imaginary part is rounding.
void check_real(const Strings& strings, std::span<const double> imaginary) {
  double most = 0;
  for (const Strings::Share& share : strings.shares) most += std::abs(share.coefficient);
  for (const double x : imaginary) {
    if (std::abs(x) <= 1e-4 * most) continue;
    fail(ExitCode::kVerification, "an expectation value has an imaginary part of ",
         std::to_string(x), ": this is a defect, or memory that loses bits; please report it");
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

}  // namespace

void Function::expectations(const Sets& sets, double* out) const {
  Engine& engine = data_->for_expectations();
  const Strings& s = engine.strings;
  const std::size_t m = num_observables();
  if (data_->runs_device_batch(sets, {.expectations = out})) return;
  std::fill(out, out + sets.count * m, 0.0);
  dispatch(engine, sets, [&](auto& run, std::size_t first, std::size_t count) {
    const std::size_t lanes = lanes_of(run);
    std::vector<double> strings(s.strings.size() * lanes);
    read_observables(run, s, strings, count, out + first * m);
  });
}

void Function::vjp(const Sets& sets, const double* v, double* expectations,
                   double* gradient) const {
  Engine& engine = data_->for_expectations();
  const Strings& s = engine.strings;
  const std::size_t m = num_observables();
  const BatchCall call{.expectations = expectations, .gradient = gradient, .v = v};
  if (data_->runs_device_batch(sets, call)) return;
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

// The row of a parameter: lam = d_j psi comes forward with psi, and undoing the circuit on both reads
// 2 Re <d_j psi|d_i psi> for every i at once.
void Function::metric_tensor(const Sets& sets, double* out) const {
  Data& d = *data_;
  if (d.options.cuda_device >= 0) {
    fail(ExitCode::kUsage,
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
  if (d.options.cuda_device >= 0 && engine.actions.num_wires <= kMostBatchWires)
    text += "batches: a team of threads for each set\n";
  if (engine.has_batch)
    text += "batches: " + std::to_string(d.options.precision == Precision::kDouble ? 8 : 16) +
            " sets side by side in vectors\n";
  return text;
}

}  // namespace tilewave::parametric
