// Times of plans on a state, pass by pass, for tune.h.
#pragma once

#include <functional>
#include <vector>

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

/// Runs the plan once and `repeats` times more, each after `prepare`, ended by a synchronisation.
PlanTiming time_plan(statevec::State& state, const statevec::Plan& plan,
                     const std::function<void()>& prepare, int repeats);

/// Several plans in turns, so that what disturbs the machine for a moment disturbs them alike; they
/// leave the state ready for each other.
std::vector<PlanTiming> time_in_turns(statevec::State& state,
                                      const std::vector<statevec::Plan>& plans, int repeats);

}  // namespace tilewave::simulate
