#include "tilewave/simulate/tune/timing.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>

#include "tilewave/base/interrupt.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/statevec/plan/kept_passes.h"

namespace tilewave::simulate {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

double spread_of(const std::vector<double>& values) {
  if (values.size() < 3) return 0;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double share) {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
  };
  return (at(0.75) - at(0.25)) / 2 / at(0.5);
}

namespace {

// The repeated runs of one plan.
class Runs {
 public:
  Runs() : tables_(std::make_shared<std::atomic<std::int64_t>>(std::int64_t{64} << 20)) {}

  void run(statevec::State& state, const statevec::Plan& plan, bool counts) {
    check_interrupt();
    statevec::RunObserver observer;
    observer.tables = &tables_;
    std::size_t pass = 0;
    bool is_other = false;  // programs of passes become better while they run
    if (counts) {
      observer.wants_terms = true;
      observer.on_step = [&](const statevec::StepTime& step) {
        if (pass_times_.size() <= pass) pass_times_.emplace_back(), terms_.push_back(step.terms);
        if (terms_[pass] != step.terms) {
          is_other = true;
          pass_times_[pass].clear();
          terms_[pass] = step.terms;
        }
        pass_times_[pass].push_back(step.measured_s);
        ++pass;
      };
    }
    const runtime::Timer timer;
    state.run(plan, observer);
    const double taken_s = timer.elapsed_s();
    if (is_other) times_.clear();
    if (counts) times_.push_back(taken_s);
  }

  PlanTiming timing() const {
    PlanTiming out;
    out.seconds = median_of(times_);
    out.spread = spread_of(times_);
    for (std::size_t k = 0; k < pass_times_.size(); ++k)
      out.passes.push_back({median_of(pass_times_[k]), terms_[k]});
    return out;
  }

 private:
  statevec::KeptPasses tables_;
  std::vector<double> times_;
  std::vector<std::vector<double>> pass_times_, terms_;
};

}  // namespace

statevec::rates::QuestionRates time_questions(statevec::State& state) {
  constexpr int kTimes = 5;
  constexpr std::uint64_t kShots = 200000;
  const auto seconds = [&](const auto& ask) {
    std::vector<double> times;
    for (int k = 0; k <= kTimes; ++k) {
      check_interrupt();
      state.assume(state.layout(), state.known_zero());  // answers are forgotten
      const runtime::Timer timer;
      ask();
      if (k) times.push_back(timer.elapsed_s());
    }
    return median_of(times);
  };
  const double bytes = static_cast<double>(amplitude_bytes(state.precision())) *
                       static_cast<double>(state.num_amplitudes());
  statevec::rates::QuestionRates out;
  out.norm_byte_s = seconds([&] { state.norm(); }) / bytes;
  out.marginals_byte_s = seconds([&] { state.marginals(); }) / bytes;
  const double one_s = seconds([&] { sample(state, 1, 1); });
  const double many_s = seconds([&] { sample(state, kShots, 1); });
  out.sample_byte_s = one_s / bytes;
  out.shot_s = std::max(many_s - one_s, 0.0) / static_cast<double>(kShots);
  return out;
}

std::vector<PlanTiming> time_in_turns(statevec::State& state,
                                      const std::vector<statevec::Plan>& plans, int repeats,
                                      const std::function<void(std::size_t)>& prepare,
                                      const std::function<bool()>& goes_on) {
  constexpr int kLeastRounds = 3;
  std::deque<Runs> all(plans.size());
  for (int round = 0; round <= repeats && (round <= kLeastRounds || goes_on()); ++round) {
    for (std::size_t k = 0; k < plans.size(); ++k) {
      prepare(k);
      all[k].run(state, plans[k], round > 0);
    }
  }
  std::vector<PlanTiming> out;
  for (const Runs& runs : all) out.push_back(runs.timing());
  return out;
}

}  // namespace tilewave::simulate
