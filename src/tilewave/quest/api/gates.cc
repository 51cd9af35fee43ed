// Gates on one qubit, controlled gates, and gates on several qubits given by a name or an angle.
#include <cmath>
#include <numbers>

#include "tilewave/quest/api/call.h"
#include "tilewave/quest/core/strings.h"

using namespace tilewave::quest;
using tilewave::cplx;

namespace {

constexpr const char* kTarget = "targetQubit";
constexpr const char* kControls = "controlQubits";

// A gate of the table on one target, with at most one control.
void table_gate(const char* function, const Qureg& qureg, GateId gate, int target,
                std::initializer_list<double> params = {}, const char* target_name = kTarget,
                const char* angle_name = "angle") {
  call(function, [&] {
    Register& r = use(qureg);
    const Qubit t = qubit(r, target, target_name);
    for (double p : params) check_finite(p, params.size() == 1 ? angle_name : "an angle");
    r.gate(gate, {}, {&t, 1}, {params.begin(), params.size()});
  });
}

void controlled_gate(const char* function, const Qureg& qureg, GateId gate, int control, int target,
                     std::initializer_list<double> params = {}) {
  call(function, [&] {
    Register& r = use(qureg);
    const Qubit t = qubit(r, target, kTarget),
                c = qubit(r, control, "controlQubit", Role::kControl);
    check_distinct(control, target, "controlQubit and targetQubit", Words::kTargetIsControl);
    for (double p : params) check_finite(p, "angle");
    r.gate(gate, {{&c, 1}}, {&t, 1}, {params.begin(), params.size()});
  });
}

// A gate of the table on two qubits, whose names are `name` and their number, 1 or 2.
void pair_gate(const char* function, const Qureg& qureg, GateId gate, int a, int b,
               const std::string& name) {
  call(function, [&] {
    Register& r = use(qureg);
    const std::string first = name + "1", second = name + "2";
    const Qubit both[2] = {qubit(r, a, first.c_str()), qubit(r, b, second.c_str())};
    check_distinct(a, b, (first + " and " + second).c_str());
    r.gate(gate, {}, both);
  });
}

// e^{i angle} where all qubits are 1: a phase on the last under the others.
void apply_phase(Register& r, std::span<const Qubit> all, double angle) {
  const bool is_flip = angle == std::numbers::pi;
  r.gate(is_flip ? GateId::kZ : GateId::kP, {all.first(all.size() - 1)}, all.last(1),
         is_flip ? std::span<const double>{} : std::span<const double>{&angle, 1});
}

void phase_on_all(const char* function, const Qureg& qureg, const int* qubits, int count,
                  double angle) {
  call(function, [&] {
    Register& r = use(qureg);
    const auto all = check_qubits(r, qubits, count, 1, kControls, Role::kQubit);
    check_finite(angle, "angle");
    apply_phase(r, all, angle);
  });
}

void phase_on_two(const char* function, const Qureg& qureg, int a, int b, double angle) {
  call(function, [&] {
    Register& r = use(qureg);
    const Qubit second = qubit(r, b, "idQubit2");
    const Qubit both[2] = {qubit(r, a, "idQubit1", Role::kControl), second};
    check_distinct(a, b, "idQubit1 and idQubit2", Words::kTargetIsControl);
    check_finite(angle, "angle");
    apply_phase(r, both, angle);
  });
}

std::vector<cplx> axis_rotation(double angle, const Vector& axis) {
  check_finite(angle, "angle");
  const double x = axis.x, y = axis.y, z = axis.z, size = std::sqrt(x * x + y * y + z * z);
  check_finite(size, "the length of axis");
  if (!(size > 0)) fail(Words::kZeroAxis, "axis is the zero vector: it must have a direction");
  const double c = std::cos(angle / 2), s = std::sin(angle / 2) / size;
  return {cplx(c, -s * z), cplx(-s * y, -s * x), cplx(s * y, -s * x), cplx(c, s * z)};
}

std::vector<cplx> compact(const Register& r, const ::Complex& alpha, const ::Complex& beta) {
  const cplx a = value(alpha), b = value(beta);
  std::vector<cplx> m = {a, -std::conj(b), b, std::conj(a)};
  check_unitary(r, m, "the matrix of alpha and beta", Words::kPairNotUnitary);
  return m;
}

// Controls as functions take them: none, one, or a list with the values that they act on.
struct ControlList {
  const int* one = nullptr;
  const int* list = nullptr;
  int count = 0;
  const int* states = nullptr;
};

// A matrix on one target under any controls, or one that is an argument of its own; `make` checks and
// gives the matrix.
template <class Make>
void matrix_gate(const char* function, const Qureg& qureg, ControlList controls, int target,
                 Make make, const char* target_name = kTarget) {
  call(function, [&] {
    Register& r = use(qureg);
    const Qubit t = qubit(r, target, target_name);
    std::vector<Qubit> c;
    if (controls.one) {
      c = {qubit(r, *controls.one, "controlQubit", Role::kControl)};
    } else if (controls.list) {
      c = check_qubits(r, controls.list, controls.count, 1, kControls, Role::kControl);
    }
    check_disjoint(c, {&t, 1}, controls.one ? Words::kTargetIsControl : Words::kTargetInControls);
    std::vector<cplx> m = make(r);
    std::uint64_t values = ~std::uint64_t{0};
    const int* const states = controls.states;
    for (std::size_t k = 0; states && k < c.size(); ++k) {
      check_range(states[k], 0, 1, "an entry of controlState", Words::kControlState);
      if (!states[k]) values &= ~(std::uint64_t{1} << k);
    }
    r.matrix({c, values}, {&t, 1}, std::move(m));
  });
}

}  // namespace

