// Where a run is, as a checkpoint keeps it: the walk over branches (branches.h) between two passes.
// A record is
//   what the run was asked       (RunHeader)
//   the answers so far           (Collector::save)
//   the walk                     (SavedWalk)
// and the amplitudes of states beside it: slot 0 is the state that runs, others are snapshots.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tilewave/simulate/branch.h"
#include "tilewave/simulate/checkpoint/bytes.h"
#include "tilewave/simulate/checkpoint/folder.h"
#include "tilewave/simulate/simulate.h"
#include "tilewave/simulate/snapshot.h"
#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

/// A state of the checkpoint: how its amplitudes lie, or all of them where they are few.
struct SavedState {
  statevec::Layout layout;
  std::uint64_t known_zero = 0;
  std::vector<cplx> small;
};

struct SavedBranch {
  Branch branch;           // without its base,
  std::uint32_t base = 0;  // which is this slot; 0: none
};

/// A stretch of which some passes have run.
struct PlanInRun {
  std::optional<statevec::Plan> plan;  // nothing: all passes have run
  std::size_t next_pass = 0;
  bool open_channel = false;  // the stretch ends at a channel for which the state must be asked
};

struct SavedWalk {
  bool on_gpu = false;       // the states were
  statevec::CostModel cost;  // what was known of the machine, without its functions
  std::vector<SavedState> states;
  std::vector<SavedBranch> waiting;
  Branch current;
  PlanInRun in_run;
};

/// Whether plans that were made for those states run on this one.
bool fits(const SavedWalk& walk, const statevec::State& state);

/// A walk as it is now, and the states of its slots; null where their numbers are in the walk.
struct CollectedWalk {
  SavedWalk walk;
  std::vector<statevec::State*> states;
};
CollectedWalk collect_walk(statevec::State& state, const statevec::CostModel& cost,
                           const std::vector<Branch>& waiting, const Branch& current,
                           PlanInRun in_run);

/// Fills `state` and makes the branches that wait, with as many snapshots as there is room for.
std::vector<Branch> restore_walk(const SavedRun& saved, const SavedWalk& walk,
                                 statevec::State& state, std::uint64_t max_states,
                                 std::uint64_t& num_alive, Spares& spares);

void put_walk(ByteWriter& out, const SavedWalk& walk);
SavedWalk get_walk(ByteReader& in);

/// What a run was asked, to be compared with what it is asked when it goes on.
struct RunHeader {
  std::vector<std::uint64_t> asked;  // see agreement.h
  std::uint64_t seed = 0, shots = 0, max_states = 0;
  std::string engine, engine_choice;
  std::uint64_t num_qubits = 0;      // of the state
  std::vector<circuit::Qubit> kept;  // of the register, in the state
};

void put_header(ByteWriter& out, const RunHeader& header);
RunHeader get_header(ByteReader& in);

/// A run that goes on: its checkpoint, compared with what it is asked now.
struct ResumedRun {
  explicit ResumedRun(const std::string& folder);
  SavedRun saved;
  ByteReader rest;  // of its record: the answers and the walk
  RunHeader header;
};

/// The run that options.checkpoint.resume names; null where it names none, or the folder for new
/// checkpoints while that is still empty. Throws Error(kInput) for a damaged checkpoint, Error(kUsage)
/// for one of another version, circuit, precision, engine, noise model, shots, seed or questions.
std::unique_ptr<ResumedRun> open_resumed(const circuit::Circuit& circuit, const Options& options);

}  // namespace tilewave::simulate
