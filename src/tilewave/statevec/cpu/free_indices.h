// The indices of a state that matter: those without a bit at positions known to be zero. What looks
// at a state goes over these alone, so a state of which k qubits are known costs 2^-k of a whole
// one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/cpu/address.h"

namespace tilewave::statevec::cpu {

/// The next larger index of which all bits lie in `mask`; 0 after the last.
constexpr std::uint64_t next_in(std::uint64_t index, std::uint64_t mask) {
  return (index - mask) & mask;
}

constexpr std::uint64_t kLeastParallel = 1 << 10;  ///< rows of 256 bytes that are worth a thread

/// f(part, first, count): `count` indices of `mask` from `first` on, ascending, for each of `parts`
/// equal parts (a power of two, at most as many as there are indices).
template <class F>
void for_each_part(std::uint64_t mask, std::uint64_t parts, int num_threads, F f) {
  const std::uint64_t each = bit(std::popcount(mask)) / parts;
  const bool is_large = each * parts >= kLeastParallel;
#pragma omp parallel for num_threads(num_threads) schedule(static) if (is_large)
  for (std::uint64_t part = 0; part < parts; ++part) f(part, deposit_bits(part * each, mask), each);
}

/// f(index) for all indices of `mask`.
template <class F>
void for_each_index(std::uint64_t mask, int num_threads, F f) {
  const std::uint64_t parts = std::min<std::uint64_t>(bit(std::popcount(mask)), 256);
  for_each_part(mask, parts, num_threads,
                [&](std::uint64_t, std::uint64_t index, std::uint64_t count) {
                  for (; count > 0; --count, index = next_in(index, mask)) f(index);
                });
}

/// The free indices in chunks of up to 2^12: the lowest free positions are those inside a chunk.
/// A chunk's amplitudes lie in runs of 2^run_bits in memory.
template <class T>
struct FreeChunks {
  static constexpr int kMostBits = 12;

  FreeChunks(int num_qubits, std::uint64_t known_zero) {
    outside = low_mask(num_qubits) & ~known_zero;
    for (; outside && bits < kMostBits; outside &= outside - 1)
      inside |= bit(position[static_cast<std::size_t>(bits++)] = std::countr_zero(outside));
    run_bits = std::min({std::countr_one(inside), Address<T>::kRowBits, bits});
    is_straight = inside == low_mask(bits);
    for (std::uint64_t run = 0; run < bit(bits - run_bits); ++run)
      offset.push_back(Address<T>::of(deposit_bits(run << run_bits, inside)));
  }

  std::uint64_t count() const { return bit(std::popcount(outside)); }

  /// f(k, pointer): the run of 2^run_bits amplitudes from the chunk's k-th on, for all runs in
  /// about the order of their memory. `first`: the chunk's first physical index.
  template <class F>
  void for_each_run(const Complex<T>* amps, std::uint64_t first, F f) const {
    const std::uint64_t base = Address<T>::of(first);
    const std::uint64_t turn = is_straight ? (base & low_mask(bits)) >> run_bits : 0;
    for (std::uint64_t m = 0; m < offset.size(); ++m) {
      const std::uint64_t run = m ^ turn;
      f(run << run_bits, amps + (base ^ offset[run]));
    }
  }

  std::uint64_t inside = 0;               ///< positions
  std::uint64_t outside = 0;              ///< positions
  std::array<int, kMostBits> position{};  ///< of each bit of a place in a chunk
  int bits = 0;
  int run_bits = 0;
  bool is_straight = false;           ///< a chunk is one run of physical indices
  std::vector<std::uint64_t> offset;  ///< memory, of each run
};

}  // namespace tilewave::statevec::cpu
