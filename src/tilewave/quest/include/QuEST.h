/* The C API of QuEST 3.7 on Tilewave. Programs for QuEST 3.2 to 3.7 compile unchanged as C11 or C++17;
 * link tilewave_quest.
 *
 * Calls are recorded and run together when something is observed. Qubit 0 is the least significant
 * bit of a basis state. A density matrix of n qubits is kept as 2n qubits: element (row, column) is
 * number row + column 2^n. "Both sides" means rho -> M rho M^dagger, "left" means rho -> M rho.
 * Angles are in radians. A call that is invalid goes to invalidQuESTInputError and changes nothing.
 *
 * Environment: TILEWAVE_DEVICE = auto | cpu | cuda | cuda:<k> | cuda:<k>-<l>, TILEWAVE_THREADS =
 * <count>. Under mpirun or srun every process runs the program and holds a share of each register.
 */
#pragma once

#include "QuEST_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- environment ---- */

/* Prepares everything and seeds the random numbers from time and process. */
QuESTEnv createQuESTEnv(void);
/* Gives back what createQuESTEnv took. */
void destroyQuESTEnv(QuESTEnv env);
/* Waits for all work that was begun: pending calls of every register are run. */
void syncQuESTEnv(QuESTEnv env);
/* 1 when all ranks pass 1, otherwise 0. */
int syncQuESTSuccess(int successCode);
/* Prints device, threads and precision. */
void reportQuESTEnv(QuESTEnv env);
/* Writes the same as words "key=value" with a space between them, at most 199 characters: CUDA,
 * OpenMP, MPI, threads and ranks as QuEST does, then device and precision. */
void getEnvironmentString(QuESTEnv env, char str[200]);
/* Seeds the random numbers from the time and the process id. */
void seedQuESTDefault(QuESTEnv* env);
/* Seeds them with the given keys: Mersenne Twister, init_by_array; measurements repeat QuEST's. */
void seedQuEST(QuESTEnv* env, unsigned long int* seedArray, int numSeeds);
/* The keys in use; the array belongs to env. */
void getQuESTSeeds(QuESTEnv env, unsigned long int** seeds, int* numSeeds);
/* Called for every invalid call with what is wrong and the function's name; the default prints both
 * and exits with status 1. Define your own to override it: if it returns, the call has done nothing
 * (and returns zeros); it may also throw a C++ exception. With TILEWAVE_MESSAGES=quest in the
 * environment the message is the text that QuEST 3.7 gives there, where it has one. */
void invalidQuESTInputError(const char* errMsg, const char* errFunc);

/* ---- registers ---- */

/* n qubits in |0...0>. */
Qureg createQureg(int numQubits, QuESTEnv env);
/* A density matrix of n qubits in |0...0><0...0|. */
Qureg createDensityQureg(int numQubits, QuESTEnv env);
/* A new register with the state of another. */
Qureg createCloneQureg(Qureg qureg, QuESTEnv env);
/* Frees a register; using it afterwards is reported as invalid. */
void destroyQureg(Qureg qureg, QuESTEnv env);
/* Number of qubits represented. */
int getNumQubits(Qureg qureg);
/* Number of amplitudes of a state vector. */
long long int getNumAmps(Qureg qureg);

/* ---- matrices, Hamiltonians, diagonal operators ---- */

/* A matrix of zeros on n qubits. */
ComplexMatrixN createComplexMatrixN(int numQubits);
/* Frees a matrix of createComplexMatrixN. */
void destroyComplexMatrixN(ComplexMatrixN matr);
#ifndef __cplusplus
/* Fills a matrix from two arrays (C only). */
void initComplexMatrixN(ComplexMatrixN m, qreal real[][1 << m.numQubits],
                        qreal imag[][1 << m.numQubits]);
/* A matrix whose rows are the rows of two arrays; the storage holds the row pointers (C only). */
ComplexMatrixN bindArraysToStackComplexMatrixN(int numQubits, qreal re[][1 << numQubits],
                                               qreal im[][1 << numQubits], qreal** reStorage,
                                               qreal** imStorage);
