/* Grover's search of one marked number among 2^10. */
#include <QuEST.h>
#include <math.h>
#include <stdio.h>

enum { kQubits = 10, kMarked = 687 };

/* -1 on one basis state. */
static void flip_sign(Qureg q, int state) {
  int all[kQubits];
  for (int k = 0; k < kQubits; ++k) {
    all[k] = k;
    if (!(state >> k & 1)) pauliX(q, k);
  }
  multiControlledPhaseFlip(q, all, kQubits);
  for (int k = 0; k < kQubits; ++k) {
    if (!(state >> k & 1)) pauliX(q, k);
  }
}

int main(void) {
  QuESTEnv env = createQuESTEnv();
  Qureg q = createQureg(kQubits, env);
  initPlusState(q);
  const int steps = (int)(3.14159265 / 4 * sqrt(1 << kQubits));
  for (int step = 0; step < steps; ++step) {
    flip_sign(q, kMarked);
    for (int k = 0; k < kQubits; ++k) hadamard(q, k);
    flip_sign(q, 0);
    for (int k = 0; k < kQubits; ++k) hadamard(q, k);
  }
  const double found = getProbAmp(q, kMarked);
  printf("after %d steps: P(%d) = %.4f\n", steps, kMarked, found);
  destroyQureg(q, env);
  destroyQuESTEnv(env);
  return found > 0.999 ? 0 : 1;
}
