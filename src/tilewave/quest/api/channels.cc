// Decoherence: every channel is a list of Kraus operators K_k, applied as the superoperator
// S[(i, i'), (j, j')] = sum_k K_k[i, j] conj(K_k[i', j']), i on row qubits, i' on column qubits.
#include "tilewave/circuit/channel.h"
#include "tilewave/quest/api/call.h"
#include "tilewave/quest/core/overlap.h"

using namespace tilewave::quest;
using tilewave::cplx;

namespace {

namespace circuit = tilewave::circuit;
using circuit::Matrix;

void apply_kraus(Register& r, std::span<const Qubit> targets, const std::vector<Matrix>& ops) {
  r.superoperator(targets, circuit::superoperator(ops));
  r.log().comment("a channel on " + std::to_string(targets.size()) +
                  " qubits stands here: OpenQASM 2 has no noise");
}

void one_qubit(const char* function, const Qureg& qureg, int target, double prob, double most,
               QuestWords words, std::vector<Matrix> (*ops)(double)) {
  call(function, [&] {
    Register& r = use_density(qureg);
    const Qubit t = qubit(r, target, "targetQubit");
    check_probability(prob, most, "prob", words);
    apply_kraus(r, {&t, 1}, ops(prob));
  });
}

// Two-qubit Pauli errors with equal probabilities: all 15, or those of Z alone.
void two_qubit(const char* function, const Qureg& qureg, int q1, int q2, double prob, double most,
               bool only_z) {
  call(function, [&] {
    Register& r = use_density(qureg);
    const Qubit t[2] = {qubit(r, q1, "qubit1"), qubit(r, q2, "qubit2")};
    check_distinct(q1, q2, "qubit1 and qubit2");
    check_probability(prob, most, "prob",
                      only_z ? Words::kTwoQubitDephasing : Words::kTwoQubitDepolarising);
    const circuit::PauliProbability z[3] = {
        {{3, 0}, prob / 3}, {{0, 3}, prob / 3}, {{3, 3}, prob / 3}};
    apply_kraus(r, t,
                (only_z ? circuit::pauli_channel(2, z) : circuit::depolarizing(2, prob)).kraus);
  });
}

constexpr const char* kKrausTarget[] = {"target"};
constexpr const char* kKrausPair[] = {"target1", "target2"};

template <class Operator>
void kraus_map(const char* function, const Qureg& qureg, const int* targets, int num_targets,
               const ArgumentNames& names, const Operator* list, int num_ops, bool keeps_trace) {
  call(function, [&] {
    Register& r = use_density(qureg);
    const auto t = check_qubits(r, targets, num_targets, 1, names);
    check_range(num_targets, 1, 6, "numTargets");
    check_range(num_ops, 1, 1LL << (2 * num_targets), "numOps",
                num_targets == 1   ? Words::kNumOneQubitKraus
                : num_targets == 2 ? Words::kNumTwoQubitKraus
                                   : Words::kNumKraus);
    check_pointer(list, "ops");
    std::vector<Matrix> ops;
    for (int k = 0; k < num_ops; ++k) {
      ops.push_back(entries(list[k], num_targets, "an element of ops", Words::kKrausSize));
    }
    if (keeps_trace) check_trace_preserving(r, ops);
    apply_kraus(r, t, ops);
  });
}

}  // namespace

void mixDephasing(Qureg qureg, int targetQubit, qreal prob) {
  one_qubit(__func__, qureg, targetQubit, prob, 0.5, Words::kDephasing, [](double p) {
    const circuit::PauliProbability z{{3}, p};
    return circuit::pauli_channel(1, {&z, 1}).kraus;
  });
}

void mixDepolarising(Qureg qureg, int targetQubit, qreal prob) {
  one_qubit(__func__, qureg, targetQubit, prob, 0.75, Words::kDepolarising,
            [](double p) { return circuit::depolarizing(1, p).kraus; });
}

void mixDamping(Qureg qureg, int targetQubit, qreal prob) {
  one_qubit(__func__, qureg, targetQubit, prob, 1, Words::kProbability,
            [](double p) { return circuit::amplitude_damping(p).kraus; });
}

void mixTwoQubitDephasing(Qureg qureg, int qubit1, int qubit2, qreal prob) {
  two_qubit(__func__, qureg, qubit1, qubit2, prob, 0.75, true);
}

void mixTwoQubitDepolarising(Qureg qureg, int qubit1, int qubit2, qreal prob) {
  two_qubit(__func__, qureg, qubit1, qubit2, prob, 15.0 / 16, false);
}

void mixPauli(Qureg qureg, int targetQubit, qreal probX, qreal probY, qreal probZ) {
  call(__func__, [&] {
    Register& r = use_density(qureg);
    const Qubit t = qubit(r, targetQubit, "targetQubit");
    check_probability(probX, 1, "probX");
    check_probability(probY, 1, "probY");
    check_probability(probZ, 1, "probZ");
    const double none = 1.0 - probX - probY - probZ;
    if (std::max({probX, probY, probZ}) > none + 1e-15) {
      fail(Words::kPauliProbabilities, "probX, probY and probZ leave ", std::to_string(none),
           " for no error: none of them may be larger than that");
    }
    const circuit::PauliProbability errors[3] = {{{1}, probX}, {{2}, probY}, {{3}, probZ}};
    apply_kraus(r, {&t, 1}, circuit::pauli_channel(1, errors).kraus);
  });
}

void mixDensityMatrix(Qureg combineQureg, qreal prob, Qureg otherQureg) {
  call(__func__, [&] {
    Register& r = use_density(combineQureg, "combineQureg");
    Register& other = use_density(otherQureg, "otherQureg");
    check_same_size(r, other, "combineQureg and otherQureg");
    check_probability(prob, 1, "prob");
    weighted_sum(prob, other, 0, other, 1.0 - prob, r);
    r.log().comment("another density matrix is mixed in here");
  });
}

void mixKrausMap(Qureg q, int target, ComplexMatrix2* ops, int n) {
  kraus_map(__func__, q, &target, 1, kKrausTarget, ops, n, true);
}

void mixTwoQubitKrausMap(Qureg q, int target1, int target2, ComplexMatrix4* ops, int n) {
  const int t[2] = {target1, target2};
  kraus_map(__func__, q, t, 2, kKrausPair, ops, n, true);
}

void mixMultiQubitKrausMap(Qureg q, int* targets, int count, ComplexMatrixN* ops, int n) {
  kraus_map(__func__, q, targets, count, "targets", ops, n, true);
}

void mixNonTPKrausMap(Qureg q, int target, ComplexMatrix2* ops, int n) {
  kraus_map(__func__, q, &target, 1, kKrausTarget, ops, n, false);
}

void mixNonTPTwoQubitKrausMap(Qureg q, int target1, int target2, ComplexMatrix4* ops, int n) {
  const int t[2] = {target1, target2};
  kraus_map(__func__, q, t, 2, kKrausPair, ops, n, false);
}

void mixNonTPMultiQubitKrausMap(Qureg q, int* targets, int count, ComplexMatrixN* ops, int n) {
  kraus_map(__func__, q, targets, count, "targets", ops, n, false);
}
