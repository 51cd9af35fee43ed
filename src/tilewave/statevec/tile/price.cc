#include "tilewave/statevec/tile/price.h"

#include <algorithm>
#include <cmath>

namespace tilewave::statevec::tile {

double program_s(const OpCosts& paid, const OpCosts& costs, double memory_s, double worked,
                 double slower) {
  OpCosts operations = costs;
  operations.unhidden = 0;
  const double work_s = 1e-3 * sum_of(paid, operations) * slower * std::ldexp(worked, -30);
  return std::max(memory_s, costs.unhidden * memory_s + work_s);
}

}  // namespace tilewave::statevec::tile
