// The machine's rates, from passes as every plan has them: one that only loads and stores tiles of
// a large state, and on a state of one tile, which stays in the caches, passes with layers of few
// lifts, of more, with phase blocks, and with matrices. The shortest of several times counts:
// others may use the machine meanwhile. What flips and rotations cost is a tuning value relative to
// these.
#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/statevec/cpu/block.h"
#include "tilewave/statevec/cpu/cpu_state.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/cpu/pass_runner.h"

namespace tilewave::statevec::cpu {

namespace {

template <class T>
constexpr int kTile = sizeof(T) == sizeof(double) ? kTileBitsDouble : kTileBitsSingle;

// A plan of one pass, which multiplies every amplitude by i and has the row and the top positions
// active.
template <class T>
Plan empty_plan(int num_qubits) {
  constexpr bool kDouble = sizeof(T) == sizeof(double);
  constexpr int kRow = kDouble ? kStateRowBitsDouble : kStateRowBitsSingle;
  Plan plan;
  plan.num_qubits = num_qubits;
  plan.precision = kDouble ? Precision::kDouble : Precision::kSingle;
  Pass pass;
  for (int p = 0; p < num_qubits; ++p) {
    if (p < kRow || p >= num_qubits - (kTile<T> - kRow))
      pass.active.push_back(static_cast<std::uint8_t>(p));
  }
  pass.dest = pass.active;
  pass.scale = {0, 1};
  plan.passes.push_back(std::move(pass));
  return plan;
}

// Seconds of the first pass of each plan: the best of `rounds` after the first, which touches pages
// and makes tables. They take turns, so that what disturbs the machine for a moment is not taken
// for the cost of one.
template <class T, std::size_t N>
std::array<double, N> times_of(const std::array<Plan, N>& plans, Complex<T>* amps, int num_threads,
                               int rounds) {
  std::array<double, N> best_s;
  best_s.fill(1);
  const auto room = std::make_shared<std::atomic<std::int64_t>>(std::int64_t{64} << 20);
  std::deque<KeptPasses> tables;
  for (std::size_t k = 0; k < N; ++k) tables.emplace_back(room);
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t k = 0; k < N; ++k) {
      const runtime::Timer timer;
      run_pass<T>(plans[k], plans[k].passes[0], amps, num_threads, &tables[k]);
      if (round) best_s[k] = std::min(best_s[k], timer.elapsed_s());
    }
  }
  return best_s;
}

template <class T>
double measure_bandwidth(int num_threads) {
  constexpr int kQubits = sizeof(T) == sizeof(double) ? 22 : 23;  // 64 MiB
  const runtime::HostBuffer state(sizeof(Complex<T>) << kQubits);
  const std::array<Plan, 1> plans{empty_plan<T>(kQubits)};
  const double s = times_of(plans, state.as<Complex<T>>(), num_threads, 5)[0];
  return kFarRows * 2.0 * static_cast<double>(state.num_bytes()) / s;
}

// Four lifts on rows, one sweep, and `num_low` inside them, another.
void add_lifts(Plan& plan, int num_low) {
  for (int j = 0; j < num_low + 4; ++j) {
    Action a;
    a.kind = ActionKind::kLift;
    a.num_targets = 1;
    a.targets[0] = static_cast<std::uint8_t>(j < num_low ? j : kLowBits + (j - num_low));
    a.m[0] = 0.1 + 0.01 * j;  // no two alike
    plan.passes[0].actions.push_back(a);
  }
}

// Turns of neighbours inside rows and on them, and between both kinds.
void add_phases(Plan& plan) {
  Action a;
  a.first = static_cast<std::uint32_t>(plan.terms.size());
  for (const auto& [j, k] : {std::array{0, 1}, {2, 3}, {4, 6}, {5, 7}, {8, 9}}) {
    const std::uint64_t mask = bit(j) | bit(k);
    plan.terms.push_back({mask, 0x123456789abcdef0u >> j});
  }
  a.count = static_cast<std::uint32_t>(plan.terms.size()) - a.first;
  plan.passes[0].actions.push_back(a);
}

