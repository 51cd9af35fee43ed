// Running circuits: a Session plans and remembers, an Executable is a circuit that was planned.
//
//   tilewave::Session session;
//   auto bell = session.compile(tilewave::Circuit(2).h(0).cx(0, 1).measure_all());
//   tilewave::Result r = bell.run({.shots = 1000});
#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tilewave/circuit.h"
#include "tilewave/settings.h"

namespace tilewave {

/// Where and how the circuits of a session run.
struct SessionOptions {
  /// `auto`, `cpu`, `cuda`, `cuda:<index>`, `cuda:<first>-<last>` or `cuda:<index>,<index>`.
  std::string device = "auto";
  Precision precision = Precision::kDouble;  ///< of the amplitudes
  int threads = 0;                           ///< on the CPU; 0: OMP_NUM_THREADS, or all cores
};

/// What a circuit is asked. Whatever is left out is not computed.
struct Questions {
  std::uint64_t shots = 0;                ///< how often the circuit is measured, for counts
  std::optional<std::uint64_t> seed;      ///< of the shots; drawn where it is not given
  bool probabilities = false;             ///< P(qubit = 1) of every qubit
  std::vector<Qubit> joint;               ///< P of every joint outcome of these, at most 20
  std::vector<std::uint64_t> amplitudes;  ///< of these basis states
  /// Pauli strings with coefficients, "0.5 ZZI + 0.2 X0 Y3": dense with the rightmost character on
  /// qubit 0, or sparse. Empty: none.
  std::string observable;
  Engine engine = Engine::kAuto;  ///< what computes the answers
  /// A .npy file of 2^n complex numbers of norm 1 that the run begins in, number x the amplitude of
  /// basis state x; empty: |0...0>.
  std::string initial_state_file;
  std::string state_file;  ///< the final state is written to this .npy file; empty: to none
  /// The folder in which the run keeps what it has, to go on with after a crash; empty: it keeps
  /// nothing. Files, refusals and what a resumed run gives are those of `tilewave run
  /// --checkpoint` (docs/checkpoints.md). When the answer is returned the checkpoint is removed.
  std::string checkpoint;
  double checkpoint_every_s = 600;  ///< seconds from one checkpoint to the next, above 0
  /// The folder of the checkpoint to go on with; while it holds none and is the folder of
  /// `checkpoint` too, the run begins. Empty: begins.
  std::string resume;
  bool explain = false;  ///< fill Result::plan_text
};

/// The answers to Questions, and how they were found. What was not asked for is empty.
struct Result {
  /// How many shots had each outcome. An outcome is the classical registers (all qubits where
  /// nothing is measured), the highest bit leftmost.
  std::map<std::string, std::uint64_t> counts;
  /// P(qubit = 1) of every qubit, or of those of Questions::joint where it is given.
  std::vector<double> probabilities;
  /// P of the 2^joint.size() outcomes; bit j of an index is the outcome of Questions::joint[j].
  std::vector<double> joint_probabilities;
  /// The basis states that were asked for, in that order, each with its amplitude.
  std::vector<std::pair<std::uint64_t, std::complex<double>>> amplitudes;
  std::vector<double> expectations;   ///< coefficient times the expectation of each Pauli string
  double expectation = 0;             ///< their sum
  double norm = 0;                    ///< sum of |amplitude|^2 as found
  std::uint64_t seed = 0;             ///< that was used, given or drawn
  std::string engine;                 ///< that ran: statevector, stabilizer, density, trajectories
  std::string device;                 ///< where it ran
  std::uint64_t passes = 0;           ///< over the state
  std::string plan_text;              ///< the plans that ran, as explain() prints them
  Effort effort = Effort::kOnce;      ///< the most that any plan of the run had
  double plan_s = 0;                  ///< seconds for planning
  double execute_s = 0;               ///< seconds for the gates
  double observe_s = 0;               ///< seconds for the answers
  std::uint64_t memory_bytes = 0;     ///< of the state and what the run needs beside it
  std::vector<std::string> warnings;  ///< each a sentence
};

class Session;

/// A circuit that was planned for a session's device. Safe to use from several threads: each of
/// their runs has a state of its own.
class Executable {
 public:
  /// Takes the circuit of another executable, which then may only be assigned to or destroyed.
  Executable(Executable&&) noexcept;
  /// Takes the circuit of another executable, which then may only be assigned to or destroyed.
  Executable& operator=(Executable&&) noexcept;
  /// Forgets the circuit; its plan stays in the session.
  ~Executable();

  /// The passes that run() makes, as a table, with bytes, operations and predicted time.
  std::string explain();
  /// Runs the circuit and answers the questions. Throws Error(kUsage) for questions that the circuit
  /// cannot answer, for joint outcomes of more than 20 qubits and for a checkpoint of another run,
  /// Error(kInput) for an observable, a state or a checkpoint that cannot be read or is damaged, Error(kResources) where the state does not fit
  /// or a file cannot be written, Error(kVerification) where a result fails its check.
  Result run(const Questions& questions = {});
  /// All 2^n amplitudes at the end, in order of basis states; of a circuit that measures in the
  /// middle, those of one shot. Throws Error(kResources) where they do not fit into memory.
  std::vector<std::complex<double>> statevector(std::optional<std::uint64_t> seed = {});

 private:
  friend class Session;
  struct Data;
  explicit Executable(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

/// Plans circuits and remembers what it planned. Safe to use from several threads.
class Session {
 public:
  /// A session without plans. Throws Error(kUsage) for a device of no known form and for threads
  /// out of 0 to 4096.
  explicit Session(const SessionOptions& options = {});
  /// Takes the plans of another session, which then may only be assigned to or destroyed.
  Session(Session&&) noexcept;
  /// Takes the plans of another session, which then may only be assigned to or destroyed.
  Session& operator=(Session&&) noexcept;
  /// Ends the session; its executables keep what they need.
  ~Session();

  /// Plans the circuit now. kAuto searches for fewer passes, as for a circuit that will run again.
  /// Throws Error(kUsage), Error(kInput) or Error(kResources) for a circuit that no device of this
  /// kind can run; whether there is memory for its state shows when it runs.
  Executable compile(const Circuit& circuit, Effort effort = Effort::kAuto);
  /// Plans the circuit, unless its plan is remembered, and runs it once. Throws what compile() and
  /// Executable::run() throw.
  Result run(const Circuit& circuit, const Questions& questions = {});
  /// Forgets all plans and gives back the memory that it keeps; what runs now is not disturbed.
  void clear();

 private:
  friend class Executable;
  struct Data;
  std::shared_ptr<Data> data_;
};

}  // namespace tilewave
