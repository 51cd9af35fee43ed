#include "tilewave/statevec/cpu/cpu_numbers.h"

#include <algorithm>
#include <cmath>

#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/cpu/cpu_state.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"

namespace tilewave::statevec::cpu {

namespace {

constexpr const char* kFit = "fit to probes and families";
constexpr const char* kByte = "s/byte";
constexpr const char* kAmplitude = "s/amplitude";

constexpr rates::NumberInfo kList[] = {
    {"byte_s", kByte, "a byte of a pass, read + written in full tiles, all threads", kFit},
    {"run_byte_s", kByte, "the same where the rows of a tile lie side by side", kFit},
    {"small_byte_s", kByte, "byte_s in tiles that fit the first-level cache", kFit},
    {"small_run_byte_s", kByte, "the same where their rows lie side by side", kFit},
    {"turned_byte_s", kByte, "more where bits inside a row change places with others", kFit},
    {"wide_byte_s", kByte, "byte_s in tiles of twice the size", kFit},
    {"moved_byte_s", kByte, "byte_s where rows change places and nothing else happens", kFit},
    {"saved_byte_s", kByte, "saved for a byte that is known to be zero and not read", kFit},
    {"sweep_s", kAmplitude, "a walk over a tile in the second-level cache, one thread", kFit},
    {"lift_s", kAmplitude, "the arithmetic of a lift", kFit},
    {"light_lift_s", kAmplitude, "of a lift by additions, or of two by one number", kFit},
    {"table_s", kAmplitude, "a phase block: one table", kFit},
    {"row_factor_s", kAmplitude, "more of a phase block with factors of whole rows", kFit},
    {"product_s", kAmplitude, "more of one with another product of tables for every row", kFit},
    {"sweep_factor_s", kAmplitude, "factors in a sweep of several lifts", kFit},
    {"link_factor_s", kAmplitude, "factors between the links of a layer", kFit},
    {"controlled_x_s", kAmplitude, "a controlled X in the tile, where it acts", kFit},
    {"controlled_rotation_s", kAmplitude, "a controlled rotation, where it acts", kFit},
    {"multiply_add_s", kAmplitude, "a complex multiply-add of a matrix", kFit},
    {"listed_row_s", "s/row", "a row in the list of a pass that only moves rows", kFit},
    {"pass_s", "s", "a pass, whatever it does: starting the threads", "two small states"},
    {"alone_byte_s", kByte, "byte_s of one thread", "an empty pass on one thread"},
    {"near_1mib", "share", "of byte_s, in a state of 1 MiB", "empty passes over such a state"},
    {"near_4mib", "share", "of byte_s, in a state of 4 MiB", "empty passes over such a state"},
    {"near_16mib", "share", "of byte_s, in a state of 16 MiB", "empty passes over such a state"},
    {"near_64mib", "share", "of byte_s, in a state of 64 MiB", "empty passes over such a state"},
    {"touch_byte_s", kByte, "more for a byte of a page that is used for the first time",
     "a state written for the first and the second time"},
    {"action_lift_s", kAmplitude, "a gate on one qubit, for the choice of gates or a matrix",
     "a probe's pass less an empty one"},
    {"action_flip_s", kAmplitude, "a controlled X, for the same", "the same"},
    {"action_rotate_s", kAmplitude, "a controlled rotation, for the same", "the same"},
    {"action_phase_s", kAmplitude, "a phase block, for the same", "the same"},
    {"action_multiply_s", kAmplitude, "a multiply-add of a matrix, for the same", "the same"},
    {"norm_byte_s", kByte, "the norm, a byte of the state", "the question asked of a large state"},
    {"marginals_byte_s", kByte, "the probabilities of all qubits", "the same"},
    {"sample_byte_s", kByte, "finding samples, however many", "the same with one sample"},
    {"shot_s", "s", "more for every sample", "the same with 200,000"},
};
static_assert(std::size(kList) == kNumCpuNumbers, "each number is in the list, in its order");

}  // namespace

// Between two sizes along the logarithm.
double CpuNumbers::near_share(double state_bytes) const {
  double bytes = kFarBytes, share = 1;
  if (state_bytes >= bytes) return share;
  for (std::size_t k = near.size(); k-- > 0;) {
    if (state_bytes >= kNearBytes[k]) {
      const double at = std::log2(state_bytes / kNearBytes[k]) / std::log2(bytes / kNearBytes[k]);
      return near[k] + at * (share - near[k]);
    }
    bytes = kNearBytes[k], share = near[k];
  }
  return share;
}

std::span<const rates::NumberInfo> cpu_number_list() { return kList; }

void set_by_rates(CostModel& cost, const CpuRates& rates, bool is_double) {
  const double byte_s = 1 / rates.bandwidth;
  cost.bandwidth = rates.bandwidth;
  cost.wide_bandwidth = kWideTile * rates.bandwidth;
  cost.traffic = {kRunShare * byte_s,
                  kSmallTile * byte_s,
                  kSmallRunShare * byte_s,
                  kTurnedShare * byte_s,
                  kMoveShare * byte_s,
                  kLoadShare * byte_s,
                  kCycleRow_s};
  cost.steps = rates.steps;
  cost.pass_overhead_s = kPassTables_s;
  const double share = rates.slower * (is_double ? 1 : kSingleShare);
  cost.lift_s = kLift_s * share;
  cost.flip_s = kFlip_s * share;
  cost.rotate_s = kRotate_s * share;
  cost.phase_s = kPhase_s * share;
  cost.multiply_s = kMultiply_s * share;
}

CpuNumbers model_numbers(bool is_double) {
  CostModel cost;
  set_by_rates(cost, is_double ? CpuRates::shipped<double>() : CpuRates::shipped<float>(),
               is_double);
  CpuNumbers out;
  out.rates = rates_of(cost);
  out.alone_byte_s = out.rates[kTermByte];
  out.touch_byte_s = 1e-10;
  out.lift_s = cost.lift_s;
  out.flip_s = cost.flip_s;
  out.rotate_s = cost.rotate_s;
  out.phase_s = cost.phase_s;
  out.multiply_s = cost.multiply_s;
  return out;
}

const std::string& processor() {
  static const std::string model = runtime::cpu_model();
  return model;
}

std::shared_ptr<const rates::RatesFile> tuned_cpu() {
  // asking the system for the processor's model takes longer than planning a small circuit
  return rates::may_find() ? rates::find(rates::Kind::kCpu, processor(), cpu_number_list())
                           : nullptr;
}

void set_costs(CostModel& cost, const CpuNumbers& numbers, double state_bytes, int threads) {
  const Terms& r = numbers.rates;
  // fewer threads than were measured move as much as each of them can
  const double far = std::max(r[kTermByte], numbers.alone_byte_s / threads) / r[kTermByte];
  const double share = far * numbers.near_share(state_bytes), of_thread = 1.0 / threads;
  cost.bandwidth = 1 / (share * r[kTermByte]);
  cost.wide_bandwidth = 1 / (share * r[kTermWideByte]);
  cost.traffic = {
      share * r[kTermRunByte],    share * r[kTermSmallByte], share * r[kTermSmallRunByte],
      share * r[kTermTurnedByte], share * r[kTermMovedByte], share * r[kTermSavedByte],
      r[kTermListedRow]};
  cost.pass_overhead_s = r[kTermPass];
  cost.touch_byte_s = numbers.touch_byte_s;
  const double* step = &r[kTermSweep];
  for_each_rate(cost.steps, [&](double& s) { s = *step++ * of_thread; });
  cost.lift_s = numbers.lift_s * of_thread;
  cost.flip_s = numbers.flip_s * of_thread;
  cost.rotate_s = numbers.rotate_s * of_thread;
  cost.phase_s = numbers.phase_s * of_thread;
  cost.multiply_s = numbers.multiply_s * of_thread;
}

}  // namespace tilewave::statevec::cpu
