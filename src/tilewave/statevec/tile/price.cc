#include "tilewave/statevec/tile/price.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tilewave/statevec/plan/side_by_side.h"
#include "tilewave/statevec/tile/program.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::tile {

double programs_s(const Plan& plan, const CostModel& cost, int tries) {
  const bool is_double = plan.precision == Precision::kDouble;
  const OpCosts& costs = is_double ? kDoubleCosts : kSingleCosts;
  // operations take as much longer than on the device the costs are from as a lift does
  const double slower = cost.lift_s / costs.lift_s;
  const double whole = 2 * std::ldexp(static_cast<double>(amplitude_bytes(plan.precision)), 30);
  std::vector<double> seconds(plan.passes.size());
  statevec::detail::side_by_side(static_cast<int>(plan.passes.size()), [&](int p) {
    const Pass& pass = plan.passes[static_cast<std::size_t>(p)];
    Shape shape;
    shape.precision = plan.precision;
    shape.tile_qubits = std::max(cost.tile_qubits, static_cast<int>(pass.active.size()));
    shape.block_bits = shape.tile_qubits - cost.tile_qubits;
    shape.row_bits = cost.row_bits;
    shape.register_bits = kMaxRegisterBits;
    const TilePass program =
        lower_pass(plan, static_cast<std::size_t>(p), shape, chunk_limits(shape), tries);
    seconds[static_cast<std::size_t>(p)] = costs.unhidden * pass.bytes / cost.bandwidth +
                                           1e-3 * program.cost_ms * slower * pass.bytes / whole;
  });
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

const ProgramPrices kProgramPrices{programs_s, try_s, kManyTries};

}  // namespace tilewave::statevec::tile
