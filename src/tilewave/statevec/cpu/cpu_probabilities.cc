// Probabilities of a state in host memory. Sums run over fixed parts in a fixed order, so that
// results do not depend on the number of threads: sums of parts first, then a pairwise tree over
// them. Positions known to be zero are left out and stay known.
#include <algorithm>
#include <bit>

#include "tilewave/base/bits.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/runtime/multiversion.h"
#include "tilewave/runtime/team.h"
#include "tilewave/statevec/cpu/address.h"
#include "tilewave/statevec/cpu/cpu_state.h"
#include "tilewave/statevec/cpu/free_indices.h"

namespace tilewave::statevec::cpu {

namespace {

constexpr int kLanes = 8;

// sums[k % 8] += v[k]^2 where kept[k % period], everywhere where `kept` is null; count and period:
// multiples of 8.
template <class T>
[[gnu::always_inline]] inline void add_squares_of(const T* v, std::size_t count,
                                                  const std::uint8_t* kept, std::size_t period,
                                                  double* sums) {
  double s[kLanes];
  for (int l = 0; l < kLanes; ++l) s[l] = sums[l];
  if (!kept) {
    for (std::size_t k = 0; k < count; k += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        const double x = v[k + l];
        s[l] += x * x;
      }
    }
  } else {
    for (std::size_t k = 0; k < count; k += kLanes) {
      const std::uint8_t* const here = kept + (k & (period - 1));
      for (int l = 0; l < kLanes; ++l) {
        const double x = v[k + l];
        s[l] += here[l] ? x * x : 0.0;
      }
    }
  }
  for (int l = 0; l < kLanes; ++l) sums[l] = s[l];
}
TW_MULTIVERSION void add_squares(const float* v, std::size_t count, const std::uint8_t* kept,
                                 std::size_t period, double* sums) {
  add_squares_of(v, count, kept, period, sums);
}
TW_MULTIVERSION void add_squares(const double* v, std::size_t count, const std::uint8_t* kept,
                                 std::size_t period, double* sums) {
  add_squares_of(v, count, kept, period, sums);
}

// |a|^2 of a chunk. Plain loops: what is called from a clone is not compiled for its instructions.
template <class T>
[[gnu::always_inline]] inline void squares(const Complex<T>* a, std::size_t count, double* out) {
  for (std::size_t k = 0; k < count; ++k) {
    const double re = a[k].re, im = a[k].im;
    out[k] = re * re + im * im;
  }
}
template <class T>
[[gnu::always_inline]] inline void probabilities_of(const FreeChunks<T>& chunks,
                                                    const Complex<T>* amps, std::uint64_t base,
                                                    double* out) {
  if (chunks.is_straight) {
    squares(amps + (base ^ chunks.turn(base)), std::size_t{1} << chunks.bits, out);
    return;
  }
  const std::size_t runs = chunks.offset.size(), size = std::size_t{1} << chunks.run_bits;
  const std::uint64_t* const offset = chunks.offset.data();
  for (std::size_t run = 0; run < runs; ++run)
    squares(amps + (base ^ offset[run]), size, out + run * size);
}
TW_MULTIVERSION void chunk_probabilities(const FreeChunks<float>& chunks,
                                         const Complex<float>* amps, std::uint64_t base,
                                         double* out) {
  probabilities_of(chunks, amps, base, out);
}
TW_MULTIVERSION void chunk_probabilities(const FreeChunks<double>& chunks,
                                         const Complex<double>* amps, std::uint64_t base,
                                         double* out) {
  probabilities_of(chunks, amps, base, out);
}

// Folds 2^bits probabilities: ones[b] += sum over elements with bit b; returns the total. Destroys
// p.
TW_MULTIVERSION double fold(double* p, int bits, double* ones) {
  for (int b = bits - 1; b >= 0; --b) {
    const std::size_t half = std::size_t{1} << b;
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    std::size_t k = 0;
    for (; k + 4 <= half; k += 4) {
      s0 += p[half + k];
      s1 += p[half + k + 1];
      s2 += p[half + k + 2];
      s3 += p[half + k + 3];
    }
    for (; k < half; ++k) s0 += p[half + k];
    ones[b] += (s0 + s1) + (s2 + s3);
    for (k = 0; k < half; ++k) p[k] += p[half + k];
  }
  return p[0];
}

}  // namespace