#define UNPACK_ARR(...) __VA_ARGS__
/* A matrix on the stack from two brace lists of rows, each in parentheses (C only). */
#define getStaticComplexMatrixN(numQubits, re, im)                                       \
  bindArraysToStackComplexMatrixN(numQubits,                                             \
                                  (qreal[1 << numQubits][1 << numQubits]) UNPACK_ARR re, \
                                  (qreal[1 << numQubits][1 << numQubits]) UNPACK_ARR im, \
                                  (qreal * [1 << numQubits]){0}, (qreal * [1 << numQubits]){0})
#endif

/* A Hamiltonian of zero coefficients and identities. */
PauliHamil createPauliHamil(int numQubits, int numSumTerms);
/* Frees a Hamiltonian. */
void destroyPauliHamil(PauliHamil hamil);
/* Reads "coefficient code code ..." a line (codes 0 1 2 3 for I X Y Z, qubit 0 first). */
PauliHamil createPauliHamilFromFile(char* fn);
/* Copies coefficients and codes into a Hamiltonian. */
void initPauliHamil(PauliHamil hamil, qreal* coeffs, enum pauliOpType* codes);

/* A diagonal operator of zeros. */
DiagonalOp createDiagonalOp(int numQubits, QuESTEnv env);
/* Frees a diagonal operator. */
void destroyDiagonalOp(DiagonalOp op, QuESTEnv env);
/* After changes of op.real and op.imag; nothing is needed here, they are always read afresh. */
void syncDiagonalOp(DiagonalOp op);
/* Sets all elements. */
void initDiagonalOp(DiagonalOp op, qreal* real, qreal* imag);
/* Sets the elements to the diagonal of a Hamiltonian of I and Z only. */
void initDiagonalOpFromPauliHamil(DiagonalOp op, PauliHamil hamil);
/* The same from a file as createPauliHamilFromFile reads. */
DiagonalOp createDiagonalOpFromPauliHamilFile(char* fn, QuESTEnv env);
/* Sets numElems elements from startInd on. */
void setDiagonalOpElems(DiagonalOp op, long long int startInd, qreal* real, qreal* imag,
                        long long int numElems);
/* A diagonal operator of zeros on some qubits. */
SubDiagonalOp createSubDiagonalOp(int numQubits);
/* Frees a diagonal operator on some qubits. */
void destroySubDiagonalOp(SubDiagonalOp op);

/* ---- initial states ---- */

/* All amplitudes zero (no state of a system). */
void initBlankState(Qureg qureg);
/* |0...0>. */
void initZeroState(Qureg qureg);
/* The equal superposition of all basis states. */
void initPlusState(Qureg qureg);
/* Basis state stateInd. */
void initClassicalState(Qureg qureg, long long int stateInd);
/* A state vector, or the density matrix of a state vector. */
void initPureState(Qureg qureg, Qureg pure);
/* Amplitude k = (2k + i(2k+1)) / 10: not normalised, every element different. */
void initDebugState(Qureg qureg);
/* All amplitudes of a state vector, or all elements of a density matrix down its columns. */
void initStateFromAmps(Qureg qureg, qreal* reals, qreal* imags);
/* numAmps amplitudes of a state vector from startInd on. */
void setAmps(Qureg qureg, long long int startInd, qreal* reals, qreal* imags,
             long long int numAmps);
/* numAmps elements of a density matrix, down the columns, from (startRow, startCol) on. */
void setDensityAmps(Qureg qureg, long long int startRow, long long int startCol, qreal* reals,
                    qreal* imags, long long int numAmps);
/* A density matrix equal to a Hamiltonian's matrix (not a state of a system). */
void setQuregToPauliHamil(Qureg qureg, PauliHamil hamil);
/* target becomes equal to copy. */
void cloneQureg(Qureg targetQureg, Qureg copyQureg);
/* out = fac1 qureg1 + fac2 qureg2 + facOut out. */
void setWeightedQureg(Complex fac1, Qureg qureg1, Complex fac2, Qureg qureg2, Complex facOut,
                      Qureg out);

/* ---- one-qubit gates, on both sides of a density matrix ---- */

