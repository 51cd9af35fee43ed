/* Teleports a qubit through a pair that was depolarised with probability p: fidelity 1 - 2p/3. */
#include <QuEST.h>
#include <math.h>
#include <stdio.h>

int main(void) {
  const double p = 0.15;
  QuESTEnv env = createQuESTEnv();
  Qureg rho = createDensityQureg(3, env), wanted = createQureg(3, env);
  hadamard(rho, 1);
  controlledNot(rho, 1, 2);
  mixDepolarising(rho, 2, p);
  rotateY(rho, 0, 0.7);
  rotateZ(rho, 0, 1.1);
  controlledNot(rho, 0, 1);
  hadamard(rho, 0);
  const int m0 = measure(rho, 0), m1 = measure(rho, 1);
  if (m1) pauliX(rho, 2);
  if (m0) pauliZ(rho, 2);
  initClassicalState(wanted, m0 + 2 * m1);
  rotateY(wanted, 2, 0.7);
  rotateZ(wanted, 2, 1.1);
  const double fidelity = calcFidelity(rho, wanted);
  printf("fidelity %.12f, purity %.6f\n", fidelity, (double)calcPurity(rho));
  destroyQureg(rho, env);
  destroyQureg(wanted, env);
  destroyQuESTEnv(env);
  return fabs(fidelity - (1 - 2 * p / 3)) < 1000 * REAL_EPS ? 0 : 1;
}
