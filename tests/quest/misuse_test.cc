// Invalid calls: one message that names the function, the argument and what it may be; the state
// stays as it was.
#include <gtest/gtest.h>

#include <cmath>

#include "misuse.h"

using namespace misuse;

TEST(Misuse, Registers) {
  refused({"createQureg", "numQubits is 0", "from 1"}, [] { createQureg(0, environment()); });
  refused({"createQureg", "numQubits is -3"}, [] { createQureg(-3, environment()); });
  refused({"createQureg", "numQubits is 47", "cannot place"},
          [] { createQureg(47, environment()); });
  refused({"createDensityQureg", "numQubits is 25"}, [] { createDensityQureg(25, environment()); });
  Qureg never{};
  refused({"hadamard", "never created"}, [&] { hadamard(never, 0); });
  Qureg gone = createQureg(2, environment());
  destroyQureg(gone, environment());
  refused({"hadamard", "destroyed"}, [&] { hadamard(gone, 0); });
  refused({"destroyQureg", "destroyed"}, [&] { destroyQureg(gone, environment()); });
  Qureg next = createQureg(2, environment());  // may use the same slot
  refused({"calcTotalProb", "destroyed"}, [&] { calcTotalProb(gone); });
  destroyQureg(next, environment());
}

TEST(Misuse, Arguments) {
  Pair s(4, false), d(3, true), other(3, false);
  ComplexMatrix2 bad = {{{1, 0}, {0, 2}}, {{0, 0}, {0, 0}}};
  int twice[3] = {1, 2, 1}, pair[2] = {0, 1}, far[2] = {0, 9};
  refused({"hadamard", "targetQubit is 4", "from 0 to 3"}, [&] { hadamard(s.q, 4); });
  refused({"hadamard", "targetQubit is -1"}, [&] { hadamard(s.q, -1); });
  refused({"rotateX", "rotQubit is 7"}, [&] { rotateX(s.q, 7, 1); });
  refused({"rotateX", "finite"}, [&] { rotateX(s.q, 0, qreal(NAN)); });
  refused({"controlledNot", "are both 2"}, [&] { controlledNot(s.q, 2, 2); });
  refused({"swapGate", "are both 1"}, [&] { swapGate(s.q, 1, 1); });
  refused({"unitary", "u is not unitary"}, [&] { unitary(s.q, 0, bad); });
  refused({"compactUnitary", "not unitary"}, [&] { compactUnitary(s.q, 0, {1, 0}, {1, 0}); });
  refused({"rotateAroundAxis", "zero vector"}, [&] {
    rotateAroundAxis(s.q, 0, 1, Vector{0, 0, 0});
  });
  refused({"multiQubitNot", "targs[2]", "again"}, [&] { multiQubitNot(s.q, twice, 3); });
  refused({"multiQubitNot", "targs[1] is 9"}, [&] { multiQubitNot(s.q, far, 2); });
  refused({"multiQubitNot", "null pointer"}, [&] { multiQubitNot(s.q, nullptr, 2); });
  refused({"multiQubitNot", "number of targs is 0"}, [&] { multiQubitNot(s.q, pair, 0); });
  refused({"multiQubitNot", "number of targs is 5"}, [&] { multiQubitNot(s.q, pair, 5); });
  refused({"multiControlledUnitary", "null"},
          [&] { multiControlledUnitary(s.q, nullptr, 1, 0, bad); });
  refused({"multiControlledMultiQubitNot", "twice"},
          [&] { multiControlledMultiQubitNot(s.q, pair, 2, pair, 2); });
  int state[2] = {0, 2};
  ComplexMatrix2 one = {{{1, 0}, {0, 1}}, {{0, 0}, {0, 0}}};
  refused({"multiStateControlledUnitary", "controlState"},
          [&] { multiStateControlledUnitary(s.q, pair, state, 2, 3, one); });
  const MatrixN two(random_unitary(2));
  refused({"multiQubitUnitary", "u is for 2 qubits"},
          [&] { multiQubitUnitary(s.q, pair, 1, two.value); });
  refused({"multiQubitUnitary", "never created"}, [&] {
    multiQubitUnitary(s.q, pair, 1, ComplexMatrixN{1, nullptr, nullptr});
  });
  refused({"getAmp", "index is 16"}, [&] { getAmp(s.q, 16); });
  refused({"getAmp", "density matrix"}, [&] { getAmp(d.q, 0); });
  refused({"getDensityAmp", "state vector"}, [&] { getDensityAmp(s.q, 0, 0); });
  refused({"calcProbOfOutcome", "outcome is 2"}, [&] { calcProbOfOutcome(s.q, 0, 2); });
  refused({"calcInnerProduct", "4 and 3 qubits"}, [&] { calcInnerProduct(s.q, other.q); });
  refused({"cloneQureg", "different kinds"}, [&] { cloneQureg(s.q, d.q); });
  refused({"mixDephasing", "state vector"}, [&] { mixDephasing(s.q, 0, qreal(0.1)); });
  refused({"mixDephasing", "prob is 0.6", "to 0.5"}, [&] { mixDephasing(d.q, 0, qreal(0.6)); });
  refused({"mixKrausMap", "trace"}, [&] { mixKrausMap(d.q, 0, &bad, 1); });
  refused({"mixKrausMap", "numOps is 5"}, [&] { mixKrausMap(d.q, 0, &bad, 5); });
  refused({"setAmps", "numAmps is 9"}, [&] {
    qreal v[9] = {};
    setAmps(s.q, 8, v, v, 9);
  });
  refused({"initClassicalState", "stateInd is 16"}, [&] { initClassicalState(s.q, 16); });
  refused({"measureWithStats", "null"}, [&] { measureWithStats(s.q, 0, nullptr); });
  refused({"createPauliHamilFromFile", "cannot be read"}, [] {
    char name[] = "/no/such/file";
    createPauliHamilFromFile(name);
  });
  pauliOpType wrong[4] = {PAULI_X, static_cast<pauliOpType>(7), PAULI_I, PAULI_I};
  qreal weight = 1;
  refused({"calcExpecPauliSum", "Pauli code is 7"},
          [&] { calcExpecPauliSum(s.q, wrong, &weight, 1, s.q); });
  PauliHamil h = createPauliHamil(4, 1);
  refused({"applyTrotterCircuit", "order is 3"}, [&] { applyTrotterCircuit(s.q, h, 1, 3, 1); });
  refused({"applyTrotterCircuit", "reps is 0"}, [&] { applyTrotterCircuit(s.q, h, 1, 2, 0); });
  refused({"setQuregToPauliHamil", "for 4 qubits"}, [&] { setQuregToPauliHamil(d.q, h); });
  destroyPauliHamil(h);
  qreal c = 1, e = -1;
  refused({"applyPhaseFunc", "diverges"},
          [&] { applyPhaseFunc(s.q, pair, 2, UNSIGNED, &c, &e, 1); });
  int sizes[2] = {1, 1};
  refused({"applyParamNamedPhaseFunc", "numParams is 1", "takes 0"},
          [&] { applyParamNamedPhaseFunc(s.q, pair, sizes, 2, UNSIGNED, NORM, &c, 1); });
  refused({"applyNamedPhaseFunc", "even"},
          [&] { applyNamedPhaseFunc(s.q, pair, sizes, 1, UNSIGNED, DISTANCE); });
  s.check("a register after refused calls");
  d.check("a density matrix after refused calls");
  initZeroState(s.q);
  refused({"collapseToOutcome", "probability zero"}, [&] { collapseToOutcome(s.q, 0, 1); });
}