/* [[1, 1], [1, -1]] / sqrt 2. */
void hadamard(Qureg qureg, int targetQubit);
/* X: exchanges |0> and |1>. */
void pauliX(Qureg qureg, int targetQubit);
/* Y = [[0, -i], [i, 0]]. */
void pauliY(Qureg qureg, int targetQubit);
/* Z = diag(1, -1). */
void pauliZ(Qureg qureg, int targetQubit);
/* diag(1, i). */
void sGate(Qureg qureg, int targetQubit);
/* diag(1, e^{i pi/4}). */
void tGate(Qureg qureg, int targetQubit);
/* diag(1, e^{i angle}). */
void phaseShift(Qureg qureg, int targetQubit, qreal angle);
/* exp(-i angle/2 X). */
void rotateX(Qureg qureg, int rotQubit, qreal angle);
/* exp(-i angle/2 Y). */
void rotateY(Qureg qureg, int rotQubit, qreal angle);
/* exp(-i angle/2 Z). */
void rotateZ(Qureg qureg, int rotQubit, qreal angle);
/* exp(-i angle/2 n.(X, Y, Z)) for the unit vector n along axis. */
void rotateAroundAxis(Qureg qureg, int rotQubit, qreal angle, Vector axis);
/* [[alpha, -conj(beta)], [beta, conj(alpha)]] with |alpha|^2 + |beta|^2 = 1. */
void compactUnitary(Qureg qureg, int targetQubit, Complex alpha, Complex beta);
/* Any unitary matrix. */
void unitary(Qureg qureg, int targetQubit, ComplexMatrix2 u);
/* diag(1, e^{i lambda}). */
void u1Gate(Qureg qureg, int targetQubit, qreal lambda);
/* [[1, -e^{i lambda}], [e^{i phi}, e^{i(phi+lambda)}]] / sqrt 2. */
void u2Gate(Qureg qureg, int targetQubit, qreal phi, qreal lambda);
/* [[c, -e^{i lambda} s], [e^{i phi} s, e^{i(phi+lambda)} c]], c, s = cos, sin(theta/2). */
void u3Gate(Qureg qureg, int targetQubit, qreal theta, qreal phi, qreal lambda);
/* [[1, -i], [-i, 1]] / sqrt 2. */
void SqX(Qureg qureg, int targetQubit);
/* [[1, -1], [1, 1]] / sqrt 2. */
void SqY(Qureg qureg, int targetQubit);
/* exp(-i pi/4 (X + Y)/sqrt 2). */
void SqW(Qureg qureg, int targetQubit);

/* ---- controlled gates: they act where every control is 1 ---- */

/* X on the target. */
void controlledNot(Qureg qureg, int controlQubit, int targetQubit);
/* Y on the target. */
void controlledPauliY(Qureg qureg, int controlQubit, int targetQubit);
/* e^{i angle} where both qubits are 1. */
void controlledPhaseShift(Qureg qureg, int idQubit1, int idQubit2, qreal angle);
/* e^{i angle} where all qubits are 1. */
void multiControlledPhaseShift(Qureg qureg, int* controlQubits, int numControlQubits, qreal angle);
/* -1 where both qubits are 1. */
void controlledPhaseFlip(Qureg qureg, int idQubit1, int idQubit2);
/* -1 where all qubits are 1. */
void multiControlledPhaseFlip(Qureg qureg, int* controlQubits, int numControlQubits);
/* exp(-i angle/2 X) on the target. */
void controlledRotateX(Qureg qureg, int controlQubit, int targetQubit, qreal angle);
/* exp(-i angle/2 Y) on the target. */
void controlledRotateY(Qureg qureg, int controlQubit, int targetQubit, qreal angle);
/* exp(-i angle/2 Z) on the target. */
void controlledRotateZ(Qureg qureg, int controlQubit, int targetQubit, qreal angle);
/* exp(-i angle/2 n.(X, Y, Z)) on the target, n the unit vector along axis. */
void controlledRotateAroundAxis(Qureg qureg, int controlQubit, int targetQubit, qreal angle,
                                Vector axis);
/* [[alpha, -conj(beta)], [beta, conj(alpha)]] on the target. */
void controlledCompactUnitary(Qureg qureg, int controlQubit, int targetQubit, Complex alpha,
                              Complex beta);
/* Any unitary matrix on the target. */
void controlledUnitary(Qureg qureg, int controlQubit, int targetQubit, ComplexMatrix2 u);
/* Any unitary matrix on the target where all controls are 1. */
void multiControlledUnitary(Qureg qureg, int* controlQubits, int numControlQubits, int targetQubit,
                            ComplexMatrix2 u);
