/* The types of the QuEST API. Programs include QuEST.h. */
#pragma once

#include "QuEST_precision.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In C++ a fixed type, so that a wrong number given for a name is a value, which calls refuse. */
#ifdef __cplusplus
#define TILEWAVE_ENUM_TYPE : int
#else
#define TILEWAVE_ENUM_TYPE
#endif
enum phaseGateType TILEWAVE_ENUM_TYPE { SIGMA_Z = 0, S_GATE = 1, T_GATE = 2 };
enum pauliOpType TILEWAVE_ENUM_TYPE { PAULI_I = 0, PAULI_X = 1, PAULI_Y = 2, PAULI_Z = 3 };

/* How a register of qubits is read as a number by phase functions. */
enum bitEncoding TILEWAVE_ENUM_TYPE { UNSIGNED = 0, TWOS_COMPLEMENT = 1 };

/* Phase functions known by name; p[] are their parameters, x_k the registers' numbers. */
enum phaseFunc TILEWAVE_ENUM_TYPE {
  NORM = 0,                             /* sqrt(sum x_k^2) */
  SCALED_NORM = 1,                      /* p0 norm */
  INVERSE_NORM = 2,                     /* 1 / norm, p0 where it diverges */
  SCALED_INVERSE_NORM = 3,              /* p0 / norm, p1 where it diverges */
  SCALED_INVERSE_SHIFTED_NORM = 4,      /* p0 / norm of x_k - p[2+k], p1 where it diverges */
  PRODUCT = 5,                          /* product of x_k */
  SCALED_PRODUCT = 6,                   /* p0 product */
  INVERSE_PRODUCT = 7,                  /* 1 / product, p0 where it diverges */
  SCALED_INVERSE_PRODUCT = 8,           /* p0 / product, p1 where it diverges */
  DISTANCE = 9,                         /* sqrt(sum (x_2k+1 - x_2k)^2) */
  SCALED_DISTANCE = 10,                 /* p0 distance */
  INVERSE_DISTANCE = 11,                /* 1 / distance, p0 where it diverges */
  SCALED_INVERSE_DISTANCE = 12,         /* p0 / distance, p1 where it diverges */
  SCALED_INVERSE_SHIFTED_DISTANCE = 13, /* p0 / distance of x_2k - x_2k+1 - p[2+k], or p1 */
  SCALED_INVERSE_SHIFTED_WEIGHTED_DISTANCE =
      14 /* p0 / sqrt(sum p[2+2k] (x_2k - x_2k+1 - p[3+2k])^2), p1 where it diverges */
};

typedef struct Complex {
  qreal real, imag;
} Complex;

typedef struct ComplexArray {
  qreal *real, *imag;
} ComplexArray;

typedef struct ComplexMatrix2 {
  qreal real[2][2], imag[2][2];
} ComplexMatrix2;

/* Bit 0 of a row or column index is the first target, bit 1 the second. */
typedef struct ComplexMatrix4 {
  qreal real[4][4], imag[4][4];
} ComplexMatrix4;

/* 2^numQubits rows of 2^numQubits numbers; bit k of an index is target k. */
typedef struct ComplexMatrixN {
  int numQubits;
  qreal **real, **imag;
} ComplexMatrixN;

typedef struct Vector {
  qreal x, y, z;
} Vector;

/* Sum of real multiples of Pauli strings; pauliCodes[term * numQubits + qubit]. */
typedef struct PauliHamil {
  enum pauliOpType* pauliCodes;
  qreal* termCoeffs;
  int numSumTerms, numQubits;
} PauliHamil;

/* A diagonal operator on all qubits of a register: 2^numQubits numbers. */
typedef struct DiagonalOp {
  int numQubits;
  long long int numElemsPerChunk;
  int numChunks, chunkId;
  qreal *real, *imag;
  ComplexArray deviceOperator; /* always null */
} DiagonalOp;

/* A diagonal operator on some qubits. */
typedef struct SubDiagonalOp {
  int numQubits;
  long long int numElems;
  qreal *real, *imag;
} SubDiagonalOp;

typedef struct QASMLogger QASMLogger;
struct TilewaveSlot;

/* A register, passed by value. stateVec.real[k] and imag[k] are amplitude k of the state: reading
 * or writing them is valid at any time; their memory is taken when they are first touched. */
typedef struct Qureg {
  int isDensityMatrix, numQubitsRepresented, numQubitsInStateVec;
  long long int numAmpsPerChunk, numAmpsTotal;
  int chunkId, numChunks;
  ComplexArray stateVec;
  ComplexArray pairStateVec, deviceStateVec;         /* always null */
  qreal *firstLevelReduction, *secondLevelReduction; /* always null */
  QASMLogger* qasmLog;                               /* always null */
  struct TilewaveSlot* slot;                         /* where Tilewave keeps the state */
  unsigned long long generation;                     /* which use of the slot this is */
} Qureg;

typedef struct QuESTEnv {
  int rank, numRanks;
  unsigned long int* seeds;
  int numSeeds;
} QuESTEnv;

#ifdef __cplusplus
}
#endif
