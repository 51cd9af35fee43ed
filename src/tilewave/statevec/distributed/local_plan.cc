#include "tilewave/statevec/distributed/local_plan.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "tilewave/base/bits.h"

namespace tilewave::statevec::distributed {

Plan local_plan(const Plan& plan, std::size_t first, std::size_t last, std::uint64_t shard,
                Slice slice) {
  const int local = plan.num_qubits - plan.shard_bits;
  const std::uint64_t here = low_mask(local) & ~slice.mask, index = shard << local | slice.value;
  Plan out;
  out.num_qubits = local;
  out.precision = plan.precision;
  out.tile_qubits = plan.tile_qubits;
  out.row_bits = plan.row_bits;
  out.layout_before = out.layout_after = Layout::identity();
  for (std::size_t p = first; p < last; ++p) {
    const Pass& from = plan.passes[p];
    Pass pass = from;
    pass.actions.clear();
    pass.known_zero_before = (pass.known_zero_before & here) | slice.mask;
    pass.known_zero_after = (pass.known_zero_after & here) | slice.mask;
    const int parts = std::popcount(slice.mask);  // log2
    pass.bytes = std::ldexp(from.bytes, -plan.shard_bits - parts);
    pass.flops = std::ldexp(from.flops, -plan.shard_bits - parts);
    pass.predicted_s = std::ldexp(from.predicted_s, -parts);
    std::uint64_t turns = 0;  // of the whole rank
    for (Action a : from.actions) {
      if (a.kind == ActionKind::kPhase) {
        const auto begin = static_cast<std::uint32_t>(out.terms.size());
        for (std::uint32_t t = a.first; t < a.first + a.count; ++t) {
          const PhaseTerm& term = plan.terms[t];
          if ((term.mask & index & ~here) != (term.mask & ~here)) continue;
          if (term.mask & here) {
            out.terms.push_back({term.mask & here, term.turns});
          } else {
            turns += term.turns;
          }
        }
        a.first = begin;
        a.count = static_cast<std::uint32_t>(out.terms.size()) - begin;
        if (a.count) pass.actions.push_back(a);
        continue;
      }
      if ((index & a.control_mask & ~here) != (a.control_value & ~here)) continue;
      a.control_mask &= here;
      a.control_value &= here;
      if (a.kind == ActionKind::kMatrix) {
        const auto* m = plan.matrices.data() + a.first;
        a.first = static_cast<std::uint32_t>(out.matrices.size());
        out.matrices.insert(out.matrices.end(), m, m + (std::size_t{1} << (2 * a.num_targets)));
      }
      pass.actions.push_back(a);
    }
    if (turns) {
      const double angle =
          static_cast<double>(static_cast<std::int64_t>(turns)) * 0x1p-63 * std::numbers::pi;
      pass.scale *= cplx{std::cos(angle), std::sin(angle)};
    }
    out.predicted_s += pass.predicted_s;
    out.passes.push_back(std::move(pass));
  }
  if (!out.passes.empty()) out.known_zero_after = out.passes.back().known_zero_after;
  return out;
}

}  // namespace tilewave::statevec::distributed
