// See split.h.
#include "tilewave/statevec/tile/split.h"

namespace tilewave::statevec::tile {

Plan split_pass(const Plan& plan, std::size_t pass) {
  Plan out;
  out.num_qubits = plan.num_qubits;
  out.precision = plan.precision;
  out.tile_qubits = plan.tile_qubits;
  out.row_bits = plan.row_bits;
  Pass first = plan.passes[pass], second = first;
  std::vector<Action>& actions = first.actions;
  const std::size_t half = (actions.size() + 1) / 2;
  if (actions.size() >= 2) {
    second.actions.erase(second.actions.begin(),
                         second.actions.begin() + static_cast<std::ptrdiff_t>(half));
    actions.resize(half);
  } else if (actions.size() == 1 && actions[0].kind == ActionKind::kPhase &&
             actions[0].count >= 2) {
    const std::uint32_t terms = actions[0].count / 2;
    actions[0].count = terms;
    second.actions[0].first += terms;
    second.actions[0].count -= terms;
  } else {
    return out;
  }
  first.dest = first.active;
  first.store_flips = 0;
  first.scale = 1;
  first.known_zero_after = first.known_zero_before;
  for (const std::uint8_t p : first.active) first.known_zero_after &= ~(std::uint64_t{1} << p);
  second.known_zero_before = first.known_zero_after;
  out.passes = {std::move(first), std::move(second)};
  out.terms = plan.terms;
  out.matrices = plan.matrices;
  return out;
}

}  // namespace tilewave::statevec::tile
