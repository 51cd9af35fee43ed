#include "tilewave/statevec/plan/overlap.h"

#include <algorithm>
#include <bit>

#include "tilewave/base/bits.h"

namespace tilewave::statevec {

namespace {
// Passes that take this many times as long as an exchange are enough to hide it.
constexpr double kOverlapShare = 1.5;
}  // namespace

Around slices_around(const Plan& plan, const Exchange& step, std::size_t done, int slice_bits) {
  const int local = plan.num_qubits - plan.shard_bits;
  Around around;
  const std::size_t at = step.before_pass;
  around.first = around.last = at;
  if (slice_bits == 0 || step.bytes == 0 || step.flips || !step.relabels.empty()) return around;
  std::uint64_t taken = step.known_zero_before | step.known_zero_after;
  for (const auto& [a, b] : step.swaps) taken |= bit(a);
  // passes on both sides in turn, while enough positions are active in none of them and the
  // exchange takes longer than they do
  std::size_t end = plan.passes.size();
  for (const Exchange& later : plan.exchanges) {
    if (later.before_pass > at) end = std::min<std::size_t>(end, later.before_pass);
  }
  double passes_s = 0;
  const auto add = [&](std::size_t p) {
    const Pass& pass = plan.passes[p];
    std::uint64_t with = taken | pass.known_zero_before | pass.known_zero_after;
    for (const int position : pass.active) with |= bit(position);
    if (std::popcount(low_mask(local) & ~with) < slice_bits) return false;
    taken = with;
    passes_s += pass.predicted_s;
    return true;
  };
  bool more = true;
  while (more && passes_s < kOverlapShare * step.predicted_s) {
    more = false;
    if (around.last < end && add(around.last)) ++around.last, more = true;
    if (around.first > done && add(around.first - 1)) --around.first, more = true;
  }
  int left = around.first == around.last ? 0 : slice_bits;
  for (int p = local - 1; p >= 0 && left > 0; --p) {
    if (taken >> p & 1) continue;
    around.mask |= bit(p);
    --left;
  }
  return around;
}

double hidden_s(const Plan& plan, const Exchange& step, const Around& around,
                const Overlap& overlap) {
  if (!around.mask) return 0;
  double beside_s = 0;
  for (std::size_t p = around.first; p < around.last; ++p) beside_s += plan.passes[p].predicted_s;
  return overlap.hidden * std::min(step.predicted_s, beside_s);
}

double hidden_s(const Plan& plan, const Overlap& overlap) {
  const int bits = overlap.bits_for(plan.num_qubits - plan.shard_bits);
  double sum = 0;
  std::size_t done = 0;  // passes
  for (const Exchange& step : plan.exchanges) {
    const Around around = slices_around(plan, step, done, bits);
    sum += hidden_s(plan, step, around, overlap);
    done = around.mask ? around.last : std::max<std::size_t>(done, step.before_pass);
  }
  return sum;
}

}  // namespace tilewave::statevec
