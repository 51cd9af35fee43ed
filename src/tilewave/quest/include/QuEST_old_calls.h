/* Calls as programs for QuEST 3.2 and 3.3 make them, told apart from today's by their arguments: seedQuEST
 * and seedQuESTDefault without an environment, getEnvironmentString with a register. In C the three
 * names are macros, in C++ overloaded functions. */
#pragma once

#include "QuEST.h"

#ifdef __cplusplus
extern "C++" { /* programs may include this header inside extern "C" */
inline void seedQuEST(unsigned long int* seedArray, int numSeeds) {
  tilewave_seedQuEST(seedArray, numSeeds);
}
inline void seedQuESTDefault() { tilewave_seedQuESTDefault(); }
inline void getEnvironmentString(QuESTEnv env, Qureg, char* str) { getEnvironmentString(env, str); }
}
#else
static inline void tilewave_seedDefault(QuESTEnv* const* envs, int count) {
  if (count > 1) {
    seedQuESTDefault(envs[1]);
  } else {
    tilewave_seedQuESTDefault();
  }
}
static inline void tilewave_environmentString(QuESTEnv env, Qureg qureg, char* str) {
  (void)qureg;
  getEnvironmentString(env, str);
}
#define TILEWAVE_FOURTH(a, b, c, name, ...) name
/* By the first argument: what follows may be a compound literal, whose commas a macro would count. Where the
 * first begins with a parenthesis it may be one itself; then the compiler counts the arguments as initialisers,
 * for pointers and numbers are initialisers of a _Bool, and nothing is evaluated. */
#define TILEWAVE_SEED_BY_FIRST(first, ...) \
  _Generic((first), QuESTEnv * : seedQuEST, default : tilewave_seedQuEST)(first, __VA_ARGS__)
#define TILEWAVE_SEED_BY_COUNT(...)                               \
  _Generic((char(*)[sizeof((_Bool[]){__VA_ARGS__})])0, char(*)[2] \
           : tilewave_seedQuEST, default                          \
           : seedQuEST)(__VA_ARGS__)
#define TILEWAVE_IN_PARENTHESES(...) 0, TILEWAVE_SEED_BY_COUNT,
#define TILEWAVE_SECOND_OF(first, second, ...) second
#define TILEWAVE_SECOND(...) TILEWAVE_SECOND_OF(__VA_ARGS__, 0)
#define seedQuEST(first, ...)                                            \
  TILEWAVE_SECOND(TILEWAVE_IN_PARENTHESES first, TILEWAVE_SEED_BY_FIRST) \
  (first, __VA_ARGS__)
#define seedQuESTDefault(...)                         \
  tilewave_seedDefault((QuESTEnv*[]){0, __VA_ARGS__}, \
                       (int)(sizeof((QuESTEnv*[]){0, __VA_ARGS__}) / sizeof(QuESTEnv*)))
#define getEnvironmentString(...)                                                      \
  TILEWAVE_FOURTH(__VA_ARGS__, tilewave_environmentString, getEnvironmentString, 0, 0) \
  (__VA_ARGS__)
#endif
