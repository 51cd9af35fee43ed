/* The real number of the QuEST API: QuEST_PREC 1 is float (library tilewave_quest_f32), 2 is double
 * (library tilewave_quest, the default). Define it alike for the program and its library. */
#pragma once

#include <math.h>

#ifndef QuEST_PREC
#define QuEST_PREC 2
#endif

#if QuEST_PREC == 1
#define qreal float
#define REAL_STRING_FORMAT "%.8f"
#define REAL_QASM_FORMAT "%.8g"
#define REAL_SPECIFIER "%f"
#define REAL_EPS 1e-5
#elif QuEST_PREC == 2
#define qreal double
#define REAL_STRING_FORMAT "%.14f"
#define REAL_QASM_FORMAT "%.14g"
#define REAL_SPECIFIER "%lf"
#define REAL_EPS 1e-13
#else
#error "QuEST_PREC must be 1 (float) or 2 (double)"
#endif

#define absReal(x) fabs(x)

/* The most registers of qubits that one phase function can take. */
#define MAX_NUM_REGS_APPLY_ARBITRARY_PHASE 100
