// The walk over the tree of branches; see branches.h.
#include "tilewave/simulate/branches.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::simulate {
namespace {

using circuit::Circuit;
using circuit::Op;
using circuit::OpKind;
using circuit::Qubit;
using statevec::State;

constexpr std::size_t kMaxBlockQubits = 16;  // measured together; their joint table is 2^16 numbers
constexpr std::uint64_t kMostJumps = 4'000'000;
constexpr std::size_t kMostBlocks = std::size_t{1} << 17;
constexpr int kSmallQubits = 12;  // snapshots of such states are plain arrays

// A state as it was before a measurement, shared by the outcomes that wait for it.
class Snapshot {
 public:
  Snapshot(State& state, std::uint64_t& num_alive) : num_alive_(num_alive) {
    ++num_alive_;
    if (state.num_qubits() <= kSmallQubits) {
      small_.reserve(state.num_amplitudes());
      state.for_each_block([&](std::uint64_t, std::span<const cplx> block) {
        small_.insert(small_.end(), block.begin(), block.end());
      });
    } else {
      large_ = state.clone();
    }
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() { --num_alive_; }

  // Puts the content into `state`; the last user takes it without a copy.
  void restore(std::unique_ptr<State>& state, bool last_user) {
    if (!large_) {
      state->set_amplitudes(small_);
      return;
    }
    state.reset();  // first give back, then take: no more memory than counted
    state = last_user ? std::move(large_) : large_->clone();
  }

 private:
  std::uint64_t& num_alive_;
  std::vector<cplx> small_;
  std::unique_ptr<State> large_;
};

// What a block of measurements gave: bit j of value is the block's j-th qubit.
struct Outcome {
  std::uint64_t value = 0;
  double scale = 1;  // keeps the norm as it was before the projection
};

struct Branch {
  std::size_t op = 0;  // where to go on: in Program::ops
  Bits bits;
  std::vector<std::uint32_t> shots;
  std::vector<Outcome> path;    // of every block so far, and of the next ones when it is replayed
  std::size_t blocks_done = 0;  // of the path
  std::shared_ptr<Snapshot> base;  // null: replay from the start
};

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
        plans_(options.plans ? options.plans : &own_plans_) {}

  void run() {
    Branch root;
    root.bits = no_bits();
    root.shots.resize(options_.shots);
    for (std::size_t s = 0; s < root.shots.size(); ++s) {
      root.shots[s] = static_cast<std::uint32_t>(s);
    }
    advance(std::move(root));
    while (!waiting_.empty()) {
      Branch branch = std::move(waiting_.back());
      waiting_.pop_back();
      if (branch.base) {
        branch.base->restore(state_, branch.base.use_count() == 1);
        branch.base.reset();
      } else {
        state_->set_zero_state();
        branch.op = 0;
        branch.bits = no_bits();
        branch.blocks_done = 0;
      }
      advance(std::move(branch));
    }
  }

 private:
  Bits no_bits() const { return Bits((circuit_.num_clbits() + 63) / 64); }

  bool holds(const Op& op, const Bits& bits) const {
    return op.condition < 0 ||
           simulate::holds(circuit_.conditions()[static_cast<std::size_t>(op.condition)], bits);
  }

  // Runs the gates from branch.op up to the next measurement or reset.
  void run_gates(Branch& branch) {
    const std::size_t first = branch.op;
    std::vector<Op> ops;
    std::string chosen;  // which of the conditional gates apply
    std::uint64_t steps = 0;
    while (branch.op < program_.ops.size()) {
      const Op& op = program_.ops[branch.op];
      if (op.kind == OpKind::kMeasure || op.kind == OpKind::kReset) break;
      const bool applies = holds(op, branch.bits);
      if (op.condition >= 0) chosen.push_back(applies ? '1' : '0');
      ++branch.op;
      if (!applies) continue;
      if (op.kind == OpKind::kJump) {
        if (++steps > kMostJumps) {
          throw Error(ExitCode::kInput, "a loop goes round more than " +
                                            std::to_string(kMostJumps) +
                                            " times without measuring: it does not end");
        }
        branch.op = op.first_param;
      } else if (op.kind == OpKind::kAssign) {
        assign(circuit_.assignment(op), branch.bits);
      } else {
        ops.push_back(op);
      }
    }
    if (!ops.empty()) run_plan(ops, first, chosen, branch.op == program_.ops.size());
  }

