// Clifford gates at the end of a circuit, where only expectations are asked for: instead of going over
// the state they act on the observables. <psi|U^dagger P U|psi> is the expectation of another Pauli
// string, so a layer of CX gates behind the last rotations costs nothing, and often a pass or two.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tilewave/parametric/plan/lower.h"
#include "tilewave/parametric/plan/strings.h"

namespace tilewave::parametric {

/// Actions and observables with the expectations, and the derivatives, of others.
struct Observed {
  Actions actions;
  Strings strings;
};

/// Without the flips, the phases of quarter turns (of half turns on two wires) and the rotations by
/// quarter turns that stand behind everything they do not commute with: the last `most` of these.
Observed absorb_last_cliffords(const Actions& actions, const Strings& strings,
                               std::size_t most = ~std::size_t{0});

/// Ways that may move less: with all of those actions, and, where the strings then need more sweeps
/// than before, with as many as they do not. `sweeps` are those before, `num_sweeps` counts those of
/// other strings, which may be slow.
std::vector<Observed> ways_to_absorb(const Actions& actions, const Strings& strings,
                                     std::size_t sweeps,
                                     const std::function<std::size_t(const Strings&)>& num_sweeps);

/// What one value with its gradient reads and writes, in states: what passes and sweeps are chosen by.
double states_moved(const Program& program);

}  // namespace tilewave::parametric
