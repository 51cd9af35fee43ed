// Quantum circuits: gates, matrices, measurements and resets on qubits and classical bits.
#pragma once

#include <complex>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tilewave/error.h"

namespace tilewave {

/// The index of a qubit, counted from 0. Qubit k is bit k of the index of a basis state.
using Qubit = std::uint32_t;
/// The index of a classical bit, counted from 0.
using Clbit = std::uint32_t;

/// An angle in radians: a number, or an affine expression of a circuit's parameters, which go by
/// their names. Numbers are angles; sums of angles, and products with numbers, are angles.
class Angle {
 public:
  /// A number.
  Angle(double value = 0) : constant_(value) {}
  /// A parameter. Throws Error(kInput) for an empty name.
  static Angle parameter(const std::string& name);

  /// What is left where all parameters are 0.
  double constant() const { return constant_; }
  /// The parameters and their coefficients, none of them 0.
  const std::vector<std::pair<std::string, double>>& terms() const { return terms_; }

  /// Adds an angle.
  Angle& operator+=(const Angle& other);
  /// Multiplies by a number.
  Angle& operator*=(double factor);

 private:
  double constant_;
  std::vector<std::pair<std::string, double>> terms_;
};

/// The sum of two angles.
inline Angle operator+(Angle a, const Angle& b) { return a += b; }
/// The difference of two angles.
inline Angle operator-(Angle a, const Angle& b) { return a += Angle(b) *= -1; }
/// The negative of an angle.
inline Angle operator-(Angle a) { return a *= -1; }
/// An angle times a number.
inline Angle operator*(Angle a, double factor) { return a *= factor; }
/// A number times an angle.
inline Angle operator*(double factor, Angle a) { return a *= factor; }
/// An angle divided by a number.
inline Angle operator/(Angle a, double divisor) { return a *= 1 / divisor; }

/// `count` parameters, name[0], name[1] and so on.
std::vector<Angle> parameters(const std::string& name, std::size_t count);

/// A list of operations on qubits and classical bits; a value, which can be copied. Qubit 0 is the
/// lowest bit of a basis state. Every call that adds something returns the circuit, so that calls
/// can follow each other; each throws Error(kInput) for qubits that do not exist or are named
/// twice, a wrong number of angles, and numbers that are not finite.
class Circuit {
 public:
  /// An empty circuit of `num_qubits` qubits in |0...0> and `num_clbits` classical bits, all 0.
  explicit Circuit(std::uint32_t num_qubits, std::uint32_t num_clbits = 0);
  /// Reads OpenQASM 2 or 3 or qsim's text format, told apart by content. Inputs of OpenQASM 3 of type
  /// float and angle become parameters. Throws Error(kInput) with line and column for a text that
  /// cannot be read. Without `include`, programs that include files are refused; the libraries
  /// of gates (qelib1.inc, stdgates.inc, hqslib1.inc) are part of the reader and always there.
  static Circuit from_text(std::string_view text, bool include = true);
  /// Reads a file as from_text() reads its text. Throws Error(kInput) for a file that cannot be
  /// read too. Included files are looked for beside it.
  static Circuit from_file(const std::string& path, bool include = true);

  /// A copy with operations of its own.
  Circuit(const Circuit& other);
  /// Takes the operations of `other`, which then may only be assigned to or destroyed.
  Circuit(Circuit&& other) noexcept;
  /// Becomes a copy of `other`.
  Circuit& operator=(const Circuit& other);
  /// Takes the operations of `other`, which then may only be assigned to or destroyed.
  Circuit& operator=(Circuit&& other) noexcept;
  /// Forgets the operations.
  ~Circuit();

  /// The number of qubits.
  std::uint32_t num_qubits() const;
  /// The number of classical bits.
  std::uint32_t num_clbits() const;
  /// The number of gates, matrices, measurements, resets and what else there is.
  std::size_t num_operations() const;
  /// The parameters that angles hold, in the order of their first use: the order of values. A
  /// circuit with some cannot run before it is bound; tilewave/function.h makes it a function of
  /// them.
  std::vector<std::string> parameters() const;
  /// The circuit with numbers for its parameters. Throws Error(kInput) for another number of values
  /// than parameters() has and for one that is not finite.
  Circuit bind(const std::vector<double>& values) const;

