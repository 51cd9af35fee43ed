// Pauli terms as arrays: coefficients float64[terms], masks of X and of Z uint64[terms, words],
// qubit k being bit k % 64 of word k / 64.
#pragma once

#include <cstdint>
#include <tuple>

#include "tilewave/base/error.h"
#include "tilewave/circuit/pauli.h"
#include "tilewave/python/arrays-inl.h"

namespace tilewave::python {

using Terms = std::tuple<ConstArray<double>, ConstArray<std::uint64_t>, ConstArray<std::uint64_t>>;
using NewTerms = std::tuple<Array<double>, Array<std::uint64_t>, Array<std::uint64_t>>;

inline circuit::WidePauliSum to_sum(const Terms& terms) {
  const auto& [coefficients, x, z] = terms;
  const std::size_t count = coefficients.size(), words = x.ndim() == 2 ? x.shape(1) : 0;
  TW_CHECK(x.ndim() == 2 && z.ndim() == 2 && x.shape(0) == count && z.shape(0) == count &&
               z.shape(1) == words,
           "coefficients and masks are of the same terms");
  circuit::WidePauliSum sum(count);
  for (std::size_t k = 0; k < count; ++k) {
    sum[k].coefficient = coefficients.data()[k];
    sum[k].x.assign(x.data() + k * words, x.data() + (k + 1) * words);
    sum[k].z.assign(z.data() + k * words, z.data() + (k + 1) * words);
  }
  return sum;
}

/// With as many words as `num_qubits` need.
inline NewTerms to_arrays(const circuit::WidePauliSum& sum, std::uint32_t num_qubits) {
  const std::size_t words = (std::size_t{num_qubits} + 63) / 64;
  std::vector<double> coefficients;
  std::vector<std::uint64_t> x(sum.size() * words), z(sum.size() * words);
  for (std::size_t k = 0; k < sum.size(); ++k) {
    coefficients.push_back(sum[k].coefficient);
    std::copy(sum[k].x.begin(), sum[k].x.end(), x.begin() + static_cast<std::ptrdiff_t>(k * words));
    std::copy(sum[k].z.begin(), sum[k].z.end(), z.begin() + static_cast<std::ptrdiff_t>(k * words));
  }
  return {own_vector<double>(std::move(coefficients)),
          own_vector<std::uint64_t>(std::move(x), {sum.size(), words}),
          own_vector<std::uint64_t>(std::move(z), {sum.size(), words})};
}

}  // namespace tilewave::python
