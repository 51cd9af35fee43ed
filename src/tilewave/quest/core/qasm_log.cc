// See qasm_log.h. A unitary 2x2 matrix is e^{ig} u3(theta, phi, lambda); the global phase g matters
// only under controls, where the matrix is written by its eigenvectors and eigenphases. Readers
// differ in the phases of rz and cu3, so these stand where their phase does not count: rz and u3
// without controls, cu3 with opposite phi and lambda.
#include "tilewave/quest/core/qasm_log.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "tilewave/quest/core/qasm_controls.h"

namespace tilewave::quest {
namespace {

constexpr double kExact = 1e-15;  // entries that close to those of a gate are its own

// The shortest decimal of a number, with the point that the language wants in a number with an
// exponent.
std::string number(double value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value);
  std::string out(text, end.ptr);
  const std::size_t exponent = out.find('e');
  if (exponent != std::string::npos && out.find('.') == std::string::npos)
    out.insert(exponent, ".0");
  return out;
}

std::string bit_of(const char* reg, std::uint64_t index) {
  std::string out(reg);
  out += '[';
  out += std::to_string(index);
  out += ']';
  return out;
}

std::string qubit_list(std::span<const circuit::Qubit> qubits) {
  std::string out;
  for (circuit::Qubit q : qubits) {
    if (!out.empty()) out += ',';
    out += bit_of("q", q);
  }
  return out;
}

std::string arguments(std::span<const double> params) {
  if (params.empty()) return "";
  std::string out;
  for (double p : params) {
    out += out.empty() ? '(' : ',';
    out += number(p);
  }
  out += ')';
  return out;
}

bool is_close(std::span<const cplx> a, std::span<const cplx> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](cplx x, cplx y) { return std::abs(x - y) <= kExact; });
}

// The name of a gate without parameters under so many controls; empty where qelib1.inc has none.
std::string fixed_gate(std::span<const cplx> m, std::size_t num_controls) {
  using circuit::GateId;
  constexpr struct {
    GateId gate;
    const char* names[3];
  } kGates[] = {{GateId::kX, {"x", "cx", "ccx"}}, {GateId::kY, {"y", "cy", ""}},
                {GateId::kZ, {"z", "cz", ""}},    {GateId::kH, {"h", "ch", ""}},
                {GateId::kS, {"s", "", ""}},      {GateId::kSdg, {"sdg", "", ""}},
                {GateId::kT, {"t", "", ""}},      {GateId::kTdg, {"tdg", "", ""}}};
  for (const auto& [gate, names] : kGates) {
    if (num_controls < 3 && is_close(m, circuit::gate_matrix(gate, {}))) return names[num_controls];
  }
  return "";
}

bool is_unitary(std::span<const cplx> m) {
  return std::abs(std::norm(m[0]) + std::norm(m[2]) - 1) +
             std::abs(std::norm(m[1]) + std::norm(m[3]) - 1) +
             std::abs(std::conj(m[0]) * m[1] + std::conj(m[2]) * m[3]) <=
         1e-5;
}

// m = e^{ig} u3(theta, phi, lambda).
struct EulerAngles {
  double theta, phi, lambda;
};
EulerAngles euler_angles(std::span<const cplx> m) {
  const double theta = 2 * std::atan2(std::abs(m[2]), std::abs(m[0]));
  if (std::abs(m[0]) <= 1e-12) return {theta, std::arg(m[2]) - std::arg(-m[1]), 0};
  const double g = std::arg(m[0]);
  if (std::abs(m[2]) <= 1e-12) return {theta, 0, std::arg(m[3]) - g};
  const double phi = std::arg(m[2]) - g;
  double lambda = std::arg(-m[1]) - g;
  // a small entry may have any angle: what counts is that of m[3]
  const double turn = 2 * std::numbers::pi;
  const double missing = std::remainder(std::arg(m[3]) - g - phi - lambda, turn);
  if (std::abs(m[2]) < 0.5 && std::abs(missing) > 1e-14)
    lambda = std::remainder(lambda + missing, turn);
  return {theta, phi, lambda};
}

}  // namespace

void QasmLog::flip_zero_controls(std::span<const circuit::Qubit> controls, std::uint64_t values) {
  for (std::size_t k = 0; k < controls.size(); ++k) {
    if (!(values >> k & 1)) body_ += "x " + bit_of("q", controls[k]) + ";\n";
  }
}

void QasmLog::write(const std::string& name, std::span<const double> params,
                    std::span<const circuit::Qubit> qubits) {
  body_ += name + arguments(params) + " " + qubit_list(qubits) + ";\n";
}

// e^{i angle} where all qubits are 1.
void QasmLog::write_phase(double angle, std::span<const circuit::Qubit> qubits) {
  if (angle == 0) return;
  const int num_controls = static_cast<int>(qubits.size()) - 1;
  most_controls_ = std::max(most_controls_, num_controls);
  write(phase_gate(num_controls), {&angle, 1}, qubits);
}