void add_matrix(Plan& plan, int k) {
  Action a;
  a.kind = ActionKind::kMatrix;
  a.num_targets = 2;
  a.targets[0] = static_cast<std::uint8_t>(k % 4);
  a.targets[1] = static_cast<std::uint8_t>(5 + k % 8);
  if (plan.matrices.empty()) plan.matrices.assign(16, {0.25, 0.25});
  plan.passes[0].actions.push_back(a);
}

// Seconds an amplitude of a layer with one lift inside rows and one with six, of the latter after a
// phase block, and of a matrix: one thread, a state of one tile.
template <class T>
std::array<double, 4> measure_layers() {
  constexpr int kLayers = 16;
  std::array<Plan, 5> plans;
  for (Plan& plan : plans) plan = empty_plan<T>(kTile<T>);
  for (int k = 0; k < kLayers; ++k) {
    add_lifts(plans[1], 1);
    add_lifts(plans[2], 6);
    add_phases(plans[3]);
    add_lifts(plans[3], 6);
    add_matrix(plans[4], k);
  }
  const runtime::HostBuffer state(std::size_t{2} << 20);  // one page, of which a tile is used
  const auto times_s = times_of(plans, state.as<Complex<T>>(), 1, 10);
  std::array<double, 4> layers_s;
  for (std::size_t k = 0; k < layers_s.size(); ++k) {
    layers_s[k] = kFromMemory * (times_s[k + 1] - times_s[0]) /
                  (kLayers * static_cast<double>(bit(kTile<T>)));
  }
  return layers_s;
}

// The other steps in proportion to these.
StepRates steps_of(double sweep_s, double lift_s, double phase_s, double flip_s, double rotate_s,
                   double multiply_s) {
  return {.sweep_s = sweep_s,
          .lift_s = lift_s,
          .light_lift_s = kLightLift * lift_s,
          .phase_s = phase_s,
          .scalar_phase_s = kScalarPhase * phase_s,
          .product_phase_s = kProductPhase * phase_s,
          .sweep_phase_s = kSweepPhase * phase_s,
          .link_phase_s = kLinkPhase * phase_s,
          .flip_s = flip_s,
          .rotate_s = rotate_s,
          .multiply_s = multiply_s};
}

template <class T>
CpuRates measure() {
  const StepRates shipped = CpuRates::shipped<T>().steps;
  CpuRates rates;
  rates.bandwidth = measure_bandwidth<T>(runtime::default_num_threads());
  const auto [few_s, more_s, phased_s, matrix_s] = measure_layers<T>();
  rates.slower = std::max(more_s, 1e-12) / (2 * shipped.sweep_s + 10 * shipped.lift_s);
  // Where a step seems to cost twice or half of what the others say, something else ran meanwhile.
  const auto within = [&rates](double s, double shipped_s) {
    return std::clamp(s, 0.5 * rates.slower * shipped_s, 2 * rates.slower * shipped_s);
  };
  const double lift_s = within((more_s - few_s) / 5, shipped.lift_s);
  rates.steps = steps_of(within((more_s - 10 * lift_s) / 2, shipped.sweep_s), lift_s,
                         within((phased_s - more_s) / (1 + kScalarPhase), shipped.phase_s),
                         rates.slower * shipped.flip_s, rates.slower * shipped.rotate_s,
                         within(matrix_s / 4, shipped.multiply_s));
  return rates;
}

}  // namespace

template <class T>
CpuRates CpuRates::shipped() {
  CpuRates rates;
  rates.steps = steps_of(kSweepStep_s, kLiftStep_s, kPhaseStep_s, kFlipStep_s, kRotateStep_s,
                         kMultiplyStep_s);
  if (sizeof(T) == sizeof(double)) return rates;
  for_each_rate(rates.steps, [](double& s) { s *= kSingleShare; });
  return rates;
}

template CpuRates CpuRates::shipped<float>();
template CpuRates CpuRates::shipped<double>();

template <class T>
const CpuRates& cpu_rates() {
  static const CpuRates rates = measure<T>();
  return rates;
}

template const CpuRates& cpu_rates<float>();
template const CpuRates& cpu_rates<double>();

}  // namespace tilewave::statevec::cpu
