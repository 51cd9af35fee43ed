// A PauliHamil of the API as a sum of Pauli strings.
#pragma once

#include "tilewave/quest/api/call.h"
#include "tilewave/quest/core/strings.h"

namespace tilewave::quest {

inline circuit::PauliSum pauli_sum(const pauliOpType* codes, const qreal* coefficients,
                                   int num_terms, int num_qubits,
                                   QuestWords count_words = Words::kNumSumTerms) {
  check_range(num_terms, 1, 1 << 30, "numSumTerms", count_words);
  check_pointer(codes, "the array of Pauli codes");
  for (std::ptrdiff_t k = 0; k < static_cast<std::ptrdiff_t>(num_terms) * num_qubits; ++k)
    check_pauli_code(reinterpret_cast<const int*>(codes)[k]);
  check_pointer(coefficients, "the array of coefficients");
  circuit::PauliSum sum;
  for (int t = 0; t < num_terms; ++t) {
    sum.push_back(pauli_term(
        reinterpret_cast<const int*>(codes) + static_cast<std::ptrdiff_t>(t) * num_qubits,
        num_qubits, coefficients[t]));
  }
  return sum;
}

inline circuit::PauliSum pauli_sum(const PauliHamil& h) {
  check_range(h.numQubits, 1, 60, "hamil.numQubits", Words::kHamilSize);
  return pauli_sum(h.pauliCodes, h.termCoeffs, h.numSumTerms, h.numQubits, Words::kHamilSize);
}

/// The same for a register that must have as many qubits.
inline circuit::PauliSum pauli_sum(const PauliHamil& h, const Register& r) {
  circuit::PauliSum sum = pauli_sum(h);
  if (h.numQubits != r.num_qubits()) {
    fail(Words::kHamilRegister, "hamil is for ", h.numQubits, " qubits, but the register has ",
         r.num_qubits());
  }
  return sum;
}

}  // namespace tilewave::quest
