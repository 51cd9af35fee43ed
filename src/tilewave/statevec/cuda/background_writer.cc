#include "tilewave/statevec/cuda/background_writer.h"

#include <atomic>
#include <utility>

#include "tilewave/runtime/background.h"

namespace tilewave::statevec::cuda {

namespace {

constexpr std::size_t kMostBegun = 10'000;

}  // namespace

/// One plan, whose passes are written by several threads.
struct BackgroundWriter::Task {
  Plan plan;
  std::uint64_t key;
  PassWriter writer;
  std::string ways_key;
  std::optional<std::vector<tile::PassWays::Pass>> ways;  // known from before
  ProgramStore::Plan out = {};
  std::atomic<std::size_t> left = 0;
  std::atomic<bool> fails = false;
};

void BackgroundWriter::begin(const Plan& plan, std::uint64_t key, const PassWriter& writer,
                             bool wants_kernels) {
  runtime::Background* const background = runtime::Background::of_process();
  if (!background || plan.passes.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = in_work_.find(key); found != in_work_.end()) {
      found->second |= wants_kernels;
      return;
    }
  }
  const std::string ways_key = writer.ways_key(plan);
  auto ways = ways_.find(ways_key, plan.passes.size());
  {
    const std::lock_guard lock(mutex_);
    if (begun_plans_.size() >= kMostBegun) begun_plans_.clear();
    const std::string name = ways ? ways_key + " " + std::to_string(key) : ways_key;
    if (!begun_plans_.insert(name).second && !wants_kernels) return;
    in_work_[key] = wants_kernels;
  }
  const std::size_t count = plan.passes.size();
  const std::shared_ptr<Task> task(new Task{plan, key, writer, ways_key, std::move(ways)});
  task->out.programs.resize(count);
  task->out.compiled.resize(count);
  task->out.is_final = true;
  task->left = 2 * count;
  const auto part = [self = shared_from_this(), task, background](std::size_t k) {
    const std::size_t p = k / 2;
    const auto tries = [&](int most, const tile::Way* way) {
      tile::Tries out = way ? tile::Tries(*way) : tile::Tries(most);
      out.ends = [background] { return background->is_ending(); };
      return out;
    };
    try {
      const tile::PassWays::Pass* const known = task->ways ? &(*task->ways)[p] : nullptr;
      if (background->is_ending()) {
        task->fails = true;
      } else if (k % 2 == 1) {
        task->out.programs[p] = task->writer.write(
            task->plan, p, tries(tile::kManyTries, known ? &known->interpreted : nullptr));
      } else if (task->writer.may_compile(task->plan.passes[p]) && !(known && !known->compiled)) {
        task->out.compiled[p] = task->writer.write_compiled(
            task->plan, p, tries(tile::kTriesAhead, known ? &*known->compiled : nullptr));
      }
    } catch (const std::exception&) {  // no memory, say: the programs stay as they are
      task->fails = true;
    }
    if (--task->left == 0) self->finish(*task);
  };
  for (std::size_t k = 0; k < 2 * count; ++k) {
    if (background->add([part, k] { part(k); })) continue;
    task->fails = true;
    if (--task->left == 0) finish(*task);
  }
}

void BackgroundWriter::finish(Task& task) {
  runtime::Background* const background = runtime::Background::of_process();
  if (!background || background->is_ending()) task.fails = true;  // some tries were left out
  if (!task.fails && !task.ways) {
    std::vector<tile::PassWays::Pass> ways;
    for (std::size_t p = 0; p < task.plan.passes.size(); ++p) {
      const auto& programs = task.out.programs[p];
      const auto& compiled = task.out.compiled[p];
      if (programs.size() != 1 || compiled.size() > 1) break;  // too long for one
      ways.push_back({programs[0].way, {}});
      if (!compiled.empty()) ways.back().compiled = compiled[0].program.way;
    }
    if (ways.size() == task.plan.passes.size()) ways_.keep(task.ways_key, ways);
  }
  const std::lock_guard lock(mutex_);
  const auto found = in_work_.find(task.key);
  if (!task.fails) {
    written_.push_back({task.key, std::move(task.out), found->second});
  }
  in_work_.erase(found);
}

std::vector<BackgroundWriter::Written> BackgroundWriter::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(written_, {});
}

}  // namespace tilewave::statevec::cuda
