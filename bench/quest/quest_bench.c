/* A program of the QuEST C API, timed; the same source compiles with Tilewave and with QuEST 3.x.
 *
 *   quest_bench circuit FILE
 *     a circuit, then P(1) of all qubits and ten amplitudes
 *   quest_bench energy FILE HAMILTONIAN K
 *     a circuit, then the expectation of a sum of Pauli strings; unless K is 0, then of every K-th
 *     string alone, and what `circuit` observes
 *   quest_bench shipped FILE HAMILTONIAN COUNT
 *     a circuit, then for COUNT strings (0: all) a copy of the state, the string's gates on it, and
 *     the inner product, as the contest's program does it
 *   quest_bench loop QUBITS GATES EVERY
 *     random gates, P(1) of one qubit after EVERY of them
 *
 * FILE is OpenQASM 2 of the contest's subset: one gate a line on register q, angles as numbers.
 * First line of output: seconds from the first gate to the last observation (energy: of the sum
 * alone), then a sum of what was observed. Further lines: the observed values, one a line. The
 * register is created before the clock starts; the circuit is the first to touch its memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "QuEST.h"

typedef struct Gate {
  char name[8];
  int num_angles, num_qubits, qubits[2];
  double angles[3];
} Gate;

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(const char* message, const char* what) {
  fprintf(stderr, "error: %s%s\n", message, what);
  exit(1);
}

/* name(angles) q[a],q[b]; */
static int read_gate(const char* line, Gate* g) {
  int used = 0;
  memset(g, 0, sizeof *g);
  if (sscanf(line, "%7[a-z0-9]%n", g->name, &used) != 1) return 0;
  line += used;
  if (*line == '(') {
    do {
      g->angles[g->num_angles++] = strtod(line + 1, (char**)&line);
    } while (*line == ',' && g->num_angles < 3);
    if (*line++ != ')') return 0;
  }
  while (g->num_qubits < 2 && sscanf(line, " q[%d]%n", &g->qubits[g->num_qubits], &used) == 1) {
    line += used;
    ++g->num_qubits;
    if (*line == ',') ++line;
  }
  return g->num_qubits > 0 && *line == ';';
}

/* Returns the number of qubits. */
static int read_circuit(const char* name, Gate** gates, int* count) {
  char line[256];
  int num_qubits = 0, room = 0;
  FILE* file = fopen(name, "r");
  if (!file) stop("cannot read ", name);
  *gates = NULL;
  *count = 0;
  while (fgets(line, sizeof line, file)) {
    if (!strncmp(line, "OPENQASM", 8) || !strncmp(line, "include", 7) || line[0] == '\n') continue;
    if (sscanf(line, "qreg q[%d];", &num_qubits) == 1) continue;
    if (*count == room) {
      room = room ? 2 * room : 1024;
      *gates = realloc(*gates, sizeof(Gate) * (size_t)room);
      if (!*gates) stop("out of memory reading ", name);
    }
    if (!read_gate(line, &(*gates)[(*count)++])) stop("cannot read this line: ", line);
  }
  fclose(file);
  return num_qubits;
}

static void u(Qureg q, int t, double theta, double phi, double lambda) {
  const double c = cos(theta / 2), s = sin(theta / 2);
  ComplexMatrix2 m = {
      {{(qreal)c, (qreal)(-s * cos(lambda))},
       {(qreal)(s * cos(phi)), (qreal)(c * cos(phi + lambda))}},
      {{0, (qreal)(-s * sin(lambda))}, {(qreal)(s * sin(phi)), (qreal)(c * sin(phi + lambda))}}};
  unitary(q, t, m);
}

