// The record of a register's calls as OpenQASM 2 text. It uses the gates of the language's
// qelib1.inc alone (those of its authors; later versions have more); gates under more controls than
// these have are made of gates that the text defines (qasm_controls.h). What the language cannot
// say, general matrices on several qubits, becomes a comment that names it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tilewave/base/complex.h"
#include "tilewave/circuit/circuit.h"

namespace tilewave::quest {

class QasmLog {
 public:
  explicit QasmLog(int num_qubits) : num_qubits_(num_qubits) {}

  bool is_recording() const { return is_recording_; }
  void start() { is_recording_ = true; }
  void stop() { is_recording_ = false; }
  void clear() {
    body_.clear();
    most_controls_ = 0;
  }

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
  void write(const std::string& name, std::span<const double> params,
             std::span<const circuit::Qubit> qubits);
  void write_phase(double angle, std::span<const circuit::Qubit> qubits);
  void write_controlled(std::span<const circuit::Qubit> controls, circuit::Qubit target,
                        std::span<const cplx> m);
  void flip_zero_controls(std::span<const circuit::Qubit> controls, std::uint64_t values);

  int num_qubits_;
  bool is_recording_ = false;
  std::string body_;
  int most_controls_ = 0;  // of a phase, which are as many gates to define
};

}  // namespace tilewave::quest
