// Arguments that every function refuses by their value: angles that are no numbers, matrices that
// are not unitary or for other sizes, probabilities above what they may be, environments of too
// many ranks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "misuse.h"

using namespace misuse;

TEST(MisuseOfAll, ValuesOfArguments) {
  Fixture s;
  const Pair vector(3, false), density(3, true);
  const Qureg v = vector.q, d = density.q;
  int q[3] = {0, 1, 2}, state[1] = {2}, sizes[2] = {1, 1}, terms[2] = {1, 0};
  qreal c[4] = {1, 1, 1, 1}, nan[1] = {kNan};
  long long far[2] = {9, 9};
  pauliOpType codes[3] = {PAULI_X, static_cast<pauliOpType>(4), PAULI_I};
  ComplexMatrix2 two = {{{2, 0}, {0, 1}}, {{0, 0}, {0, 0}}};
  ComplexMatrix4 two4 = one4();
  two4.real[3][3] = 2;
  const MatrixN& wide = s.two;  // of two qubits
  MatrixN scaled(Matrix{2, 0, 0, 1});
  SubDiagonalOp sub = createSubDiagonalOp(1);
  sub.real[0] = 2;
  const Calls<Call<>> calls = {
      {"phaseShift", [&] { phaseShift(v, 0, kNan); }},
      {"rotateX", [&] { rotateX(v, 0, kNan); }},
      {"rotateY", [&] { rotateY(v, 0, kNan); }},
      {"rotateZ", [&] { rotateZ(v, 0, kNan); }},
      {"rotateAroundAxis", [&] { rotateAroundAxis(v, 0, kNan, kAxis); }},
      {"rotateAroundAxis",
       [&] {
         rotateAroundAxis(v, 0, 1, {kNan, 0, 0});
       }},
      {"controlledRotateX", [&] { controlledRotateX(v, 0, 1, kNan); }},
      {"controlledRotateY", [&] { controlledRotateY(v, 0, 1, kNan); }},
      {"controlledRotateZ", [&] { controlledRotateZ(v, 0, 1, kNan); }},
      {"controlledRotateAroundAxis",
       [&] {
         controlledRotateAroundAxis(v, 0, 1, 1, {0, 0, 0});
       }},
      {"controlledPhaseShift", [&] { controlledPhaseShift(v, 0, 1, kNan); }},
      {"multiControlledPhaseShift", [&] { multiControlledPhaseShift(v, q, 2, kNan); }},
      {"multiRotateZ", [&] { multiRotateZ(v, q, 2, kNan); }},
      {"multiRotatePauli", [&] { multiRotatePauli(v, q, codes, 1, kNan); }},
      {"multiRotatePauli", [&] { multiRotatePauli(v, q, codes, 2, 1); }},
      {"multiControlledMultiRotateZ",
       [&] { multiControlledMultiRotateZ(v, q, 1, q + 1, 1, kNan); }},
      {"multiControlledMultiRotatePauli",
       [&] { multiControlledMultiRotatePauli(v, q, 1, q + 1, codes + 1, 1, 1); }},
      {"multiControlledMultiRotatePauli",
       [&] { multiControlledMultiRotatePauli(v, q, 1, q, codes, 1, 1); }},
      {"u1Gate", [&] { u1Gate(v, 0, kNan); }},
      {"u2Gate", [&] { u2Gate(v, 0, 0, kNan); }},
      {"u3Gate", [&] { u3Gate(v, 0, kNan, 0, 0); }},
      {"compactUnitary",
       [&] {
         compactUnitary(v, 0, {1, 0}, {kNan, 0});
       }},
      {"controlledCompactUnitary",
       [&] {
         controlledCompactUnitary(v, 0, 1, {1, 0}, {1, 0});
       }},
      {"unitary", [&] { unitary(v, 0, two); }},
      {"controlledUnitary", [&] { controlledUnitary(v, 0, 1, two); }},
      {"multiControlledUnitary", [&] { multiControlledUnitary(v, q, 2, 2, two); }},
      {"multiStateControlledUnitary",
       [&] { multiStateControlledUnitary(v, q, state, 1, 1, kOne); }},
      {"multiStateControlledUnitary",
       [&] { multiStateControlledUnitary(v, q, nullptr, 1, 1, kOne); }},
      {"twoQubitUnitary", [&] { twoQubitUnitary(v, 0, 1, two4); }},
      {"controlledTwoQubitUnitary", [&] { controlledTwoQubitUnitary(v, 0, 1, 2, two4); }},
      {"multiControlledTwoQubitUnitary",
       [&] { multiControlledTwoQubitUnitary(v, q, 1, 1, 2, two4); }},
      {"multiQubitUnitary", [&] { multiQubitUnitary(v, q, 1, scaled.value); }},
      {"controlledMultiQubitUnitary",
       [&] { controlledMultiQubitUnitary(v, 1, q, 1, scaled.value); }},
      {"controlledMultiQubitUnitary", [&] { controlledMultiQubitUnitary(v, 0, q, 2, wide.value); }},
      {"multiControlledMultiQubitUnitary",
       [&] { multiControlledMultiQubitUnitary(v, q + 1, 1, q, 1, scaled.value); }},
      {"multiControlledMultiQubitUnitary",
       [&] { multiControlledMultiQubitUnitary(v, q, 1, q, 2, wide.value); }},
      {"multiControlledMultiQubitUnitary",
       [&] { multiControlledMultiQubitUnitary(v, q + 2, 1, q, 1, wide.value); }},
      {"diagonalUnitary", [&] { diagonalUnitary(v, q, 1, sub); }},
      {"diagonalUnitary", [&] { diagonalUnitary(v, q, 2, sub); }},
      {"applyGateSubDiagonalOp", [&] { applyGateSubDiagonalOp(v, q, 2, sub); }},
      {"applySubDiagonalOp", [&] { applySubDiagonalOp(v, q, 0, sub); }},
      {"applyMatrixN", [&] { applyMatrixN(v, q, 1, wide.value); }},
      {"applyGateMatrixN", [&] { applyGateMatrixN(v, q, 1, wide.value); }},
      {"applyMultiControlledMatrixN",
       [&] { applyMultiControlledMatrixN(v, q, 1, q, 2, wide.value); }},
      {"applyMultiControlledGateMatrixN",
       [&] { applyMultiControlledGateMatrixN(v, q, 1, q, 2, wide.value); }},
      {"applyProjector", [&] { applyProjector(v, 0, 2); }},
      {"calcProbOfOutcome", [&] { calcProbOfOutcome(v, 0, -1); }},
      {"collapseToOutcome", [&] { collapseToOutcome(v, 0, 2); }},
      {"applyQFT", [&] { applyQFT(v, q, 4); }},
      {"calcProbOfAllOutcomes", [&] { calcProbOfAllOutcomes(c, v, q, 0); }},
      {"applyPauliSum", [&] { applyPauliSum(v, codes, c, 1, v); }},
      {"applyPauliSum", [&] { applyPauliSum(v, codes, c, 0, v); }},
      {"calcExpecPauliSum", [&] { calcExpecPauliSum(v, codes, c, 1, v); }},
      {"calcExpecPauliSum", [&] { calcExpecPauliSum(v, codes, c, -1, v); }},
      {"calcExpecPauliProd", [&] { calcExpecPauliProd(v, q, codes, 2, v); }},
      {"applyTrotterCircuit", [&] { applyTrotterCircuit(v, s.hamil, kNan, 1, 1); }},
      {"applyTrotterCircuit", [&] { applyTrotterCircuit(v, s.hamil, 1, 0, 1); }},
      {"applyPhaseFunc", [&] { applyPhaseFunc(v, q, 2, UNSIGNED, c, c, 0); }},
      {"applyPhaseFunc", [&] { applyPhaseFunc(v, q, 2, static_cast<bitEncoding>(5), c, c, 1); }},
      {"applyPhaseFunc", [&] { applyPhaseFunc(v, q, 1, TWOS_COMPLEMENT, c, c, 1); }},
      {"applyPhaseFunc", [&] { applyPhaseFunc(v, q, 2, UNSIGNED, nan, c, 1); }},
      {"applyPhaseFuncOverrides",
       [&] { applyPhaseFuncOverrides(v, q, 2, UNSIGNED, c, c, 1, far, c, 1); }},
      {"applyPhaseFuncOverrides",
       [&] { applyPhaseFuncOverrides(v, q, 2, UNSIGNED, c, c, 1, far, c, -1); }},
      {"applyMultiVarPhaseFunc",
       [&] { applyMultiVarPhaseFunc(v, q, sizes, 2, UNSIGNED, c, c, terms); }},
      {"applyMultiVarPhaseFunc",
       [&] { applyMultiVarPhaseFunc(v, q, sizes, 0, UNSIGNED, c, c, terms); }},
      {"applyMultiVarPhaseFuncOverrides",
       [&] {
         int ones[2] = {1, 1};
         applyMultiVarPhaseFuncOverrides(v, q, sizes, 2, UNSIGNED, c, c, ones, far, c, 1);
       }},
      {"applyNamedPhaseFunc",
       [&] { applyNamedPhaseFunc(v, q, sizes, 2, UNSIGNED, static_cast<phaseFunc>(99)); }},
      {"applyNamedPhaseFunc", [&] { applyNamedPhaseFunc(v, q, sizes, 2, UNSIGNED, SCALED_NORM); }},
      {"applyNamedPhaseFuncOverrides",
       [&] { applyNamedPhaseFuncOverrides(v, q, sizes, 2, UNSIGNED, NORM, far, c, 1); }},
      {"applyParamNamedPhaseFunc",
       [&] { applyParamNamedPhaseFunc(v, q, sizes, 2, UNSIGNED, SCALED_NORM, c, 2); }},
      {"applyParamNamedPhaseFuncOverrides",
       [&] {
         applyParamNamedPhaseFuncOverrides(v, q, sizes, 2, UNSIGNED, SCALED_NORM, c, 1, far, c, 1);
       }},
      {"mixDephasing", [&] { mixDephasing(d, 0, qreal(0.51)); }},
      {"mixDephasing", [&] { mixDephasing(d, 0, qreal(-0.1)); }},
      {"mixDephasing", [&] { mixDephasing(d, 0, kNan); }},
      {"mixTwoQubitDephasing", [&] { mixTwoQubitDephasing(d, 0, 1, qreal(0.76)); }},
      {"mixDepolarising", [&] { mixDepolarising(d, 0, qreal(0.76)); }},
      {"mixDamping", [&] { mixDamping(d, 0, qreal(1.1)); }},
      {"mixTwoQubitDepolarising", [&] { mixTwoQubitDepolarising(d, 0, 1, qreal(0.95)); }},
      {"mixPauli", [&] { mixPauli(d, 0, qreal(0.6), qreal(0.1), qreal(0.1)); }},
      {"mixDensityMatrix", [&] { mixDensityMatrix(d, qreal(1.1), d); }},
      {"mixKrausMap", [&] { mixKrausMap(d, 0, &two, 1); }},
      {"mixKrausMap", [&] { mixKrausMap(d, 0, &two, 0); }},
      {"mixNonTPKrausMap", [&] { mixNonTPKrausMap(d, 0, &two, 5); }},
      {"mixTwoQubitKrausMap", [&] { mixTwoQubitKrausMap(d, 0, 1, &two4, 1); }},
      {"mixNonTPTwoQubitKrausMap", [&] { mixNonTPTwoQubitKrausMap(d, 0, 1, &two4, 17); }},
      {"mixMultiQubitKrausMap", [&] { mixMultiQubitKrausMap(d, q, 1, &scaled.value, 1); }},
      {"mixMultiQubitKrausMap",
       [&] {
         ComplexMatrixN ops[1] = {wide.value};
         mixMultiQubitKrausMap(d, q, 1, ops, 1);
       }},
      {"mixNonTPMultiQubitKrausMap",
       [&] { mixNonTPMultiQubitKrausMap(d, q, 1, &scaled.value, 0); }},
      {"createQureg", [&] { createQureg(0, environment()); }},
      {"createDensityQureg", [&] { createDensityQureg(-1, environment()); }},
      {"createComplexMatrixN", [&] { createComplexMatrixN(0); }},
      {"createPauliHamil", [&] { createPauliHamil(0, 1); }},
      {"createPauliHamil", [&] { createPauliHamil(1, 0); }},
      {"createDiagonalOp", [&] { createDiagonalOp(0, environment()); }},
      {"createSubDiagonalOp", [&] { createSubDiagonalOp(-2); }},
      {"initPauliHamil", [&] { initPauliHamil(s.hamil, c, codes); }},
      {"initPauliHamil",
       [&] {
         PauliHamil none = s.hamil;
         none.numSumTerms = 0;
         initPauliHamil(none, c, codes);
       }},
      {"initDiagonalOpFromPauliHamil",
       [&] {
         s.hamil.pauliCodes[0] = PAULI_X;
         try {
           initDiagonalOpFromPauliHamil(s.diagonal, s.hamil);
         } catch (...) {
           s.hamil.pauliCodes[0] = PAULI_I;
           throw;
         }
       }},
      {"setDiagonalOpElems", [&] { setDiagonalOpElems(s.diagonal, 8, c, c, 1); }},
      {"setDiagonalOpElems", [&] { setDiagonalOpElems(s.diagonal, 0, c, c, 9); }},
      {"initDiagonalOp", [&] { initDiagonalOp(s.diagonal, nullptr, c); }},
      {"syncDiagonalOp", [&] { syncDiagonalOp(DiagonalOp{}); }},
      {"reportPauliHamil", [&] { reportPauliHamil(PauliHamil{}); }},
      {"seedQuEST",
       [&] {
         unsigned long seed[1] = {1};
         QuESTEnv env = environment();
         seedQuEST(&env, seed, 0);
       }},
  };
  for (const auto& [name, f] : calls) refused(name, {}, f);
  destroySubDiagonalOp(sub);
  vector.check("a register after refused values");
  density.check("a density matrix after refused values");
}

// More ranks than amplitudes, as an environment may say.
TEST(MisuseOfAll, Environments) {
  QuESTEnv many = environment();
  many.numRanks = 64;
  refused("createQureg", {"numQubits is 5", "64 ranks"}, [&] { createQureg(5, many); });
  refused("createDensityQureg", {"64 ranks"}, [&] { createDensityQureg(2, many); });
  refused("createDiagonalOp", {"64 ranks"}, [&] { createDiagonalOp(5, many); });
  // from a file: after one that was made, so that nothing left over is freed again
  std::string file = testing::TempDir() + "hamil_" + std::to_string(getpid()) + ".txt";
  std::ofstream(file) << "0.5 3 0 3\n";
  const DiagonalOp made = createDiagonalOpFromPauliHamilFile(file.data(), environment());
  destroyDiagonalOp(made, environment());
  refused("createDiagonalOpFromPauliHamilFile", {"64 ranks"},
          [&] { createDiagonalOpFromPauliHamilFile(file.data(), many); });
  std::ofstream(file) << "0.5 3 1 3\n";
  refused("createDiagonalOpFromPauliHamilFile", {"X or a Y"},
          [&] { createDiagonalOpFromPauliHamilFile(file.data(), environment()); });
  std::remove(file.c_str());
}