  static void assign(const circuit::Assignment& to, Bits& bits) {
    const std::uint64_t value = circuit::evaluate(to.value, bits);
    for (std::uint32_t k = 0; k < to.size; ++k) set_bit(bits, to.first + k, value >> k & 1);
  }

  void run_plan(std::span<const Op> ops, std::size_t first, const std::string& chosen, bool last) {
    runtime::Timer timer;
    statevec::PlanOptions plan_options = state_->plan_options();
    plan_options.restore_layout = options_.in_order && last;
    PlanCache::PlanPtr plan;
    const auto make = [&] { return statevec::make_plan(circuit_, ops, plan_options); };
    if (options_.plans || (program_.dynamic && state_->num_qubits() <= kSmallQubits)) {
      std::string key = std::to_string(first) + ' ' + chosen + ' ' +
                        std::to_string(plan_options.from_zeros) + ' ' +
                        std::to_string(plan_options.known_zero) + ' ' +
                        std::to_string(plan_options.layout.flips) + ' ' +
                        std::to_string(plan_options.restore_layout) + ' ';
      key.append(reinterpret_cast<const char*>(plan_options.layout.position.data()),
                 static_cast<std::size_t>(state_->num_qubits()));
      plan = plans_->find(key, make);
    } else {
      plan = std::make_shared<const statevec::Plan>(make());
    }
    result_.timings.plan_s += timer.elapsed_s();
    timer.reset();
    state_->run(*plan, observer_);
    result_.timings.execute_s += timer.elapsed_s();
    add_to_summary(*plan, result_.plan);
  }

  static void add_to_summary(const statevec::Plan& plan, PlanSummary& summary) {
    summary.passes += plan.passes.size();
    summary.gates += plan.num_circuit_gates;
    summary.predicted_s += plan.predicted_s;
    for (const auto& pass : plan.passes) {
      summary.bytes += pass.bytes;
      summary.flops += pass.flops;
    }
    for (const auto& step : plan.exchanges) {
      summary.exchanges += step.bytes > 0;
      summary.exchange_bytes += step.bytes;
    }
  }

