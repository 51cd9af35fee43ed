/* A register that outlives the program: its state is kept in a folder and taken up by another
 * register, which goes on from there to the same amplitudes. */
#include <QuEST.h>
#include <math.h>
#include <stdio.h>

enum { kQubits = 12, kSteps = 40, kKept = 17 };

/* A step of a walk over random-looking gates. */
static void step(Qureg psi, int k) {
  for (int q = 0; q < kQubits; ++q) rotateY(psi, q, 0.1 * ((k * 7 + q * 3) % 11));
  for (int q = 0; q + 1 < kQubits; ++q) controlledPhaseShift(psi, q, q + 1, 0.3);
}

int main(void) {
  QuESTEnv env = createQuESTEnv();
  Qureg psi = createQureg(kQubits, env);
  for (int k = 0; k < kSteps; ++k) {
    if (k == kKept) tilewave_saveQureg(psi, "checkpoint_of_psi");
    step(psi, k);
  }
  /* what a job would do that was started again */
  Qureg again = createQureg(kQubits, env);
  tilewave_loadQureg(again, "checkpoint_of_psi");
  for (int k = kKept; k < kSteps; ++k) step(again, k);
  const double difference = fabs(1 - calcFidelity(psi, again));
  printf("the register that went on is the other one to %.1e\n", difference);
  destroyQureg(psi, env);
  destroyQureg(again, env);
  destroyQuESTEnv(env);
  return difference < 1000 * REAL_EPS ? 0 : 1;
}
