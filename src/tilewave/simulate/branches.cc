// The walk over the tree of branches; see branches.h.
#include "tilewave/simulate/branches.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/simulate/channel_draw.h"
#include "tilewave/simulate/snapshot.h"
#include "tilewave/simulate/stretch.h"
#include "tilewave/statevec/plan/pieces.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::simulate {
namespace {

using circuit::Circuit;
using circuit::Op;
using circuit::OpKind;
using circuit::Qubit;
using statevec::State;

constexpr std::size_t kMaxBlockQubits = 16;  // measured together; their joint table is 2^16 numbers
constexpr std::size_t kMostBlocks = std::size_t{1} << 17;
constexpr std::size_t kMaxBlockOps = 64;
constexpr double kPiece_s = 0.2;     // of a plan, between two looks whether a checkpoint is due
constexpr double kLeastNorm = 1e-6;  // of a trajectory before it is scaled back to 1
constexpr std::uint64_t kMisreadEvents = std::uint64_t{1} << 63;

// Consecutive measurements, or consecutive resets, that are made at once.
struct Block {
  std::size_t first = 0;       // operation, keys the draws
  std::vector<const Op*> ops;  // those whose conditions hold
  std::vector<Qubit> qubits;   // each once
  bool is_reset = false;
};

class Runner {
 public:
  Runner(const Program& program, std::unique_ptr<State>& state, const BranchOptions& options,
         const statevec::RunObserver& observer, Result& result,
         const std::function<void(const Leaf&)>& on_leaf)
      : program_(program),
        circuit_(*program.circuit),
        options_(options),
        observer_(observer),
        result_(result),
        on_leaf_(on_leaf),
        state_(state),
        session_(*options.session),
        stretches_(program, options.seed) {}

  void run() {
    advance(options_.saved ? resume() : whole_run());
    while (!waiting_.empty()) {
      Branch branch = std::move(waiting_.back());
      waiting_.pop_back();
      if (branch.base) {
        branch.base->restore(state_, branch.base.use_count() == 1);
        branch.base.reset();
      } else {
        options_.start ? options_.start(*state_) : state_->set_zero_state();
        branch.at = {.bits = no_bits()};
      }
      advance(std::move(branch));
    }
  }

 private:
  Bits no_bits() const { return Bits((circuit_.num_clbits() + 63) / 64); }

  // Of all shots.
  Branch whole_run() const {
    Branch root;
    root.at.bits = no_bits();
    root.shots.resize(options_.shots);
    for (std::size_t s = 0; s < root.shots.size(); ++s) {
      root.shots[s] = static_cast<std::uint32_t>(s);
    }
    return root;
  }

  // The walk of a checkpoint, where it was: the branch that ran.
  Branch resume() {
    const SavedWalk& walk = options_.walk;
    waiting_ =
        restore_walk(*options_.saved, walk, *state_, options_.max_states, num_alive_, spares_);
    const statevec::CostModel here = state_->cost_model();
    fits_ = fits(walk, *state_);
    if (fits_) {
      cost_ = walk.cost;
      cost_->price = here.price;
    }
    resumed_ = walk.in_run;
    return walk.current;
  }

  // Writes a checkpoint; `branch` is at the end of the stretch that runs.
  void keep(Asked why, const Branch& branch, PlanInRun in_run) {
    const runtime::Timer timer;
    ByteWriter out;
    options_.save(out);
    const CollectedWalk collected = collect_walk(*state_, cost_ ? *cost_ : state_->cost_model(),
                                                 waiting_, branch, std::move(in_run));
    put_walk(out, collected.walk);
    options_.keeper->write(out.bytes(), collected.states, why);
    result_.profile["checkpoint"].add(timer.elapsed_s(), 0, 0);
  }

