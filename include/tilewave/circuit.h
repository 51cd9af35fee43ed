// Quantum circuits: gates, matrices, measurements and resets on qubits and classical bits.
#pragma once

#include <complex>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/error.h"

namespace tilewave {

using Qubit = std::uint32_t;
using Clbit = std::uint32_t;

/// Qubit 0 is the lowest bit of a basis state. Every call that adds something returns the circuit,
/// so that calls can follow each other; each throws Error(kInput) for qubits that do not exist or
/// are named twice, a wrong number of angles, and numbers that are not finite.
class Circuit {
 public:
  /// Of so many qubits in |0...0> and so many classical bits, all 0.
  explicit Circuit(std::uint32_t num_qubits, std::uint32_t num_clbits = 0);
  /// OpenQASM 2 or 3 or qsim's text format, told apart by content. Throws Error(kInput) with
  /// line and column. Without `include`, programs that include files are refused.
  static Circuit from_text(std::string_view text, bool include = true);
  static Circuit from_file(const std::string& path, bool include = true);

  Circuit(const Circuit& other);
  Circuit(Circuit&& other) noexcept;
  Circuit& operator=(const Circuit& other);
  Circuit& operator=(Circuit&& other) noexcept;
  ~Circuit();

  std::uint32_t num_qubits() const;
  std::uint32_t num_clbits() const;
  /// Gates, matrices, measurements, resets and what else there is.
  std::size_t num_operations() const;

  /// A gate by its OpenQASM name: the table's controls, then its targets; angles in radians.
  /// Further controls act on 1. `tilewave help gates` lists all names.
  Circuit& gate(std::string_view name, std::initializer_list<Qubit> qubits,
                std::initializer_list<double> angles = {});
  Circuit& gate(std::string_view name, const std::vector<Qubit>& qubits,
                const std::vector<double>& angles = {}, const std::vector<Qubit>& controls = {});
  /// A matrix on k = targets.size() <= 8 qubits: 4^k entries, row-major; bit j of an index is
  /// targets[j]. It need not be unitary: nothing is rescaled then.
  Circuit& matrix(const std::vector<std::complex<double>>& entries,
                  const std::vector<Qubit>& targets, const std::vector<Qubit>& controls = {});
  Circuit& h(Qubit q) { return gate("h", {q}); }
  Circuit& x(Qubit q) { return gate("x", {q}); }
  Circuit& y(Qubit q) { return gate("y", {q}); }
  Circuit& z(Qubit q) { return gate("z", {q}); }
  Circuit& s(Qubit q) { return gate("s", {q}); }
  Circuit& t(Qubit q) { return gate("t", {q}); }
  Circuit& rx(double angle, Qubit q) { return gate("rx", {q}, {angle}); }
  Circuit& ry(double angle, Qubit q) { return gate("ry", {q}, {angle}); }
  Circuit& rz(double angle, Qubit q) { return gate("rz", {q}, {angle}); }
  Circuit& cx(Qubit control, Qubit target) { return gate("cx", {control, target}); }
  Circuit& cz(Qubit a, Qubit b) { return gate("cz", {a, b}); }
  Circuit& cp(double angle, Qubit a, Qubit b) { return gate("cp", {a, b}, {angle}); }
  Circuit& swap(Qubit a, Qubit b) { return gate("swap", {a, b}); }

  /// In the Z basis, into a classical bit.
  Circuit& measure(Qubit qubit, Clbit clbit);
  /// Qubit k into classical bit k; adds the bits that are missing.
  Circuit& measure_all();
  Circuit& reset(Qubit qubit);

 private:
  friend struct Access;
  struct Data;
  explicit Circuit(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

}  // namespace tilewave
