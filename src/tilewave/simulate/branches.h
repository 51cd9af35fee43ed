// Shots grouped by outcome: a branch is one history of outcomes and all the shots that share it,
// and it is simulated once. The tree of branches is walked depth first.
//
// Every shot draws u = uniform(seed, shot, 1 + operation) at a block of measurements (or resets),
// so the outcome of a shot depends on nothing but its number: not on threads, not on the walk.
// Where the shots of a branch fall apart, the state before the measurement is kept as a snapshot
// for the outcomes that wait. Snapshots live under a memory budget; an outcome whose snapshot did
// not fit is replayed from the start along its recorded outcomes. Memory: at most `max_states` states
// plus O(shots); time: one run of the rest of the circuit a distinct outcome.
//
// Noise channels make trajectories of the shots: every shot draws its operator at every channel in
// the same way. Most draws do not depend on the state (channel_draw.h), so the gates up to the next
// one that does, or to where shots part, are planned and run as one stretch with the operators of
// the shots in it; shots whose operators agree so far share one state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "tilewave/circuit/noise_model.h"
#include "tilewave/simulate/checkpoint/keeper.h"
#include "tilewave/simulate/classical_bits.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/saved_walk.h"
#include "tilewave/simulate/session.h"
#include "tilewave/simulate/simulate.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

/// The end of a branch: its final state and the shots that reached it.
struct Leaf {
  statevec::State& state;
  const Bits& bits;
  std::span<const std::uint32_t> shots;
};

struct BranchOptions {
  std::uint64_t shots = 1;
  std::uint64_t seed = 0;
  std::uint64_t max_states = 2;  ///< states alive at once, the running one included; at least 1
  std::span<const circuit::ReadoutError> readout =
      {};                 ///< one a qubit; empty: measured bits are right
  bool in_order = false;  ///< the gates behind the last event end with the identity layout
  Effort effort = Effort::kAuto;
  bool explain = false;  ///< fill Result::plan.text with what runs, the first time that it does
  Session* session = Session::of_process().get();  ///< whose plans are used
  /// Puts a state back to where the run starts; null: |0...0>.
  std::function<void(statevec::State&)> start = {};
  /// Keeps checkpoints between steps; null: none. `save` adds the answers so far.
  Keeper* keeper = nullptr;
  std::function<void(ByteWriter&)> save = {};
  /// Goes on with a walk of this checkpoint instead of beginning one; null: begins.
  const SavedRun* saved = nullptr;
  SavedWalk walk = {};
};

/// Uniform numbers of the draw at a leaf: one for each shot.
double leaf_draw(std::uint64_t seed, std::uint64_t shot);
/// True when a bit that is `value` is read wrongly; `bit`: the classical bit, or the qubit where
/// nothing is measured.
bool is_misread(const circuit::ReadoutError& error, bool value, std::uint64_t seed,
                std::uint64_t shot, std::uint64_t bit);

/// Runs the program on `state` (where the run starts; it may be replaced by another of its kind) and calls
/// `on_leaf` for every distinct history of outcomes. Adds plans, times and passes to `result`.
void run_branches(const Program& program, std::unique_ptr<statevec::State>& state,
                  const BranchOptions& options, const statevec::RunObserver& observer,
                  Result& result, const std::function<void(const Leaf&)>& on_leaf);

}  // namespace tilewave::simulate