  // Runs the gates from branch.at.op up to the next event. Shots that part on the way wait, and
  // most of them do: the few go first, so that few states wait at a time. True at an open channel.
  bool run_gates(Branch& branch) {
    if (const auto in_run = std::exchange(resumed_, std::nullopt)) {
      if (in_run->plan) finish_plan(*in_run, branch);
      return in_run->open_channel;
    }
    std::shared_ptr<Snapshot> base;
    Stretch s = stretches_.find(branch);
    while (!s.departed.empty()) {
      if (!base && num_alive_ + 1 < options_.max_states) {
        base = std::make_shared<Snapshot>(*state_, num_alive_, spares_);
      }
      Branch other{branch.at, std::move(s.together), branch.path, base};
      waiting_.push_back(std::move(other));
      branch.shots = std::move(s.departed);
      s = stretches_.find(branch);
    }
    const std::size_t first = branch.at.op;
    branch.at = std::move(s.end);
    if (!s.ops.empty()) run_plan(s.ops, first, s.open_channel, branch);
    return s.open_channel;
  }

  void run_plan(std::span<const Op> ops, std::size_t first, bool open_channel,
                const Branch& branch) {
    runtime::Timer timer;
    statevec::PlanOptions plan_options = state_->plan_options();
    plan_options.restore_layout = options_.in_order && branch.at.op == program_.ops.size();
    plan_options.effort = options_.effort;
    if (cost_) plan_options.cost = *cost_;
    // with checkpoints a plan does not depend on what ran before
    if (options_.keeper && program_.dynamic && plan_options.effort == Effort::kAuto)
      plan_options.effort = Effort::kOnce;
    const Circuit& of = stretches_.circuit();
    // operators that were drawn are hardly ever drawn together again
    const bool is_kept = !program_.has_channels;
    PlanPtr stored;
    statevec::Plan own;
    if (is_kept) {
      stored = session_.plan(of, ops, plan_options);
    } else {
      plan_options.effort = Effort::kOnce;
      own = statevec::make_plan(of, ops, plan_options);
    }
    const statevec::Plan& plan = stored ? stored->plan : own;
    if (stored && options_.effort == Effort::kBest) state_->prepare(plan);
    result_.timings.plan_s += timer.elapsed_s();
    timer.reset();
    statevec::RunObserver observer = observer_;
    if (stored) observer.tables = stored->tables.get();
    result_.plan.add(plan);
    if (options_.keeper) {
      run_in_pieces(plan, 0, open_channel, branch, observer.tables);
    } else {
      state_->run(plan, observer);
    }
    result_.timings.execute_s += timer.elapsed_s();
    if (stored) result_.plan.effort = std::max(result_.plan.effort, stored->plan.effort);
    if (options_.explain && explained_.insert(first).second)
      result_.plan.text += statevec::explain(plan);
  }

  // From the pass `next` on, with looks in between whether a checkpoint is due.
  void run_in_pieces(const statevec::Plan& plan, std::size_t next, bool open_channel,
                     const Branch& branch, statevec::KeptPasses* tables) {
    if (!options_.keeper->has_checkpoint()) keep(Asked::kKeep, branch, {plan, next, open_channel});
    const std::size_t count = plan.passes.size();
    double done_s = 0;
    for (const std::size_t cut : statevec::cuts_of(plan, kPiece_s)) {
      const bool ends = cut == count;
      if (cut <= next && !ends) continue;
      statevec::RunObserver observer = observer_;
      if (!ends) observer.makes_norm = observer.makes_marginals = false;
      if (next == 0 && ends) {
        observer.tables = tables;
        state_->run(plan, observer);
      } else {
        if (observer_.on_progress) {
          observer.on_progress = [&](double piece_done_s, double) {
            observer_.on_progress(done_s + piece_done_s, plan.predicted_s);
          };
        }
        const statevec::Plan piece = statevec::piece_of(plan, next, cut);
        state_->run(piece, observer);
        done_s += piece.predicted_s;
      }
      next = cut;
      const Asked why = options_.keeper->due();
      if (why == Asked::kNothing) continue;
      if (ends) {
        keep(why, branch, {std::nullopt, 0, open_channel});
      } else {
        keep(why, branch, {plan, next, open_channel});
      }
    }
  }

