#include "tilewave/statevec/tile/device_numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "tilewave/statevec/plan/pass_price.h"

namespace tilewave::statevec::tile {

namespace {

// Found with tests/gpu/tile_timing at 30 qubits on one NVIDIA H200, 2026-11-21, 24 and 48 actions of a
// kind in one pass; pass_s is a launch.
constexpr int kModelMultiprocessors = 132;
constexpr double kFlipLifts = 1.7;  // a flip that no exchange takes along, in lifts
// The share of a pass's traffic that arithmetic does not hide. One H100 and two H200s, 2026-11-25: on
// the H100 0.45 to 0.99 led to the same times in double precision; with 0.26 (what a probe of lifts
// alone shows there) random_30 from zeros took twice as long, and on the H200 in single precision
// 0.59 made ising_30 17% slower.
constexpr double kExposed = 0.77;
// What crossings add to it for a tile of two blocks: with this share the planner chooses the plan that
// is faster, or as fast within 1%, for eleven of the benchmark circuits.
constexpr double kCrossingShare = 0.15;

constexpr DeviceNumbers numbers_of(double lift_s, double rotate_s, double phase_s,
                                   double multiply_s, const WriterCosts& writer) {
  return {1 / 4.05e12, 1 / 4.05e12,         4e-6,           kExposed, kExposed + kCrossingShare,
          lift_s,      kFlipLifts * lift_s, rotate_s,       phase_s,  multiply_s,
          {},          writer.interpreted,  writer.compiled};
}
constexpr DeviceNumbers kDouble =
    numbers_of(1.5e-13, 5.0e-13, 7.0e-13, 3.6e-13, kDoubleWriterCosts);
constexpr DeviceNumbers kSingle =
    numbers_of(0.9e-13, 3.0e-13, 4.2e-13, 2.2e-13, kSingleWriterCosts);

constexpr const char* kActions = "fit to interpreted probes and families";

constexpr rates::NumberInfo kPasses[] = {
    {"byte_s", "s/byte", "a byte of a pass without actions, read + written", "empty passes"},
    {"wide_byte_s", "s/byte", "the same with the tile of two blocks", "empty passes"},
    {"pass_s", "s", "a pass, whatever it does: its launch", "empty passes over a small state"},
    {"exposed", "share", "of a pass's traffic that arithmetic does not hide", kActions},
    {"wide_exposed", "share", "the same with the tile of two blocks", kActions},
    {"lift_s", "s/amplitude", "a lift", kActions},
    {"flip_s", "s/amplitude", "a controlled X, where it acts", kActions},
    {"rotate_s", "s/amplitude", "a controlled rotation, where it acts", kActions},
    {"phase_s", "s/amplitude", "a phase block of any size", kActions},
    {"multiply_s", "s/amplitude", "a complex multiply-add of a matrix", kActions},
    {"norm_byte_s", "s/byte", "the norm, a byte of the state",
     "the question asked of a large state"},
    {"marginals_byte_s", "s/byte", "the probabilities of all qubits", "the same"},
    {"sample_byte_s", "s/byte", "finding samples, however many", "the same with one sample"},
    {"shot_s", "s", "more for every sample", "the same with 200,000"},
};
static_assert(std::size(kPasses) == kFirstInterpreted);

constexpr std::array<const char*, kNumOpCosts> kMeanings = {
    "share of a pass without operations that is added to them",
    "arriving through shared memory instead of in registers",
    "an exchange between threads",
    "an exchange between the two blocks of a tile",
    "a further chunk of a program",
    "decoding an operation",
    "a lift",
    "a constant phase on one bit",
    "any phase on one bit",
    "more with factors of pairs",
    "more with factors of lanes",
    "a table of factors, one an amplitude of a thread",
    "the same as rotations",
    "a phase of all amplitudes of a thread",
    "a phase of some of them",
    "making a factor in every thread",
    "a controlled X",
    "a controlled rotation",
    "a matrix on one qubit",
    "a matrix on two qubits",
    "the same in factors",
    "a jump between operations that share code"};

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const char* how : {"interpreted_", "compiled_"}) {
    for (const char* name : kOpCostNames) names.push_back(std::string(how) + name);
  }
  return names;
}

}  // namespace

