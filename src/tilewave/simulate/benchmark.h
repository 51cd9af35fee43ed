// How fast a circuit runs: planning plus execution on a state already allocated and touched, ended
// by a synchronisation; medians after warm-up. The input is |0...0>, whose known zeros the planner
// uses, or a random product state prepared outside the timed part, about which it knows nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/settings/names.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

enum class BenchInput : std::uint8_t { kArbitrary, kZeros };

struct BenchOptions {
  statevec::Precision precision = statevec::Precision::kDouble;
  int num_threads = 0;
  DeviceSet device;
  Distribution distribution;
  int repeats = 7;
  int warmup = 1;  ///< runs between the first one and those that count
  Effort effort = Effort::kAuto;
};

struct BenchResult {
  BenchInput input = BenchInput::kArbitrary;
  std::string device;
  std::uint64_t gates = 0;
  std::uint64_t passes = 0;
  double bytes = 0;  ///< read + written by all passes
  double flops = 0;
  double predicted_s = 0;
  std::uint64_t exchanges = 0;
  double exchange_bytes = 0;    ///< sent by all ranks together
  double first_s = 0;           ///< planning plus execution of the first run
  double plan_s = 0;            ///< median of repeated runs
  double median_s = 0;          ///< planning plus execution
  std::vector<double> times_s;  ///< every repeat, in order
  /// Passes alone, timed one by one in a run of its own: seconds and bytes each.
  std::vector<statevec::StepTime> pass_times;
  double norm = 0;  ///< of the state at the end
};

/// Every qubit somewhere on the Bloch sphere, away from the poles: 2 amplitudes each.
std::vector<cplx> random_product_state(std::uint32_t num_qubits);

/// Runs a unitary circuit (trailing measurements are left out) on one state for each input in turn.
/// Throws Error(kUsage) when it measures or resets in the middle, Error(kVerification) when the
/// norm is lost.
std::vector<BenchResult> benchmark(const circuit::Circuit& circuit,
                                   const std::vector<BenchInput>& inputs,
                                   const BenchOptions& options);

/// Floors that a plan cannot flatter: the passes a crude greedy planner needs for known circuits with
/// 12 active qubits, rows of 128 bytes and a free permutation on store, and where arithmetic takes
/// longer than memory its time on an H200 (33 TFLOP/s in double, 61 in single precision).
struct CircuitFloor {
  int passes = 0;
  double h200_arithmetic_s = 0;  ///< 0: less than the passes
};

/// Of "<family>_30" and the contest circuits; none for others.
std::optional<CircuitFloor> circuit_floor(std::string_view name, statevec::Precision precision);

}  // namespace tilewave::simulate