  // The rest of a plan that a checkpoint was inside of.
  void finish_plan(const PlanInRun& in_run, const Branch& branch) {
    runtime::Timer timer;
    statevec::Plan plan = *in_run.plan;
    std::size_t next = in_run.next_pass;
    if (!fits_) {  // planned anew for this machine: its qubits are the positions of the other plan
      const statevec::RestOfPlan rest = statevec::rest_of(plan, next);
      state_->assume(statevec::Layout::identity(), state_->known_zero());
      statevec::PlanOptions plan_options = state_->plan_options();
      plan_options.effort = Effort::kOnce;
      statevec::Plan anew = statevec::make_plan(rest.circuit, rest.circuit.ops(), plan_options);
      anew.layout_after = statevec::layout_of_rest(plan, rest, anew.layout_after);
      plan = std::move(anew);
      next = 0;
    }
    result_.timings.plan_s += timer.elapsed_s();
    timer.reset();
    if (options_.explain) result_.plan.text += statevec::explain(plan);
    if (options_.keeper) {
      run_in_pieces(plan, next, in_run.open_channel, branch, nullptr);
    } else {
      state_->run(statevec::piece_of(plan, next, plan.passes.size()), observer_);
    }
    result_.timings.execute_s += timer.elapsed_s();
  }

  // Takes the measurements (or resets) from branch.at.op on that can be made together.
  Block take_block(Branch& branch) const {
    Block block;
    block.first = branch.at.op;
    std::vector<circuit::Clbit> written;
    for (; branch.at.op < program_.ops.size(); ++branch.at.op) {
      const Op& op = program_.ops[branch.at.op];
      if (op.kind != OpKind::kMeasure && op.kind != OpKind::kReset) break;
      if (op.condition >= 0) {
        const auto& c = circuit_.conditions()[static_cast<std::size_t>(op.condition)];
        bool depends = false;
        for_each_read(c, [&](std::uint32_t first, std::uint32_t count) {
          for (const circuit::Clbit b : written) depends |= b >= first && b < first + count;
        });
        if (depends) break;
        if (!holds(circuit_, op, branch.at.bits)) continue;
      }
      const bool is_reset = op.kind == OpKind::kReset;
      if (block.ops.empty()) block.is_reset = is_reset;
      if (block.is_reset != is_reset || block.ops.size() == kMaxBlockOps) break;
      const Qubit qubit = circuit_.targets(op)[0];
      if (std::find(block.qubits.begin(), block.qubits.end(), qubit) == block.qubits.end()) {
        if (block.qubits.size() == kMaxBlockQubits) break;
        block.qubits.push_back(qubit);
      }

      block.ops.push_back(&op);
      if (!is_reset) written.push_back(op.clbit);
    }
    return block;
  }

  // Bit j: whether the block's j-th measurement is read wrongly in a shot.
  std::uint64_t draw_misread(const Block& block, std::uint64_t event, std::uint64_t value,
                             std::uint32_t shot) const {
    std::uint64_t misread = 0;
    for (std::size_t j = 0; j < block.ops.size(); ++j) {
      const Qubit qubit = circuit_.targets(*block.ops[j])[0];
      const auto at = std::find(block.qubits.begin(), block.qubits.end(), qubit);
      const bool one = value >> (at - block.qubits.begin()) & 1;
      const std::uint64_t key = event + j + kMisreadEvents;
      if (is_misread(options_.readout[qubit], one, options_.seed, shot, key)) misread |= bit(j);
    }
    return misread;
  }

  // Draws the outcome of every shot of the branch at a block of measurements.
  void draw(const Block& block, std::size_t block_op, Branch& branch) {
    const std::vector<double> p = state_->joint_probabilities(block.qubits);
    part(p, block_op, event_of(program_, block.first, branch.at.blocks_done),
         options_.readout.empty() || block.is_reset ? nullptr : &block, branch);
  }

