/* A program of the API that any number of ranks can run: prints numbers that do not depend on it,
 * one a line, from rank 0. With an argument it does one thing that goes wrong, or one report. */
#include <QuEST.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kQubits = 16, kDensity = 8 };

static QuESTEnv env;

static void put(const char* name, double value) {
  if (env.rank == 0) printf("%s %.17g\n", name, value);
}

static double angle(int k) { return sin(1.7 * k + 0.3) * 3; }

static void gates(Qureg q, int rounds) {
  const int n = q.numQubitsRepresented;
  for (int k = 0; k < rounds * n; ++k) {
    const int a = k % n, b = (k * 7 + 3) % n;
    hadamard(q, a);
    rotateX(q, b, (qreal)angle(k));
    u3Gate(q, a, (qreal)angle(k + 1), (qreal)angle(k + 2), (qreal)angle(k + 3));
    if (a != b) {
      controlledNot(q, a, b);
      controlledPhaseShift(q, b, a, (qreal)angle(k + 4));
      swapGate(q, a, b);
    }
  }
}

/* Every rank's share of the arrays, weighted by its place, added by the calls of the API. */
static double array_sum(Qureg q) {
  double sum = 0;
  copyStateFromGPU(q);
  for (long long k = 0; k < q.numAmpsPerChunk; ++k) {
    const double x = (double)(k + q.chunkId * q.numAmpsPerChunk);
    sum += q.stateVec.real[k] * cos(x) + q.stateVec.imag[k] * sin(x);
  }
  /* to rank 0: as an amplitude each of a register of its own */
  Qureg all = createQureg(4, env);
  qreal value[16] = {0}, zero[16] = {0};
  setAmps(all, 0, zero, zero, 16);
  copyStateFromGPU(all);
  if (all.numAmpsPerChunk) all.stateVec.real[0] = (qreal)sum;
  double total = 0;
  for (int r = 0; r < env.numRanks; ++r) total += getRealAmp(all, r * all.numAmpsPerChunk);
  (void)value;
  destroyQureg(all, env);
  return total;
}

static void observe(Qureg q, const char* name) {
  char line[80];
  put(name, calcTotalProb(q));
  for (int k = 0; k < q.numQubitsRepresented; ++k) {
    snprintf(line, sizeof line, "%s_p%d", name, k);
    put(line, calcProbOfOutcome(q, k, k & 1));
  }
  int targets[4] = {3, 0, 7, 5};
  qreal p[16];
  calcProbOfAllOutcomes(p, q, targets, 4);
  for (int k = 0; k < 16; ++k) put("joint", p[k]);
  enum pauliOpType codes[4] = {PAULI_X, PAULI_Y, PAULI_Z, PAULI_X};
  Qureg space = createCloneQureg(q, env);
  put("pauli", calcExpecPauliProd(q, targets, codes, 4, space));
  const int n = q.numQubitsRepresented;
  PauliHamil h = createPauliHamil(n, 3);
  for (int k = 0; k < 3 * n; ++k) h.pauliCodes[k] = (enum pauliOpType)((k * 7 + k / 5) % 4);
  for (int k = 0; k < 3; ++k) h.termCoeffs[k] = (qreal)angle(k);
  put("hamil", calcExpecPauliHamil(q, h, space));
  applyPauliHamil(q, h, space);
  put("applied", calcTotalProb(space));
  applyTrotterCircuit(space, h, (qreal)0.2, 2, 1);
  put("trotter", array_sum(space));
  applyPauliHamil(space, h, space);
  if (q.isDensityMatrix) {
    put("inner", calcDensityInnerProduct(q, space));
    put("distance", calcHilbertSchmidtDistance(q, space));
    put("purity", calcPurity(q));
  } else {
    const Complex z = calcInnerProduct(q, space);
    put("inner_re", z.real);
    put("inner_im", z.imag);
    put("fidelity", calcFidelity(q, space));
  }
  const Complex half = {(qreal)0.5, 1}, third = {0, (qreal)0.3}, two = {2, 0};
  setWeightedQureg(half, q, third, space, two, space);
  put("weighted", array_sum(space));
  destroyPauliHamil(h);
  destroyQureg(space, env);
}