// Over whole rows of 256 bytes; inside a row the numbers that count are marked.
template <class T>
double CpuState<T>::sum_where(std::uint64_t mask, std::uint64_t value) const {
  if (value & known_zero_) return 0;
  if (is_tiny()) return sum_tiny(mask, value);
  constexpr std::size_t kRow = std::size_t{2} << Address<T>::kRowBits;
  const std::uint64_t fixed = known_zero_ | mask, low = fixed & low_mask(Address<T>::kRowBits);
  std::uint8_t kept[kRow];
  for (std::size_t k = 0; k < kRow; ++k) kept[k] = ((k / 2 ^ value) & low) == 0;
  const FixedRows<T> rows(num_qubits_, fixed, value);
  const T* const all = reinterpret_cast<const T*>(amps());
  double sums[FixedRows<T>::kMostParts];
  const std::uint64_t parts = rows.num_parts();
  runtime::for_all(team(), parts, [&](std::uint64_t part) {
    double s[kLanes] = {};
    rows.for_each_run(part, [&](std::uint64_t first, std::uint64_t count) {
      const T* const v = all + 2 * first;
      if (2 * count >= kLanes) {
        add_squares(v, 2 * count, low ? kept : nullptr, kRow, s);
      } else {
        for (std::size_t k = 0; k < 2 * count; ++k)
          s[k] += kept[k] ? static_cast<double>(v[k]) * v[k] : 0;
      }
    });
    sums[part] = tree_sum(s, kLanes);
  });
  return tree_sum(sums, parts);
}

template <class T>
double CpuState<T>::norm() {
  if (norm_ < 0) norm_ = sum_where(0, 0);
  return norm_;
}

template <class T>
double CpuState<T>::probability(circuit::Qubit qubit, int value) {
  const int q = static_cast<int>(qubit), p = layout_.position[q];
  const bool is_one = value ^ static_cast<int>(layout_.flips >> q & 1);
  return sum_where(bit(p), is_one ? bit(p) : 0);
}

template <class T>
std::vector<double> CpuState<T>::marginals() {
  if (!marginals_.empty() || num_qubits_ == 0) return marginals_;
  const FreeChunks<T> chunks(num_qubits_, known_zero_);
  const std::uint64_t groups = std::min<std::uint64_t>(chunks.count(), 256);
  constexpr int kTotal = 63, kSums = 64;  // by position, and the sum of all
  std::vector<double> ones(groups * kSums, 0.0);
  StopFlag stop;
  runtime::in_shares(team(), groups, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<double> p(bit(chunks.bits));
    for (std::uint64_t g = begin; g < end; ++g) {
      double* mine = ones.data() + g * kSums;
      const std::uint64_t each = chunks.count() / groups;
      std::uint64_t first = deposit_bits(g * each, chunks.outside);
      for (std::uint64_t c = 0; c < each; ++c, first = next_in(first, chunks.outside)) {
        if (stop.wanted()) break;
        const std::uint64_t base = Address<T>::of(first), turn = chunks.turn(base);
        chunk_probabilities(chunks, amps(), base, p.data());
        double here[FreeChunks<T>::kMostBits] = {};
        const double total = fold(p.data(), chunks.bits, here);
        for (int b = 0; b < chunks.bits; ++b)
          mine[chunks.position[b]] += turn >> b & 1 ? total - here[b] : here[b];
        for_each_bit(first, [&](int b) { mine[b] += total; });
        mine[kTotal] += total;
      }
    }
  });
  stop.rethrow();
  std::vector<double> column(groups);
  const auto sum_of = [&](int k) {
    for (std::uint64_t g = 0; g < groups; ++g) column[g] = ones[g * kSums + k];
    return tree_sum(column.data(), groups);
  };
  const double whole = sum_of(kTotal);
  if (norm_ < 0) norm_ = whole;
  marginals_.resize(static_cast<std::size_t>(num_qubits_));
  for (int q = 0; q < num_qubits_; ++q) {
    const double one = sum_of(layout_.position[q]);
    marginals_[q] = layout_.flips >> q & 1 ? whole - one : one;
  }
  return marginals_;
}

template <class T>
std::vector<double> CpuState<T>::joint_probabilities(std::span<const circuit::Qubit> qubits) {
  check_joint(qubits);
  const int k = static_cast<int>(qubits.size());
  std::uint64_t flipped = 0, chosen = 0;
  for (int j = 0; j < k; ++j) {
    chosen |= bit(layout_.position[qubits[j]]);
    flipped |= (layout_.flips >> qubits[j] & 1) << j;
  }
  if (k == 1 && chosen >> Address<T>::kRowBits)  // two halves of the rows
    return {probability(qubits[0], 0), probability(qubits[0], 1)};
  const auto outcome_of = [&](std::uint64_t index) {
    std::uint32_t o = 0;
    for (int j = 0; j < k; ++j)
      o |= static_cast<std::uint32_t>(index >> layout_.position[qubits[j]] & 1) << j;
    return o;
  };
  return k <= kMostBins ? few_outcomes(k, flipped, outcome_of)
                        : many_outcomes(k, flipped, chosen, outcome_of);
}

