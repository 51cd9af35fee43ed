// See collect.h.
#include "tilewave/simulate/collect.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/formats/npy/npy.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/statevec/cpu/cpu_numbers.h"
#include "tilewave/statevec/device_costs.h"

namespace tilewave::simulate {
namespace {

using statevec::Precision;
using statevec::State;

// Sorts items by value(item), a number in [low, high), and equal ones by themselves. Numbers that
// are spread evenly are parted in the middle until few are left: the same work as quicksort does.
template <class T, class Value>
void sort_uniform(std::span<T> items, Value value, double low = 0, double high = 1) {
  constexpr std::size_t kFew = std::size_t{1} << 18;
  constexpr double kNarrow = 1e-12;  // a range without numbers to tell apart
  if (items.size() <= kFew || high - low < kNarrow) {
    check_interrupt();
    std::sort(items.begin(), items.end(), [&](const T& a, const T& b) {
      const double x = value(a), y = value(b);
      return x != y ? x < y : a < b;
    });
    return;
  }
  const double middle = low + (high - low) / 2;
  InterruptCounter now_and_then(1U << 20);
  std::size_t first = 0, end = items.size();
  while (true) {
    while (first < end && value(items[first]) < middle) ++first, now_and_then.step();
    while (first < end && !(value(items[end - 1]) < middle)) --end, now_and_then.step();
    if (first == end) break;
    std::swap(items[first++], items[--end]);
  }
  sort_uniform(items.first(first), value, low, middle);
  sort_uniform(items.subspan(first), value, middle, high);
}

// Every rank takes part until the last block, also where the root cannot write: they are in step.
// Returns why not; "" where all went well.
std::string write_state(State& state, const std::string& path, bool is_root) {
  const bool is_double = state.precision() == Precision::kDouble;
  std::unique_ptr<formats::NpyWriter> writer;
  std::string error;
  const auto guarded = [&](auto&& step) {
    if (!is_root || !error.empty()) return;
    try {
      step();
    } catch (const Error& e) {
      if (e.code() != ExitCode::kResources) throw;
      error = e.what();
      writer.reset();
    }
  };
  guarded([&] {
    writer = std::make_unique<formats::NpyWriter>(
        path,
        formats::NpyHeader{is_double ? formats::NpyType::kComplex128 : formats::NpyType::kComplex64,
                           {state.num_amplitudes()}});
  });
  std::vector<std::complex<float>> narrow;
  state.for_each_block([&](std::uint64_t, std::span<const cplx> block) {
    guarded([&] {
      if (is_double) {
        writer->write(block);
        return;
      }
      narrow.resize(block.size());
      std::transform(block.begin(), block.end(), narrow.begin(),
                     [](cplx a) { return std::complex<float>(a); });
      writer->write(std::span<const std::complex<float>>(narrow));
    });
  });
  guarded([&] { writer->close(); });
  return error;
}

double bytes_of(const State& state) {
  return static_cast<double>(statevec::amplitude_bytes(state.precision())) *
         static_cast<double>(state.num_amplitudes());
}

// What answers take where the state is; zeros where nobody has measured it.
statevec::rates::QuestionRates found_rates(const State& state) {
  const std::string device = state.device();
  if (device == "cpu") {
    const auto file = statevec::cpu::tuned_cpu();
    return file ? statevec::rates::from_flat<statevec::cpu::CpuNumbers>(file->of(state.precision()))
                      .questions
                : statevec::rates::QuestionRates{};
  }
  for (const runtime::CudaDevice& d : runtime::cuda_devices()) {
    if (device == "cuda:" + std::to_string(d.index))
      return statevec::cuda_question_rates(d.name, state.precision());
  }
  return {};
}

}  // namespace

double standard_error(double mean, double mean_square, std::uint64_t count) {
  if (count < 2) return std::numeric_limits<double>::quiet_NaN();
  return std::sqrt(std::max(mean_square - mean * mean, 0.0) / static_cast<double>(count - 1));
}

const statevec::rates::QuestionRates& Collector::rates_of(const State& state) {
  if (!question_rates_) question_rates_ = found_rates(state);  // all leaves are on one device
  return *question_rates_;
}

template <class F>
void Collector::timed(const char* step, F f, double predicted_s) {
  const runtime::Timer timer;
  f();
  result_.profile[step].add(timer.elapsed_s(), predicted_s, 0);
}

void Collector::operator()(const Leaf& leaf) {
  const runtime::Timer timer;
  const double weight =
      program_.dynamic || program_.has_channels
          ? static_cast<double>(leaf.shots.size()) / static_cast<double>(num_shots_)
          : 1.0;
  State& state = leaf.state;
  // one walk gives both: shots are compared with the probabilities
  if (options_.shots > 0 && !program_.has_channels)
    timed(
        "probabilities", [&] { state.marginals(); }, rates_of(state).marginals_s(bytes_of(state)));
  double norm = check_norm(state);
  result_.norm += weight * (program_.has_channels ? 1 : norm);
  // the operators of a trajectory are scaled to be near 1, not to keep the norm
  if (!program_.has_channels) norm = 1;
  if (options_.probabilities) {
    // known already where there are shots
    timed(
        "probabilities", [&] { add_probabilities(state, weight, norm); },
        options_.shots > 0 ? 0 : rates_of(state).marginals_s(bytes_of(state)));
  }
  if (!options_.observables.empty()) {
    timed("expectations", [&] { add_expectations(state, weight, norm); });
  }
  if (!options_.amplitudes.empty()) timed("amplitudes", [&] { read_amplitudes(state); });
  if (options_.shots > 0)
    timed(
        "sample", [&] { count(leaf); },
        rates_of(state).sample_s(bytes_of(state), leaf.shots.size()));
  if (!options_.state_path.empty() && options_.writes_state) {
    timed("write state", [&] {
      result_.state_error =
          write_state(state, options_.state_path, options_.distribution.is_root());
    });
  }
  result_.timings.observe_s += timer.elapsed_s();
  shots_done_ += leaf.shots.size();
}

void Collector::add_outcome(State& state, double probability) {
  const runtime::Timer timer;
  const double norm = check_norm(state);
  if (options_.shots == 0) result_.norm += probability * norm;
  if (options_.probabilities)
    timed("probabilities", [&] { add_probabilities(state, probability, norm); });
  if (!options_.observables.empty())
    timed("expectations", [&] { add_expectations(state, probability, norm); });
  result_.timings.observe_s += timer.elapsed_s();
}

void Collector::prepare_shots() {
  const auto& circuit = *program_.circuit;
  result_.num_shot_bits = program_.records ? circuit.num_clbits() : program_.qubits.num_qubits();
  result_.shot_words = (result_.num_shot_bits + 63) / 64;
  result_.shot_bits.assign(options_.shots * result_.shot_words, 0);
}

void Collector::finish() {
  result_.counts = counter_.take();
  result_.shot_deviation = shot_check_.worst_deviation();
  // One order, so the sum is the same however the branches were walked.
  for (const double value : result_.expectations) result_.expectation_sum += value;
  if (!has_errors_) return;
  const auto finish_errors = [&](std::span<const double> means, std::vector<double>& squares) {
    for (std::size_t k = 0; k < squares.size(); ++k) {
      squares[k] = standard_error(means[k], squares[k], num_shots_);
    }
  };
  finish_errors(result_.probabilities, result_.probability_errors);
  finish_errors(result_.expectations, result_.expectation_errors);
  result_.expectation_sum_error = standard_error(result_.expectation_sum, sum_squares_, num_shots_);
}

namespace {

// What of a result is known before the end: of one that is read, or a const one that is written.
template <class Bytes, class SomeResult>
void answer_fields(Bytes& bytes, SomeResult& r) {
  bytes.fields(r.probabilities, r.joint_probabilities, r.expectations, r.probability_errors,
               r.expectation_errors, r.amplitudes, r.shot_bits, r.norm, r.num_branches);
  bytes.fields(r.plan.passes, r.plan.gates, r.plan.exchanges, r.plan.bytes, r.plan.flops,
               r.plan.predicted_s, r.plan.exchange_bytes, r.plan.effort);
  bytes.fields(r.timings.plan_s, r.timings.execute_s, r.timings.observe_s);
  bytes.count(r.warnings, sizeof(std::uint64_t));
  for (auto& warning : r.warnings) bytes.fields(warning);
}

}  // namespace

void Collector::save(ByteWriter& out) const {
  answer_fields(out, std::as_const(result_));
  out.put(std::uint64_t{counter_.counts().size()});
  for (const auto& [key, count] : counter_.counts()) out.fields(key, count);
  out.fields(shots_done_, sum_squares_);
  shot_check_.save(out);
}

void Collector::load(ByteReader& in) {
  answer_fields(in, result_);
  std::map<std::string, std::uint64_t> counts;
  for (std::size_t k = in.get_count(2 * sizeof(std::uint64_t)); k > 0; --k) {
    const std::string key = in.get_text();
    counts.emplace_hint(counts.end(), key, in.get<std::uint64_t>());
  }
  counter_.set(std::move(counts));
  in.fields(shots_done_, sum_squares_);
  shot_check_.load(in);
}

double Collector::check_norm(State& state) {
  double norm = 0;
  // the walk for probabilities gives it, and on a device the last pass
  const bool is_known = (options_.shots > 0 && !program_.has_channels) || state.device() != "cpu";
  timed(
      "norm", [&] { norm = state.norm(); }, is_known ? 0 : rates_of(state).norm_s(bytes_of(state)));
  if (!program_.has_channels || !std::isfinite(norm)) {
    // channels of a density matrix keep its trace as well as their file gives them
    const std::string warning = simulate::check_norm(norm, *program_.circuit, program_.ops,
                                                     state.precision(), !options_.noise);
    if (!warning.empty() && result_.warnings.empty()) result_.warnings.push_back(warning);
  }
  return norm;
}

void Collector::add_probabilities(State& state, double weight, double norm) {
  const std::vector<double> all = program_.qubits.marginals(state);
  const auto& chosen = options_.probability_qubits;
  result_.probabilities.resize(chosen.empty() ? all.size() : chosen.size());
  if (has_errors_) result_.probability_errors.resize(result_.probabilities.size());
  for (std::size_t k = 0; k < result_.probabilities.size(); ++k) {
    const double p = all[chosen.empty() ? k : chosen[k]] / norm;
    result_.probabilities[k] += weight * p;
    if (has_errors_) result_.probability_errors[k] += weight * p * p;
  }
  if (chosen.empty() || chosen.size() > kMaxJointQubits) return;
  const std::vector<double> joint = program_.qubits.joint_probabilities(state, chosen);
  result_.joint_probabilities.resize(joint.size());
  for (std::size_t k = 0; k < joint.size(); ++k) {
    result_.joint_probabilities[k] += weight * joint[k] / norm;
  }
}

void Collector::add_expectations(State& state, double weight, double norm) {
  const std::vector<double> values = program_.qubits.expectations(state, options_.observables);
  result_.expectations.resize(values.size());
  if (has_errors_) result_.expectation_errors.resize(values.size());
  double sum = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double value = options_.observables[k].coefficient * values[k] / norm;
    sum += value;
    result_.expectations[k] += weight * value;
    if (has_errors_) result_.expectation_errors[k] += weight * value * value;
  }
  sum_squares_ += weight * sum * sum;
}

