// All numbers of a cost model, for keys: two models with equal words lead to equal plans.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/statevec/plan/planner.h"

namespace tilewave::statevec {

std::vector<std::uint64_t> words_of(const CostModel& cost);

}  // namespace tilewave::statevec
