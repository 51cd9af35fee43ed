// What every C function of the API is made of: a guard that turns errors into
// invalidQuESTInputError, the register behind a Qureg, and matrices from the API's types.
#pragma once

#include <exception>
#include <string>
#include <type_traits>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/quest/core/checks.h"
#include "tilewave/quest/core/session.h"
#include "tilewave/quest/core/slots.h"
#include "tilewave/quest/include/QuEST.h"

namespace tilewave::quest {

constexpr statevec::Precision kPrecision =
    sizeof(qreal) == 8 ? statevec::Precision::kDouble : statevec::Precision::kSingle;

/// Runs the body; an error becomes one message and the value zero.
template <class Body>
auto call(const char* function, Body&& body) {
  using Result = std::invoke_result_t<Body>;
  current_call = function;
  const char* message = nullptr;
  try {
    return body();
  } catch (const std::exception&) {
    message = describe_error();
  }
  invalidQuESTInputError(message, function);  // outside the handler: it may throw or jump
  if constexpr (!std::is_void_v<Result>) return Result{};
}

/// The register behind a handle, with the program's writes to its arrays taken over.
inline Register& use(const Qureg& qureg, const char* name = "qureg") {
  if (!qureg.slot) fail(Words::kNone, name, " was never created: use createQureg");
  if (qureg.slot->generation != qureg.generation) {
    fail(Words::kNone, name, " was destroyed: it cannot be used any more");
  }
  Register& r = *qureg.slot->content;
  r.take_writes();
  return r;
}

/// The same where it is a density matrix.
inline Register& use_density(const Qureg& qureg, const char* name = "qureg") {
  Register& r = use(qureg, name);
  check_density(r, name);
  return r;
}

/// The same where it is a state vector.
inline Register& use_vector(const Qureg& qureg, const char* name = "qureg",
                            QuestWords words = Words::kOnlyStateVectors) {
  Register& r = use(qureg, name);
  check_state_vector(r, name, words);
  return r;
}

inline Qubit qubit(const Register& r, int q, const char* name, Role role = Role::kTarget) {
  check_qubit(r, q, name, role);
  return static_cast<Qubit>(q);
}

inline void check_distinct(int a, int b, const char* names,
                           QuestWords words = Words::kTargetsNotUnique) {
  if (a == b) fail(words, names, " are both ", a, ": they must differ");
}

inline cplx value(const ::Complex& z) { return {z.real, z.imag}; }
inline ::Complex value(cplx z) {
  return {static_cast<qreal>(z.real()), static_cast<qreal>(z.imag())};
}

/// Of a ComplexMatrix2 or ComplexMatrix4, of which nothing can be wrong.
template <class Matrix>
std::vector<cplx> entries(const Matrix& u, int /*num_targets*/ = 0, const char* /*name*/ = "",
                          QuestWords /*size_words*/ = Words::kNone) {
  constexpr int kDim = sizeof(u.real[0]) / sizeof(qreal);
  std::vector<cplx> m;
  m.reserve(kDim * kDim);
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j < kDim; ++j) m.emplace_back(u.real[i][j], u.imag[i][j]);
  }
  return m;
}

inline std::vector<cplx> entries(const ComplexMatrixN& u, int num_targets, const char* name,
                                 QuestWords size_words = Words::kMatrixSize) {
  if (!u.real || !u.imag) {
    fail(Words::kMatrixNotCreated, name, " was never created: use createComplexMatrixN");
  }
  if (u.numQubits != num_targets) {
    fail(size_words, name, " is for ", u.numQubits, " qubits, but ", num_targets,
         " targets are named");
  }
  const std::size_t dim = std::size_t{1} << num_targets;
  std::vector<cplx> m;
  m.reserve(dim * dim);
  for (std::size_t i = 0; i < dim; ++i) {
    if (!u.real[i] || !u.imag[i]) fail(Words::kNone, name, " has a row that is a null pointer");
    for (std::size_t j = 0; j < dim; ++j) m.emplace_back(u.real[i][j], u.imag[i][j]);
  }
  return m;
}

inline std::vector<cplx> entries(const SubDiagonalOp& op, int num_targets) {
  if (!op.real || !op.imag) fail(Words::kNone, "op was never created: use createSubDiagonalOp");
  if (op.numQubits != num_targets) {
    fail(Words::kSubDiagonalSize, "op is for ", op.numQubits, " qubits, but ", num_targets,
         " targets are named");
  }
  std::vector<cplx> d;
  for (long long k = 0; k < op.numElems; ++k) d.emplace_back(op.real[k], op.imag[k]);
  return d;
}

}  // namespace tilewave::quest