/* Acts where control k has the value controlState[k]. */
void multiStateControlledUnitary(Qureg qureg, int* controlQubits, int* controlState,
                                 int numControlQubits, int targetQubit, ComplexMatrix2 u);

/* ---- gates on several qubits ---- */

/* X on every target. */
void multiQubitNot(Qureg qureg, int* targs, int numTargs);
/* X on every target where all controls are 1. */
void multiControlledMultiQubitNot(Qureg qureg, int* ctrls, int numCtrls, int* targs, int numTargs);
/* Exchanges two qubits. */
void swapGate(Qureg qureg, int qubit1, int qubit2);
/* The square root of swap with (1+i)/2 on the diagonal. */
void sqrtSwapGate(Qureg qureg, int qb1, int qb2);
/* exp(-i angle/2 Z x ... x Z). */
void multiRotateZ(Qureg qureg, int* qubits, int numQubits, qreal angle);
/* exp(-i angle/2 P) for a Pauli string P; a string of identities does nothing. */
void multiRotatePauli(Qureg qureg, int* targetQubits, enum pauliOpType* targetPaulis,
                      int numTargets, qreal angle);
/* exp(-i angle/2 Z x ... x Z) on the targets where all controls are 1. */
void multiControlledMultiRotateZ(Qureg qureg, int* controlQubits, int numControls,
                                 int* targetQubits, int numTargets, qreal angle);
/* exp(-i angle/2 P) on the targets where all controls are 1. */
void multiControlledMultiRotatePauli(Qureg qureg, int* controlQubits, int numControls,
                                     int* targetQubits, enum pauliOpType* targetPaulis,
                                     int numTargets, qreal angle);
/* Any unitary on two qubits; bit 0 of a row or column is targetQubit1. */
void twoQubitUnitary(Qureg qureg, int targetQubit1, int targetQubit2, ComplexMatrix4 u);
/* The same where the control is 1. */
void controlledTwoQubitUnitary(Qureg qureg, int controlQubit, int targetQubit1, int targetQubit2,
                               ComplexMatrix4 u);
/* The same where all controls are 1. */
void multiControlledTwoQubitUnitary(Qureg qureg, int* controlQubits, int numControlQubits,
                                    int targetQubit1, int targetQubit2, ComplexMatrix4 u);
/* Any unitary on several qubits; bit k of a row or column is targs[k]. */
void multiQubitUnitary(Qureg qureg, int* targs, int numTargs, ComplexMatrixN u);
/* The same where the control is 1. */
void controlledMultiQubitUnitary(Qureg qureg, int ctrl, int* targs, int numTargs, ComplexMatrixN u);
/* The same where all controls are 1. */
void multiControlledMultiQubitUnitary(Qureg qureg, int* ctrls, int numCtrls, int* targs,
                                      int numTargs, ComplexMatrixN u);
/* A diagonal unitary on some qubits; bit k of an element's number is target k. */
void diagonalUnitary(Qureg qureg, int* targets, int numTargets, SubDiagonalOp op);

/* ---- operators that need not be unitary ---- */

/* Multiplies by any matrix on one qubit, on the left of a density matrix. */
void applyMatrix2(Qureg qureg, int targetQubit, ComplexMatrix2 u);
/* Multiplies by any matrix on two qubits, on the left of a density matrix. */
void applyMatrix4(Qureg qureg, int targetQubit1, int targetQubit2, ComplexMatrix4 u);
/* Multiplies by any matrix on several qubits, on the left of a density matrix. */
void applyMatrixN(Qureg qureg, int* targs, int numTargs, ComplexMatrixN u);
/* The same on the rows where all controls are 1. */
void applyMultiControlledMatrixN(Qureg qureg, int* ctrls, int numCtrls, int* targs, int numTargs,
                                 ComplexMatrixN u);
/* Multiplies by any matrix on several qubits, on both sides of a density matrix: m rho m^dagger. */
void applyGateMatrixN(Qureg qureg, int* targs, int numTargs, ComplexMatrixN u);
/* The same where all controls are 1. */
void applyMultiControlledGateMatrixN(Qureg qureg, int* ctrls, int numCtrls, int* targs,
                                     int numTargs, ComplexMatrixN m);
