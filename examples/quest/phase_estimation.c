/* Reads the phase of diag(1, e^{2 pi i 0.3}) to 12 bits; the transform is undone gate by gate. */
#include <QuEST.h>
#include <math.h>
#include <stdio.h>

enum { kBits = 12 };

int main(void) {
  const double pi = acos(-1.0), phase = 0.3;
  QuESTEnv env = createQuESTEnv();
  Qureg q = createQureg(kBits + 1, env);
  pauliX(q, kBits);
  for (int k = 0; k < kBits; ++k) {
    hadamard(q, k);
    controlledPhaseShift(q, k, kBits, 2 * pi * phase * pow(2, k));
  }
  for (int k = 0; k < kBits / 2; ++k) swapGate(q, k, kBits - 1 - k);
  for (int k = 0; k < kBits; ++k) {
    for (int j = 0; j < k; ++j) controlledPhaseShift(q, j, k, -pi / pow(2, k - j));
    hadamard(q, k);
  }
  qreal probabilities[1 << kBits];
  int list[kBits];
  for (int k = 0; k < kBits; ++k) list[k] = k;
  calcProbOfAllOutcomes(probabilities, q, list, kBits);
  int best = 0;
  for (int k = 0; k < 1 << kBits; ++k) {
    if (probabilities[k] > probabilities[best]) best = k;
  }
  const double read = (double)best / (1 << kBits);
  printf("phase %.6f with probability %.3f\n", read, (double)probabilities[best]);
  destroyQureg(q, env);
  destroyQuESTEnv(env);
  return fabs(read - phase) < 1.0 / (1 << kBits) ? 0 : 1;
}
