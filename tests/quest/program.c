/* A program of the QuEST API that is C11 and C++17 alike; exits with the number of wrong results.
 */
#include <QuEST.h>
#include <QuEST_complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong = 0;

static void expect(const char* what, double got, double wanted) {
  const double allowed = QuEST_PREC == 1 ? 1e-5 : 1e-12;
  if (!(fabs(got - wanted) <= allowed)) {
    printf("%s: %.15g, expected %.15g\n", what, got, wanted);
    ++wrong;
  }
}

int main(void) {
  QuESTEnv env = createQuESTEnv();
  Qureg q = createQureg(3, env);
  hadamard(q, 0);
  controlledNot(q, 0, 1);
  rotateY(q, 2, (qreal)0.6);
  expect("P(q0)", calcProbOfOutcome(q, 0, 1), 0.5);
  expect("P(q2)", calcProbOfOutcome(q, 2, 1), pow(sin(0.3), 2));

  /* arrays are the state: read, write, read on */
  expect("real[3]", q.stateVec.real[3], cos(0.3) / sqrt(2.0));
  expect("imag[3]", q.stateVec.imag[3], 0);
  q.stateVec.imag[3] = q.stateVec.real[3];
  q.stateVec.real[3] = 0;
  pauliX(q, 2);
  expect("imag of 7", getImagAmp(q, 7), cos(0.3) / sqrt(2.0));
  expect("real[7]", q.stateVec.real[7], 0);
  expect("imag[7]", q.stateVec.imag[7], cos(0.3) / sqrt(2.0));

  qcomp z = qcomp(3, 4);
  Complex c = toComplex(z);
  expect("toComplex", c.imag, 4);
  expect("fromComplex", creal(fromComplex(c)), 3);

#ifndef __cplusplus
  ComplexMatrixN m = createComplexMatrixN(1);
  initComplexMatrixN(m, (qreal[2][2]){{0, 1}, {1, 0}}, (qreal[2][2]){{0}});
  int target = 0;
  initZeroState(q);
  multiQubitUnitary(q, &target, 1, m);
  expect("matrix X", getRealAmp(q, 1), 1);
  destroyComplexMatrixN(m);
  qreal *re[2], *im[2];
  ComplexMatrixN bound = bindArraysToStackComplexMatrixN(1, (qreal[2][2]){{0, 0}, {0, 0}},
                                                         (qreal[2][2]){{0, -1}, {1, 0}}, re, im);
  multiQubitUnitary(q, &target, 1, bound);
  expect("matrix Y", getImagAmp(q, 0), -1);
#if QuEST_PREC == 2
  multiQubitUnitary(q, &target, 1, getStaticComplexMatrixN(1, ({{0, 1}, {1, 0}}), ({{0}, {0}})));
  expect("static X", getImagAmp(q, 1), -1);
#endif
#endif
  // as programs for QuEST 3.2 and 3.3 call it: the same keys draw the same, and the text is the same
  unsigned long keys[2] = {5, 7}, *seeds = keys;
  QuESTEnv* today = &env;
  int drawn[6] = {0};
#ifdef __cplusplus
  (void)today;
  const int ways = 3;  // C++ has no compound literals
#else
  const int ways = 6;
#endif
  for (int way = 0; way < ways; ++way) {
    if (way == 0) {
      seedQuEST(&env, keys, 2);
    } else if (way == 1) {
      seedQuEST(keys, 2);
    } else if (way == 2) {
      seedQuEST((seeds), 2);
#ifndef __cplusplus
    } else if (way == 3) {
      seedQuEST((unsigned long int[]){5, 7}, 2);
    } else if (way == 4) {
      seedQuEST(&env, (unsigned long int[]){5, 7}, 2);
    } else {
      seedQuEST((today), (unsigned long int[]){5, 7}, 2);
#endif
    }
    for (int k = 0; k < 16; ++k) {
      initPlusState(q);
      drawn[way] = 2 * drawn[way] + measure(q, 0);
    }
  }
  for (int way = 1; way < ways; ++way) expect("draws of one seed", drawn[way], drawn[0]);
  char younger[200], older[200];
  getEnvironmentString(env, younger);
  getEnvironmentString(env, q, older);
  expect("the environment's text", strcmp(older, younger), 0);
  seedQuESTDefault(&env);
  seedQuESTDefault();
  tilewave_seedQuESTDefault();
  tilewave_seedQuEST(keys, 2);

  destroyQureg(q, env);
  destroyQuESTEnv(env);
  return wrong;
}