void hadamard(Qureg q, int t) { table_gate(__func__, q, GateId::kH, t); }
void pauliX(Qureg q, int t) { table_gate(__func__, q, GateId::kX, t); }
void pauliY(Qureg q, int t) { table_gate(__func__, q, GateId::kY, t); }
void pauliZ(Qureg q, int t) { table_gate(__func__, q, GateId::kZ, t); }
void sGate(Qureg q, int t) { table_gate(__func__, q, GateId::kS, t); }
void tGate(Qureg q, int t) { table_gate(__func__, q, GateId::kT, t); }
void SqX(Qureg q, int t) { table_gate(__func__, q, GateId::kRx, t, {std::numbers::pi / 2}); }
void SqY(Qureg q, int t) { table_gate(__func__, q, GateId::kRy, t, {std::numbers::pi / 2}); }
void SqW(Qureg q, int t) {
  matrix_gate(__func__, q, {}, t, [](const Register&) {
    return axis_rotation(std::numbers::pi / 2, {1, 1, 0});
  });
}
void phaseShift(Qureg q, int t, qreal angle) { table_gate(__func__, q, GateId::kP, t, {angle}); }
void u1Gate(Qureg q, int t, qreal lambda) {
  table_gate(__func__, q, GateId::kP, t, {lambda}, kTarget, "lambda");
}
void u2Gate(Qureg q, int t, qreal phi, qreal lambda) {
  table_gate(__func__, q, GateId::kU2, t, {phi, lambda});
}
void u3Gate(Qureg q, int t, qreal theta, qreal phi, qreal lambda) {
  table_gate(__func__, q, GateId::kU3, t, {theta, phi, lambda});
}
void rotateX(Qureg q, int t, qreal angle) {
  table_gate(__func__, q, GateId::kRx, t, {angle}, "rotQubit");
}
void rotateY(Qureg q, int t, qreal angle) {
  table_gate(__func__, q, GateId::kRy, t, {angle}, "rotQubit");
}
void rotateZ(Qureg q, int t, qreal angle) {
  table_gate(__func__, q, GateId::kRz, t, {angle}, "rotQubit");
}
void rotateAroundAxis(Qureg q, int t, qreal angle, Vector axis) {
  matrix_gate(
      __func__, q, {}, t, [&](const Register&) { return axis_rotation(angle, axis); }, "rotQubit");
}
void compactUnitary(Qureg q, int t, ::Complex alpha, ::Complex beta) {
  matrix_gate(__func__, q, {}, t, [&](const Register& r) { return compact(r, alpha, beta); });
}

void controlledNot(Qureg q, int c, int t) { controlled_gate(__func__, q, GateId::kX, c, t); }
void controlledPauliY(Qureg q, int c, int t) { controlled_gate(__func__, q, GateId::kY, c, t); }
void controlledPhaseShift(Qureg q, int a, int b, qreal angle) {
  phase_on_two(__func__, q, a, b, angle);
}
void controlledPhaseFlip(Qureg q, int a, int b) {
  phase_on_two(__func__, q, a, b, std::numbers::pi);
}
void multiControlledPhaseShift(Qureg q, int* qubits, int n, qreal angle) {
  phase_on_all(__func__, q, qubits, n, angle);
}
void multiControlledPhaseFlip(Qureg q, int* qubits, int n) {
  phase_on_all(__func__, q, qubits, n, std::numbers::pi);
}
void controlledRotateX(Qureg q, int c, int t, qreal angle) {
  controlled_gate(__func__, q, GateId::kRx, c, t, {angle});
}
void controlledRotateY(Qureg q, int c, int t, qreal angle) {
  controlled_gate(__func__, q, GateId::kRy, c, t, {angle});
}
void controlledRotateZ(Qureg q, int c, int t, qreal angle) {
  controlled_gate(__func__, q, GateId::kRz, c, t, {angle});
}
void controlledRotateAroundAxis(Qureg q, int c, int t, qreal angle, Vector axis) {
  matrix_gate(__func__, q, {&c}, t, [&](const Register&) { return axis_rotation(angle, axis); });
}
void controlledCompactUnitary(Qureg q, int c, int t, ::Complex alpha, ::Complex beta) {
  matrix_gate(__func__, q, {&c}, t, [&](const Register& r) { return compact(r, alpha, beta); });
}