void Collector::read_amplitudes(State& state) {
  std::vector<std::uint64_t> indices;
  for (const auto& range : options_.amplitudes) {
    for (std::uint64_t k = 0; k < range.count; ++k) indices.push_back(range.first + k);
  }
  const std::vector<cplx> values = program_.qubits.amplitudes(state, indices);
  for (std::size_t k = 0; k < indices.size(); ++k) {
    result_.amplitudes.push_back({indices[k], values[k]});
  }
}

void Collector::outcome_of(const Leaf& leaf, std::uint64_t basis_state, Bits& out) const {
  if (!program_.records) {
    out.resize((program_.qubits.num_qubits() + 63) / 64);
    program_.qubits.spread(basis_state, out);
    return;
  }
  out = leaf.bits;
  for (const auto& d : program_.deferred) set_bit(out, d.clbit, d.is_one(basis_state));
}

void Collector::misread(std::uint32_t shot, Bits& outcome) const {
  const auto flip = [&](std::uint32_t at, circuit::Qubit qubit) {
    const bool one = get_bit(outcome, at);
    if (is_misread(readout_[qubit], one, result_.seed, shot, at)) set_bit(outcome, at, !one);
  };
  if (!program_.records) {
    for (std::uint32_t q = 0; q < program_.qubits.num_qubits(); ++q) flip(q, q);
    return;
  }
  for (const auto& d : program_.deferred) flip(d.clbit, d.name);
}

