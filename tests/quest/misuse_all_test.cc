// The mistakes that every function can meet, made with every function: a register that was never
// created or is gone, qubits out of range or named twice, angles that are no numbers, matrices that
// are not unitary or for other sizes, probabilities above what they may be. One message each, which
// names the function, the argument and its range; the registers stay as they were.
#include <gtest/gtest.h>

#include "misuse.h"

using namespace misuse;

namespace {

using OnRegister = Call<Qureg>;
using OnQubit = Call<Qureg, int>;
using OnTwo = Call<Qureg, int, int>;

// Functions of one qubit.
Calls<OnQubit> on_qubit(Fixture& s) {
  static int zero[1] = {0}, state[1] = {1};
  static qreal probability;
  const MatrixN& one = s.one;
  const SubDiagonalOp sub = s.sub;
  return {
      {"hadamard", [](Qureg q, int k) { hadamard(q, k); }},
      {"pauliX", [](Qureg q, int k) { pauliX(q, k); }},
      {"pauliY", [](Qureg q, int k) { pauliY(q, k); }},
      {"pauliZ", [](Qureg q, int k) { pauliZ(q, k); }},
      {"sGate", [](Qureg q, int k) { sGate(q, k); }},
      {"tGate", [](Qureg q, int k) { tGate(q, k); }},
      {"phaseShift", [](Qureg q, int k) { phaseShift(q, k, 1); }},
      {"rotateX", [](Qureg q, int k) { rotateX(q, k, 1); }},
      {"rotateY", [](Qureg q, int k) { rotateY(q, k, 1); }},
      {"rotateZ", [](Qureg q, int k) { rotateZ(q, k, 1); }},
      {"rotateAroundAxis", [](Qureg q, int k) { rotateAroundAxis(q, k, 1, kAxis); }},
      {"compactUnitary",
       [](Qureg q, int k) {
         compactUnitary(q, k, {1, 0}, {0, 0});
       }},
      {"unitary", [](Qureg q, int k) { unitary(q, k, kOne); }},
      {"u1Gate", [](Qureg q, int k) { u1Gate(q, k, 1); }},
      {"u2Gate", [](Qureg q, int k) { u2Gate(q, k, 1, 1); }},
      {"u3Gate", [](Qureg q, int k) { u3Gate(q, k, 1, 1, 1); }},
      {"SqX", [](Qureg q, int k) { SqX(q, k); }},
      {"SqY", [](Qureg q, int k) { SqY(q, k); }},
      {"SqW", [](Qureg q, int k) { SqW(q, k); }},
      {"multiStateControlledUnitary",
       [=](Qureg q, int k) { multiStateControlledUnitary(q, zero, state, 1, k, kOne); }},
      {"multiControlledTwoQubitUnitary",
       [=](Qureg q, int k) { multiControlledTwoQubitUnitary(q, zero, 1, 1, k, one4()); }},
      {"diagonalUnitary", [=](Qureg q, int k) { diagonalUnitary(q, &k, 1, sub); }},
      {"applyMatrix2", [](Qureg q, int k) { applyMatrix2(q, k, kOne); }},
      {"applyMultiControlledMatrixN",
       [&](Qureg q, int k) { applyMultiControlledMatrixN(q, zero, 1, &k, 1, one.value); }},
      {"applyMultiControlledGateMatrixN",
       [&](Qureg q, int k) { applyMultiControlledGateMatrixN(q, zero, 1, &k, 1, one.value); }},
      {"applyGateSubDiagonalOp", [=](Qureg q, int k) { applyGateSubDiagonalOp(q, &k, 1, sub); }},
      {"applySubDiagonalOp", [=](Qureg q, int k) { applySubDiagonalOp(q, &k, 1, sub); }},
      {"applyProjector", [](Qureg q, int k) { applyProjector(q, k, 0); }},
      {"calcProbOfOutcome", [](Qureg q, int k) { calcProbOfOutcome(q, k, 0); }},
      {"collapseToOutcome", [](Qureg q, int k) { collapseToOutcome(q, k, 0); }},
      {"measure", [](Qureg q, int k) { measure(q, k); }},
      {"measureWithStats", [](Qureg q, int k) { measureWithStats(q, k, &probability); }},
  };
}

// Functions of a list of qubits: the last of two, the first being 1.
Calls<OnQubit> on_list(Fixture& s) {
  static int list[2];
  const auto listed = [](int q) {
    list[0] = 1;
    list[1] = q;
    return list;
  };
  static int zero[1] = {0}, sizes[2] = {1, 1}, two_terms[2] = {1, 1};
  static pauliOpType codes[2] = {PAULI_X, PAULI_Z};
  static qreal c[2] = {1, 1}, e[2] = {1, 1}, probabilities[4];
  static long long overridden[2] = {0, 0};
  const MatrixN& two = s.two;
  return {
      {"multiControlledPhaseShift",
       [=](Qureg q, int k) { multiControlledPhaseShift(q, listed(k), 2, 1); }},
      {"multiControlledPhaseFlip",
       [=](Qureg q, int k) { multiControlledPhaseFlip(q, listed(k), 2); }},
      {"multiControlledUnitary",
       [=](Qureg q, int k) { multiControlledUnitary(q, listed(k), 2, 0, kOne); }},
      {"multiQubitNot", [=](Qureg q, int k) { multiQubitNot(q, listed(k), 2); }},
      {"multiControlledMultiQubitNot",
       [=](Qureg q, int k) { multiControlledMultiQubitNot(q, zero, 1, listed(k), 2); }},
      {"multiRotateZ", [=](Qureg q, int k) { multiRotateZ(q, listed(k), 2, 1); }},
      {"multiRotatePauli", [=](Qureg q, int k) { multiRotatePauli(q, listed(k), codes, 2, 1); }},
      {"multiControlledMultiRotateZ",
       [=](Qureg q, int k) { multiControlledMultiRotateZ(q, zero, 1, listed(k), 2, 1); }},
      {"multiControlledMultiRotatePauli",
       [=](Qureg q, int k) {
         multiControlledMultiRotatePauli(q, zero, 1, listed(k), codes, 2, 1);
       }},
      {"multiQubitUnitary",
       [&, listed](Qureg q, int k) { multiQubitUnitary(q, listed(k), 2, two.value); }},
      {"controlledMultiQubitUnitary",
       [&, listed](Qureg q, int k) { controlledMultiQubitUnitary(q, 0, listed(k), 2, two.value); }},
      {"multiControlledMultiQubitUnitary",
       [&, listed](Qureg q, int k) {
         multiControlledMultiQubitUnitary(q, zero, 1, listed(k), 2, two.value);
       }},
      {"applyMatrixN", [&, listed](Qureg q, int k) { applyMatrixN(q, listed(k), 2, two.value); }},
      {"applyGateMatrixN",
       [&, listed](Qureg q, int k) { applyGateMatrixN(q, listed(k), 2, two.value); }},
      {"applyQFT", [=](Qureg q, int k) { applyQFT(q, listed(k), 2); }},
      {"applyPhaseFunc",
       [=](Qureg q, int k) { applyPhaseFunc(q, listed(k), 2, UNSIGNED, c, e, 1); }},
      {"applyPhaseFuncOverrides",
       [=](Qureg q, int k) {
         applyPhaseFuncOverrides(q, listed(k), 2, UNSIGNED, c, e, 1, overridden, c, 1);
       }},
      {"applyMultiVarPhaseFunc",
       [=](Qureg q, int k) {
         applyMultiVarPhaseFunc(q, listed(k), sizes, 2, UNSIGNED, c, e, two_terms);
       }},
      {"applyMultiVarPhaseFuncOverrides",
       [=](Qureg q, int k) {
         applyMultiVarPhaseFuncOverrides(q, listed(k), sizes, 2, UNSIGNED, c, e, two_terms,
                                         overridden, c, 1);
       }},
      {"applyNamedPhaseFunc",
       [=](Qureg q, int k) { applyNamedPhaseFunc(q, listed(k), sizes, 2, UNSIGNED, NORM); }},
      {"applyNamedPhaseFuncOverrides",
       [=](Qureg q, int k) {
         applyNamedPhaseFuncOverrides(q, listed(k), sizes, 2, UNSIGNED, NORM, overridden, c, 1);
       }},
      {"applyParamNamedPhaseFunc",
       [=](Qureg q, int k) {
         applyParamNamedPhaseFunc(q, listed(k), sizes, 2, UNSIGNED, SCALED_NORM, c, 1);
       }},
      {"applyParamNamedPhaseFuncOverrides",
       [=](Qureg q, int k) {
         applyParamNamedPhaseFuncOverrides(q, listed(k), sizes, 2, UNSIGNED, SCALED_NORM, c, 1,
                                           overridden, c, 1);
       }},
      {"calcProbOfAllOutcomes",
       [=](Qureg q, int k) { calcProbOfAllOutcomes(probabilities, q, listed(k), 2); }},
      {"calcExpecPauliProd",
       [=](Qureg q, int k) { calcExpecPauliProd(q, listed(k), codes, 2, q); }},
  };
}

// Of two qubits that must differ.
Calls<OnTwo> on_two() {
  static int list[2];
  return {
      {"controlledNot", [](Qureg q, int a, int b) { controlledNot(q, a, b); }},
      {"controlledPauliY", [](Qureg q, int a, int b) { controlledPauliY(q, a, b); }},
      {"controlledPhaseShift", [](Qureg q, int a, int b) { controlledPhaseShift(q, a, b, 1); }},
      {"controlledPhaseFlip", [](Qureg q, int a, int b) { controlledPhaseFlip(q, a, b); }},
      {"controlledRotateX", [](Qureg q, int a, int b) { controlledRotateX(q, a, b, 1); }},
      {"controlledRotateY", [](Qureg q, int a, int b) { controlledRotateY(q, a, b, 1); }},
      {"controlledRotateZ", [](Qureg q, int a, int b) { controlledRotateZ(q, a, b, 1); }},
      {"controlledRotateAroundAxis",
       [](Qureg q, int a, int b) { controlledRotateAroundAxis(q, a, b, 1, kAxis); }},
      {"controlledCompactUnitary",
       [](Qureg q, int a, int b) {
         controlledCompactUnitary(q, a, b, {1, 0}, {0, 0});
       }},
      {"controlledUnitary", [](Qureg q, int a, int b) { controlledUnitary(q, a, b, kOne); }},
      {"swapGate", [](Qureg q, int a, int b) { swapGate(q, a, b); }},
      {"sqrtSwapGate", [](Qureg q, int a, int b) { sqrtSwapGate(q, a, b); }},
      {"twoQubitUnitary", [](Qureg q, int a, int b) { twoQubitUnitary(q, a, b, one4()); }},
      {"controlledTwoQubitUnitary",
       [](Qureg q, int a, int b) { controlledTwoQubitUnitary(q, 2, a, b, one4()); }},
      {"controlledTwoQubitUnitary",
       [](Qureg q, int a, int b) { controlledTwoQubitUnitary(q, a, 2, b, one4()); }},
      {"multiControlledTwoQubitUnitary",
       [](Qureg q, int a, int b) {
         multiControlledTwoQubitUnitary(q, &(list[0] = 2), 1, a, b, one4());
       }},
      {"multiControlledUnitary",
       [](Qureg q, int a, int b) { multiControlledUnitary(q, &(list[0] = a), 1, b, kOne); }},
      {"applyMatrix4", [](Qureg q, int a, int b) { applyMatrix4(q, a, b, one4()); }},
  };
}

Calls<OnQubit> channels(Fixture& s) {
  static ComplexMatrix2 one = kOne;
  static int list[1];
  return {
      {"mixDephasing", [](Qureg q, int k) { mixDephasing(q, k, 0); }},
      {"mixDepolarising", [](Qureg q, int k) { mixDepolarising(q, k, 0); }},
      {"mixDamping", [](Qureg q, int k) { mixDamping(q, k, 0); }},
      {"mixPauli", [](Qureg q, int k) { mixPauli(q, k, 0, 0, 0); }},
      {"mixKrausMap", [](Qureg q, int k) { mixKrausMap(q, k, &one, 1); }},
      {"mixNonTPKrausMap", [](Qureg q, int k) { mixNonTPKrausMap(q, k, &one, 1); }},
      {"mixMultiQubitKrausMap",
       [&](Qureg q, int k) { mixMultiQubitKrausMap(q, &(list[0] = k), 1, &s.one.value, 1); }},
      {"mixNonTPMultiQubitKrausMap",
       [&](Qureg q, int k) { mixNonTPMultiQubitKrausMap(q, &(list[0] = k), 1, &s.one.value, 1); }},
  };
}

Calls<OnTwo> channels_on_two() {
  static ComplexMatrix4 one = one4();
  return {
      {"mixTwoQubitDephasing", [](Qureg q, int a, int b) { mixTwoQubitDephasing(q, a, b, 0); }},
      {"mixTwoQubitDepolarising",
       [](Qureg q, int a, int b) { mixTwoQubitDepolarising(q, a, b, 0); }},
      {"mixTwoQubitKrausMap", [](Qureg q, int a, int b) { mixTwoQubitKrausMap(q, a, b, &one, 1); }},
      {"mixNonTPTwoQubitKrausMap",
       [](Qureg q, int a, int b) { mixNonTPTwoQubitKrausMap(q, a, b, &one, 1); }},
  };
}

// Of no qubit, on any register.
Calls<OnRegister> on_register(Fixture& s) {
  static qreal one[1] = {1};
  static pauliOpType codes[3] = {PAULI_I, PAULI_I, PAULI_I};
  const PauliHamil hamil = s.hamil;
  const DiagonalOp diagonal = s.diagonal;
  return {
      {"createCloneQureg", [](Qureg q) { createCloneQureg(q, environment()); }},
      {"destroyQureg", [](Qureg q) { destroyQureg(q, environment()); }},
      {"getNumQubits", [](Qureg q) { getNumQubits(q); }},
      {"getNumAmps", [](Qureg q) { getNumAmps(q); }},
      {"initBlankState", [](Qureg q) { initBlankState(q); }},
      {"initZeroState", [](Qureg q) { initZeroState(q); }},
      {"initPlusState", [](Qureg q) { initPlusState(q); }},
      {"initClassicalState", [](Qureg q) { initClassicalState(q, 0); }},
      {"initPureState", [&](Qureg q) { initPureState(s.density, q); }},
      {"initPureState", [&](Qureg q) { initPureState(q, s.vector); }},
      {"initDebugState", [](Qureg q) { initDebugState(q); }},
      {"initStateFromAmps", [](Qureg q) { initStateFromAmps(q, one, one); }},
      {"setAmps", [](Qureg q) { setAmps(q, 0, one, one, 1); }},
      {"setDensityAmps", [](Qureg q) { setDensityAmps(q, 0, 0, one, one, 1); }},
      {"setQuregToPauliHamil", [=](Qureg q) { setQuregToPauliHamil(q, hamil); }},
      {"cloneQureg", [&](Qureg q) { cloneQureg(s.vector, q); }},
      {"cloneQureg", [&](Qureg q) { cloneQureg(q, s.vector); }},
      {"setWeightedQureg",
       [&](Qureg q) {
         setWeightedQureg({1, 0}, q, {1, 0}, s.vector, {0, 0}, s.vector);
       }},
      {"setWeightedQureg",
       [&](Qureg q) {
         setWeightedQureg({1, 0}, s.vector, {1, 0}, s.vector, {0, 0}, q);
       }},
      {"applyDiagonalOp", [=](Qureg q) { applyDiagonalOp(q, diagonal); }},
      {"applyPauliSum", [&](Qureg q) { applyPauliSum(q, codes, one, 1, s.vector); }},
      {"applyPauliSum", [&](Qureg q) { applyPauliSum(s.vector, codes, one, 1, q); }},
      {"applyPauliHamil", [&](Qureg q) { applyPauliHamil(q, s.hamil, s.vector); }},
      {"applyTrotterCircuit", [=](Qureg q) { applyTrotterCircuit(q, hamil, 1, 1, 1); }},
      {"applyFullQFT", [](Qureg q) { applyFullQFT(q); }},
      {"getAmp", [](Qureg q) { getAmp(q, 0); }},
      {"getRealAmp", [](Qureg q) { getRealAmp(q, 0); }},
      {"getImagAmp", [](Qureg q) { getImagAmp(q, 0); }},
      {"getProbAmp", [](Qureg q) { getProbAmp(q, 0); }},
      {"getDensityAmp", [](Qureg q) { getDensityAmp(q, 0, 0); }},
      {"calcTotalProb", [](Qureg q) { calcTotalProb(q); }},
      {"calcInnerProduct", [&](Qureg q) { calcInnerProduct(q, s.vector); }},
      {"calcInnerProduct", [&](Qureg q) { calcInnerProduct(s.vector, q); }},
      {"calcDensityInnerProduct", [&](Qureg q) { calcDensityInnerProduct(s.density, q); }},
      {"calcPurity", [](Qureg q) { calcPurity(q); }},
      {"calcFidelity", [&](Qureg q) { calcFidelity(q, s.vector); }},
      {"calcFidelity", [&](Qureg q) { calcFidelity(s.vector, q); }},
      {"calcHilbertSchmidtDistance", [&](Qureg q) { calcHilbertSchmidtDistance(s.density, q); }},
      {"calcExpecPauliSum", [](Qureg q) { calcExpecPauliSum(q, codes, one, 1, q); }},
      {"calcExpecPauliSum", [&](Qureg q) { calcExpecPauliSum(s.vector, codes, one, 1, q); }},
      {"calcExpecPauliHamil", [=](Qureg q) { calcExpecPauliHamil(q, hamil, q); }},
      {"calcExpecDiagonalOp", [=](Qureg q) { calcExpecDiagonalOp(q, diagonal); }},
      {"mixDensityMatrix", [&](Qureg q) { mixDensityMatrix(s.density, 0, q); }},
      {"mixDensityMatrix", [&](Qureg q) { mixDensityMatrix(q, 0, s.density); }},
      {"startRecordingQASM", [](Qureg q) { startRecordingQASM(q); }},
      {"stopRecordingQASM", [](Qureg q) { stopRecordingQASM(q); }},
      {"clearRecordedQASM", [](Qureg q) { clearRecordedQASM(q); }},
      {"printRecordedQASM", [](Qureg q) { printRecordedQASM(q); }},
      {"writeRecordedQASMToFile",
       [](Qureg q) {
         char name[] = "/tmp/none";
         writeRecordedQASMToFile(q, name);
       }},
      {"reportState", [](Qureg q) { reportState(q); }},
      {"tilewave_saveQureg", [](Qureg q) { tilewave_saveQureg(q, "/tmp/none"); }},
      {"tilewave_loadQureg", [](Qureg q) { tilewave_loadQureg(q, "/tmp/none"); }},
      {"reportStateToScreen", [](Qureg q) { reportStateToScreen(q, environment(), 0); }},
      {"reportQuregParams", [](Qureg q) { reportQuregParams(q); }},
      {"copyStateToGPU", [](Qureg q) { copyStateToGPU(q); }},
      {"copySubstateToGPU", [](Qureg q) { copySubstateToGPU(q, 0, 1); }},
      {"copyStateFromGPU", [](Qureg q) { copyStateFromGPU(q); }},
      {"copySubstateFromGPU", [](Qureg q) { copySubstateFromGPU(q, 0, 1); }},
  };
}

}  // namespace