  // The same at a channel whose operator depends on the state.
  void draw_channel(Branch& branch) {
    const Op& op = program_.ops[branch.at.op];
    const ChannelDraw& channel = stretches_.draw_of(op);
    const std::vector<double> answers =
        state_->expectations(channel.questions(circuit_.targets(op)));
    const double norm = answers[0];  // wanders from 1, for operators keep it only roughly
    const double scale = norm > kLeastNorm && norm * kLeastNorm < 1 ? 1 : 1 / std::sqrt(norm);
    part(channel.probabilities(answers), branch.at.op,
         event_of(program_, branch.at.op, branch.at.channels_done), nullptr, branch, scale);
  }

  // Draws one of the outcomes for every shot. The branch goes on with the first outcome; the others
  // wait.
  void part(const std::vector<double>& p, std::size_t op, std::uint64_t event, const Block* readout,
            Branch& branch, double channel_scale = 1) {
    std::vector<double> sums(p.size());
    double total = 0;
    for (std::size_t k = 0; k < p.size(); ++k) sums[k] = total += p[k];
    if (!(total > 0) || !std::isfinite(total)) {
      fail(ExitCode::kVerification, "the state has norm ", std::to_string(total),
           " before a measurement");
    }
    if (branch.at.blocks_done > kMostBlocks) {
      fail(ExitCode::kInput, "a shot measures more than ", kMostBlocks,
           " times: a loop does not end");
    }
    struct Drawn {
      std::uint64_t value, misread;
      std::uint32_t shot;
      bool operator!=(const Drawn& o) const { return value != o.value || misread != o.misread; }
    };
    std::vector<Drawn> drawn;
    drawn.reserve(branch.shots.size());
    for (const auto shot : branch.shots) {
      const double u = random_uniform(options_.seed, shot, event) * total;
      auto k =
          static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end(), u) - sums.begin());
      k = std::min(k, p.size() - 1);
      while (k > 0 && p[k] <= 0) --k;  // rounding at the upper end
      drawn.push_back({k, readout ? draw_misread(*readout, event, k, shot) : 0, shot});
    }
    std::stable_sort(drawn.begin(), drawn.end(), [](const Drawn& a, const Drawn& b) {
      return a.value != b.value ? a.value < b.value : a.misread < b.misread;
    });
    const bool is_channel = program_.ops[op].kind == OpKind::kChannel;
    const auto outcome = [&](const Drawn& d) {
      // an outcome that is certain but for rounding leaves the state as it is
      const double share = p[d.value] / total;
      const double scale = share > 1 - 0x1p-50 ? 1 : 1 / std::sqrt(share);
      return Outcome{event, d.value, is_channel ? channel_scale : scale, d.misread};
    };

