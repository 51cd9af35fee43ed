// The CPU's numbers from timed passes. Bytes and amplitudes of a pass are known (cpu/pass_costs.h), so
// its time is a sum of rates; those that no sum can tell apart are measured on their own: what a pass
// costs by itself, how much faster a state moves that caches hold, the first use of memory, one
// thread.
#include <algorithm>
#include <cmath>

#include "tilewave/runtime/machine.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/simulate/tune/engine.h"
#include "tilewave/statevec/cpu/cpu_numbers.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/rates/fit.h"

namespace tilewave::simulate {

namespace {

using namespace statevec;  // NOLINT: names of the engine that is measured
using cpu::CpuNumbers;
using rates::ProbeShape;
using rates::Step;

constexpr int kRepeats = 7, kLayers = 8;

class CpuEngine final : public Engine {
 public:
  rates::Kind kind() const override { return rates::Kind::kCpu; }
  std::string device() const override { return cpu::processor(); }
  std::string machine() const override {
    const runtime::Machine m = runtime::describe_machine();
    return std::to_string(m.num_cores) + " cores, huge pages " + m.huge_pages;
  }
  int threads() const override { return threads_; }
  std::span<const rates::NumberInfo> list() const override { return cpu::cpu_number_list(); }
  std::unique_ptr<State> make_state(int num_qubits, Precision precision) const override {
    return make_cpu_state(num_qubits, precision, threads_);
  }

  int most_qubits(Precision precision) const override {
    const double bytes = 0.5 * static_cast<double>(runtime::available_host_bytes());
    const double amplitudes = bytes / static_cast<double>(amplitude_bytes(precision));
    return std::min(30, static_cast<int>(std::floor(std::log2(std::max(amplitudes, 1.0)))));
  }

  Probes probe(Precision precision, int num_qubits) override {
    const bool is_double = precision == Precision::kDouble;
    CpuNumbers& n = known_[!is_double];
    n = cpu::model_numbers(is_double);
    const int tile = is_double ? cpu::kTileBitsDouble : cpu::kTileBitsSingle,
              small = is_double ? cpu::kSmallTileBits<double> : cpu::kSmallTileBits<float>,
              row = is_double ? cpu::kStateRowBitsDouble : cpu::kStateRowBitsSingle;
    const auto shape = [&](int qubits, int tile_bits) {
      return ProbeShape{qubits, precision, tile_bits, row};
    };
    const double amplitude = static_cast<double>(amplitude_bytes(precision));
    const auto bytes_of = [&](int qubits) { return std::ldexp(amplitude, qubits); };
    const auto state = make_cpu_state(num_qubits, precision, threads_);

    // memory: what its first use costs
    const std::vector<cplx> product(static_cast<std::size_t>(2 * num_qubits), std::sqrt(0.5));
    const auto fill = [&] {
      const runtime::Timer timer;
      state->set_product_state(product);
      return timer.elapsed_s();
    };
    fill();
    const double again_s = median_of({fill(), fill(), fill()});
    std::vector<double> first_s;
    for (int k = 0; k < 3; ++k) {
      const auto fresh = make_cpu_state(num_qubits, precision, threads_);
      const runtime::Timer timer;
      fresh->set_product_state(product);
      first_s.push_back(timer.elapsed_s());
    }
    n.touch_byte_s = std::max(median_of(first_s) - again_s, 0.0) / bytes_of(num_qubits);

    // probes
    struct Wanted {
      Step step;
      int tile, layers, side_by_side = 0;
    };
    const std::vector<Wanted> wanted = {
        {Step::kNothing, tile, 1},         {Step::kNothing, tile, 1, tile},
        {Step::kNothing, small, 1, small}, {Step::kNothing, small, 1, row + 2},
        {Step::kNothing, small, 1},        {Step::kNothing, tile + 1, 1},
        {Step::kMoves, tile, 1},           {Step::kTurned, tile, 1},
        {Step::kTurned, tile, 1, tile},    {Step::kFewLifts, tile, kLayers},
        {Step::kLifts, tile, kLayers},     {Step::kEqualLifts, tile, kLayers},
        {Step::kPhases, tile, kLayers},    {Step::kLinear, tile, kLayers},
        {Step::kFlips, tile, kLayers},     {Step::kRotations, tile, kLayers},
        {Step::kMatrix1, tile, kLayers},   {Step::kMatrix2, tile, kLayers}};
    std::vector<Plan> plans;
    for (const Wanted& w : wanted)
      plans.push_back(rates::probe_plan(
          {num_qubits, precision, w.tile, std::max(row, w.side_by_side)}, w.step, w.layers));
    const std::vector<PlanTiming> timings = time_in_turns(*state, plans, kRepeats);
    Probes out;
    std::vector<double> spreads;
    std::array<double, 12> seconds{};  // of a kind, with the full tile
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const Wanted& w = wanted[k];
      for (TimedPass& pass :
           passes_of(std::string(rates::kStepNames[static_cast<int>(w.step)]) + ", tile of 2^" +
                         std::to_string(w.tile) + (w.side_by_side ? " in runs" : ""),
                     plans[k], timings[k]))
        out.passes.push_back(std::move(pass));
      spreads.push_back(timings[k].spread);
      if (w.tile == tile && !w.side_by_side)
        seconds[static_cast<std::size_t>(w.step)] = timings[k].seconds;
    }
    const double empty_s = seconds[0];