void Collector::count(const Leaf& leaf) {
  if (program_.records && program_.deferred.empty()) {
    counter_.add(leaf.bits, leaf.shots.size());
    if (options_.record_shots) {
      for (const auto shot : leaf.shots) record(shot, leaf.bits);
    }
    return;
  }
  InterruptCounter now_and_then(1U << 16);
  std::vector<double> draws(leaf.shots.size());
  for (std::size_t k = 0; k < draws.size(); ++k) {
    now_and_then.step();
    draws[k] = leaf_draw(result_.seed, leaf.shots[k]);
  }
  std::vector<std::uint32_t> order;  // of shots by their draws
  if (options_.record_shots || !readout_.empty()) {
    order.resize(draws.size());
    std::iota(order.begin(), order.end(), 0);
    sort_uniform(std::span(order), [&](std::uint32_t k) { return draws[k]; });
  }
  std::vector<double> marginals;
  const bool is_checked = !program_.has_channels;  // a trajectory has few shots each
  if (is_checked) {                                // before the state moves
    marginals = leaf.state.marginals();
    // matrices that are no gates may leave another norm than 1; shots are drawn relative to it
    const double norm = leaf.state.norm();
    for (double& p : marginals) p = norm > 0 ? p / norm : p;
  }
  sort_uniform(std::span(draws), [](double u) { return u; });
  const std::vector<std::uint64_t> drawn = leaf.state.sample_sorted(draws);
  if (is_checked) {
    shot_check_.add(marginals, drawn);
    shot_check_.check();
  }
  Bits outcome;
  if (!readout_.empty()) {
    for (std::size_t k = 0; k < order.size(); ++k) {
      now_and_then.step();
      outcome_of(leaf, drawn[k], outcome);
      misread(leaf.shots[order[k]], outcome);
      counter_.add(outcome, 1);
      if (options_.record_shots) record(leaf.shots[order[k]], outcome);
    }
    return;
  }
  for (std::size_t k = 0; k < drawn.size();) {
    outcome_of(leaf, drawn[k], outcome);
    std::size_t end = k;
    for (; end < drawn.size() && drawn[end] == drawn[k]; ++end) {
      now_and_then.step();
      if (options_.record_shots) record(leaf.shots[order[end]], outcome);
    }
    counter_.add(outcome, end - k);
    k = end;
  }
}

void Collector::record(std::uint32_t shot, const Bits& outcome) {
  std::copy_n(outcome.begin(), result_.shot_words,
              result_.shot_bits.data() + std::size_t{shot} * result_.shot_words);
}

}  // namespace tilewave::simulate