static void apply(Qureg q, const Gate* g) {
  const char* n = g->name;
  const int a = g->qubits[0], b = g->qubits[1];
  const double* p = g->angles;
  const qreal angle = (qreal)p[0];
  if (!strcmp(n, "h"))
    hadamard(q, a);
  else if (!strcmp(n, "x"))
    pauliX(q, a);
  else if (!strcmp(n, "y"))
    pauliY(q, a);
  else if (!strcmp(n, "z"))
    pauliZ(q, a);
  else if (!strcmp(n, "s"))
    sGate(q, a);
  else if (!strcmp(n, "t"))
    tGate(q, a);
  else if (!strcmp(n, "rx"))
    rotateX(q, a, angle);
  else if (!strcmp(n, "ry"))
    rotateY(q, a, angle);
  else if (!strcmp(n, "rz"))
    rotateZ(q, a, angle);
  else if (!strcmp(n, "cx"))
    controlledNot(q, a, b);
  else if (!strcmp(n, "cy"))
    controlledPauliY(q, a, b);
  else if (!strcmp(n, "crx"))
    controlledRotateX(q, a, b, angle);
  else if (!strcmp(n, "cry"))
    controlledRotateY(q, a, b, angle);
  else if (!strcmp(n, "crz"))
    controlledRotateZ(q, a, b, angle);
  else if (!strcmp(n, "u1"))
    phaseShift(q, a, angle);
  else if (!strcmp(n, "u2"))
    u(q, a, acos(-1.0) / 2, p[0], p[1]);
  else if (!strcmp(n, "u3"))
    u(q, a, p[0], p[1], p[2]);
  else
    stop("unknown gate ", n);
}

/* COEFFICIENT STRING a line, character q on qubit q. */
static PauliHamil read_hamiltonian(const char* name, int num_qubits) {
  char line[256], word[128];
  double c;
  int terms = 0, t = 0;
  FILE* file = fopen(name, "r");
  if (!file) stop("cannot read ", name);
  while (fgets(line, sizeof line, file)) terms += sscanf(line, "%lf %127s", &c, word) == 2;
  rewind(file);
  PauliHamil h = createPauliHamil(num_qubits, terms);
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "%lf %127s", &c, word) != 2) continue;
    if ((int)strlen(word) != num_qubits) stop("a string of another length: ", line);
    h.termCoeffs[t] = (qreal)c;
    for (int q = 0; q < num_qubits; ++q) {
      const char* place = strchr("IXYZ", word[q]);
      if (!place) stop("not a Pauli string: ", line);
      h.pauliCodes[t * num_qubits + q] = (enum pauliOpType)(place - "IXYZ");
    }
    ++t;
  }
  fclose(file);
  return h;
}

/* P(1) of every qubit, then ten amplitudes: n + 20 numbers. */
static void observe(Qureg q, int n, double* values) {
  for (int k = 0; k < n; ++k) values[k] = calcProbOfOutcome(q, k, 1);
  for (int k = 0; k < 10; ++k) {
    const Complex z = getAmp(q, k);
    values[n + 2 * k] = z.real;
    values[n + 2 * k + 1] = z.imag;
  }
}

static int run_circuit(const char* file, const char* hamiltonian, int each, QuESTEnv env) {
  Gate* gates;
  int count;
  const int n = read_circuit(file, &gates, &count);
  Qureg q = createQureg(n, env);
  double values[128], sum = 0;
  double start = now();
  for (int k = 0; k < count; ++k) apply(q, &gates[k]);
  observe(q, n, values);
  if (!hamiltonian) {
    const double seconds = now() - start;
    for (int k = 0; k < n + 20; ++k) sum += (k + 1) * values[k];
    printf("%.6f %.12g\n", seconds, sum);
  } else {
    PauliHamil h = read_hamiltonian(hamiltonian, n);
    Qureg work = createQureg(n, env);
    start = now();
    sum = calcExpecPauliHamil(q, h, work);
    printf("%.6f %.12g\n", now() - start, sum);
    int* all = malloc(sizeof(int) * (size_t)n);
    if (!all) stop("out of memory", "");
    for (int k = 0; k < n; ++k) all[k] = k;
    for (int t = 0; each > 0 && t < h.numSumTerms; t += each) {
      printf("%.15g\n",
             h.termCoeffs[t] * calcExpecPauliProd(q, all, h.pauliCodes + t * n, n, work));
    }
    free(all);
    destroyPauliHamil(h);
    destroyQureg(work, env);
  }
  if (!hamiltonian || each > 0) {
    for (int k = 0; k < n + 20; ++k) printf("%.15g\n", values[k]);
  }
  destroyQureg(q, env);
  free(gates);
  return 0;
}

