/* Times one circuit on QuEST v4: quest_driver GATES REPEATS prints the seconds of each repeat, one
 * a line, then "amplitude k re im" for the first eight basis states from |0...0>.
 *
 * GATES is plain text: the number of qubits, then a gate a line: name, qubits, parameters. It is
 * written by run.py. A repeat starts from a plus state that was prepared, and thereby touched,
 * outside the timed part; QuEST runs a gate at a time, so the input does not matter to it.
 */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "quest.h"

typedef struct {
  char name[8];
  int q[2];
  double p[3];
} Gate;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void apply_u3(Qureg s, int target, const double* p) {
  const double c = cos(p[0] / 2), d = sin(p[0] / 2);
  qcomp m[2][2] = {{c, -cexp(I * p[2]) * d}, {cexp(I * p[1]) * d, cexp(I * (p[1] + p[2])) * c}};
  applyCompMatr1(s, target, getCompMatr1(m));
}

static int apply(Qureg s, const Gate* g) {
  const char* n = g->name;
  if (!strcmp(n, "h"))
    applyHadamard(s, g->q[0]);
  else if (!strcmp(n, "x"))
    applyPauliX(s, g->q[0]);
  else if (!strcmp(n, "y"))
    applyPauliY(s, g->q[0]);
  else if (!strcmp(n, "z"))
    applyPauliZ(s, g->q[0]);
  else if (!strcmp(n, "s"))
    applyS(s, g->q[0]);
  else if (!strcmp(n, "t"))
    applyT(s, g->q[0]);
  else if (!strcmp(n, "rx"))
    applyRotateX(s, g->q[0], g->p[0]);
  else if (!strcmp(n, "ry"))
    applyRotateY(s, g->q[0], g->p[0]);
  else if (!strcmp(n, "rz"))
    applyRotateZ(s, g->q[0], g->p[0]);
  else if (!strcmp(n, "u3"))
    apply_u3(s, g->q[0], g->p);
  else if (!strcmp(n, "cx"))
    applyControlledPauliX(s, g->q[0], g->q[1]);
  else if (!strcmp(n, "cz"))
    applyTwoQubitPhaseFlip(s, g->q[0], g->q[1]);
  else if (!strcmp(n, "cp"))
    applyTwoQubitPhaseShift(s, g->q[0], g->q[1], g->p[0]);
  else
    return 0;
  return 1;
}

static int num_qubits_of(const char* n) {
  return !strcmp(n, "cx") || !strcmp(n, "cz") || !strcmp(n, "cp") ? 2 : 1;
}

static int num_params_of(const char* n) {
  if (!strcmp(n, "u3")) return 3;
  return !strcmp(n, "rx") || !strcmp(n, "ry") || !strcmp(n, "rz") || !strcmp(n, "cp");
}

static Gate* read_gates(const char* path, int* num_qubits, int* num_gates) {
  FILE* f = fopen(path, "r");
  Gate* gates = NULL;
  int capacity = 0;
  *num_gates = 0;
  if (!f || fscanf(f, "%d", num_qubits) != 1) return NULL;
  Gate g;
  while (fscanf(f, "%7s", g.name) == 1) {
    for (int k = 0; k < num_qubits_of(g.name); ++k) {
      if (fscanf(f, "%d", &g.q[k]) != 1) return NULL;
    }
    for (int k = 0; k < num_params_of(g.name); ++k) {
      if (fscanf(f, "%lf", &g.p[k]) != 1) return NULL;
    }
    if (*num_gates == capacity) {
      capacity = 2 * capacity + 64;
      gates = realloc(gates, (size_t)capacity * sizeof(Gate));
      if (!gates) return NULL;
    }
    gates[(*num_gates)++] = g;
  }
  fclose(f);
  return gates;
}

int main(int argc, char** argv) {
  int num_qubits = 0, num_gates = 0;
  Gate* gates = argc == 3 ? read_gates(argv[1], &num_qubits, &num_gates) : NULL;
  if (!gates) {
    fprintf(stderr, "usage: quest_driver GATES REPEATS\n");
    return 2;
  }
  initQuESTEnv();
  setValidationOff(); /* its best setting */
  Qureg state = createForcedQureg(num_qubits);
  for (int r = 0; r < atoi(argv[2]); ++r) {
    initPlusState(state);
    const double start = now_s();
    for (int k = 0; k < num_gates; ++k) {
      if (!apply(state, &gates[k])) {
        fprintf(stderr, "unknown gate %s\n", gates[k].name);
        return 2;
      }
    }
    printf("%.9f\n", now_s() - start);
  }
  if (num_qubits <= 12) { /* a check of the reading, not of speed */
    initZeroState(state);
    for (int k = 0; k < num_gates; ++k) apply(state, &gates[k]);
    for (int k = 0; k < 8 && k < 1 << num_qubits; ++k) {
      const qcomp a = getQuregAmp(state, k);
      printf("amplitude %d %.17g %.17g\n", k, creal(a), cimag(a));
    }
  }
  destroyQureg(state);
  finalizeQuESTEnv();
  free(gates);
  return 0;
}