TEST(MisuseOfAll, RegistersThatAreNotThere) {
  Fixture s;
  const Qureg never{}, gone = createDensityQureg(3, environment());
  destroyQureg(gone, environment());
  const auto both = [&](const char* name, const OnRegister& f) {
    refused(name, {"never created"}, [&] { f(never); });
    refused(name, {"was destroyed"}, [&] { f(gone); });
  };
  for (const auto& [name, f] : on_register(s)) both(name, f);
  for (const auto& calls : {on_qubit(s), on_list(s), channels(s)}) {
    for (const auto& [name, f] : calls) both(name, [&](Qureg q) { f(q, 0); });
  }
  for (const auto& calls : {on_two(), channels_on_two()}) {
    for (const auto& [name, f] : calls) both(name, [&](Qureg q) { f(q, 0, 1); });
  }
}

TEST(MisuseOfAll, Qubits) {
  Fixture s;
  const Pair vector(3, false), density(3, true);
  const auto range = [&](const char* name, const Pair& p, const OnQubit& f) {
    for (const int bad : {-1, 3, 1 << 30})
      refused(name, {" is " + std::to_string(bad), "from 0 to 2"}, [&] { f(p.q, bad); });
  };
  for (const Pair* p : {&vector, &density}) {
    for (const auto& calls :
         {on_qubit(s), on_list(s), p == &density ? channels(s) : Calls<OnQubit>{}}) {
      for (const auto& [name, f] : calls) range(name, *p, f);
    }
    for (const auto& calls : {on_two(), p == &density ? channels_on_two() : Calls<OnTwo>{}}) {
      for (const auto& [name, f] : calls) {
        range(name, *p, [&](Qureg q, int bad) { f(q, bad, 0); });
        range(name, *p, [&](Qureg q, int bad) { f(q, 0, bad); });
        refused(name, {"1"}, [&] { f(p->q, 1, 1); });
      }
    }
    p->check("a register after refused qubits");
  }
  for (const auto& [name, f] : on_list(s)) refused(name, {"1"}, [&] { f(vector.q, 1); });
  vector.check("a register after qubits named twice");
}