/* As the contest's program does it: every string acts on a copy of the state, one Pauli gate after
 * the other, and the inner product is its expectation. */
static int run_shipped(const char* file, const char* hamiltonian, int terms, QuESTEnv env) {
  Gate* gates;
  int count;
  const int n = read_circuit(file, &gates, &count);
  Qureg q = createQureg(n, env), copy = createQureg(n, env);
  PauliHamil h = read_hamiltonian(hamiltonian, n);
  if (terms == 0 || terms > h.numSumTerms) terms = h.numSumTerms;
  double* values = malloc(sizeof(double) * (size_t)terms);
  if (!values) stop("out of memory", "");
  double start = now(), total = 0;
  for (int k = 0; k < count; ++k) apply(q, &gates[k]);
  calcProbOfOutcome(q, 0, 1);
  const double ansatz = now() - start;
  start = now();
  for (int t = 0; t < terms; ++t) {
    cloneQureg(copy, q);
    for (int k = 0; k < n; ++k) {
      switch (h.pauliCodes[t * n + k]) {
        case PAULI_X:
          pauliX(copy, k);
          break;
        case PAULI_Y:
          pauliY(copy, k);
          break;
        case PAULI_Z:
          pauliZ(copy, k);
          break;
        default:
          break;
      }
    }
    values[t] = h.termCoeffs[t] * calcInnerProduct(q, copy).real;
    total += values[t];
  }
  fprintf(stderr, "circuit %.3f s, %d strings %.3f s\n", ansatz, terms, now() - start);
  printf("%.6f %.12g\n", ansatz + now() - start, total);
  for (int t = 0; t < terms; ++t) printf("%.15g\n", values[t]);
  free(values);
  free(gates);
  destroyPauliHamil(h);
  destroyQureg(copy, env);
  destroyQureg(q, env);
  return 0;
}

static int run_loop(int n, int count, int every, QuESTEnv env) {
  if (n < 2 || count < 1 || every < 1) stop("the numbers of a loop are too small", "");
  Qureg q = createQureg(n, env);
  unsigned state = 12345;
  double sum = 0;
  const double start = now();
  for (int k = 1; k <= count; ++k) {
    state = state * 1664525u + 1013904223u;
    const int t = (int)((state >> 8) % (unsigned)n), c = (t + 1) % n;
    const qreal angle = (qreal)((state >> 4 & 1023) * 0.006);
    switch (state >> 28 & 7) {
      case 0:
        hadamard(q, t);
        break;
      case 1:
        rotateX(q, t, angle);
        break;
      case 2:
        rotateY(q, t, angle);
        break;
      case 3:
        rotateZ(q, t, angle);
        break;
      case 4:
        tGate(q, t);
        break;
      case 5:
        controlledNot(q, c, t);
        break;
      case 6:
        controlledPhaseShift(q, c, t, angle);
        break;
      default:
        pauliX(q, t);
        break;
    }
    if (k % every == 0) sum += calcProbOfOutcome(q, t, 1);
  }
  printf("%.6f %.12g\n", now() - start, sum);
  destroyQureg(q, env);
  return 0;
}

int main(int argc, char** argv) {
  QuESTEnv env = createQuESTEnv();
  if (argc == 3 && !strcmp(argv[1], "circuit")) {
    run_circuit(argv[2], NULL, 0, env);
  } else if (argc == 5 && !strcmp(argv[1], "energy")) {
    run_circuit(argv[2], argv[3], atoi(argv[4]), env);
  } else if (argc == 5 && !strcmp(argv[1], "shipped")) {
    run_shipped(argv[2], argv[3], atoi(argv[4]), env);
  } else if (argc == 5 && !strcmp(argv[1], "loop")) {
    run_loop(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), env);
  } else {
    stop(
        "use: quest_bench circuit FILE | energy FILE HAMILTONIAN K | shipped FILE HAMILTONIAN "
        "COUNT | "
        "loop QUBITS GATES EVERY",
        "");
  }
  destroyQuESTEnv(env);
  return 0;
}
