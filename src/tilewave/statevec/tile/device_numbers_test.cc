#include "tilewave/statevec/tile/device_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/rates/probes.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile {
namespace {

// Work is done on all amplitudes of a tile, also where half of them were known to be zero; tiles of
// zeros are left out.
TEST(Price, operations_count_by_the_amplitudes_of_tiles) {
  const Shape shape{12, 5, 3, Precision::kDouble};
  Plan plan = rates::probe_plan({24, shape.precision, shape.tile_qubits, shape.row_bits},
                                rates::Step::kMatrix1, 12);
  Pass& pass = plan.passes[0];
  const auto matrices = [&] {  // terms of the operation, which the probe has twelve of
    const TilePass program = lower_pass(plan, 0, shape);
    const auto at = std::find(kOpCostNames.begin(), kOpCostNames.end(), std::string("matrix1"));
    const auto k = kFirstInterpreted + static_cast<std::size_t>(at - kOpCostNames.begin());
    return program_terms(program.paid, false, pass, plan.num_qubits, false)[k];
  };
  const double whole = 1e-3 * 12 / 64;  // seconds by a cost in ms of 2^30 amplitudes
  EXPECT_DOUBLE_EQ(matrices(), whole);
  pass.known_zero_before = bit(pass.active.back());
  EXPECT_DOUBLE_EQ(matrices(), whole);
  pass.known_zero_before = bit(shape.row_bits) | bit(shape.row_bits + 1);  // of no tile
  EXPECT_DOUBLE_EQ(matrices(), whole / 4);
}

}  // namespace
}  // namespace tilewave::statevec::tile