TEST(MisuseOfAll, KindsOfRegisters) {
  Fixture s;
  const Pair vector(3, false), density(3, true), larger(4, false), larger_density(4, true);
  const Qureg v = vector.q, d = density.q, l = larger.q;
  qreal one[1] = {1}, many[1 << 8] = {};
  pauliOpType codes[4] = {PAULI_I, PAULI_I, PAULI_I, PAULI_I};
  for (const auto& [name, f] : channels(s)) refused(name, {"state vector"}, [&] { f(v, 0); });
  for (const auto& [name, f] : channels_on_two()) {
    refused(name, {"state vector"}, [&] { f(v, 0, 1); });
  }
  const Calls<Call<>> calls = {
      {"getAmp", [&] { getAmp(d, 0); }},
      {"getRealAmp", [&] { getRealAmp(d, 0); }},
      {"getImagAmp", [&] { getImagAmp(d, 0); }},
      {"getProbAmp", [&] { getProbAmp(d, 0); }},
      {"getNumAmps", [&] { getNumAmps(d); }},
      {"getDensityAmp", [&] { getDensityAmp(v, 0, 0); }},
      {"setAmps", [&] { setAmps(d, 0, one, one, 1); }},
      {"setDensityAmps", [&] { setDensityAmps(v, 0, 0, one, one, 1); }},
      {"setQuregToPauliHamil", [&] { setQuregToPauliHamil(v, s.hamil); }},
      {"calcPurity", [&] { calcPurity(v); }},
      {"calcDensityInnerProduct", [&] { calcDensityInnerProduct(v, d); }},
      {"calcHilbertSchmidtDistance", [&] { calcHilbertSchmidtDistance(d, v); }},
      {"calcInnerProduct", [&] { calcInnerProduct(d, v); }},
      {"calcFidelity", [&] { calcFidelity(v, d); }},
      {"initPureState", [&] { initPureState(v, d); }},
      {"mixDensityMatrix", [&] { mixDensityMatrix(v, 0, v); }},
      {"mixDensityMatrix", [&] { mixDensityMatrix(d, 0, larger_density.q); }},
      {"cloneQureg", [&] { cloneQureg(v, l); }},
      {"initPureState", [&] { initPureState(v, l); }},
      {"calcInnerProduct", [&] { calcInnerProduct(v, l); }},
      {"calcFidelity", [&] { calcFidelity(d, l); }},
      {"setWeightedQureg",
       [&] {
         setWeightedQureg({1, 0}, v, {1, 0}, l, {0, 0}, v);
       }},
      {"setWeightedQureg",
       [&] {
         setWeightedQureg({1, 0}, v, {1, 0}, v, {0, 0}, d);
       }},
      {"applyPauliSum", [&] { applyPauliSum(v, codes, one, 1, l); }},
      {"applyPauliHamil", [&] { applyPauliHamil(l, s.hamil, l); }},
      {"applyTrotterCircuit", [&] { applyTrotterCircuit(l, s.hamil, 1, 1, 1); }},
      {"calcExpecPauliHamil", [&] { calcExpecPauliHamil(l, s.hamil, l); }},
      {"calcExpecPauliSum", [&] { calcExpecPauliSum(v, codes, one, 1, l); }},
      {"calcExpecPauliProd",
       [&] {
         int q[1] = {0};
         calcExpecPauliProd(v, q, codes, 1, d);
       }},
      {"applyDiagonalOp", [&] { applyDiagonalOp(l, s.diagonal); }},
      {"calcExpecDiagonalOp", [&] { calcExpecDiagonalOp(l, s.diagonal); }},
      {"reportStateToScreen",
       [&] {
         const Qureg wide = createQureg(6, environment());
         try {
           reportStateToScreen(wide, environment(), 0);
         } catch (...) {
           destroyQureg(wide, environment());
           throw;
         }
       }},
      {"setAmps", [&] { setAmps(v, -1, many, many, 1); }},
      {"setAmps", [&] { setAmps(v, 0, many, many, -1); }},
      {"setDensityAmps", [&] { setDensityAmps(d, 0, 0, many, many, 65); }},
      {"setDensityAmps", [&] { setDensityAmps(d, 8, 0, many, many, 1); }},
      {"getDensityAmp", [&] { getDensityAmp(d, 0, 8); }},
      {"getRealAmp", [&] { getRealAmp(v, 8); }},
      {"getImagAmp", [&] { getImagAmp(v, -1); }},
      {"getProbAmp", [&] { getProbAmp(v, 8); }},
      {"initClassicalState", [&] { initClassicalState(d, 8); }},
      {"copySubstateToGPU", [&] { copySubstateToGPU(v, 0, 9); }},
      {"copySubstateFromGPU", [&] { copySubstateFromGPU(v, 8, 1); }},
  };
  for (const auto& [name, f] : calls) refused(name, {}, f);
  for (const Pair* p : {&vector, &density, &larger}) p->check("a register after refused calls");
}