namespace {
auto checked(const ComplexMatrix2& u) {
  return [&u](const Register& r) {
    std::vector<cplx> m = entries(u);
    check_unitary(r, m, "u");
    return m;
  };
}
}  // namespace

void unitary(Qureg q, int t, ComplexMatrix2 u) { matrix_gate(__func__, q, {}, t, checked(u)); }
void controlledUnitary(Qureg q, int c, int t, ComplexMatrix2 u) {
  matrix_gate(__func__, q, {&c}, t, checked(u));
}
void multiControlledUnitary(Qureg q, int* c, int n, int t, ComplexMatrix2 u) {
  call(__func__, [&] { check_pointer(c, kControls); });
  if (c) matrix_gate(__func__, q, {nullptr, c, n}, t, checked(u));
}
void multiStateControlledUnitary(Qureg q, int* c, int* state, int n, int t, ComplexMatrix2 u) {
  call(__func__, [&] {
    check_pointer(c, kControls);
    check_pointer(state, "controlState");
  });
  if (c && state) matrix_gate(__func__, q, {nullptr, c, n, state}, t, checked(u));
}

void swapGate(Qureg q, int a, int b) { pair_gate(__func__, q, GateId::kSwap, a, b, "qubit"); }
void sqrtSwapGate(Qureg q, int a, int b) { pair_gate(__func__, q, GateId::kSqrtSwap, a, b, "qb"); }

void multiQubitNot(Qureg qureg, int* targs, int numTargs) {
  call(__func__, [&] {
    Register& r = use(qureg);
    for (Qubit t : check_qubits(r, targs, numTargs, 1, "targs")) r.gate(GateId::kX, {}, {&t, 1});
  });
}

void multiControlledMultiQubitNot(Qureg qureg, int* ctrls, int numCtrls, int* targs, int numTargs) {
  call(__func__, [&] {
    Register& r = use(qureg);
    const auto c = check_qubits(r, ctrls, numCtrls, 1, "ctrls", Role::kControl);
    const auto t = check_qubits(r, targs, numTargs, 1, "targs");
    check_disjoint(c, t);
    for (const Qubit& target : t) r.gate(GateId::kX, {c}, {&target, 1});
  });
}

namespace {

void string_rotation(const char* function, const Qureg& qureg, const int* controls,
                     int num_controls, bool has_controls, const int* targets, int num_targets,
                     const pauliOpType* paulis, bool has_paulis, double angle) {
  call(function, [&] {
    Register& r = use(qureg);
    std::vector<Qubit> c;
    if (has_controls) c = check_qubits(r, controls, num_controls, 1, kControls, Role::kControl);
    const auto t = check_qubits(r, targets, num_targets, 1,
                                has_controls || has_paulis ? "targetQubits" : "qubits");
    check_disjoint(c, t);
    tilewave::circuit::PauliTerm term;
    if (has_paulis) {
      check_pointer(paulis, "targetPaulis");
      term = pauli_term(reinterpret_cast<const int*>(paulis), t);
    } else {
      for (Qubit q : t) term.z |= std::uint64_t{1} << q;
    }
    check_finite(angle, "angle");
    if (!(term.x | term.z)) return;
    rotate_string(r, c, term, angle);
  });
}

}  // namespace

void multiRotateZ(Qureg q, int* targets, int n, qreal angle) {
  string_rotation(__func__, q, nullptr, 0, false, targets, n, nullptr, false, angle);
}
void multiRotatePauli(Qureg q, int* targets, pauliOpType* paulis, int n, qreal angle) {
  string_rotation(__func__, q, nullptr, 0, false, targets, n, paulis, true, angle);
}
void multiControlledMultiRotateZ(Qureg q, int* controls, int m, int* targets, int n, qreal angle) {
  string_rotation(__func__, q, controls, m, true, targets, n, nullptr, false, angle);
}
void multiControlledMultiRotatePauli(Qureg q, int* controls, int m, int* targets,
                                     pauliOpType* paulis, int n, qreal angle) {
  string_rotation(__func__, q, controls, m, true, targets, n, paulis, true, angle);
}