  /// Adds a gate by its OpenQASM name, on its controls and then its targets, with angles in
  /// radians. `tilewave help gates` lists all names. Throws Error(kInput) for other names.
  Circuit& gate(std::string_view name, std::initializer_list<Qubit> qubits,
                std::initializer_list<double> angles = {});
  /// The same with angles that may hold parameters. (A template, so that {} are no angles.)
  template <int = 0>
  Circuit& gate(std::string_view name, std::initializer_list<Qubit> qubits,
                std::initializer_list<Angle> angles) {
    return gate_of_angles(name, qubits, angles, {});
  }
  /// The same with any number of further controls, under which the gate acts where all are 1.
  Circuit& gate(std::string_view name, const std::vector<Qubit>& qubits,
                const std::vector<double>& angles = {}, const std::vector<Qubit>& controls = {});
  /// The same with angles that may hold parameters.
  template <int = 0>
  Circuit& gate(std::string_view name, const std::vector<Qubit>& qubits,
                const std::vector<Angle>& angles, const std::vector<Qubit>& controls = {}) {
    return gate_of_angles(name, qubits, angles, controls);
  }
  /// Adds a matrix on k = targets.size() <= 8 qubits: 4^k entries, row-major; bit j of an index is
  /// targets[j]. It acts where all of `controls` are 1. It need not be unitary: nothing is rescaled
  /// then. Throws Error(kInput) for another number of entries.
  Circuit& matrix(const std::vector<std::complex<double>>& entries,
                  const std::vector<Qubit>& targets, const std::vector<Qubit>& controls = {});
  /// The Hadamard gate.
  Circuit& h(Qubit q) { return gate("h", {q}); }
  /// Pauli X: exchanges |0> and |1>.
  Circuit& x(Qubit q) { return gate("x", {q}); }
  /// Pauli Y.
  Circuit& y(Qubit q) { return gate("y", {q}); }
  /// Pauli Z: multiplies |1> by -1.
  Circuit& z(Qubit q) { return gate("z", {q}); }
  /// Multiplies |1> by i.
  Circuit& s(Qubit q) { return gate("s", {q}); }
  /// Multiplies |1> by e^(i pi/4).
  Circuit& t(Qubit q) { return gate("t", {q}); }
  /// exp(-i angle/2 X), the angle in radians.
  Circuit& rx(const Angle& angle, Qubit q) { return gate("rx", {q}, {angle}); }
  /// exp(-i angle/2 Y), the angle in radians.
  Circuit& ry(const Angle& angle, Qubit q) { return gate("ry", {q}, {angle}); }
  /// exp(-i angle/2 Z), the angle in radians.
  Circuit& rz(const Angle& angle, Qubit q) { return gate("rz", {q}, {angle}); }
  /// X on the target where the control is 1.
  Circuit& cx(Qubit control, Qubit target) { return gate("cx", {control, target}); }
  /// Multiplies the states where both qubits are 1 by -1.
  Circuit& cz(Qubit a, Qubit b) { return gate("cz", {a, b}); }
  /// Multiplies the states where both qubits are 1 by e^(i angle), the angle in radians.
  Circuit& cp(const Angle& angle, Qubit a, Qubit b) { return gate("cp", {a, b}, {angle}); }
  /// Exchanges two qubits.
  Circuit& swap(Qubit a, Qubit b) { return gate("swap", {a, b}); }

  /// Measures a qubit in the Z basis, into a classical bit. Throws Error(kInput) where one of them
  /// does not exist.
  Circuit& measure(Qubit qubit, Clbit clbit);
  /// Measures every qubit k into classical bit k; adds the bits that are missing.
  Circuit& measure_all();
  /// Brings a qubit to |0>, whatever its state and what it is entangled with.
  Circuit& reset(Qubit qubit);

 private:
  friend struct Access;
  struct Data;
  explicit Circuit(std::unique_ptr<Data> data);
  Circuit& gate_of_angles(std::string_view name, const std::vector<Qubit>& qubits,
                          const std::vector<Angle>& angles, const std::vector<Qubit>& controls);
  std::unique_ptr<Data> data_;
};

}  // namespace tilewave