std::span<const rates::NumberInfo> device_number_list() {
  static const std::vector<rates::NumberInfo> list = [] {
    static const std::vector<std::string> names = operation_names();  // what the list points to
    std::vector<rates::NumberInfo> all(std::begin(kPasses), std::end(kPasses));
    for (const bool compiled : {false, true}) {
      for (std::size_t k = 0; k < kNumOpCosts; ++k) {
        all.push_back({names[(compiled ? kNumOpCosts : 0) + k].c_str(),
                       k == 0 ? "share" : "ms/2^30 amplitudes", kMeanings[k],
                       compiled ? "fit to compiled passes of the check"
                                : "fit to interpreted probes and families"});
      }
    }
    return all;
  }();
  return list;
}

DeviceNumbers model_numbers(const runtime::CudaDevice& device, Precision precision) {
  DeviceNumbers out = precision == Precision::kDouble ? kDouble : kSingle;
  const double slower =
      static_cast<double>(kModelMultiprocessors) / std::max(1, device.num_multiprocessors);
  for (double* s : {&out.lift_s, &out.flip_s, &out.rotate_s, &out.phase_s, &out.multiply_s})
    *s *= slower;
  return out;
}

void set_costs(CostModel& cost, const DeviceNumbers& n, Precision precision, bool writer) {
  cost.bandwidth = 1 / n.byte_s;
  cost.exposed = n.exposed;
  if (cost.mixed_tiles) {
    cost.wide_bandwidth = 1 / n.wide_byte_s;
    cost.wide_exposed = n.wide_exposed;
  }
  cost.lift_s = n.lift_s;
  cost.flip_s = n.flip_s;
  cost.rotate_s = n.rotate_s;
  cost.phase_s = n.phase_s;
  cost.multiply_s = n.multiply_s;
  cost.pass_overhead_s = n.pass_s;
  if (!writer) return;
  static std::mutex mutex;
  static std::map<std::pair<Precision, std::vector<double>>, WriterCosts> kept;
  const std::lock_guard lock(mutex);
  cost.writer = &kept.try_emplace({precision, rates::flat_of(n)},
                                  WriterCosts{n.interpreted, n.compiled, n.lift_s})
                     .first->second;
}

std::vector<double> action_terms(const Plan& plan, const Pass& pass, bool wide) {
  const double worked = statevec::detail::worked_amplitudes(pass, plan.num_qubits);
  std::vector<double> terms(kNumDeviceNumbers, 0);
  terms[2] = 1;
  terms[wide ? 4 : 3] = pass.bytes;  // times byte_s
  for (const Action& a : pass.actions) {
    const double share = worked * std::ldexp(1, -std::popcount(a.control_mask));
    switch (a.kind) {
      case ActionKind::kLift:
        terms[5] += worked;
        terms[9] += a.pre_turns ? 0.5 * worked : 0;
        break;
      case ActionKind::kFlip:
        terms[6] += share;
        break;
      case ActionKind::kRotate:
        terms[7] += share;
        break;
      case ActionKind::kPhase:
        terms[8] += worked;
        break;
      case ActionKind::kMatrix:
        terms[9] += share * (1 << a.num_targets);
        break;
    }
  }
  return terms;
}

std::vector<double> program_terms(const OpCosts& paid, bool compiled, const Pass& pass,
                                  int num_qubits, bool wide) {
  const double share = std::ldexp(statevec::detail::worked_amplitudes(pass, num_qubits), -30);
  std::vector<double> terms(kNumDeviceNumbers, 0);
  terms[wide ? 1 : 0] = pass.bytes;
  terms[2] = 1;
  const auto counts = std::bit_cast<OpCostList>(paid);
  const std::size_t first = compiled ? kFirstCompiled : kFirstInterpreted;
  for (std::size_t k = 0; k < kNumOpCosts; ++k) terms[first + k] = 1e-3 * counts[k] * share;
  terms[first] = pass.bytes;  // times byte_s
  return terms;
}

double program_s(const OpCosts& paid, const OpCosts& costs, double memory_s, double worked,
                 double slower) {
  OpCosts operations = costs;
  operations.unhidden = 0;
  const double work_s = 1e-3 * sum_of(paid, operations) * slower * std::ldexp(worked, -30);
  return std::max(memory_s, costs.unhidden * memory_s + work_s);
}

}  // namespace tilewave::statevec::tile
