// A plan that is run in pieces, for runs that keep checkpoints: where it may be cut, what stands
// between two cuts, and the rest of it as a circuit, for a state on other devices or ranks than it
// was made for.
//
// Between two passes the layout of a plan has no name: its actions are on positions. Pieces say so by
// taking position p for qubit p; the first one begins with the plan's layout_before and the last
// one ends with its layout_after.
#pragma once

#include <cstddef>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec {

/// Numbers of passes before which the plan is cut, ascending, the last one all of them; pieces are
/// predicted to take piece_s or are one pass. Exchanges before a cut's pass belong to what follows.
std::vector<std::size_t> cuts_of(const Plan& plan, double piece_s);

/// Passes [first, last) and the exchanges before them; after the last pass, those at the end too.
Plan piece_of(const Plan& plan, std::size_t first, std::size_t last);

/// What passes from a cut on do, as operations on qubits that are the positions of the state there.
struct RestOfPlan {
  circuit::Circuit circuit;
  /// Qubit q of the plan is qubit_of[q] of the circuit at the end, inverted where bit q of the
  /// plan's layout_after.flips is 1.
  std::vector<circuit::Qubit> qubit_of;
};
/// O(actions and phase terms that are left).
RestOfPlan rest_of(const Plan& plan, std::size_t first);

/// The layout of a state that ran rest_of(plan) and is in `layout` now.
Layout layout_of_rest(const Plan& plan, const RestOfPlan& rest, const Layout& layout);

}  // namespace tilewave::statevec
