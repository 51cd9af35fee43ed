// One call that runs a circuit and returns what was asked about it.
//
// Measurements that nothing depends on are deferred to the end: such a circuit is simulated once
// and its shots are drawn from the final state. Circuits that measure, reset or branch in the
// middle run with their shots grouped by outcome (see branches.h). Nothing is printed; memory is
// checked before it is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilewave/base/complex.h"
#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/noise_model.h"
#include "tilewave/circuit/pauli.h"
#include "tilewave/settings/device.h"
#include "tilewave/settings/names.h"
#include "tilewave/simulate/checkpoint/keeper.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/simulate/qubit_map.h"
#include "tilewave/simulate/session.h"
#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

/// Basis states [first, first + count).
struct IndexRange {
  std::uint64_t first = 0;
  std::uint64_t count = 1;
};

struct Options {
  /// Without shots, and where nothing else is asked, a state is made for its norm and its times, but
  /// not where the stabilizer engine would draw shots, nor of a noisy circuit, nor for record_shots.
  std::uint64_t shots = 0;
  std::optional<std::uint64_t> seed;  ///< drawn from the operating system when unset
  statevec::Precision precision = statevec::Precision::kDouble;
  int num_threads = 0;  ///< 0: OpenMP's default
  DeviceSet device;
  Engine engine = Engine::kAuto;
  std::shared_ptr<const circuit::NoiseModel> noise;  ///< null: none
  Distribution distribution;  ///< with processes, all of them make the same call

  /// The state that runs begin in, of norm 1: all 2^n amplitudes in the order of basis states, which
  /// whoever makes the call keeps alive, or a .npy file of them. Neither: |0...0>.
  std::span<const cplx> initial_state;
  std::string initial_state_path;
  bool from_zeros() const { return initial_state.empty() && initial_state_path.empty(); }

  std::vector<IndexRange> amplitudes;
  bool probabilities = false;
  std::vector<circuit::Qubit> probability_qubits;  ///< empty: all; otherwise jointly too
  circuit::WidePauliSum observables;
  /// Whether there is a question whose answer is a mean over what is measured and drawn.
  bool asks_means() const { return probabilities || !observables.empty(); }
  std::string state_path;    ///< .npy file for the final state; empty: none
  bool writes_state = true;  ///< false in a run that is repeated: the last one writes the file

  bool explain = false;       ///< fill Result::plan.text
  bool dry_run = false;       ///< stop after planning
  std::string topology_path;  ///< plan for the machine of this file (topology.h); needs dry_run
  bool record_shots = false;  ///< fill Result::shot_bits
  bool record_steps = false;  ///< fill Result::steps; those of a dry run are predicted
  CheckpointOptions checkpoint;
  /// How much planning the run is worth.
  Effort effort = Effort::kAuto;
  std::shared_ptr<Session> session;  ///< null: that of the process
  Session& used_session() const { return session ? *session : *Session::of_process(); }
  /// What the states of a device share stays for later runs, and a state itself up to this share of
  /// the device's memory.
  bool keeps_device_memory = false;
  double spare_device_share = 0.25;
  /// Called now and then while the circuit runs.
  std::function<void(double fraction, double remaining_s)> on_progress;
};

/// A run with more steps keeps the first of them only.
constexpr std::size_t kMaxSteps = 4096;

/// How many trajectories answer where no shots are asked for.
constexpr std::uint64_t kDefaultTrajectories = 1000;

/// A list longer than this gets no joint distribution.
constexpr std::size_t kMaxJointQubits = 20;

struct Amplitude {
  std::uint64_t index = 0;
  cplx value;
};

struct PlanSummary {
  std::uint64_t passes = 0;
  std::uint64_t gates = 0;
  double bytes = 0;
  double flops = 0;
  double predicted_s = 0;
  std::uint64_t exchanges = 0;    ///< between ranks
  double exchange_bytes = 0;      ///< sent by all ranks together
  Effort effort = Effort::kOnce;  ///< the most that any plan of the run had
  std::string predicted_for;      ///< of a dry run: what is predicted, "the run", "one shot", or
                                  ///< "one shot without errors" of trajectories
  std::string text;               ///< the printed plans of what ran, when asked for

  /// Adds what one plan does; neither its text nor its effort.
  void add(const statevec::Plan& plan);
};

struct Timings {
  double parse_s = 0;  ///< filled by whoever read the circuit
  double plan_s = 0;
  double execute_s = 0;
  double observe_s = 0;
};

