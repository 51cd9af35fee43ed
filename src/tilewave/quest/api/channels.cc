// Decoherence: every channel is a list of Kraus operators K_k, applied as the superoperator
// S[(i, i'), (j, j')] = sum_k K_k[i, j] conj(K_k[i', j']), i on row qubits, i' on column qubits.
#include <cmath>

#include "tilewave/quest/api/call.h"
#include "tilewave/quest/core/overlap.h"

using namespace tilewave::quest;
using tilewave::cplx;

namespace {

using Matrix = std::vector<cplx>;

const Matrix kPaulis[4] = {
    {1, 0, 0, 1}, {0, 1, 1, 0}, {0, cplx(0, -1), cplx(0, 1), 0}, {1, 0, 0, -1}};

Matrix scaled(Matrix m, double factor) {
  for (cplx& x : m) x *= factor;
  return m;
}

// b on the higher qubit.
Matrix kronecker(const Matrix& a, const Matrix& b) {
  Matrix out(16);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      out[i * 4 + j] = a[(i & 1) * 2 + (j & 1)] * b[(i >> 1) * 2 + (j >> 1)];
    }
  }
  return out;
}

void apply_kraus(Register& r, std::span<const Qubit> targets, const std::vector<Matrix>& ops) {
  const std::size_t dim = std::size_t{1} << targets.size(), size = dim * dim;
  Matrix s(size * size, 0);
  for (const Matrix& k : ops) {
    for (std::size_t a = 0; a < size; ++a) {
      const std::size_t i = a & (dim - 1), i2 = a / dim;
      for (std::size_t b = 0; b < size; ++b) {
        s[a * size + b] += k[i * dim + (b & (dim - 1))] * std::conj(k[i2 * dim + b / dim]);
      }
    }
  }
  r.superoperator(targets, std::move(s));
  r.log().comment("a channel on " + std::to_string(targets.size()) +
                  " qubits stands here: OpenQASM 2 has no noise");
}

void one_qubit(const char* function, const Qureg& qureg, int target, double prob, double most,
               std::vector<Matrix> (*ops)(double)) {
  call(function, [&] {
    Register& r = use(qureg);
    check_density(r, "qureg");
    const Qubit t = qubit(r, target, "targetQubit");
    check_probability(prob, most, "prob");
    apply_kraus(r, {&t, 1}, ops(prob));
  });
}

// Two-qubit Pauli errors with equal probabilities; with_pauli says which factors occur.
void two_qubit(const char* function, const Qureg& qureg, int q1, int q2, double prob, double most,
               bool only_z) {
  call(function, [&] {
    Register& r = use(qureg);
    check_density(r, "qureg");
    const Qubit t[2] = {qubit(r, q1, "qubit1"), qubit(r, q2, "qubit2")};
    check_distinct(q1, q2, "qubit1 and qubit2");
    check_probability(prob, most, "prob");
    std::vector<Matrix> ops;
    const int step = only_z ? 3 : 1, errors = only_z ? 3 : 15;
    for (int a = 0; a < 4; a += step) {
      for (int b = 0; b < 4; b += step) {
        const double p = a == 0 && b == 0 ? 1 - prob : prob / errors;
        ops.push_back(scaled(kronecker(kPaulis[a], kPaulis[b]), std::sqrt(p)));
      }
    }
    apply_kraus(r, t, ops);
  });
}

template <class Get>
void kraus_map(const char* function, const Qureg& qureg, const int* targets, int num_targets,
               const void* list, int num_ops, bool keeps_trace, Get get) {
  call(function, [&] {
    Register& r = use(qureg);
    check_density(r, "qureg");
    const auto t = check_qubits(r, targets, num_targets, 1, "targets");
    check_range(num_targets, 1, 6, "numTargets");
    check_pointer(list, "ops");
    check_range(num_ops, 1, 1LL << (2 * num_targets), "numOps");
    std::vector<Matrix> ops;
    for (int k = 0; k < num_ops; ++k) ops.push_back(get(k));
    if (keeps_trace) check_trace_preserving(r, ops);
    apply_kraus(r, t, ops);
  });
}

}  // namespace

void mixDephasing(Qureg qureg, int targetQubit, qreal prob) {
  one_qubit(__func__, qureg, targetQubit, prob, 0.5, [](double p) -> std::vector<Matrix> {
    return {scaled(kPaulis[0], std::sqrt(1 - p)), scaled(kPaulis[3], std::sqrt(p))};
  });
}