/* Multiplies by a diagonal operator on all qubits, on the left of a density matrix. */
void applyDiagonalOp(Qureg qureg, DiagonalOp op);
/* Multiplies by a diagonal operator on some qubits, on both sides of a density matrix. */
void applyGateSubDiagonalOp(Qureg qureg, int* targets, int numTargets, SubDiagonalOp op);
/* Multiplies by a diagonal operator on some qubits, on the left of a density matrix. */
void applySubDiagonalOp(Qureg qureg, int* targets, int numTargets, SubDiagonalOp op);
/* out = (sum of coefficient x Pauli string) in, on the left of a density matrix. allPauliCodes has
 * a code for every qubit of every term, in the order of the terms; in may be out. */
void applyPauliSum(Qureg inQureg, enum pauliOpType* allPauliCodes, qreal* termCoeffs,
                   int numSumTerms, Qureg outQureg);
/* out = hamil in, on the left of a density matrix; in may be out. */
void applyPauliHamil(Qureg inQureg, PauliHamil hamil, Qureg outQureg);
/* exp(-i time H) by Suzuki's product formula of order 1 or an even order, in reps steps. */
void applyTrotterCircuit(Qureg qureg, PauliHamil hamil, qreal time, int order, int reps);
/* Projects a qubit on an outcome without renormalising, on both sides; where that outcome cannot be
 * every amplitude becomes zero. */
void applyProjector(Qureg qureg, int qubit, int outcome);
/* The quantum Fourier transform of all qubits: |x> -> sum_y e^{2 pi i xy / 2^n} |y> / sqrt 2^n. */
void applyFullQFT(Qureg qureg);
/* The same of the qubits listed, the lowest first. */
void applyQFT(Qureg qureg, int* qubits, int numQubits);

/* Phase functions: |x> -> e^{i f(x)} |x>, x read from registers of qubits (lowest first, listed
 * one after the other). f is a sum of coefficient x^exponent, or one of phaseFunc. Overrides give
 * the phase at chosen x (one index a register). Density matrices get both sides. */

/* f(x) = sum over t of coeffs[t] x^exponents[t], on one register. */
void applyPhaseFunc(Qureg qureg, int* qubits, int numQubits, enum bitEncoding encoding,
                    qreal* coeffs, qreal* exponents, int numTerms);
/* The same; at x = overrideInds[k] the phase is overridePhases[k]. */
void applyPhaseFuncOverrides(Qureg qureg, int* qubits, int numQubits, enum bitEncoding encoding,
                             qreal* coeffs, qreal* exponents, int numTerms,
                             long long int* overrideInds, qreal* overridePhases, int numOverrides);
/* f(x, y, ...) = the sum of one such sum a register; numTermsPerReg says how many terms each
 * has. */
void applyMultiVarPhaseFunc(Qureg qureg, int* qubits, int* numQubitsPerReg, int numRegs,
                            enum bitEncoding encoding, qreal* coeffs, qreal* exponents,
                            int* numTermsPerReg);
/* The same; override k is at the numRegs indices from overrideInds[k numRegs] on. */
void applyMultiVarPhaseFuncOverrides(Qureg qureg, int* qubits, int* numQubitsPerReg, int numRegs,
                                     enum bitEncoding encoding, qreal* coeffs, qreal* exponents,
                                     int* numTermsPerReg, long long int* overrideInds,
                                     qreal* overridePhases, int numOverrides);
/* f is one of phaseFunc that has no parameters. */
void applyNamedPhaseFunc(Qureg qureg, int* qubits, int* numQubitsPerReg, int numRegs,
                         enum bitEncoding encoding, enum phaseFunc functionNameCode);
/* The same with overrides. */
void applyNamedPhaseFuncOverrides(Qureg qureg, int* qubits, int* numQubitsPerReg, int numRegs,
                                  enum bitEncoding encoding, enum phaseFunc functionNameCode,
                                  long long int* overrideInds, qreal* overridePhases,
                                  int numOverrides);
