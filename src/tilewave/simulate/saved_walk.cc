#include "tilewave/simulate/saved_walk.h"

#include <map>
#include <memory>
#include <utility>

#include "tilewave/simulate/checkpoint/plan_bytes.h"

namespace tilewave::simulate {

namespace {

void put_branch(ByteWriter& out, const Branch& branch) {
  out.put(std::uint64_t{branch.at.op});
  out.put_list(branch.at.bits);
  out.put(std::uint64_t{branch.at.blocks_done});
  out.put(branch.at.channels_done);
  out.put_list(branch.shots);
  out.put_list(branch.path);
}

Branch get_branch(ByteReader& in) {
  Branch branch;
  branch.at.op = in.get<std::uint64_t>();
  branch.at.bits = in.get_list<std::uint64_t>();
  branch.at.blocks_done = in.get<std::uint64_t>();
  branch.at.channels_done = in.get<std::uint64_t>();
  branch.shots = in.get_list<std::uint32_t>();
  branch.path = in.get_list<Outcome>();
  return branch;
}

}  // namespace

using statevec::CostModel;
using statevec::State;

namespace {

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
  out.put(std::uint64_t{walk.states.size()});
  for (const SavedState& state : walk.states) {
    out.put(state.layout);
    out.put(state.known_zero);
    out.put_list(state.small);
  }
  out.put(std::uint64_t{walk.waiting.size()});
  for (const SavedBranch& waiting : walk.waiting) {
    put_branch(out, waiting.branch);
    out.put(waiting.base);
  }
  put_branch(out, walk.current);
  out.put(walk.in_run.plan.has_value());
  if (walk.in_run.plan) put_plan(out, *walk.in_run.plan);
  out.put(std::uint64_t{walk.in_run.next_pass});
  out.put(walk.in_run.open_channel);
}

SavedWalk get_walk(ByteReader& in) {
  SavedWalk walk;
  walk.on_gpu = in.get_flag();
  walk.cost = get_cost(in);
  walk.states.resize(in.get_count(sizeof(statevec::Layout)));
  for (SavedState& state : walk.states) {
    state.layout = in.get<statevec::Layout>();
    state.known_zero = in.get<std::uint64_t>();
    state.small = in.get_list<cplx>();
  }
  walk.waiting.resize(in.get_count(sizeof(std::uint64_t)));
  for (SavedBranch& waiting : walk.waiting) {
    waiting.branch = get_branch(in);
    waiting.base = in.get<std::uint32_t>();
    if (waiting.base >= walk.states.size()) in.fail();
  }
  walk.current = get_branch(in);
  if (in.get_flag()) walk.in_run.plan = get_plan(in);
  walk.in_run.next_pass = in.get<std::uint64_t>();
  walk.in_run.open_channel = in.get_flag();
  if (walk.states.empty() ||
      (walk.in_run.plan && walk.in_run.next_pass > walk.in_run.plan->passes.size()))
    in.fail();
  return walk;
}

void put_header(ByteWriter& out, const RunHeader& header) {
  out.put_list(header.asked);
  out.put(header.seed);
  out.put(header.shots);
  out.put(header.max_states);
  out.put_text(header.engine);
  out.put_text(header.engine_choice);
  out.put(header.num_qubits);
  out.put_list(header.kept);
}

RunHeader get_header(ByteReader& in) {
  RunHeader header;
  header.asked = in.get_list<std::uint64_t>();
  header.seed = in.get<std::uint64_t>();
  header.shots = in.get<std::uint64_t>();
  header.max_states = in.get<std::uint64_t>();
  header.engine = in.get_text();
  header.engine_choice = in.get_text();
  header.num_qubits = in.get<std::uint64_t>();
  header.kept = in.get_list<circuit::Qubit>();
  return header;
}

}  // namespace tilewave::simulate
