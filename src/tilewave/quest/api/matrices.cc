// General matrices on one, two and several qubits: unitary under controls, or any operator.
#include "tilewave/quest/api/call.h"

using namespace tilewave::quest;
using tilewave::cplx;

namespace {

// What a matrix is taken as: a unitary, any matrix from the left, any matrix from both sides.
enum class As { kUnitary, kMatrix, kGate };
Sides sides_of(As as) { return as == As::kMatrix ? Sides::kLeft : Sides::kBoth; }

struct Qubits {
  const int* list;
  int count;
  int least;  // 0 where the function has no such argument
  ArgumentNames names;
};

const Qubits kNoControls = {nullptr, 0, 0, "controls"};
constexpr const char* kTwoTargets[] = {"targetQubit1", "targetQubit2"};
constexpr const char* kOneTarget[] = {"targetQubit"};
constexpr const char* kOneControl[] = {"controlQubit"};
constexpr const char* kOneShortControl[] = {"ctrl"};

template <class Matrix>
void apply(const char* function, const Qureg& qureg, Qubits controls, Qubits targets, As as,
           const Matrix& u, const char* name = "u") {
  call(function, [&] {
    Register& r = use(qureg);
    const auto c = check_qubits(r, controls.list, controls.count, controls.least, controls.names,
                                Role::kControl);
    const auto t = check_qubits(r, targets.list, targets.count, 1, targets.names);
    check_disjoint(c, t);
    std::vector<cplx> m = entries(u, targets.count, name);
    if (as == As::kUnitary) check_unitary(r, m, "u");
    r.matrix({c}, t, std::move(m), sides_of(as));
  });
}

// A diagonal operator on some qubits: as a matrix where it is small, otherwise by one sweep.
void apply_diagonal(Register& r, std::span<const Qubit> targets, const std::vector<cplx>& d,
                    Sides sides) {
  if (targets.size() <= 4) {
    std::vector<cplx> m(d.size() * d.size(), 0);
    for (std::size_t k = 0; k < d.size(); ++k) m[k * d.size() + k] = d[k];
    r.matrix({}, targets, std::move(m), sides);
    return;
  }
  const Parts parts(d);
  tilewave::statevec::Sweep s;
  s.kind = tilewave::statevec::Sweep::Kind::kTable;
  s.row_bits = r.num_qubits();
  s.is_both = r.is_density() && sides == Sides::kBoth;
  for (const Qubit t : targets) s.digits.add(static_cast<int>(t));
  s.table = parts.table();
  r.settled_for_change().sweep(s);
  r.log().comment("a diagonal operator stands here: OpenQASM 2 has no gate for it");
}

void diagonal(const char* function, const Qureg& qureg, const int* targets, int count,
              const SubDiagonalOp& op, As as) {
  call(function, [&] {
    Register& r = use(qureg);
    const std::vector<cplx> d = entries(op, count);
    const auto t = check_qubits(r, targets, count, 1, "targets");
    for (std::size_t k = 0; as == As::kUnitary && k < d.size(); ++k) {
      if (!(std::abs(std::abs(d[k]) - 1) <= tolerance(r))) {
        fail(Words::kDiagonalNotUnitary, "op is not unitary: element ", k,
             " does not have absolute value 1");
      }
    }
    apply_diagonal(r, t, d, sides_of(as));
  });
}

}  // namespace

void twoQubitUnitary(Qureg q, int t1, int t2, ComplexMatrix4 u) {
  const int t[2] = {t1, t2};
  apply(__func__, q, kNoControls, {t, 2, 1, kTwoTargets}, As::kUnitary, u);
}

void controlledTwoQubitUnitary(Qureg q, int c, int t1, int t2, ComplexMatrix4 u) {
  const int t[2] = {t1, t2};
  apply(__func__, q, {&c, 1, 1, kOneControl}, {t, 2, 1, kTwoTargets}, As::kUnitary, u);
}

void multiControlledTwoQubitUnitary(Qureg q, int* c, int n, int t1, int t2, ComplexMatrix4 u) {
  const int t[2] = {t1, t2};
  apply(__func__, q, {c, n, 1, "controlQubits"}, {t, 2, 1, kTwoTargets}, As::kUnitary, u);
}

void multiQubitUnitary(Qureg q, int* t, int n, ComplexMatrixN u) {
  apply(__func__, q, kNoControls, {t, n, 1, "targs"}, As::kUnitary, u);
}

void controlledMultiQubitUnitary(Qureg q, int c, int* t, int n, ComplexMatrixN u) {
  apply(__func__, q, {&c, 1, 1, kOneShortControl}, {t, n, 1, "targs"}, As::kUnitary, u);
}

void multiControlledMultiQubitUnitary(Qureg q, int* c, int m, int* t, int n, ComplexMatrixN u) {
  apply(__func__, q, {c, m, 1, "ctrls"}, {t, n, 1, "targs"}, As::kUnitary, u);
}

void applyMatrix2(Qureg q, int t, ComplexMatrix2 u) {
  apply(__func__, q, kNoControls, {&t, 1, 1, kOneTarget}, As::kMatrix, u);
}

void applyMatrix4(Qureg q, int t1, int t2, ComplexMatrix4 u) {
  const int t[2] = {t1, t2};
  apply(__func__, q, kNoControls, {t, 2, 1, kTwoTargets}, As::kMatrix, u);
}

void applyMatrixN(Qureg q, int* t, int n, ComplexMatrixN u) {
  apply(__func__, q, kNoControls, {t, n, 1, "targs"}, As::kMatrix, u);
}

void applyMultiControlledMatrixN(Qureg q, int* c, int m, int* t, int n, ComplexMatrixN u) {
  apply(__func__, q, {c, m, 1, "ctrls"}, {t, n, 1, "targs"}, As::kMatrix, u);
}

void applyGateMatrixN(Qureg q, int* t, int n, ComplexMatrixN u) {
  apply(__func__, q, kNoControls, {t, n, 1, "targs"}, As::kGate, u);
}

void applyMultiControlledGateMatrixN(Qureg q, int* c, int m, int* t, int n, ComplexMatrixN u) {
  apply(__func__, q, {c, m, 1, "ctrls"}, {t, n, 1, "targs"}, As::kGate, u, "m");
}

void diagonalUnitary(Qureg q, int* t, int n, SubDiagonalOp op) {
  diagonal(__func__, q, t, n, op, As::kUnitary);
}

void applyGateSubDiagonalOp(Qureg q, int* t, int n, SubDiagonalOp op) {
  diagonal(__func__, q, t, n, op, As::kGate);
}

void applySubDiagonalOp(Qureg q, int* t, int n, SubDiagonalOp op) {
  diagonal(__func__, q, t, n, op, As::kMatrix);
}
