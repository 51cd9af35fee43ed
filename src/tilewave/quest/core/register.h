// A register of qubits behind the C API: a state and the calls that wait to be run on it.
//
// Gates are appended to a circuit and run when something is observed or many are waiting. A
// density matrix of n qubits is a state of 2n qubits, element (row, column) at row + column 2^n: a
// gate U acts as U on qubit q and conj(U) on q + n; a channel is a superoperator on both.
//
// Where several processes share the run, everything that looks at a state or runs what waits is
// collective: it begins with meet(), where the processes find out whether they do the same, and
// what others wrote to their arrays. Registers too small to be shared are held whole by each
// process and are still shown to the program in shares.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tilewave/base/complex.h"
#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/pauli.h"
#include "tilewave/quest/core/mirror.h"
#include "tilewave/quest/core/qasm_log.h"
#include "tilewave/statevec/state.h"
#include "tilewave/statevec/sweep.h"

namespace tilewave::quest {

using circuit::GateId;
using circuit::Qubit;

/// Which sides of a density matrix an operator multiplies; a state vector has only one.
enum class Sides : std::uint8_t { kLeft, kBoth };

/// Controls with the values they act on.
struct Controls {
  std::span<const Qubit> qubits = {};
  std::uint64_t values = ~std::uint64_t{0};
};

class Register {
 public:
  Register(int num_qubits, bool is_density, statevec::Precision precision);
  Register(const Register&) = delete;
  Register& operator=(const Register&) = delete;

  int num_qubits() const { return num_qubits_; }
  bool is_density() const { return is_density_; }
  int num_state_qubits() const { return is_density_ ? 2 * num_qubits_ : num_qubits_; }
  std::uint64_t num_amplitudes() const { return std::uint64_t{1} << num_state_qubits(); }
  std::uint64_t dimension() const { return std::uint64_t{1} << num_qubits_; }
  statevec::Precision precision() const { return precision_; }
  Mirror& mirror() { return mirror_; }
  QasmLog& log() { return log_; }

  // ---- changes, recorded ----
  void gate(GateId gate, Controls controls, std::span<const Qubit> targets,
            std::span<const double> params = {}, Sides sides = Sides::kBoth);
  void matrix(Controls controls, std::span<const Qubit> targets, std::vector<cplx> m,
              Sides sides = Sides::kBoth);
  /// A linear map of density matrices: 16^k entries; bits [0, k) of an index are the targets of the
  /// row, [k, 2k) those of the column.
  void superoperator(std::span<const Qubit> targets, std::vector<cplx> s);
  void set_basis_state(std::uint64_t index);
  void set_plus_state();

  // ---- changes, at once ----
  // (sweeps of the state that settled_for_change and cleared_for_change give)
  void set_blank();
  /// The state with everything applied, in the order of basis states, about to be changed.
  statevec::State& settled_for_change();
  /// The same with zeros everywhere.
  statevec::State& cleared_for_change();
  /// Amplitudes [first, first + count) become real(k) + i imag(k).
  void assign(std::uint64_t first, std::uint64_t count,
              const std::function<cplx(std::uint64_t k)>& value);
  void clone_from(Register& other);
  /// Projects on an outcome; amplitudes are multiplied by `scale`.
  void collapse(Qubit qubit, int outcome, double scale);

  // ---- observation ----
  /// The state with everything applied.
  statevec::State& state();
  /// The same in the order of basis states, each process with its own.
  statevec::State& settled();
  /// After this, looking at the arrays of this process needs no other process.
  void sync();
  /// The amplitudes the arrays show: all, or the share of this process.
  statevec::State::Range share_shown() const;
  /// Calls f(first, amplitudes) for all that is shown, block by block, after sync(): several blocks
  /// at once where that helps.
  void for_each_shown(const std::function<void(std::uint64_t, std::span<const cplx>)>& f,
                      bool in_order = false);
  /// Makes an answer the same on all processes where each has the whole register.
  void share(void* answer, std::size_t num_bytes) const;
  /// True where the state itself, not only what is shown, is divided among processes.
  bool is_divided() const { return is_divided_; }
  /// Sum of |amplitude|^2, cached.
  double norm();
  /// Diagonal of a density matrix, cached.
  const std::vector<cplx>& diagonal();
  double total_probability();
  /// P(qubit = outcome): of outcome 0 the sum over its amplitudes, of outcome 1 the rest to 1.
  double probability(Qubit qubit, int outcome);
  std::vector<double> probabilities(std::span<const Qubit> qubits);
  cplx amplitude(std::uint64_t index);
  std::vector<cplx> all_amplitudes();
  /// Expectations of Pauli strings without their coefficients.
  std::vector<double> expectations(const circuit::PauliSum& sum);

  /// Takes over what the program wrote to the arrays.
  void take_writes() {
    if (mirror_.is_dirty()) upload();
  }

 private:
  void upload();
  void forget_answers();
  void changed();
  bool apply_now(Controls controls, std::span<const Qubit> targets, std::span<const cplx> m);
  void meet();
  void take_over(const std::vector<std::uint64_t>& writers);
  void flush();
  void limit_pending();
  void copy_to_arrays(void* real, void* imag);
  void append_sides(Controls controls, std::span<const Qubit> targets, std::vector<cplx> m,
                    Sides sides);
  void append_matrix(Controls controls, std::span<const Qubit> targets, std::vector<cplx> m);
  void apply_wide(Controls controls, std::span<const Qubit> targets, const std::vector<cplx>& m);
  void apply_gathered(Controls controls, std::span<const Qubit> targets,
                      const std::vector<cplx>& m);
  void restart();
  void drop_pending();

  int num_qubits_;
  bool is_density_;
  statevec::Precision precision_;
  std::unique_ptr<statevec::State> state_;
  circuit::Circuit pending_;
  std::uint64_t pending_bytes_ = 0;  // of matrices
  bool is_fresh_ = false;            // the state is to be |0...0> before pending_
  // answers until the state changes
  double norm_ = -1;
  std::vector<cplx> diagonal_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> strings_;  // by their masks x and z
  std::vector<cplx> window_;  // amplitudes from window_first_ on
  std::uint64_t window_first_ = 0, last_asked_ = ~std::uint64_t{0} - 1;
  bool is_divided_ = false;
  bool is_tiny_ = false;  // changes happen at once: nothing waits but the way to a first state
  std::size_t shard_qubits_ = 0;      // of what a rank or device holds
  bool is_synced_ = false;            // arrays can be filled without other processes
  std::uint64_t id_ = 0, calls_ = 0;  // the same on all processes
  bool wrote_ = false;                // this process wrote to its arrays since the last meeting
  std::vector<cplx> written_;         // what it wrote, where the register is not divided
  Mirror mirror_;
  QasmLog log_;
};

/// How many amplitudes to take from or give to a state at once.
inline std::uint64_t transfer_size(const statevec::State& state) {
  return std::uint64_t{1} << (state.host_threads() > 1 ? 12 : 18);  // a core's cache; a device
}

/// Complex numbers as two arrays.
class Parts {
 public:
  explicit Parts(const std::vector<cplx>& values);
  statevec::Table table() const;

 private:
  std::vector<double> re_, im_;
};

}  // namespace tilewave::quest