/// One kind of step over a whole run.
struct StepProfile {
  std::uint64_t calls = 0;
  double predicted_s = 0;
  double min_s = 0, max_s = 0, total_s = 0;
  double bytes = 0;

  void add(double measured_s, double predicted, double num_bytes);
};

struct Result {
  std::uint32_t num_qubits = 0;
  statevec::Precision precision = statevec::Precision::kDouble;
  std::string engine = "statevector";  ///< or "stabilizer" (no norm), "density", "trajectories"
  std::string engine_choice;           ///< why this engine runs a noisy circuit, with the costs
  bool has_magic = false;              ///< the stabilizer engine ran gates beyond Clifford
  std::string device;
  std::string transport;  ///< how its parts reach each other and why so; may be empty
  std::uint64_t seed = 0;
  std::uint64_t shots = 0;
  /// Classical registers, the last declared leftmost, separated by blanks; the highest bit of a
  /// register is its leftmost character. All qubits, highest first, when nothing is measured.
  std::map<std::string, std::uint64_t> counts;
  /// Every shot in order: shot_words 64-bit words, classical bit k (or qubit k, when nothing is
  /// measured) is bit k % 64 of word k / 64.
  std::vector<std::uint64_t> shot_bits;
  std::uint32_t shot_words = 0;
  std::uint32_t num_shot_bits = 0;
  std::vector<double> probabilities;        ///< P(qubit = 1), of all or of the chosen qubits
  std::vector<double> joint_probabilities;  ///< bit j of an index is the j-th chosen qubit
  std::vector<Amplitude> amplitudes;
  std::vector<double> expectations;  ///< coefficient times <P>, a term
  double expectation_sum = 0;
  /// Of means over trajectories, and over shots of a circuit that measures or resets in the middle:
  /// standard errors, one a number above, NaN for a single shot; empty where it is exact.
  std::vector<double> probability_errors, expectation_errors;
  double expectation_sum_error = 0;
  std::uint64_t num_trajectories = 0;  ///< 0: not that engine
  double norm = 0;                     ///< sum of |amplitude|^2 as found
  /// Ones of a qubit among the shots against its exact probability: the largest difference in
  /// standard deviations, near 2 in a sound run. 0 where no shots are drawn from final states.
  double shot_deviation = 0;
  std::uint64_t memory_bytes = 0;  ///< of all ranks together
  int num_ranks = 1;
  std::uint64_t num_branches = 0;  ///< final states that were simulated
  PlanSummary plan;
  Timings timings;
  std::map<std::string, StepProfile> profile;
  std::vector<statevec::StepTime> steps;  ///< in order, as they ran
  std::vector<std::string> warnings;
  /// Why the file of Options::state_path was not written, for whoever has shown the rest; empty
  /// where it was.
  std::string state_error;
  /// Of a run that kept checkpoints: to be removed when its answer is safe.
  std::shared_ptr<Keeper> keeper;
};

/// Runs the circuit. Throws Error(kResources) when the state does not fit (before any allocation),
/// Error(kUsage) for questions the circuit has no answer to, Error(kVerification) when the state
/// turns out not to be finite, Stopped where options.checkpoint.asked said so.
Result simulate(const circuit::Circuit& circuit, const Options& options);

/// The state of the touched qubits of a register; `qubits` answers about the register.
struct FinalState {
  std::unique_ptr<statevec::State> state;
  QubitMap qubits;
};

/// The final state of a circuit whose trailing measurements are left out; of one shot, when it
/// measures or resets in the middle. Reads precision, num_threads, device, seed and plans of the
/// options. `whole`: of every qubit, planned for a caller that takes the amplitudes. Throws as
/// simulate() does, and Error(kUsage) for a circuit with noise channels.
FinalState final_state(const circuit::Circuit& circuit, const Options& options, bool whole = false);

/// Writes the amplitudes of the whole register to `to`, which has 2^n zeros: those of qubits that
/// no gate touched stay.
void copy_amplitudes(FinalState& final, std::span<std::complex<double>> to);

/// Gives away the amplitudes of the whole register; the state can answer nothing more. Throws
/// Error(kResources) where they do not fit.
runtime::HostBuffer take_amplitudes(FinalState& final);

/// The density matrix at the end, element (row, column) at row + column 2^n, of a circuit that does
/// not measure in the middle; reads noise and what final_state() reads. Throws Error(kUsage) where
/// it measures, Error(kResources) where 4^n elements do not fit.
std::unique_ptr<statevec::State> final_density(const circuit::Circuit& circuit,
                                               const Options& options);

}  // namespace tilewave::simulate
