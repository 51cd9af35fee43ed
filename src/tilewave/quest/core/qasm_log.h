// The record of a register's calls as OpenQASM 2 text. What the language cannot say (general
// matrices on several qubits, more controls than its gates have) becomes a comment that names it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tilewave/base/complex.h"
#include "tilewave/circuit/circuit.h"

namespace tilewave::quest {

class QasmLog {
 public:
  explicit QasmLog(int num_qubits) : num_qubits_(num_qubits) {}

  bool is_recording() const { return is_recording_; }
  void start() { is_recording_ = true; }
  void stop() { is_recording_ = false; }
  void clear() { body_.clear(); }

  void gate(circuit::GateId gate, std::span<const circuit::Qubit> controls,
            std::uint64_t control_values, std::span<const circuit::Qubit> targets,
            std::span<const double> params);
  void matrix(std::span<const circuit::Qubit> controls, std::uint64_t control_values,
              std::span<const circuit::Qubit> targets, std::span<const cplx> m);
  void basis_state(std::uint64_t index);
  void plus_state();
  void measure(circuit::Qubit qubit);
  void comment(const std::string& text);

  /// The whole program.
  std::string text() const;

 private:
  void flip_zero_controls(std::span<const circuit::Qubit> controls, std::uint64_t values);

  int num_qubits_;
  bool is_recording_ = false;
  std::string body_;
};

}  // namespace tilewave::quest