    // gates against matrices, as circuits are lowered
    const double amplitudes = std::ldexp(1, num_qubits);
    const auto each_s = [&](Step step, double before_s, double count) {
      const double s = seconds[static_cast<std::size_t>(step)] - before_s;
      return std::max(s, 0.01 * empty_s) * threads_ / (kLayers * count * amplitudes);
    };
    n.lift_s = each_s(Step::kLifts, empty_s, 10);
    n.flip_s = each_s(Step::kFlips, seconds[static_cast<std::size_t>(Step::kLifts)], 4 * 0.5);
    n.rotate_s = each_s(Step::kRotations, empty_s, 0.5);
    n.phase_s = each_s(Step::kPhases, seconds[static_cast<std::size_t>(Step::kLifts)], 1);
    n.multiply_s = each_s(Step::kMatrix2, empty_s, 4);

    n.questions = time_questions(*state);

    // one thread
    {
      const auto alone = make_cpu_state(num_qubits, precision, 1);
      alone->set_product_state(product);
      n.alone_byte_s = time_in_turns(*alone, {plans[0]}, 3)[0].seconds / (2 * bytes_of(num_qubits));
    }

    // smaller states, the smallest for what a pass costs by itself
    const double byte_s = empty_s / (2 * bytes_of(num_qubits));
    const auto empty_of = [&](int qubits) {
      const auto one = make_cpu_state(qubits, precision, threads_);
      one->set_product_state(std::span(product).first(static_cast<std::size_t>(2 * qubits)));
      const PlanTiming t =
          time_in_turns(*one, {rates::probe_plan(shape(qubits, tile), Step::kNothing, 1)}, 31)[0];
      spreads.push_back(t.spread);
      return t.seconds;
    };
    const int least = tile + 1;  // two tiles
    const double one_s = empty_of(least), two_s = empty_of(least + 1);
    n.rates[cpu::kTermPass] = std::clamp(2 * one_s - two_s, 1e-6, one_s);
    for (std::size_t k = 0; k < cpu::kNearBytes.size(); ++k) {
      const int qubits = static_cast<int>(std::lround(std::log2(cpu::kNearBytes[k] / amplitude)));
      if (qubits > num_qubits) continue;
      const double s = empty_of(std::max(qubits, least)) - n.rates[cpu::kTermPass];
      n.near[k] = std::clamp(s / (2 * cpu::kNearBytes[k] * byte_s), 0.05, 1.0);
    }
    // no smaller state is slower
    for (std::size_t k = n.near.size() - 1; k-- > 0;)
      n.near[k] = std::min(n.near[k], n.near[k + 1]);
    out.spread = median_of(spreads);
    return out;
  }

  std::vector<double> fit(Precision precision, std::span<const TimedPass> passes) const override {
    CpuNumbers numbers = known_[precision == Precision::kSingle];
    std::vector<rates::Sample> samples;
    for (const TimedPass& pass : passes) {
      rates::Sample s{scaled(numbers, pass), pass.seconds, 0};
      s.known_s = s.terms[cpu::kTermPass] * numbers.rates[cpu::kTermPass];  // measured apart
      s.terms[cpu::kTermPass] = 0;
      if (pass.seconds > 3 * s.known_s) samples.push_back(std::move(s));
    }
    const double pass_s = numbers.rates[cpu::kTermPass];
    const std::vector<double> found = rates::fit(samples, numbers.rates);
    std::copy(found.begin(), found.end(), numbers.rates.begin());
    numbers.rates[cpu::kTermPass] = pass_s;
    return rates::flat_of(numbers);
  }

  double predict(std::span<const double> numbers, const TimedPass& pass) const override {
    const CpuNumbers n = rates::from_flat<CpuNumbers>(numbers);
    return rates::predict({scaled(n, pass), 0, 0}, n.rates);
  }

 private:
  // Bytes as in a state that no cache holds, amplitudes as of one thread.
  std::vector<double> scaled(const CpuNumbers& numbers, const TimedPass& pass) const {
    std::vector<double> terms = pass.terms;
    const double near = numbers.near_share(pass.state_bytes);
    for (int k = 0; k <= cpu::kTermSavedByte; ++k) terms[static_cast<std::size_t>(k)] *= near;
    for (int k = cpu::kTermSweep; k <= cpu::kTermMultiply; ++k)
      terms[static_cast<std::size_t>(k)] /= threads_;
    return terms;
  }

  int threads_ = runtime::default_num_threads();
  CpuNumbers known_[2];
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine() { return std::make_unique<CpuEngine>(); }

}  // namespace tilewave::simulate
