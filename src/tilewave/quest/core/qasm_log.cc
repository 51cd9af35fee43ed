// See qasm_log.h. A unitary 2x2 matrix is e^{ig} u3(theta, phi, lambda); the global phase g matters
// only under a control, where cu(theta, phi, lambda, g) carries it.
#include "tilewave/quest/core/qasm_log.h"

#include <charconv>
#include <cmath>
#include <numbers>

namespace tilewave::quest {
namespace {

std::string number(double value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

std::string bit_of(const char* reg, std::uint64_t index) {
  std::string out(reg);
  out += '[';
  out += std::to_string(index);
  out += ']';
  return out;
}

std::string qubit_list(std::span<const circuit::Qubit> a, std::span<const circuit::Qubit> b) {
  std::string out;
  for (const auto& part : {a, b}) {
    for (circuit::Qubit q : part) {
      if (!out.empty()) out += ',';
      out += bit_of("q", q);
    }
  }
  return out;
}

std::string first_word(std::string_view names) {
  return std::string(names.substr(0, names.find(' ')));
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

}  // namespace

void QasmLog::flip_zero_controls(std::span<const circuit::Qubit> controls, std::uint64_t values) {
  for (std::size_t k = 0; k < controls.size(); ++k) {
    if (!(values >> k & 1)) body_ += "x " + bit_of("q", controls[k]) + ";\n";
  }
}

void QasmLog::gate(circuit::GateId gate, std::span<const circuit::Qubit> controls,
                   std::uint64_t control_values, std::span<const circuit::Qubit> targets,
                   std::span<const double> params) {
  if (!is_recording_) return;
  const circuit::GateInfo* row = &circuit::gate_info(gate);
  if (!controls.empty()) row = circuit::find_controlled(gate, static_cast<int>(controls.size()));
  if (!row) {
    matrix(controls, control_values, targets, circuit::gate_matrix(gate, params));
    return;
  }
  flip_zero_controls(controls, control_values);
  body_ += first_word(row->qasm) + arguments(params) + " " + qubit_list(controls, targets) + ";\n";
  flip_zero_controls(controls, control_values);
}

void QasmLog::matrix(std::span<const circuit::Qubit> controls, std::uint64_t control_values,
                     std::span<const circuit::Qubit> targets, std::span<const cplx> m) {
  if (!is_recording_) return;
  const bool small = targets.size() == 1 && controls.size() <= 1;
  const double error = m.size() != 4
                           ? 1
                           : std::abs(std::norm(m[0]) + std::norm(m[2]) - 1) +
                                 std::abs(std::norm(m[1]) + std::norm(m[3]) - 1) +
                                 std::abs(std::conj(m[0]) * m[1] + std::conj(m[2]) * m[3]);
  if (!small || error > 1e-5) {
    comment("a matrix on " + qubit_list(targets, {}) +
            (controls.empty() ? "" : " under controls " + qubit_list(controls, {})) +
            " stands here: OpenQASM 2 has no gate for it");
    return;
  }
  const double theta = 2 * std::atan2(std::abs(m[2]), std::abs(m[0]));
  double g = 0, phi = 0, lambda = 0;
  if (std::abs(m[0]) > 1e-12) {
    g = std::arg(m[0]);
    if (std::abs(m[2]) > 1e-12) {
      phi = std::arg(m[2]) - g;
      lambda = std::arg(-m[1]) - g;
      // a small entry may have any angle: what counts is that of m[3]
      const double turn = 2 * std::numbers::pi;
      const double missing = std::remainder(std::arg(m[3]) - g - phi - lambda, turn);
      if (std::abs(m[2]) < 0.5 && std::abs(missing) > 1e-14) {
        lambda = std::remainder(lambda + missing, turn);
      }
    } else {
      lambda = std::arg(m[3]) - g;
    }
  } else {
    g = std::arg(-m[1]);
    phi = std::arg(m[2]) - g;
  }
  flip_zero_controls(controls, control_values);
  const double params[4] = {theta, phi, lambda, g};
  body_ += controls.empty() ? "u3" : "cu";
  body_ += arguments(std::span(params).first(controls.empty() ? 3 : 4)) + " " +
           qubit_list(controls, targets) + ";\n";
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
  return "OPENQASM 2.0;\ninclude \"qelib1.inc\";\nqreg " + bit_of("q", n) + ";\ncreg " +
         bit_of("c", n) + ";\n" + body_;
}

}  // namespace tilewave::quest
