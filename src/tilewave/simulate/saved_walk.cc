#include "tilewave/simulate/saved_walk.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/simulate/agreement.h"
#include "tilewave/simulate/checkpoint/plan_bytes.h"
#include "tilewave/simulate/checkpoint/record_kind.h"

namespace tilewave::simulate {

using statevec::CostModel;
using statevec::State;

namespace {

// Of things that are read, or const ones that are written.
template <class Bytes, class SomeBranch>
void branch_fields(Bytes& bytes, SomeBranch& branch) {
  bytes.fields(branch.at.op, branch.at.bits, branch.at.blocks_done, branch.at.channels_done,
               branch.shots, branch.path);
}

template <class Bytes, class Header>
void header_fields(Bytes& bytes, Header& header) {
  bytes.fields(header.asked, header.seed, header.shots, header.max_states, header.engine,
               header.engine_choice, header.num_qubits, header.kept);
}

// What is between the costs and the plan.
template <class Bytes, class Walk>
void state_and_branch_fields(Bytes& bytes, Walk& walk) {
  bytes.count(walk.states, sizeof(statevec::Layout));
  for (auto& state : walk.states) bytes.fields(state.layout, state.known_zero, state.small);
  bytes.count(walk.waiting, sizeof(std::uint64_t));
  for (auto& waiting : walk.waiting) {
    branch_fields(bytes, waiting.branch);
    bytes.fields(waiting.base);
  }
  branch_fields(bytes, walk.current);
}

bool is_on_gpu(const State& state) { return state.device().find("cuda") != std::string::npos; }

}  // namespace

bool fits(const SavedWalk& walk, const State& state) {
  const CostModel &a = walk.cost, b = state.cost_model();
  return walk.on_gpu == is_on_gpu(state) && a.shard_bits == b.shard_bits &&
         a.tile_qubits == b.tile_qubits && a.row_bits == b.row_bits &&
         a.wide_tile_qubits == b.wide_tile_qubits && a.small_tile_qubits == b.small_tile_qubits &&
         a.move_positions == b.move_positions;
}

CollectedWalk collect_walk(State& state, const CostModel& cost, const std::vector<Branch>& waiting,
                           const Branch& current, PlanInRun in_run) {
  CollectedWalk out;
  out.walk.on_gpu = is_on_gpu(state);
  out.walk.cost = cost;
  out.walk.states.push_back({state.layout(), state.known_zero(), {}});
  out.states.push_back(&state);
  std::map<const Snapshot*, std::uint32_t> slots;
  for (const Branch& branch : waiting) {
    out.walk.waiting.push_back({{branch.at, branch.shots, branch.path, nullptr}, 0});
    if (!branch.base) continue;
    const auto [slot, is_new] =
        slots.emplace(branch.base.get(), static_cast<std::uint32_t>(out.states.size()));
    out.walk.waiting.back().base = slot->second;
    if (!is_new) continue;
    State* large = branch.base->large();
    out.states.push_back(large);
    out.walk.states.push_back(large ? SavedState{large->layout(), large->known_zero(), {}}
                                    : SavedState{{}, 0, branch.base->small()});
  }
  out.walk.current = {current.at, current.shots, current.path, nullptr};
  out.walk.in_run = std::move(in_run);
  return out;
}

std::vector<Branch> restore_walk(const SavedRun& saved, const SavedWalk& walk, State& state,
                                 std::uint64_t max_states, std::uint64_t& num_alive,
                                 Spares& spares) {
  saved.load(0, walk.states[0].layout, walk.states[0].known_zero, state);
  std::vector<std::shared_ptr<Snapshot>> bases(walk.states.size());
  for (std::uint32_t k = 1; k < walk.states.size(); ++k) {
    if (num_alive + 1 >= max_states) break;  // those who wait for it start anew
    const SavedState& base = walk.states[k];
    std::unique_ptr<State> large;
    if (base.small.empty()) {
      large = state.clone();
      saved.load(k, base.layout, base.known_zero, *large);
    }
    bases[k] = std::make_shared<Snapshot>(base.small, std::move(large), num_alive, spares);
  }
  std::vector<Branch> waiting;
  for (const SavedBranch& branch : walk.waiting) {
    waiting.push_back(branch.branch);
    waiting.back().base = bases[branch.base];
  }
  return waiting;
}

void put_walk(ByteWriter& out, const SavedWalk& walk) {
  out.put(walk.on_gpu);
  put_cost(out, walk.cost);
  state_and_branch_fields(out, walk);
  out.put(walk.in_run.plan.has_value());
  if (walk.in_run.plan) put_plan(out, *walk.in_run.plan);
  out.fields(walk.in_run.next_pass, walk.in_run.open_channel);
}

SavedWalk get_walk(ByteReader& in) {
  SavedWalk walk;
  walk.on_gpu = in.get_flag();
  walk.cost = get_cost(in);
  state_and_branch_fields(in, walk);
  if (in.get_flag()) walk.in_run.plan = get_plan(in);
  in.fields(walk.in_run.next_pass, walk.in_run.open_channel);
  const auto has_base = [&](const SavedBranch& b) { return b.base < walk.states.size(); };
  if (walk.states.empty() || !std::all_of(walk.waiting.begin(), walk.waiting.end(), has_base) ||
      (walk.in_run.plan && walk.in_run.next_pass > walk.in_run.plan->passes.size()))
    in.fail();
  return walk;
}

void put_header(ByteWriter& out, const RunHeader& header) { header_fields(out, header); }

RunHeader get_header(ByteReader& in) {
  RunHeader header;
  header_fields(in, header);
  return header;
}

ResumedRun::ResumedRun(const std::string& folder) : saved(folder), rest(saved.record(), folder) {
  need_kind(rest, RecordKind::kRun);
  header = get_header(rest);
}

std::unique_ptr<ResumedRun> open_resumed(const circuit::Circuit& circuit, const Options& options) {
  const std::string& folder = options.checkpoint.resume;
  if (folder.empty()) return nullptr;
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(folder + "/checkpoint", ignored);
  if (!options.distribution.agreed(is_there) && folder == options.checkpoint.folder) return nullptr;
  auto run = std::make_unique<ResumedRun>(folder);
  const auto& processes = options.distribution.processes;
  std::string id = run->saved.id();
  if (processes) processes->broadcast(id.data(), id.size(), 0);
  if (id != run->saved.id()) {
    fail(ExitCode::kInput, folder, ": rank ", processes->rank(),
         " sees another checkpoint there than rank 0: all processes need one folder");
  }
  const std::string difference = difference_of(run->header.asked, asked_of(circuit, options));
  if (!difference.empty()) {
    fail(ExitCode::kUsage, folder, ": the checkpoint is of another ", difference,
         " (what is left of its run would not fit): start it with the same files and flags");
  }
  return run;
}

}  // namespace tilewave::simulate
