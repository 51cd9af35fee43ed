// See qubit_map.h.
#include "tilewave/simulate/qubit_map.h"

#include <algorithm>
#include <utility>

#include "tilewave/base/bits.h"

namespace tilewave::simulate {

using circuit::Qubit;
using statevec::State;

QubitMap::QubitMap(std::uint32_t num_qubits, std::vector<Qubit> kept)
    : num_qubits_(num_qubits), kept_(std::move(kept)) {
  if (kept_.size() == num_qubits_) kept_.clear();
  if (kept_.empty()) return;
  where_.assign(num_qubits_, kNowhere);
  for (std::size_t j = 0; j < kept_.size(); ++j) where_[kept_[j]] = static_cast<Qubit>(j);
}

void QubitMap::spread(std::uint64_t basis_state, Bits& out) const {
  std::fill(out.begin(), out.end(), 0);
  if (is_identity()) {
    if (!out.empty()) out[0] = basis_state;
    return;
  }
  for_each_bit(basis_state, [&](int j) {
    const Qubit q = kept_[static_cast<std::size_t>(j)];
    out[q / 64] |= bit(static_cast<int>(q % 64));
  });
}

std::vector<double> QubitMap::marginals(State& state) const {
  std::vector<double> own = state.marginals();
  if (is_identity()) return own;
  std::vector<double> all(num_qubits_);
  for (std::size_t j = 0; j < kept_.size(); ++j) all[kept_[j]] = own[j];
  return all;
}

std::vector<double> QubitMap::joint_probabilities(State& state,
                                                  std::span<const Qubit> qubits) const {
  if (is_identity()) return state.joint_probabilities(qubits);
  std::vector<Qubit> own;      // in the state
  std::uint64_t own_mask = 0;  // bits of an outcome that are theirs
  for (std::size_t k = 0; k < qubits.size(); ++k) {
    if (in_state(qubits[k]) == kNowhere) continue;
    own.push_back(in_state(qubits[k]));
    own_mask |= bit(static_cast<int>(k));
  }
  const std::vector<double> of_own =
      own.empty() ? std::vector<double>{state.norm()} : state.joint_probabilities(own);
  std::vector<double> all(std::size_t{1} << qubits.size());
  for (std::size_t x = 0; x < of_own.size(); ++x) all[deposit_bits(x, own_mask)] = of_own[x];
  return all;
}

std::vector<cplx> QubitMap::amplitudes(State& state, std::span<const std::uint64_t> indices) const {
  if (is_identity()) return state.amplitudes(indices);
  std::uint64_t mask = 0;  // of the state's qubits, in an index of the register
  for (const Qubit q : kept_) {
    if (q < 64) mask |= bit(static_cast<int>(q));
  }
  std::vector<std::uint64_t> own;
  for (const std::uint64_t i : indices) {
    if (!(i & ~mask)) own.push_back(extract_bits(i, mask));
  }
  const std::vector<cplx> of_own = state.amplitudes(own);
  std::vector<cplx> all;
  all.reserve(indices.size());
  std::size_t next = 0;
  for (const std::uint64_t i : indices) all.push_back(i & ~mask ? cplx(0) : of_own[next++]);
  return all;
}

std::vector<double> QubitMap::expectations(State& state, const circuit::WidePauliSum& sum) const {
  circuit::PauliSum own;
  own.reserve(sum.size());
  if (is_identity()) {
    for (const auto& term : sum) own.push_back(circuit::narrow(term));
    return state.expectations(own);
  }
  // X and Y flip a qubit that is |0> for good: the mean is 0; Z on it is 1
  std::vector<bool> vanishes(sum.size());
  for (std::size_t k = 0; k < sum.size(); ++k) {
    circuit::PauliTerm term{sum[k].coefficient, 0, 0};
    for (std::size_t word = 0; word < sum[k].x.size(); ++word) {
      for_each_bit(sum[k].x[word], [&](int b) {
        const Qubit j = in_state(static_cast<Qubit>(64 * word) + static_cast<Qubit>(b));
        if (j == kNowhere) {
          vanishes[k] = true;
        } else {
          term.x |= bit(static_cast<int>(j));
        }
      });
    }
    for (std::size_t word = 0; word < sum[k].z.size(); ++word) {
      for_each_bit(sum[k].z[word], [&](int b) {
        const Qubit j = in_state(static_cast<Qubit>(64 * word) + static_cast<Qubit>(b));
        if (j != kNowhere) term.z |= bit(static_cast<int>(j));
      });
    }
    if (!vanishes[k]) own.push_back(term);
  }
  const std::vector<double> of_own = own.empty() ? std::vector<double>{} : state.expectations(own);
  std::vector<double> all(sum.size());
  for (std::size_t k = 0, next = 0; k < sum.size(); ++k) {
    if (!vanishes[k]) all[k] = of_own[next++];
  }
  return all;
}

}  // namespace tilewave::simulate