void mixDepolarising(Qureg qureg, int targetQubit, qreal prob) {
  one_qubit(__func__, qureg, targetQubit, prob, 0.75, [](double p) -> std::vector<Matrix> {
    const double each = std::sqrt(p / 3);
    return {scaled(kPaulis[0], std::sqrt(1 - p)), scaled(kPaulis[1], each),
            scaled(kPaulis[2], each), scaled(kPaulis[3], each)};
  });
}

void mixDamping(Qureg qureg, int targetQubit, qreal prob) {
  one_qubit(__func__, qureg, targetQubit, prob, 1, [](double p) -> std::vector<Matrix> {
    return {{1, 0, 0, std::sqrt(1 - p)}, {0, std::sqrt(p), 0, 0}};
  });
}

void mixTwoQubitDephasing(Qureg qureg, int qubit1, int qubit2, qreal prob) {
  two_qubit(__func__, qureg, qubit1, qubit2, prob, 0.75, true);
}

void mixTwoQubitDepolarising(Qureg qureg, int qubit1, int qubit2, qreal prob) {
  two_qubit(__func__, qureg, qubit1, qubit2, prob, 15.0 / 16, false);
}

void mixPauli(Qureg qureg, int targetQubit, qreal probX, qreal probY, qreal probZ) {
  call(__func__, [&] {
    Register& r = use(qureg);
    check_density(r, "qureg");
    const Qubit t = qubit(r, targetQubit, "targetQubit");
    check_probability(probX, 1, "probX");
    check_probability(probY, 1, "probY");
    check_probability(probZ, 1, "probZ");
    const double none = 1.0 - probX - probY - probZ;
    if (std::max({probX, probY, probZ}) > none + 1e-15) {
      fail("probX, probY and probZ leave " + std::to_string(none) +
           " for no error: none of them may be larger than that");
    }
    apply_kraus(r, {&t, 1},
                {scaled(kPaulis[0], std::sqrt(none)), scaled(kPaulis[1], std::sqrt(probX)),
                 scaled(kPaulis[2], std::sqrt(probY)), scaled(kPaulis[3], std::sqrt(probZ))});
  });
}

void mixDensityMatrix(Qureg combineQureg, qreal prob, Qureg otherQureg) {
  call(__func__, [&] {
    Register &r = use(combineQureg, "combineQureg"), &other = use(otherQureg, "otherQureg");
    check_density(r, "combineQureg");
    check_density(other, "otherQureg");
    check_same_size(r, other, "combineQureg and otherQureg");
    check_probability(prob, 1, "prob");
    weighted_sum(prob, other, 0, other, 1.0 - prob, r);
    r.log().comment("another density matrix is mixed in here");
  });
}

void mixKrausMap(Qureg q, int target, ComplexMatrix2* ops, int n) {
  kraus_map(__func__, q, &target, 1, ops, n, true, [&](int k) { return entries(ops[k]); });
}

void mixTwoQubitKrausMap(Qureg q, int target1, int target2, ComplexMatrix4* ops, int n) {
  const int t[2] = {target1, target2};
  kraus_map(__func__, q, t, 2, ops, n, true, [&](int k) { return entries(ops[k]); });
}

void mixMultiQubitKrausMap(Qureg q, int* targets, int count, ComplexMatrixN* ops, int n) {
  kraus_map(__func__, q, targets, count, ops, n, true,
            [&](int k) { return entries(ops[k], count, "an element of ops"); });
}

void mixNonTPKrausMap(Qureg q, int target, ComplexMatrix2* ops, int n) {
  kraus_map(__func__, q, &target, 1, ops, n, false, [&](int k) { return entries(ops[k]); });
}

void mixNonTPTwoQubitKrausMap(Qureg q, int target1, int target2, ComplexMatrix4* ops, int n) {
  const int t[2] = {target1, target2};
  kraus_map(__func__, q, t, 2, ops, n, false, [&](int k) { return entries(ops[k]); });
}

void mixNonTPMultiQubitKrausMap(Qureg q, int* targets, int count, ComplexMatrixN* ops, int n) {
  kraus_map(__func__, q, targets, count, ops, n, false,
            [&](int k) { return entries(ops[k], count, "an element of ops"); });
}
