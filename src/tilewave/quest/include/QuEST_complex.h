/* Native complex numbers beside the API's struct Complex: qcomp is `double complex` in C and
 * std::complex<double> in C++ (float with QuEST_PREC 1); toComplex and fromComplex convert. */
#pragma once

#include "QuEST_precision.h"

#ifdef __cplusplus
#include <cmath>
#include <complex>

using namespace std; /* programs of this API count on it: string, vector, 1i */

typedef std::complex<float> float_complex;
typedef std::complex<double> double_complex;
typedef std::complex<long double> long_double_complex;

#define creal(x) std::real(x)
#define cimag(x) std::imag(x)
#define carg(x) std::arg(x)
#define cabs(x) std::abs(x)
#else
#include <tgmath.h>

typedef float complex float_complex;
typedef double complex double_complex;
typedef long double complex long_double_complex;

#define float_complex(r, i) ((float)(r) + ((float)(i)) * I)
#define double_complex(r, i) ((double)(r) + ((double)(i)) * I)
#define long_double_complex(r, i) ((long double)(r) + ((long double)(i)) * I)
#endif

#if QuEST_PREC == 1
#define qcomp float_complex
#else
#define qcomp double_complex
#endif

#ifdef __cplusplus
#define toComplex(scalar) (Complex{(qreal)std::real(scalar), (qreal)std::imag(scalar)})
#else
#define toComplex(scalar) ((Complex){.real = creal(scalar), .imag = cimag(scalar)})
#endif
#define fromComplex(comp) qcomp((comp).real, (comp).imag)
