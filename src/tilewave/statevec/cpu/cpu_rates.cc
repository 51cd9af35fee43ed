// The machine's rates, from passes as every plan has them: one that only loads and stores tiles of
// a large state, and on a state of a tile a thread, which stays in the caches, passes with layers
// of few lifts, of more, with phase blocks, and with matrices. What flips and rotations cost is a
// tuning value relative to these.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/statevec/cpu/cpu_state.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/cpu/pass_runner.h"

namespace tilewave::statevec::cpu {

namespace {

constexpr int kTile = kTileBitsDouble, kRow = kStateRowBitsDouble;

// A plan of one pass, which multiplies every amplitude by i and has the row and the top positions
// active.
Plan empty_plan(int num_qubits) {
  Plan plan;
  plan.num_qubits = num_qubits;
  plan.precision = Precision::kDouble;
  Pass pass;
  for (int p = 0; p < num_qubits; ++p) {
    if (p < kRow || p >= num_qubits - (kTile - kRow))
      pass.active.push_back(static_cast<std::uint8_t>(p));
  }
  pass.dest = pass.active;
  pass.scale = {0, 1};
  plan.passes.push_back(std::move(pass));
  return plan;
}

// Seconds of the pass of `plan`: the second best of `rounds` after the first, which touches pages
// and makes tables.
double time_of(const Plan& plan, Complex<double>* amps, int num_threads, int rounds) {
  std::vector<double> times_s;
  for (int round = 0; round <= rounds; ++round) {
    const runtime::Timer timer;
    run_pass<double>(plan, plan.passes[0], amps, num_threads);
    if (round) times_s.push_back(timer.elapsed_s());
  }
  std::nth_element(times_s.begin(), times_s.begin() + 1, times_s.end());
  return times_s[1];
}

double measure_bandwidth(int num_threads) {
  constexpr int kQubits = 22;
  const runtime::HostBuffer state(sizeof(Complex<double>) << kQubits);
  return kFarRows * 2.0 * static_cast<double>(state.num_bytes()) /
         time_of(empty_plan(kQubits), state.as<Complex<double>>(), num_threads, 5);
}

// Passes over a state of a tile a thread, at most four.
class TileProbe {
 public:
  explicit TileProbe(int num_threads)
      : thread_bits_(
            std::min(static_cast<int>(std::bit_width(static_cast<unsigned>(num_threads))) - 1, 2)),
        state_(sizeof(Complex<double>) << (kTile + thread_bits_)) {}

  static constexpr int kLayers = 16;

  /// Seconds of one layer an amplitude and thread, beside what the pass itself takes. `add` adds
  /// layer k to a plan.
  template <class Add>
  double layer_s(const Add& add) {
    if (empty_s_ == 0) empty_s_ = pass_s(empty());
    Plan plan = empty();
    for (int k = 0; k < kLayers; ++k) add(plan, k);
    return kFromMemory * (pass_s(plan) - empty_s_) / (kLayers * static_cast<double>(bit(kTile)));
  }

  /// Of the slot of a tile.
  std::uint8_t position(int slot) const {
    return static_cast<std::uint8_t>(slot < kRow ? slot : slot + thread_bits_);
  }

 private:
  Plan empty() const {
    Plan plan = empty_plan(kTile + thread_bits_);
    plan.kept = KeptPassesPtr(std::make_shared<KeptPasses>(
        std::make_shared<std::atomic<std::int64_t>>(std::int64_t{64} << 20)));
    return plan;
  }
  double pass_s(const Plan& plan) {
    return time_of(plan, state_.as<Complex<double>>(), 1 << thread_bits_, 8);
  }

  int thread_bits_;
  runtime::HostBuffer state_;
  double empty_s_ = 0;
};

// Four lifts on rows, one sweep, and `num_low` inside them, another.
void add_lifts(const TileProbe& probe, Plan& plan, int num_low) {
  for (int j = 0; j < num_low + 4; ++j) {
    Action a;
    a.kind = ActionKind::kLift;
    a.num_targets = 1;
    a.targets[0] = probe.position(j < num_low ? j : kLowBits + (j - num_low));
    a.m[0] = 0.1 + 0.01 * j;  // no two alike
    plan.passes[0].actions.push_back(a);
  }
}

// Turns of neighbours inside rows and on them, and between both kinds.
void add_phases(const TileProbe& probe, Plan& plan) {
  Action a;
  a.first = static_cast<std::uint32_t>(plan.terms.size());
  for (const auto& [j, k] : {std::array{0, 1}, {2, 3}, {4, 6}, {5, 7}, {8, 9}}) {
    const std::uint64_t mask = bit(probe.position(j)) | bit(probe.position(k));
    plan.terms.push_back({mask, 0x123456789abcdef0u >> j});
  }
  a.count = static_cast<std::uint32_t>(plan.terms.size()) - a.first;
  plan.passes[0].actions.push_back(a);
}

void add_matrix(const TileProbe& probe, Plan& plan, int k) {
  Action a;
  a.kind = ActionKind::kMatrix;
  a.num_targets = 2;
  a.targets[0] = probe.position(k % 4);
  a.targets[1] = probe.position(5 + k % 8);
  if (plan.matrices.empty()) plan.matrices.assign(16, {0.25, 0.25});
  plan.passes[0].actions.push_back(a);
}

CpuRates measure() {
  const int num_threads = runtime::default_num_threads();
  const CpuRates shipped;
  CpuRates rates;
  rates.bandwidth = measure_bandwidth(num_threads);
  TileProbe probe(num_threads);
  const double few_s = probe.layer_s([&](Plan& p, int) { add_lifts(probe, p, 1); });
  const double more_s = probe.layer_s([&](Plan& p, int) { add_lifts(probe, p, 6); });
  const double phased_s = probe.layer_s([&](Plan& p, int) {
    add_phases(probe, p);
    add_lifts(probe, p, 6);
  });
  const double matrix_s = probe.layer_s([&](Plan& p, int k) { add_matrix(probe, p, k); });
  // Where a piece seems to cost twice or half of what the others say, something else ran meanwhile.
  const double speed = std::max(more_s, 1e-12) / (2 * shipped.sweep_s + 10 * shipped.lift_s);
  const auto within = [&](double s, double shipped_s) {
    return std::clamp(s, 0.5 * speed * shipped_s, 2 * speed * shipped_s);
  };
  rates.lift_s = within((more_s - few_s) / 5, shipped.lift_s);
  rates.sweep_s = within((more_s - 10 * rates.lift_s) / 2, shipped.sweep_s);
  rates.phase_s =
      within(phased_s - more_s, shipped.phase_s * (1 + kScalarPhase)) / (1 + kScalarPhase);
  rates.multiply_s = within(matrix_s / 4, shipped.multiply_s);
  rates.flip_s = shipped.flip_s * speed;
  rates.rotate_s = shipped.rotate_s * speed;
  return rates;
}

}  // namespace

const CpuRates& cpu_rates() {
  static const CpuRates rates = measure();
  return rates;
}

}  // namespace tilewave::statevec::cpu
