// What tuning asks of an engine: how its numbers are found from measured passes, and what they predict.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewave/simulate/tune/timing.h"
#include "tilewave/statevec/rates/probes.h"
#include "tilewave/statevec/rates/rates_file.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

/// A pass that was timed.
struct TimedPass {
  std::string name;
  double seconds = 0;
  double state_bytes = 0;
  std::vector<double> terms;    ///< StepTime::terms
  std::vector<double> actions;  ///< the same of its plan, where the engine predicts by both
};

/// The probes of one precision: those over a state that no cache holds, and what engines measure
/// apart.
struct Probes {
  std::vector<TimedPass> passes;
  double spread = 0;  ///< median over them
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual statevec::rates::Kind kind() const = 0;
  virtual std::string device() const = 0;
  virtual std::string machine() const = 0;
  virtual int threads() const = 0;
  virtual std::span<const statevec::rates::NumberInfo> list() const = 0;
  virtual std::unique_ptr<statevec::State> make_state(int num_qubits,
                                                      statevec::Precision precision) const = 0;
  /// The largest states of probes and of the check that fit.
  virtual int most_qubits(statevec::Precision precision) const = 0;
  /// Times the probes and what else is measured directly.
  virtual Probes probe(statevec::Precision precision, int num_qubits) = 0;
  /// TimedPass::actions of a pass that has `terms`: empty where the engine predicts by these alone.
  virtual std::vector<double> actions_of(const statevec::Plan& /*plan*/,
                                         const statevec::Pass& /*pass*/,
                                         const std::vector<double>& /*terms*/) const {
    return {};
  }
  /// The passes of a plan as they were timed.
  std::vector<TimedPass> passes_of(const std::string& name, const statevec::Plan& plan,
                                   const PlanTiming& timing) const {
    const double bytes =
        std::ldexp(static_cast<double>(amplitude_bytes(plan.precision)), plan.num_qubits);
    std::vector<TimedPass> out;
    for (std::size_t p = 0; p < timing.passes.size(); ++p) {
      const std::vector<double>& terms = timing.passes[p].terms;
      out.push_back(
          {name, timing.passes[p].seconds, bytes, terms, actions_of(plan, plan.passes[p], terms)});
    }
    return out;
  }
  /// The numbers that agree with all passes, in the order of the list; after probe() of that
  /// precision.
  virtual std::vector<double> fit(statevec::Precision precision,
                                  std::span<const TimedPass> passes) const = 0;
  /// Seconds that numbers predict for a pass.
  virtual double predict(std::span<const double> numbers, const TimedPass& pass) const = 0;
};

std::unique_ptr<Engine> make_cpu_engine();
/// Throws Error(kResources) where there is no such device.
std::unique_ptr<Engine> make_cuda_engine(int device);

}  // namespace tilewave::simulate
