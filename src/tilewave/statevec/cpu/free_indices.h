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
#include "tilewave/runtime/team.h"
#include "tilewave/statevec/cpu/address.h"

namespace tilewave::statevec::cpu {

/// The next larger index of which all bits lie in `mask`; 0 after the last.
constexpr std::uint64_t next_in(std::uint64_t index, std::uint64_t mask) {
  return (index - mask) & mask;
}

/// Rows of memory of which the positions of `fixed` are as in `value`: in runs as long as they lie
/// side by side, ascending within parts. Row bits of `fixed` are ignored.
template <class T>
class FixedRows {
 public:
  FixedRows(int num_qubits, std::uint64_t fixed, std::uint64_t value)
      : top_(std::min(num_qubits, Address<T>::kTopBits)),
        low_fixed_(fixed & low_mask(top_) & ~low_mask(Address<T>::kRowBits)),
        low_value_(value & low_fixed_),
        high_value_(value & fixed & ~low_mask(top_)),
        high_free_(low_mask(num_qubits) & ~low_mask(top_) & ~fixed) {
    const std::uint64_t low_free = low_mask(top_) & ~low_fixed_;
    run_bits_ = std::countr_one(low_free);
    inner_ = low_free & ~low_mask(run_bits_);
  }

  /// Parts in which to go over them side by side: at most kMostParts, the same on every machine.
  static constexpr std::uint64_t kMostParts = 256;
  std::uint64_t num_parts() const { return std::min(bit(std::popcount(high_free_)), kMostParts); }
  /// f(memory index of the first amplitude, number of amplitudes) for all runs of a part.
  template <class F>
  void for_each_run(std::uint64_t part, F f) const {
    const std::uint64_t each = bit(std::popcount(high_free_)) / num_parts();
    std::uint64_t high = deposit_bits(part * each, high_free_);
    for (std::uint64_t k = 0; k < each; ++k, high = next_in(high, high_free_)) {
      const std::uint64_t folded = Address<T>::of(high | high_value_);
      const std::uint64_t base = (folded & ~low_mask(top_)) | ((low_value_ ^ folded) & low_fixed_);
      std::uint64_t inner = 0;
      do {
        f(base | inner, bit(run_bits_));
        inner = next_in(inner, inner_);
      } while (inner);
    }
  }
  /// The same for all parts, on several threads.
  template <class F>
  void for_each_run_parallel(int num_threads, F f) const {
    runtime::for_all(num_threads, num_parts(), [&](std::uint64_t part) { for_each_run(part, f); });
  }

 private:
  int top_;  // bits from here on are folded into those below
  std::uint64_t low_fixed_, low_value_;
  std::uint64_t high_value_, high_free_;
  int run_bits_ = 0;
  std::uint64_t inner_ = 0;  // free positions above a run
};

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

  /// A chunk without gaps is taken in the order of its memory: place k is then the index
  /// k ^ turn(base), `base` being the memory index of its first physical index.
  std::uint64_t turn(std::uint64_t base) const { return is_straight ? base & low_mask(bits) : 0; }

  std::uint64_t inside = 0;               ///< positions
  std::uint64_t outside = 0;              ///< positions
  std::array<int, kMostBits> position{};  ///< of each bit of a place in a chunk
  int bits = 0;
  int run_bits = 0;
  bool is_straight = false;           ///< a chunk is one run of physical indices
  std::vector<std::uint64_t> offset;  ///< memory, of each run
};

}  // namespace tilewave::statevec::cpu
