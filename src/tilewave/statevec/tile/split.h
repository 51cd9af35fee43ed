// A pass whose program is too long for its memory, as two passes over the same positions: the
// first leaves everything where it is. Costs one more sweep over the state.
#pragma once

#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::tile {

/// A plan of two passes that mean plan.passes[pass]; of none where there is nothing to divide.
Plan split_pass(const Plan& plan, std::size_t pass);

}  // namespace tilewave::statevec::tile
