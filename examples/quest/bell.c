/* A Bell pair: two qubits that are always found equal. */
#include <QuEST.h>
#include <stdio.h>

int main(void) {
  QuESTEnv env = createQuESTEnv();
  Qureg pair = createQureg(2, env);
  int equal = 0;
  for (int shot = 0; shot < 100; ++shot) {
    initZeroState(pair);
    hadamard(pair, 0);
    controlledNot(pair, 0, 1);
    equal += measure(pair, 0) == measure(pair, 1);
  }
  printf("equal in %d of 100 shots\n", equal);
  destroyQureg(pair, env);
  destroyQuESTEnv(env);
  return equal == 100 ? 0 : 1;
}