  // Takes the measurements (or resets) from branch.op on that can be made together.
  Block take_block(Branch& branch) const {
    Block block;
    block.first = branch.op;
    std::vector<circuit::Clbit> written;
    for (; branch.op < program_.ops.size(); ++branch.op) {
      const Op& op = program_.ops[branch.op];
      if (op.kind != OpKind::kMeasure && op.kind != OpKind::kReset) break;
      if (op.condition >= 0) {
        const auto& c = circuit_.conditions()[static_cast<std::size_t>(op.condition)];
        bool depends = false;
        for_each_read(c, [&](std::uint32_t first, std::uint32_t count) {
          for (const circuit::Clbit b : written) depends |= b >= first && b < first + count;
        });
        if (depends) break;
        if (!holds(op, branch.bits)) continue;
      }
      const bool is_reset = op.kind == OpKind::kReset;
      if (block.ops.empty()) block.is_reset = is_reset;
      if (block.is_reset != is_reset) break;
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

  // Draws the outcome of every shot of the branch. The branch goes on with the first outcome; the
  // others wait.
  void draw(const Block& block, std::size_t block_op, Branch& branch) {
    const std::vector<double> p = state_->joint_probabilities(block.qubits);
    std::vector<double> sums(p.size());
    double total = 0;
    for (std::size_t k = 0; k < p.size(); ++k) sums[k] = total += p[k];
    if (!(total > 0) || !std::isfinite(total)) {
      throw Error(ExitCode::kVerification,
                  "the state has norm " + std::to_string(total) + " before a measurement");
    }
    if (branch.blocks_done > kMostBlocks) {
      throw Error(ExitCode::kInput, "a shot measures more than " + std::to_string(kMostBlocks) +
                                        " times: a loop does not end");
    }
    // In a loop one operation draws again and again.
    const std::uint64_t event =
        1 + block.first +
        (program_.has_control_flow ? (std::uint64_t{branch.blocks_done} + 1) << 32 : 0);
    std::vector<std::pair<std::uint64_t, std::uint32_t>> drawn;  // outcome, shot
    drawn.reserve(branch.shots.size());
    for (const auto shot : branch.shots) {
      const double u = random_uniform(options_.seed, shot, event) * total;
      auto k =
          static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end(), u) - sums.begin());
      k = std::min(k, p.size() - 1);
      while (k > 0 && p[k] <= 0) --k;  // rounding at the upper end
      drawn.emplace_back(k, shot);
    }
    std::stable_sort(drawn.begin(), drawn.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto scale = [&](std::uint64_t k) { return std::sqrt(total / p[k]); };

    // Outcomes after the first wait, the second next in line.
    const std::uint64_t first_value = drawn.front().first;
    auto end = drawn.end();
    std::shared_ptr<Snapshot> base;
    if (drawn.back().first != first_value && num_alive_ + 1 < options_.max_states) {
      base = std::make_shared<Snapshot>(*state_, num_alive_);
    }
    while (std::prev(end)->first != first_value) {
      const std::uint64_t value = std::prev(end)->first;
      auto begin = end;
      while (std::prev(begin)->first == value) --begin;
      Branch other;
      other.op = block_op;
      other.bits = branch.bits;
      for (auto it = begin; it != end; ++it) other.shots.push_back(it->second);
      other.path = branch.path;
      other.path.push_back({value, scale(value)});
      other.blocks_done = branch.blocks_done;
      other.base = base;
      waiting_.push_back(std::move(other));
      end = begin;
    }
    branch.shots.clear();
    for (auto it = drawn.begin(); it != end; ++it) branch.shots.push_back(it->second);
    branch.path.push_back({first_value, scale(first_value)});
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
    for (const Op* op : block.ops) {
      const auto at = std::find(block.qubits.begin(), block.qubits.end(), circuit_.targets(*op)[0]);
      set_bit(branch.bits, op->clbit, outcome.value >> (at - block.qubits.begin()) & 1);
    }
  }

  void advance(Branch branch) {
    while (true) {
      run_gates(branch);
      if (branch.op == program_.ops.size()) break;
      const std::size_t block_op = branch.op;
      const Block block = take_block(branch);
      if (block.ops.empty()) continue;
      runtime::Timer timer;
      if (branch.blocks_done == branch.path.size()) draw(block, block_op, branch);
      project(block, branch.path[branch.blocks_done++], branch);
      const double elapsed_s = timer.elapsed_s();
      result_.timings.execute_s += elapsed_s;
      result_.profile[block.is_reset ? "reset" : "measure"].add(elapsed_s, 0, 0);
    }
    ++result_.num_branches;
    on_leaf_({*state_, branch.bits, branch.shots});
  }

  const Program& program_;
  const Circuit& circuit_;
  const BranchOptions& options_;
  const statevec::RunObserver& observer_;
  Result& result_;
  const std::function<void(const Leaf&)>& on_leaf_;
  std::unique_ptr<State>& state_;
  std::vector<Branch> waiting_;
  std::uint64_t num_alive_ = 0;  // snapshots
  PlanCache own_plans_;
  PlanCache* plans_;
};

}  // namespace

double leaf_draw(std::uint64_t seed, std::uint64_t shot) { return random_uniform(seed, shot, 0); }

void run_branches(const Program& program, std::unique_ptr<State>& state,
                  const BranchOptions& options, const statevec::RunObserver& observer,
                  Result& result, const std::function<void(const Leaf&)>& on_leaf) {
  Runner(program, state, options, observer, result, on_leaf).run();
}

}  // namespace tilewave::simulate