/* f is one of phaseFunc with its parameters. */
void applyParamNamedPhaseFunc(Qureg qureg, int* qubits, int* numQubitsPerReg, int numRegs,
                              enum bitEncoding encoding, enum phaseFunc functionNameCode,
                              qreal* params, int numParams);
/* The same with overrides. */
void applyParamNamedPhaseFuncOverrides(Qureg qureg, int* qubits, int* numQubitsPerReg, int numRegs,
                                       enum bitEncoding encoding, enum phaseFunc functionNameCode,
                                       qreal* params, int numParams, long long int* overrideInds,
                                       qreal* overridePhases, int numOverrides);

/* ---- observation ---- */

/* Amplitude of basis state index of a state vector. */
Complex getAmp(Qureg qureg, long long int index);
/* Its real part. */
qreal getRealAmp(Qureg qureg, long long int index);
/* Its imaginary part. */
qreal getImagAmp(Qureg qureg, long long int index);
/* Its squared absolute value. */
qreal getProbAmp(Qureg qureg, long long int index);
/* Element of a density matrix. */
Complex getDensityAmp(Qureg qureg, long long int row, long long int col);
/* Sum of probabilities, or the trace of a density matrix (its real part). */
qreal calcTotalProb(Qureg qureg);
/* Probability that a qubit would be found in an outcome. */
qreal calcProbOfOutcome(Qureg qureg, int measureQubit, int outcome);
/* Probabilities of all 2^numQubits outcomes of some qubits; bit k of an outcome is qubits[k]. */
void calcProbOfAllOutcomes(qreal* outcomeProbs, Qureg qureg, int* qubits, int numQubits);
/* <bra|ket> of two state vectors. */
Complex calcInnerProduct(Qureg bra, Qureg ket);
/* Tr(rho1^dagger rho2), its real part. */
qreal calcDensityInnerProduct(Qureg rho1, Qureg rho2);
/* Tr(rho^2). */
qreal calcPurity(Qureg qureg);
/* |<qureg|pure>|^2, or <pure|rho|pure>. */
qreal calcFidelity(Qureg qureg, Qureg pureState);
/* sqrt(sum |a_ij - b_ij|^2) of two density matrices. */
qreal calcHilbertSchmidtDistance(Qureg a, Qureg b);
/* Expectation of a Pauli string: pauliCodes[k] acts on targetQubits[k]. The workspace, here and in
 * the next two, must fit the register but is neither needed nor changed. */
qreal calcExpecPauliProd(Qureg qureg, int* targetQubits, enum pauliOpType* pauliCodes,
                         int numTargets, Qureg workspace);
/* Expectation of a sum of Pauli strings, given as to applyPauliSum. */
qreal calcExpecPauliSum(Qureg qureg, enum pauliOpType* allPauliCodes, qreal* termCoeffs,
                        int numSumTerms, Qureg workspace);
/* Expectation of a Hamiltonian. */
qreal calcExpecPauliHamil(Qureg qureg, PauliHamil hamil, Qureg workspace);
/* <psi|D|psi> or Tr(D rho). */
Complex calcExpecDiagonalOp(Qureg qureg, DiagonalOp op);

/* ---- measurement ---- */

/* Projects on an outcome and renormalises; returns the outcome's probability. */
qreal collapseToOutcome(Qureg qureg, int measureQubit, int outcome);
/* Measures a qubit: draws an outcome, projects on it, renormalises, and returns it. */
int measure(Qureg qureg, int measureQubit);
/* The same; outcomeProb gets the probability of the outcome found. */
int measureWithStats(Qureg qureg, int measureQubit, qreal* outcomeProb);

/* ---- decoherence of density matrices ---- */

