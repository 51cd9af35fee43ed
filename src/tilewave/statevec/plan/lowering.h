// The state of a rewriting from gates to actions: what is pending on which wire (lower.cc), and the
// rule of each kind of gate (lower_gates.cc).
#pragma once

#include <span>
#include <vector>

#include "tilewave/statevec/plan/lower.h"
#include "tilewave/statevec/plan/matrix2.h"
#include "tilewave/statevec/plan/phase_state.h"

namespace tilewave::statevec::detail {

class Lowering {
 public:
  Lowering(int num_qubits, std::uint64_t flips, std::uint64_t zero_wires)
      : n_(num_qubits),
        flips_(flips),
        zero_(zero_wires),
        d_(num_qubits),
        pending_(num_qubits),
        turns_before_(num_qubits),
        last_any_(num_qubits, -1),
        last_x_(num_qubits, -1) {
    wire_of_.resize(n_);
    for (int q = 0; q < n_; ++q) wire_of_[q] = static_cast<std::uint8_t>(q);
  }

  void apply_matrix(std::span<const circuit::Qubit> controls, std::uint64_t control_values,
                    std::span<const circuit::Qubit> targets, std::vector<cplx> m);
  Lowered finish();

 private:
  bool has_pending(int w) const { return pending_mask_ >> w & 1; }
  void add_phase(std::uint64_t mask, std::uint64_t turns) {
    if (!(mask & zero_)) d_.add(mask, turns);
  }
  // phase when all of mask are 1 and the controls hold their values (negative ones expanded)
  void add_controlled_phase(std::uint64_t mask, std::uint64_t turns, std::uint64_t negative);
  void apply_diagonal(std::span<const int> targets, std::span<const cplx> diag,
                      std::uint64_t positive, std::uint64_t negative);
  void apply_single(int w, const std::vector<cplx>& logical);
  void apply_controlled_single(int w, const Matrix2& u, std::uint64_t positive,
                               std::uint64_t negative);
  void apply_flip(int t, std::uint64_t positive, std::uint64_t negative);
  void apply_general(std::span<const int> targets, std::vector<cplx> m, std::uint64_t positive,
                     std::uint64_t negative);
  bool apply_affine_pair(std::span<const circuit::Qubit> qubits, const std::vector<cplx>& m);
  void write_pending(int w);
  void write_terms(int w);
  void write_phase(std::uint64_t mask, std::uint64_t turns);
  void write(Action action);
  void touch(int index, std::uint64_t x, std::uint64_t z);

  int n_;
  std::uint64_t flips_;
  std::uint64_t zero_;
  PhaseState d_;
  std::vector<Matrix2> pending_;
  std::vector<std::uint64_t> turns_before_;  // a phase that acts before it, exact
  std::uint64_t pending_mask_ = 0;
  std::vector<std::uint8_t> wire_of_;
  std::vector<int> last_any_, last_x_;
  // what last_any_ of (target, control) was before each flip with one control, to undo a cancelled
  // pair
  struct Before {
    int any_t, any_c, x_t;
  };
  std::vector<Before> before_;
  std::vector<bool> dead_;
  Lowered out_;
};

}  // namespace tilewave::statevec::detail
