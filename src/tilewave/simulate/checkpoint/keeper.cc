#include "tilewave/simulate/checkpoint/keeper.h"

#include <algorithm>
#include <vector>

#include "tilewave/base/error.h"

namespace tilewave::simulate {

namespace {

constexpr double kBetweenMessages_s = 0.1;
// However quick the questions come: those behind them may be minutes apart.
constexpr double kMostBetween = 8;

}  // namespace

Keeper::Keeper(const CheckpointOptions& options, std::shared_ptr<runtime::Ranks> processes,
               const SavedRun* resumed)
    : options_(options),
      processes_(processes && processes->size() > 1 ? std::move(processes) : nullptr),
      folder_(options.folder, processes_, resumed) {}

Asked Keeper::due() {
  const auto mine = [&] {
    const Asked asked = options_.asked ? options_.asked() : Asked::kNothing;
    if (asked != Asked::kNothing) return asked;
    return since_written_.elapsed_s() >= options_.every_s ? Asked::kKeep : Asked::kNothing;
  };
  if (!processes_) return mine();
  if (until_asked_ > 0) {
    --until_asked_;
    return Asked::kNothing;
  }
  struct Answer {
    std::uint32_t asked = 0, between = 1;
  };
  Answer answer;
  answer.asked = static_cast<std::uint32_t>(mine());
  const double each_s = since_asked_.elapsed_s() / between_;
  answer.between =
      static_cast<std::uint32_t>(std::clamp(kBetweenMessages_s / each_s, 1.0, kMostBetween));
  std::vector<Answer> all(static_cast<std::size_t>(processes_->size()));
  processes_->gather(&answer, all.data(), sizeof answer);
  std::uint32_t most = 0;  // whoever got a signal
  for (const Answer& a : all) most = std::max(most, a.asked);
  between_ = all[0].between;
  until_asked_ = between_ - 1;
  since_asked_.reset();
  return static_cast<Asked>(most);
}

void Keeper::write(const std::string& record, std::span<statevec::State* const> states, Asked why) {
  try {
    folder_.write(record, states);
    warning_.clear();
  } catch (const Error& e) {
    if (e.code() != ExitCode::kResources || !has_checkpoint() || why == Asked::kKeepAndStop) throw;
    warning_ = std::string("a checkpoint was not written, the one before is kept: ") + e.what();
  }
  since_written_.reset();
  if (why == Asked::kKeepAndStop) throw Stopped(options_.folder);
}

}  // namespace tilewave::simulate