TEST(Misuse, NullPointers) {
  Pair s(4, false), d(3, true);
  int q[2] = {0, 1}, sizes[2] = {1, 1};
  qreal v[16] = {};
  ComplexMatrixN gone{1, nullptr, nullptr};
  qreal* no_rows[2] = {nullptr, nullptr};
  const ComplexMatrixN hollow{1, no_rows, no_rows};
  const PauliHamil no_sum{nullptr, nullptr, 1, 4};
  const DiagonalOp no_op{4, 16, 1, 0, nullptr, nullptr, {}};
  const SubDiagonalOp no_sub{1, 2, nullptr, nullptr};
  const Calls<Call<>> calls = {
      {"calcProbOfAllOutcomes", [&] { calcProbOfAllOutcomes(nullptr, s.q, q, 2); }},
      {"calcProbOfAllOutcomes", [&] { calcProbOfAllOutcomes(v, s.q, nullptr, 2); }},
      {"initStateFromAmps", [&] { initStateFromAmps(s.q, nullptr, v); }},
      {"initStateFromAmps", [&] { initStateFromAmps(s.q, v, nullptr); }},
      {"setAmps", [&] { setAmps(s.q, 0, v, nullptr, 2); }},
      {"setDensityAmps", [&] { setDensityAmps(d.q, 0, 0, nullptr, v, 2); }},
      {"multiRotatePauli", [&] { multiRotatePauli(s.q, q, nullptr, 2, 1); }},
      {"multiRotateZ", [&] { multiRotateZ(s.q, nullptr, 2, 1); }},
      {"multiControlledPhaseFlip", [&] { multiControlledPhaseFlip(s.q, nullptr, 2); }},
      {"multiControlledPhaseShift", [&] { multiControlledPhaseShift(s.q, nullptr, 2, 1); }},
      {"multiQubitUnitary", [&] { multiQubitUnitary(s.q, q, 1, hollow); }},
      {"applyMatrixN", [&] { applyMatrixN(s.q, nullptr, 1, gone); }},
      {"applyGateMatrixN", [&] { applyGateMatrixN(s.q, q, 1, gone); }},
      {"applyDiagonalOp", [&] { applyDiagonalOp(s.q, no_op); }},
      {"calcExpecDiagonalOp", [&] { calcExpecDiagonalOp(s.q, no_op); }},
      {"diagonalUnitary", [&] { diagonalUnitary(s.q, q, 1, no_sub); }},
      {"applySubDiagonalOp", [&] { applySubDiagonalOp(s.q, q, 1, no_sub); }},
      {"calcExpecPauliHamil", [&] { calcExpecPauliHamil(s.q, no_sum, s.q); }},
      {"calcExpecPauliProd", [&] { calcExpecPauliProd(s.q, q, nullptr, 2, s.q); }},
      {"applyPauliHamil", [&] { applyPauliHamil(s.q, no_sum, s.q); }},
      {"applyTrotterCircuit", [&] { applyTrotterCircuit(s.q, no_sum, 1, 2, 1); }},
      {"initPauliHamil", [&] { initPauliHamil(no_sum, v, nullptr); }},
      {"initDiagonalOp", [&] { initDiagonalOp(no_op, v, v); }},
      {"setDiagonalOpElems", [&] { setDiagonalOpElems(no_op, 0, v, v, 1); }},
      {"createPauliHamilFromFile", [&] { createPauliHamilFromFile(nullptr); }},
      {"createDiagonalOpFromPauliHamilFile",
       [&] { createDiagonalOpFromPauliHamilFile(nullptr, environment()); }},
      {"destroyComplexMatrixN", [&] { destroyComplexMatrixN(gone); }},
      {"mixKrausMap", [&] { mixKrausMap(d.q, 0, nullptr, 1); }},
      {"mixTwoQubitKrausMap", [&] { mixTwoQubitKrausMap(d.q, 0, 1, nullptr, 1); }},
      {"mixMultiQubitKrausMap", [&] { mixMultiQubitKrausMap(d.q, q, 1, &gone, 1); }},
      {"mixNonTPMultiQubitKrausMap",
       [&] { mixNonTPMultiQubitKrausMap(d.q, nullptr, 1, &gone, 1); }},
      {"applyPhaseFunc", [&] { applyPhaseFunc(s.q, q, 2, UNSIGNED, nullptr, v, 1); }},
      {"applyPhaseFuncOverrides",
       [&] { applyPhaseFuncOverrides(s.q, q, 2, UNSIGNED, v, v, 1, nullptr, v, 1); }},
      {"applyMultiVarPhaseFunc",
       [&] { applyMultiVarPhaseFunc(s.q, q, nullptr, 2, UNSIGNED, v, v, sizes); }},
      {"applyParamNamedPhaseFunc",
       [&] { applyParamNamedPhaseFunc(s.q, q, sizes, 2, UNSIGNED, SCALED_NORM, nullptr, 1); }},
      {"applyQFT", [&] { applyQFT(s.q, nullptr, 2); }},
      {"writeRecordedQASMToFile", [&] { writeRecordedQASMToFile(s.q, nullptr); }},
      {"getEnvironmentString", [&] { getEnvironmentString(environment(), nullptr); }},
      {"seedQuEST", [&] { seedQuEST(nullptr, nullptr, 1); }},
      {"seedQuESTDefault", [&] { seedQuESTDefault(nullptr); }},
      {"tilewave_seedQuEST", [&] { tilewave_seedQuEST(nullptr, 1); }},
      {"getQuESTSeeds", [&] { getQuESTSeeds(environment(), nullptr, nullptr); }},
  };
  for (const auto& [name, f] : calls) refused({name, ": "}, f);
  s.check("a register after null pointers");
  d.check("a density matrix after null pointers");
}

TEST(Misuse, OutOfMemory) {
  refused({"createQureg", "numQubits is 40: cannot place 40 qubits"},
          [] { createQureg(40, environment()); });
  refused({"createDensityQureg", "numQubits is 20: cannot place 40 qubits"},
          [] { createDensityQureg(20, environment()); });
  refused({"createDiagonalOp", "out of memory"}, [] { createDiagonalOp(40, environment()); });
  refused({"createSubDiagonalOp", "out of memory"}, [] { createSubDiagonalOp(40); });
  Pair s(3, false);  // what follows works
  s.check("a register after refused ones");
}
