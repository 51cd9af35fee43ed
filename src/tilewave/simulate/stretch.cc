#include "tilewave/simulate/stretch.h"

#include <algorithm>

#include "tilewave/base/philox.h"
#include "tilewave/simulate/classical_bits.h"

namespace tilewave::simulate {
namespace {

using circuit::Op;
using circuit::OpKind;
using circuit::Qubit;

constexpr std::size_t kMinSharedGates = 32;  // rather replayed than planned and run on their own
constexpr std::size_t kManyShots = 10000;    // drawn by all threads

int most_frequent(const std::vector<int>& outcomes) {
  std::vector<std::size_t> counts;
  for (const int k : outcomes) {
    if (counts.size() <= static_cast<std::size_t>(k))
      counts.resize(static_cast<std::size_t>(k) + 1);
    ++counts[static_cast<std::size_t>(k)];
  }
  return static_cast<int>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

}  // namespace

StretchFinder::StretchFinder(const Program& program, std::uint64_t seed)
    : program_(program), circuit_(*program.circuit), seed_(seed) {
  if (!adds_gates()) return;
  work_ = circuit_;
  work_.take_ops();
  for (const auto& channel : circuit_.channels()) draws_.emplace_back(*channel);
}

Stretch StretchFinder::find(const Branch& branch) {
  Stretch s;
  s.end = branch.at;
  Position& at = s.end;
  std::uint64_t steps = 0;
  while (at.op < program_.ops.size()) {
    const Op& op = program_.ops[at.op];
    if (op.kind == OpKind::kMeasure || op.kind == OpKind::kReset) break;
    const bool applies = holds(circuit_, op, at.bits);
    if (applies && op.kind == OpKind::kChannel) {
      if (!add_channel(op, branch, s)) break;
      continue;
    }
    ++at.op;
    if (!applies) continue;
    if (op.kind == OpKind::kJump) {
      count_jump(steps);
      at.op = op.first_param;
    } else if (op.kind == OpKind::kAssign) {
      assign(circuit_, op, at.bits);
    } else if (op.kind == OpKind::kRuntimeGate) {
      add_runtime_gate(op, s);
    } else {
      s.ops.push_back(op);
    }
  }
  return s;
}

// Adds the operator most shots draw; false when the stretch ends before the channel.
bool StretchFinder::add_channel(const Op& op, const Branch& branch, Stretch& s) {
  Position& at = s.end;
  const std::uint64_t event = event_of(program_, at.op, at.channels_done);
  const ChannelDraw& draw = draws_[op.first_param];
  if (at.blocks_done < branch.path.size() && branch.path[at.blocks_done].event == event) {
    const Outcome& known = branch.path[at.blocks_done++];
    append_operator(op, static_cast<int>(known.value), known.scale, s.ops);
  } else {
    const auto& shots = s.departed.empty() ? branch.shots : s.together;
    outcomes_.resize(shots.size());
#pragma omp parallel for schedule(static) if (shots.size() > kManyShots)
    for (std::size_t k = 0; k < shots.size(); ++k) {
      outcomes_[k] = draw.fixed_outcome(random_uniform(seed_, shots[k], event));
    }
    bool same = true;
    for (const int outcome : outcomes_) {
      if (outcome == ChannelDraw::kOpen) {
        s.open_channel = true;
        return false;
      }
      same &= outcome == outcomes_.front();
    }
    const int common = same ? outcomes_.front() : most_frequent(outcomes_);
    if (!same) {
      const auto leaving = static_cast<std::size_t>(
          std::count_if(outcomes_.begin(), outcomes_.end(), [&](int k) { return k != common; }));
      if (leaving * s.ops.size() >= kMinSharedGates) return false;
      if (s.departed.empty()) s.together = branch.shots;
      std::size_t kept = 0;
      for (std::size_t k = 0; k < outcomes_.size(); ++k) {
        if (outcomes_[k] == common) {
          s.together[kept++] = s.together[k];
        } else {
          s.departed.push_back(s.together[k]);
        }
      }
      s.together.resize(kept);
    }
    append_operator(op, common, 1, s.ops);
  }
  ++at.op;
  ++at.channels_done;
  return true;
}

void StretchFinder::append_operator(const Op& op, int outcome, double scale, std::vector<Op>& ops) {
  const std::uint64_t key = std::uint64_t{op.first_qubit} << 16 | static_cast<unsigned>(outcome);
  auto found = scale == 1 ? operators_.find(key) : operators_.end();
  if (found == operators_.end()) {
    const auto span = work_.targets(op);
    const std::vector<Qubit> targets(span.begin(), span.end());
    const std::size_t first = work_.ops().size();
    draws_[op.first_param].append(outcome, targets, scale, work_);
    const std::pair range(first, work_.ops().size());
    if (scale != 1) {
      ops.insert(ops.end(), work_.ops().begin() + static_cast<std::ptrdiff_t>(range.first),
                 work_.ops().end());
      return;
    }
    found = operators_.emplace(key, range).first;
  }
  for (std::size_t k = found->second.first; k < found->second.second; ++k) {
    ops.push_back(work_.ops()[k]);
  }
}

// The gate at the angles it has now.
void StretchFinder::add_runtime_gate(const Op& op, Stretch& s) {
  const std::vector<double> angles = angles_at(circuit_, op, s.end.bits);
  std::string key(reinterpret_cast<const char*>(angles.data()), angles.size() * sizeof(double));
  key.append(reinterpret_cast<const char*>(&op.first_param), sizeof op.first_param);
  auto found = at_angles_.find(key);
  if (found == at_angles_.end()) {
    const std::size_t first = work_.ops().size();
    circuit_.append_with_angles(op, angles, work_);
    found = at_angles_.emplace(std::move(key), first).first;
  }
  s.ops.push_back(work_.ops()[found->second]);
}

}  // namespace tilewave::simulate
