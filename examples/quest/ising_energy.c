/* A quench of the transverse-field Ising chain by a product formula: the energy is conserved. */
#include <QuEST.h>
#include <math.h>
#include <stdio.h>

enum { kQubits = 10 };

int main(void) {
  QuESTEnv env = createQuESTEnv();
  Qureg psi = createQureg(kQubits, env), space = createQureg(kQubits, env);
  PauliHamil chain = createPauliHamil(kQubits, 2 * kQubits - 1); /* all identities */
  for (int q = 0; q < kQubits; ++q) {
    chain.pauliCodes[q * kQubits + q] = PAULI_X;
    chain.termCoeffs[q] = -0.5;
  }
  for (int q = 0; q + 1 < kQubits; ++q) {
    const int term = kQubits + q;
    chain.pauliCodes[term * kQubits + q] = PAULI_Z;
    chain.pauliCodes[term * kQubits + q + 1] = PAULI_Z;
    chain.termCoeffs[term] = -1;
  }
  const double before = calcExpecPauliHamil(psi, chain, space);
  applyTrotterCircuit(psi, chain, 1.0, 4, 10);
  const double after = calcExpecPauliHamil(psi, chain, space);
  int middle = kQubits / 2;
  enum pauliOpType z = PAULI_Z;
  printf("energy %.8f -> %.8f, <Z> in the middle %.6f\n", before, after,
         (double)calcExpecPauliProd(psi, &middle, &z, 1, space));
  destroyPauliHamil(chain);
  destroyQureg(psi, env);
  destroyQureg(space, env);
  destroyQuESTEnv(env);
  return fabs(before + kQubits - 1) < 1000 * REAL_EPS &&
                 fabs(after - before) < 1e-4 + 1000 * REAL_EPS
             ? 0
             : 1;
}
