// A register of qubits behind the C API: a state and the calls that wait to be run on it.
//
// Gates are appended to a circuit and run when something is observed or kMaxPending are waiting. A
// density matrix of n qubits is a state of 2n qubits, element (row, column) at row + column 2^n: a
// gate U acts as U on qubit q and conj(U) on q + n; a channel is a superoperator on both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewave/base/complex.h"
#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/pauli.h"
#include "tilewave/quest/core/mirror.h"
#include "tilewave/quest/core/qasm_log.h"
#include "tilewave/statevec/state.h"

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
  void set_blank();
  /// f may rewrite every amplitude; see State::update_blocks.
  void update(const std::function<void(std::uint64_t first, std::span<cplx>)>& f);
  void clone_from(Register& other);
  /// Projects on an outcome; amplitudes are multiplied by `scale`.
  void collapse(Qubit qubit, int outcome, double scale);

  // ---- observation ----
  /// The state with everything applied.
  statevec::State& state();
  /// Sum of |amplitude|^2, cached.
  double norm();
  /// Diagonal of a density matrix, cached.
  const std::vector<cplx>& diagonal();
  double total_probability();
  /// P(qubit = outcome), not normalised.
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
  void changed();
  void append_matrix(Controls controls, std::span<const Qubit> targets, std::vector<cplx> m);
  void apply_wide(Controls controls, std::span<const Qubit> targets, const std::vector<cplx>& m);
  void restart();

  int num_qubits_;
  bool is_density_;
  statevec::Precision precision_;
  std::unique_ptr<statevec::State> state_;
  circuit::Circuit pending_;
  bool is_fresh_ = false;  // the state is to be |0...0> before pending_
  double norm_ = -1;
  std::vector<cplx> diagonal_;
  Mirror mirror_;
  QasmLog log_;
};

}  // namespace tilewave::quest