// A unitary matrix where all controls are 1; there is at least one.
void QasmLog::write_controlled(std::span<const circuit::Qubit> controls, circuit::Qubit target,
                               std::span<const cplx> m) {
  std::vector<circuit::Qubit> all(controls.begin(), controls.end());
  all.push_back(target);
  if (const std::string name = fixed_gate(m, controls.size()); !name.empty()) {
    write(name, {}, all);
    return;
  }
  const Eigenphases e = eigenphases(m);
  const double back[3] = {-e.theta, 0, -e.phi}, forth[3] = {e.theta, e.phi, 0};
  if (e.theta != 0) write("u3", back, {&target, 1});
  write_phase(e.phase0, controls);
  write_phase(std::remainder(e.phase1 - e.phase0, 2 * std::numbers::pi), all);
  if (e.theta != 0) write("u3", forth, {&target, 1});
}

void QasmLog::gate(circuit::GateId gate, std::span<const circuit::Qubit> controls,
                   std::uint64_t control_values, std::span<const circuit::Qubit> targets,
                   std::span<const double> params) {
  using circuit::GateId;
  if (!is_recording_) return;
  // names that qelib1.inc has with the table's parameters, without control and with one
  constexpr struct {
    GateId gate;
    const char *plain, *controlled;
  } kNames[] = {{GateId::kRx, "rx", ""},
                {GateId::kRy, "ry", ""},
                {GateId::kRz, "rz", "crz"},
                {GateId::kU2, "u2", ""},
                {GateId::kU3, "u3", ""}};
  for (const auto& [id, plain, controlled] : kNames) {
    if (id != gate || controls.size() > 1) continue;
    std::string name = controls.empty() ? plain : controlled;
    std::vector<double> angles(params.begin(), params.end());
    if (controls.size() == 1 && (gate == GateId::kRx || gate == GateId::kRy)) {
      name = "cu3";
      const double turn = gate == GateId::kRx ? std::numbers::pi / 2 : 0.0;
      angles = {params[0], -turn, turn};
    }
    if (name.empty()) continue;
    std::vector<circuit::Qubit> all(controls.begin(), controls.end());
    all.insert(all.end(), targets.begin(), targets.end());
    flip_zero_controls(controls, control_values);
    write(name, angles, all);
    flip_zero_controls(controls, control_values);
    return;
  }
  if (gate == GateId::kSwap && controls.empty()) {
    const circuit::Qubit back[2] = {targets[1], targets[0]};
    write("cx", {}, targets);
    write("cx", {}, back);
    write("cx", {}, targets);
    return;
  }
  if (gate == GateId::kSqrtSwap && controls.empty()) {  // the root of X between two CX
    const cplx root[4] = {{0.5, 0.5}, {0.5, -0.5}, {0.5, -0.5}, {0.5, 0.5}};
    write("cx", {}, targets);
    write_controlled(targets.last(1), targets[0], root);
    write("cx", {}, targets);
    return;
  }
  if (gate == GateId::kP) {
    std::vector<circuit::Qubit> all(controls.begin(), controls.end());
    all.push_back(targets[0]);
    flip_zero_controls(controls, control_values);
    write_phase(params[0], all);
    flip_zero_controls(controls, control_values);
    return;
  }
  matrix(controls, control_values, targets, circuit::gate_matrix(gate, params));
}

void QasmLog::matrix(std::span<const circuit::Qubit> controls, std::uint64_t control_values,
                     std::span<const circuit::Qubit> targets, std::span<const cplx> m) {
  if (!is_recording_) return;
  if (targets.size() != 1 || !is_unitary(m)) {
    comment("a matrix on " + qubit_list(targets) +
            (controls.empty() ? "" : " under controls " + qubit_list(controls)) +
            " stands here: OpenQASM 2 has no gate for it");
    return;
  }
  flip_zero_controls(controls, control_values);
  if (!controls.empty()) {
    write_controlled(controls, targets[0], m);
  } else if (const std::string name = fixed_gate(m, 0); !name.empty()) {
    write(name, {}, targets);
  } else {
    const EulerAngles e = euler_angles(m);
    const double angles[3] = {e.theta, e.phi, e.lambda};
    write("u3", angles, targets);
  }
  flip_zero_controls(controls, control_values);
}

void QasmLog::basis_state(std::uint64_t index) {
  if (!is_recording_) return;
  body_ += "reset q;\n";
  for (int q = 0; q < num_qubits_; ++q) {
    if (index >> q & 1) body_ += "x " + bit_of("q", static_cast<std::uint64_t>(q)) + ";\n";
  }
}

void QasmLog::plus_state() {
  if (is_recording_) body_ += "reset q;\nh q;\n";
}

void QasmLog::measure(circuit::Qubit qubit) {
  if (is_recording_) body_ += "measure " + bit_of("q", qubit) + " -> " + bit_of("c", qubit) + ";\n";
}

void QasmLog::comment(const std::string& text) {
  if (is_recording_) body_ += "// " + text + "\n";
}

std::string QasmLog::text() const {
  const auto n = static_cast<std::uint64_t>(num_qubits_);
  return "OPENQASM 2.0;\ninclude \"qelib1.inc\";\n" + phase_definitions(most_controls_) + "qreg " +
         bit_of("q", n) + ";\ncreg " + bit_of("c", n) + ";\n" + body_;
}

}  // namespace tilewave::quest
