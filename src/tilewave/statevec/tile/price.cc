#include "tilewave/statevec/tile/price.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tilewave/statevec/plan/side_by_side.h"
#include "tilewave/statevec/tile/program.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::tile {

double program_s(const OpCosts& paid, const OpCosts& costs, double memory_s, double worked,
                 double slower) {
  OpCosts operations = costs;
  operations.unhidden = 0;
  const double work_s = 1e-3 * sum_of(paid, operations) * slower * std::ldexp(worked, -30);
  return std::max(memory_s, costs.unhidden * memory_s + work_s);
}

double programs_s(const Plan& plan, const CostModel& cost, int tries) {
  const WriterCosts& costs = cost.writer ? *cost.writer : shipped_costs(plan.precision);
  // operations take as much longer than on the device the costs are from as a lift does
  const double slower = cost.lift_s / costs.lift_s;
  std::vector<double> seconds(plan.passes.size());
  statevec::detail::side_by_side(static_cast<int>(plan.passes.size()), [&](int p) {
    const Pass& pass = plan.passes[static_cast<std::size_t>(p)];
    Shape shape;
    shape.precision = plan.precision;
    shape.tile_qubits = std::max(cost.tile_qubits, static_cast<int>(pass.active.size()));
    shape.block_bits = shape.tile_qubits - cost.tile_qubits;
    shape.row_bits = cost.row_bits;
    shape.register_bits = kMaxRegisterBits;
    const TilePass program = lower_pass(plan, static_cast<std::size_t>(p), shape,
                                        chunk_limits(shape), tries, false, &costs);
    const double bandwidth =
        shape.block_bits && cost.wide_bandwidth > 0 ? cost.wide_bandwidth : cost.bandwidth;
    // Plans are compared by operations on half of the amplitudes that are loaded and half of those that
    // are stored. Predictions count all that are worked on, more where a tile has zeros (by up to two
    // times); plans would be others then (qft from zeros), and nobody has timed those.
    const double compared = pass.bytes / (2 * static_cast<double>(amplitude_bytes(plan.precision)));
    seconds[static_cast<std::size_t>(p)] =
        cost.pass_overhead_s +
        program_s(program.paid, costs.interpreted, pass.bytes / bandwidth, compared, slower);
  });
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

const ProgramPrices kProgramPrices{programs_s, try_s, kManyTries};

}  // namespace tilewave::statevec::tile