    // Outcomes after the first wait, the second next in line.
    const Drawn first = drawn.front();
    auto end = drawn.end();
    std::shared_ptr<Snapshot> base;
    if (drawn.back() != first && num_alive_ + 1 < options_.max_states) {
      base = std::make_shared<Snapshot>(*state_, num_alive_, spares_);
    }
    while (*std::prev(end) != first) {
      const Drawn value = *std::prev(end);
      auto begin = end;
      while (!(*std::prev(begin) != value)) --begin;
      Branch other{branch.at, {}, branch.path, base};
      other.at.op = op;
      for (auto it = begin; it != end; ++it) other.shots.push_back(it->shot);
      other.path.push_back(outcome(value));
      waiting_.push_back(std::move(other));
      end = begin;
    }
    branch.shots.clear();
    for (auto it = drawn.begin(); it != end; ++it) branch.shots.push_back(it->shot);
    branch.path.push_back(outcome(first));
  }

  void project(const Block& block, const Outcome& outcome, Branch& branch) {
    Circuit flips(circuit_.num_qubits());
    for (std::size_t j = 0; j < block.qubits.size(); ++j) {
      const int value = static_cast<int>(outcome.value >> j & 1);
      const bool last = j + 1 == block.qubits.size();
      state_->collapse(block.qubits[j], value, last ? outcome.scale : 1.0);
      if (block.is_reset && value) flips.add_gate(circuit::GateId::kX, {block.qubits[j]});
    }
    if (!flips.ops().empty()) state_->apply(flips, flips.ops());
    if (block.is_reset) return;
    for (std::size_t j = 0; j < block.ops.size(); ++j) {
      const Op* op = block.ops[j];
      const auto at = std::find(block.qubits.begin(), block.qubits.end(), circuit_.targets(*op)[0]);
      const bool one = outcome.value >> (at - block.qubits.begin()) & 1;
      set_bit(branch.at.bits, op->clbit, one != static_cast<bool>(outcome.misread >> j & 1));
    }
  }

  void advance(Branch branch) {
    while (true) {
      if (run_gates(branch)) {
        runtime::Timer timer;
        draw_channel(branch);
        const double elapsed_s = timer.elapsed_s();
        result_.timings.execute_s += elapsed_s;
        result_.profile["channel"].add(elapsed_s, 0, 0);
        continue;
      }
      if (branch.at.op == program_.ops.size()) break;
      if (program_.ops[branch.at.op].kind == OpKind::kChannel) continue;
      const std::size_t block_op = branch.at.op;
      const Block block = take_block(branch);
      if (block.ops.empty()) continue;
      if (options_.explain && explained_.insert(block_op).second) {
        const std::size_t count = block.ops.size();
        result_.plan.text += std::to_string(count) + (block.is_reset ? " reset" : " measurement") +
                             (count > 1 ? "s" : "") + ": shots part by outcome\n";
      }
      runtime::Timer timer;
      if (branch.at.blocks_done == branch.path.size()) draw(block, block_op, branch);
      project(block, branch.path[branch.at.blocks_done++], branch);
      const double elapsed_s = timer.elapsed_s();
      result_.timings.execute_s += elapsed_s;
      result_.profile[block.is_reset ? "reset" : "measure"].add(elapsed_s, 0, 0);
    }
    ++result_.num_branches;
    on_leaf_({*state_, branch.at.bits, branch.shots});
  }

  const Program& program_;
  const Circuit& circuit_;
  const BranchOptions& options_;
  const statevec::RunObserver& observer_;
  Result& result_;
  const std::function<void(const Leaf&)>& on_leaf_;
  std::unique_ptr<State>& state_;
  Spares spares_;
  std::vector<Branch> waiting_;
  std::uint64_t num_alive_ = 0;  // snapshots
  Session& session_;
  StretchFinder stretches_;
  std::optional<PlanInRun> resumed_;  // where a checkpoint was
  bool fits_ = true;                  // its plans run on this machine
  std::optional<statevec::CostModel>
      cost_;                         // of the machine that plans are made for; else this one's
  std::set<std::size_t> explained_;  // stretches and blocks, by their first operation
};

}  // namespace

double leaf_draw(std::uint64_t seed, std::uint64_t shot) { return random_uniform(seed, shot, 0); }

bool is_misread(const circuit::ReadoutError& error, bool value, std::uint64_t seed,
                std::uint64_t shot, std::uint64_t bit) {
  const double p = value ? error.p0_given_1 : error.p1_given_0;
  return p > 0 && random_uniform(seed, shot, bit + (std::uint64_t{1} << 62)) < p;
}

void run_branches(const Program& program, std::unique_ptr<State>& state,
                  const BranchOptions& options, const statevec::RunObserver& observer,
                  Result& result, const std::function<void(const Leaf&)>& on_leaf) {
  Runner(program, state, options, observer, result, on_leaf).run();
}

}  // namespace tilewave::simulate