// One walk over the state: a chunk's amplitudes are sorted by outcome through a table of the places
// inside it.
template <class T>
std::vector<double> CpuState<T>::few_outcomes(
    int k, std::uint64_t flipped, const std::function<std::uint32_t(std::uint64_t)>& outcome_of) {
  const FreeChunks<T> chunks(num_qubits_, known_zero_);
  const std::uint64_t groups = std::min<std::uint64_t>(chunks.count(), 256);
  std::vector<std::uint32_t> inside(bit(chunks.bits));
  for (int b = 0; b < chunks.bits; ++b) {
    const std::uint32_t outcome = outcome_of(bit(chunks.position[b]));
    for (std::uint64_t x = 0; x < bit(b); ++x) inside[bit(b) + x] = inside[x] | outcome;
  }
  std::vector<double> bins(groups << k, 0.0);
  StopFlag stop;
  runtime::in_shares(team(), groups, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<double> p(bit(chunks.bits));
    for (std::uint64_t g = begin; g < end; ++g) {
      double* mine = bins.data() + (g << k);
      const std::uint64_t each = chunks.count() / groups;
      std::uint64_t first = deposit_bits(g * each, chunks.outside);
      for (std::uint64_t c = 0; c < each; ++c, first = next_in(first, chunks.outside)) {
        if (stop.wanted()) break;
        const std::uint64_t base = Address<T>::of(first);
        chunk_probabilities(chunks, amps(), base, p.data());
        const std::uint32_t outside = outcome_of(first) ^ inside[chunks.turn(base)];
        for (std::uint64_t x = 0; x < inside.size(); ++x) mine[outside ^ inside[x]] += p[x];
      }
    }
  });
  stop.rethrow();
  std::vector<double> result(bit(k)), column(groups);
  for (std::uint64_t o = 0; o < bit(k); ++o) {
    for (std::uint64_t g = 0; g < groups; ++g) column[g] = bins[(g << k) + (o ^ flipped)];
    result[o] = tree_sum(column.data(), groups);
  }
  return result;
}

// Every outcome belongs to one setting of the chosen positions above a row, so settings are summed
// side by side: for each all rows of the other positions, in order.
template <class T>
std::vector<double> CpuState<T>::many_outcomes(
    int k, std::uint64_t flipped, std::uint64_t chosen,
    const std::function<std::uint32_t(std::uint64_t)>& outcome_of) {
  const int row_bits = std::min(num_qubits_, Address<T>::kRowBits);
  const std::uint64_t low = low_mask(row_bits);
  const std::uint64_t settings = chosen & ~low & ~known_zero_;
  const std::uint64_t rest = low_mask(num_qubits_) & ~chosen & ~low & ~known_zero_;
  std::vector<std::uint32_t> place, outcome;  // in a row
  for (std::uint64_t x = 0; x <= low; ++x) {
    if (x & known_zero_) continue;
    place.push_back(static_cast<std::uint32_t>(x));
    outcome.push_back(outcome_of(x));
  }
  std::vector<double> result(bit(k), 0.0);
  const std::uint64_t count = bit(std::popcount(settings));
  runtime::for_all(team(), count, [&](std::uint64_t c) {
    const std::uint64_t setting = deposit_bits(c, settings), base = Address<T>::of(setting);
    double sums[std::size_t{1} << Address<T>::kRowBits] = {};
    std::uint64_t row = 0;
    do {
      const Complex<T>* a = amps() + (base ^ Address<T>::of(row));
      for (std::size_t j = 0; j < place.size(); ++j) {
        const double re = a[place[j]].re, im = a[place[j]].im;
        sums[j] += re * re + im * im;
      }
      row = next_in(row, rest);
    } while (row);
    const std::uint64_t high = outcome_of(setting) ^ flipped;
    for (std::size_t j = 0; j < place.size(); ++j) result[high ^ outcome[j]] += sums[j];
  });
  return result;
}

template class CpuState<float>;
template class CpuState<double>;

}  // namespace tilewave::statevec::cpu