/* Z with probability prob (at most 1/2). */
void mixDephasing(Qureg qureg, int targetQubit, qreal prob);
/* Z1, Z2, Z1 Z2 with probability prob / 3 each (prob at most 3/4). */
void mixTwoQubitDephasing(Qureg qureg, int qubit1, int qubit2, qreal prob);
/* X, Y, Z with probability prob / 3 each (prob at most 3/4). */
void mixDepolarising(Qureg qureg, int targetQubit, qreal prob);
/* Decay from 1 to 0 with probability prob. */
void mixDamping(Qureg qureg, int targetQubit, qreal prob);
/* The 15 two-qubit Pauli errors with probability prob / 15 each (prob at most 15/16). */
void mixTwoQubitDepolarising(Qureg qureg, int qubit1, int qubit2, qreal prob);
/* X, Y, Z with the given probabilities, none above that of no error. */
void mixPauli(Qureg qureg, int targetQubit, qreal probX, qreal probY, qreal probZ);
/* combine = (1 - prob) combine + prob other. */
void mixDensityMatrix(Qureg combineQureg, qreal prob, Qureg otherQureg);
/* rho -> sum_k K_k rho K_k^dagger; the sum of K^dagger K must be the identity. */
void mixKrausMap(Qureg qureg, int target, ComplexMatrix2* ops, int numOps);
/* The same for operators on two qubits; bit 0 of a row or column is target1. */
void mixTwoQubitKrausMap(Qureg qureg, int target1, int target2, ComplexMatrix4* ops, int numOps);
/* The same for operators on up to 6 qubits; bit k of a row or column is targets[k]. */
void mixMultiQubitKrausMap(Qureg qureg, int* targets, int numTargets, ComplexMatrixN* ops,
                           int numOps);
/* rho -> sum_k K_k rho K_k^dagger for any operators on one qubit. */
void mixNonTPKrausMap(Qureg qureg, int target, ComplexMatrix2* ops, int numOps);
/* The same on two qubits. */
void mixNonTPTwoQubitKrausMap(Qureg qureg, int target1, int target2, ComplexMatrix4* ops,
                              int numOps);
/* The same on up to 6 qubits. */
void mixNonTPMultiQubitKrausMap(Qureg qureg, int* targets, int numTargets, ComplexMatrixN* ops,
                                int numOps);

/* ---- OpenQASM 2 ---- */

/* Begins, or goes on with, the record of calls on a register. */
void startRecordingQASM(Qureg qureg);
/* Ends the record; what was recorded stays. */
void stopRecordingQASM(Qureg qureg);
/* Forgets what was recorded. */
void clearRecordedQASM(Qureg qureg);
/* Prints the record. What the language cannot say stands in a comment. */
void printRecordedQASM(Qureg qureg);
/* Writes the record to a file. */
void writeRecordedQASMToFile(Qureg qureg, char* filename);

/* ---- reports and copies ---- */

/* Writes all amplitudes to state_rank_0.csv, "real, imag" a line. */
void reportState(Qureg qureg);
/* Prints the amplitudes of a register of at most 5 qubits. */
void reportStateToScreen(Qureg qureg, QuESTEnv env, int reportRank);
/* Prints the size of a register. */
void reportQuregParams(Qureg qureg);
/* Prints a Hamiltonian as createPauliHamilFromFile reads it, every coefficient with the digits that
 * give it back exactly. */
void reportPauliHamil(PauliHamil hamil);
/* Makes the state what stateVec.real and imag hold. */
void copyStateToGPU(Qureg qureg);
/* The same for amplitudes [startInd, startInd + numAmps). */
void copySubstateToGPU(Qureg qureg, long long int startInd, long long int numAmps);
/* Makes stateVec.real and imag hold the state. */
void copyStateFromGPU(Qureg qureg);
/* The same for amplitudes [startInd, startInd + numAmps). */
void copySubstateFromGPU(Qureg qureg, long long int startInd, long long int numAmps);

/* ---- of Tilewave, not of QuEST ---- */

/* Keeps the state of a register in a folder, which is made where it is missing: written whole, with
 * checksums, before what was there goes. All processes write at once and see one folder. */
void tilewave_saveQureg(Qureg qureg, const char* folder);
/* Makes the state what tilewave_saveQureg kept of a register of as many qubits, the same kind and the
 * same precision, on any number of processes and devices. */
void tilewave_loadQureg(Qureg qureg, const char* folder);

/* seedQuEST and seedQuESTDefault as programs for QuEST before 3.4 call them, without an environment.
 * getQuESTSeeds, which is younger, goes on giving what the environment was seeded with. */
void tilewave_seedQuEST(unsigned long int* seedArray, int numSeeds);
/* The same from the time and the process id. */
void tilewave_seedQuESTDefault(void);

#ifdef __cplusplus
}
#endif

#include "QuEST_old_calls.h"
