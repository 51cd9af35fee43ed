// Times of plans on a state, pass by pass, for tune.h.
#pragma once

#include <functional>
#include <vector>

#include "tilewave/statevec/rates/question_rates.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

double median_of(std::vector<double> values);
/// Half of the distance between the quartiles, over the median.
double spread_of(const std::vector<double>& values);

struct PassTiming {
  double seconds = 0;         ///< median
  std::vector<double> terms;  ///< StepTime::terms
};

struct PlanTiming {
  double seconds = 0;  ///< median of whole runs
  double spread = 0;
  std::vector<PassTiming> passes;
};

/// Several plans in turns, so that what disturbs the machine for a while disturbs one run of each;
/// `prepare(k)` before each run of plan k. Once, then `repeats` times, or at least three times while
/// `goes_on()`.
std::vector<PlanTiming> time_in_turns(
    statevec::State& state, const std::vector<statevec::Plan>& plans, int repeats,
    const std::function<void(std::size_t)>& prepare = [](std::size_t) {},
    const std::function<bool()>& goes_on = [] { return true; });

/// Times the questions on a state without known zeros.
statevec::rates::QuestionRates time_questions(statevec::State& state);

}  // namespace tilewave::simulate
