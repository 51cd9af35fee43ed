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
  /// auto, cpu, cuda, cuda:<index>, cuda:<first>-<last> or cuda:<index>,<index>
  std::string device = "auto";
  Precision precision = Precision::kDouble;
  int threads = 0;  ///< on the CPU; 0: OMP_NUM_THREADS, or all cores
};

/// What a circuit is asked. Whatever is left out is not computed.
struct Questions {
  std::uint64_t shots = 0;
  std::optional<std::uint64_t> seed;      ///< of the shots; drawn where it is not given
  bool probabilities = false;             ///< P(qubit = 1) of every qubit
  std::vector<Qubit> joint;               ///< and of all outcomes of these, at most 20
  std::vector<std::uint64_t> amplitudes;  ///< of these basis states
  /// Pauli strings with coefficients, "0.5 ZZI + 0.2 X0 Y3": dense with the rightmost character on
  /// qubit 0, or sparse. Empty: none.
  std::string observable;
  Engine engine = Engine::kAuto;
  bool explain = false;  ///< fill Result::plan_text
};

struct Result {
  /// Classical registers (all qubits where nothing is measured), the highest bit leftmost.
  std::map<std::string, std::uint64_t> counts;
  std::vector<double> probabilities;
  std::vector<double> joint_probabilities;  ///< bit j of an index is joint[j]
  std::vector<std::pair<std::uint64_t, std::complex<double>>> amplitudes;
  std::vector<double> expectations;  ///< coefficient times <P>, for each term
  double expectation = 0;            ///< their sum
  double norm = 0;                   ///< sum of |amplitude|^2 as found
  std::uint64_t seed = 0;
  std::string engine, device;
  std::uint64_t passes = 0;  ///< over the state
  std::string plan_text;     ///< the plans that ran, as explain() prints them; only when asked for
  Effort effort = Effort::kOnce;
  double plan_s = 0, execute_s = 0, observe_s = 0;
  std::uint64_t memory_bytes = 0;
  std::vector<std::string> warnings;
};

class Session;

/// A circuit that was planned for a session's device. Safe to use from several threads: each of
/// their runs has a state of its own.
class Executable {
 public:
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;
  ~Executable();

  /// The passes that run() makes, as a table, with bytes, operations and predicted time.
  std::string explain();
  /// Throws Error(kUsage) for questions that the circuit cannot answer, Error(kResources) where the
  /// state does not fit, Error(kVerification) where a result fails its check.
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
  explicit Session(const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Plans the circuit now. kAuto searches for fewer passes, as for a circuit that will run again.
  /// Throws Error(kUsage), Error(kInput) or Error(kResources) for a circuit that no device of this
  /// kind can run; whether there is memory for its state shows when it runs.
  Executable compile(const Circuit& circuit, Effort effort = Effort::kAuto);
  /// Compiles and runs once.
  Result run(const Circuit& circuit, const Questions& questions = {});
  /// Forgets all plans.
  void clear();

 private:
  friend class Executable;
  struct Data;
  std::shared_ptr<Data> data_;
};

}  // namespace tilewave