static void whole(Qureg q) {
  const int n = q.numQubitsRepresented;
  int targets[9] = {n - 1, 0, n - 2, 3, 1, 5, 2, 4, 6};
  ComplexMatrixN m = createComplexMatrixN(q.isDensityMatrix ? 3 : 9);
  const int dim = 1 << m.numQubits;
  for (int i = 0; i < dim; ++i) m.real[i][(i * 5 + 3) % dim] = 1; /* a permutation */
  multiQubitUnitary(q, targets, m.numQubits, m);
  int control[1] = {7};
  if (!q.isDensityMatrix || n > 8)
    applyMultiControlledMatrixN(q, control, 1, targets, m.numQubits, m);
  destroyComplexMatrixN(m);
  put("matrix", array_sum(q));
  DiagonalOp op = createDiagonalOp(n, env);
  for (long long k = 0; k < op.numElemsPerChunk; ++k) {
    op.real[k] = (qreal)cos((double)(k + op.chunkId * op.numElemsPerChunk));
    op.imag[k] = (qreal)0.25;
  }
  syncDiagonalOp(op);
  qreal fifth[5] = {1, 2, 3, 4, 5};
  setDiagonalOpElems(op, (1 << (n - 1)) - 2, fifth, fifth, 5);
  const Complex e = calcExpecDiagonalOp(q, op);
  put("diagonal_re", e.real);
  put("diagonal_im", e.imag);
  applyDiagonalOp(q, op);
  put("diagonal", array_sum(q));
  destroyDiagonalOp(op, env);
  qreal c[2] = {(qreal)0.25, (qreal)-0.125}, x[2] = {1, 2};
  applyPhaseFunc(q, targets, 5, TWOS_COMPLEMENT, c, x, 2);
  int sizes[2] = {2, 3};
  applyNamedPhaseFunc(q, targets, sizes, 2, UNSIGNED, NORM);
  put("phase", array_sum(q));
  SubDiagonalOp sub = createSubDiagonalOp(6);
  for (int k = 0; k < 64; ++k) sub.real[k] = (qreal)cos(k), sub.imag[k] = (qreal)sin(k);
  diagonalUnitary(q, targets, 6, sub);
  put("sub", array_sum(q));
  destroySubDiagonalOp(sub);
  applyFullQFT(q);
  put("qft", array_sum(q));
}

static void measurements(Qureg q) {
  /* ranks that ask for different seeds get those of rank 0 */
  unsigned long seeds[2] = {17, 4 + (unsigned long)env.rank};
  seedQuEST(&env, seeds, 2);
  for (int k = 0; k < q.numQubitsRepresented; ++k) {
    qreal p = 0;
    const int outcome = measureWithStats(q, k, &p);
    put("outcome", outcome);
    put("outcome_p", p);
  }
  put("measured", calcTotalProb(q));
}

static void arrays(void) {
  for (int n = 5; n <= kQubits; n += kQubits - 5) { /* held whole, and shared */
    Qureg q = createQureg(n, env);
    initPlusState(q);
    rotateY(q, n - 1, (qreal)0.4);
    syncQuESTEnv(env); /* then ranks may look alone */
    if (env.rank == env.numRanks - 1) {
      q.stateVec.imag[q.numAmpsPerChunk - 1] = (qreal)0.5;
      q.stateVec.real[q.numAmpsPerChunk - 2] += (qreal)0.25;
    }
    put("written_total", calcTotalProb(q));
    pauliX(q, n - 1);
    put("written", getImagAmp(q, (1LL << (n - 1)) - 1));
    syncQuESTEnv(env);
    /* one after the other, as programs print their shares */
    double last = 0;
    for (int r = 0; r < env.numRanks; ++r) {
      if (r == env.rank) last = q.stateVec.real[0];
      syncQuESTEnv(env);
    }
    if (env.rank == 0) put("first", last);
    put("arrays", array_sum(q));
    destroyQureg(q, env);
  }
}

static int wrong(const char* what) {
  Qureg q = createQureg(kQubits, env);
  if (!strcmp(what, "differ")) { /* ranks that do not make the same calls */
    hadamard(q, 0);
    if (env.rank == 1) hadamard(q, 1);
    calcTotalProb(q);
  } else if (!strcmp(what, "alone")) { /* an invalid call on one rank */
    if (env.rank == 1) hadamard(q, 99);
    syncQuESTEnv(env);
  } else if (!strcmp(what, "invalid")) {
    hadamard(q, 99);
  } else if (!strcmp(what, "small")) {
    createQureg(1, env);
    createDiagonalOp(1, env);
  } else if (!strcmp(what, "report")) {
    reportQuESTEnv(env);
    reportQuregParams(q);
    startRecordingQASM(q);
    hadamard(q, 3);
    printRecordedQASM(q);
    reportState(q);
  }
  destroyQureg(q, env);
  destroyQuESTEnv(env);
  return 0;
}

int main(int argc, char** argv) {
  env = createQuESTEnv();
  if (argc > 1) return wrong(argv[1]);
  for (int density = 0; density < 2; ++density) {
    Qureg q = density ? createDensityQureg(kDensity, env) : createQureg(kQubits, env);
    initZeroState(q);
    gates(q, 2);
    if (density) {
      mixDamping(q, 7, (qreal)0.2);
      mixTwoQubitDepolarising(q, 7, 0, (qreal)0.1);
      mixDephasing(q, 6, (qreal)0.1);
    }
    observe(q, density ? "density" : "vector");
    whole(q);
    if (density) {
      Qureg pure = createQureg(kDensity, env);
      initPlusState(pure);
      gates(pure, 1);
      put("fidelity", calcFidelity(q, pure));
      initPureState(q, pure);
      put("pure", array_sum(q));
      destroyQureg(pure, env);
    } else {
      initPlusState(q);
      gates(q, 1);
    }
    measurements(q);
    initDebugState(q);
    put("debug", array_sum(q));
    destroyQureg(q, env);
  }
  arrays();
  put("success", syncQuESTSuccess(1));
  put("failure", syncQuESTSuccess(env.rank != env.numRanks - 1));
  destroyQuESTEnv(env);
  return 0;
}
