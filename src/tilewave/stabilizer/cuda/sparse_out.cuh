// Where a block of the sparse engine writes its shots: rows of whole words, as they are counted or read
// again, or straight into the arrays that a caller asked for, packed rows without gaps or a row a bit.
//
// A packed row begins at any byte, so its words would straddle those of memory. Instead a shot's bits stand
// in the block's memory where they will stand in a word of the array: shift() bits further, which
// is 8 times the byte of a word at which the row begins. Then a word of the block is a word of the array,
// and only the first and the last of a row, which it shares with its neighbours, are stored as
// bytes.
#pragma once

#include <cstdint>

#include "tilewave/stabilizer/cuda/frame_words.cuh"
#include "tilewave/stabilizer/cuda/row_bytes.cuh"

namespace tilewave::stabilizer {

enum class SparseLayout : std::uint8_t {
  kWords,   ///< a row a shot, of whole words
  kPacked,  ///< a row a shot, of bytes
  kBits,    ///< a row a bit
};

/// Shots that are stored at a time where rows are of a bit.
constexpr std::uint32_t kBitStore = 128;

/// Bits [first, end) of shots as rows `stride` bytes apart. kWords: first = 0. The memory begins and ends at a
/// whole word.
struct SparsePart {
  std::uint8_t* rows = nullptr;
  std::uint64_t stride = 0;
  std::uint32_t first = 0, end = 0;
};

/// What a launch writes: of its shots, counted from its first, those in [from, to), of which shot s is shot
/// s + offset of the arrays. kWords: all of them. kPacked: the first part begins at bit 0, a second
/// one lies in the words that a window keeps fixed. kBits: offset and the strides in bits are multiples
/// of kBitStore, the second part, if any, lies behind the first.
struct SparseOut {
  SparsePart parts[2];
  std::uint64_t from = 0, to = 0;
  std::int64_t offset = 0;
};

/// The output as a block sees it, which numbers its own shots from 0.
template <SparseLayout kLayout>
class BlockOut {
 public:
  /// `first`: the block's first shot in the launch, of `num_shots`.
  __device__ BlockOut(const SparseOut& out, std::uint64_t first, std::uint32_t num_shots)
      : out_(out), at_(static_cast<std::int64_t>(first) + out.offset) {
    const auto within = [&](std::uint64_t shot) {
      return shot < first               ? 0u
             : shot - first > num_shots ? num_shots
                                        : static_cast<std::uint32_t>(shot - first);
    };
    begin_ = within(out.from), end_ = within(out.to);
    skew_ = static_cast<std::uint32_t>(at_ * static_cast<std::int64_t>(out.parts[0].stride));
  }

  __device__ bool wants(std::uint32_t shot) const {
    return kLayout == SparseLayout::kWords || (shot >= begin_ && shot < end_);
  }
  __device__ std::uint32_t skew(std::uint32_t shot) const {
    if constexpr (kLayout != SparseLayout::kPacked) return 0;
    return (skew_ + shot * static_cast<std::uint32_t>(out_.parts[0].stride)) & 3;
  }
  __device__ std::uint32_t shift(std::uint32_t shot) const { return 8 * skew(shot); }
  /// The word of the array in which the shot's row of the first part begins.
  __device__ std::uint32_t* row(std::uint32_t shot) const { return word_at(out_.parts[0], shot); }
  __device__ std::uint64_t stride() const { return out_.parts[0].stride; }
  __device__ RowBytes bytes_of(std::uint32_t shot, std::uint32_t word) const {
    return row_bytes_of(word, skew(shot), out_.parts[0].end);
  }
  __device__ const SparsePart& second() const { return out_.parts[1]; }
  /// kBits: where the shot from which so many are stored stands in the row of a bit, or null.
  __device__ Words* line(std::uint32_t bit, std::uint32_t shot) const {
    for (const SparsePart& p : out_.parts) {
      if (bit >= p.first && bit < p.end) {
        return reinterpret_cast<Words*>(p.rows + (bit - p.first) * p.stride +
                                        static_cast<std::uint64_t>(at_ + shot) / 8);
      }
    }
    return nullptr;
  }
  /// kPacked: where the byte of the second part is, `byte` of its row.
  __device__ std::uint8_t* second_at(std::uint32_t shot, std::uint64_t byte) const {
    return out_.parts[1].rows +
           (static_cast<std::uint64_t>(at_ + shot) * out_.parts[1].stride + byte);
  }

  /// In device memory, where all bits of the shot have been written. Other bytes of a word may be those of a
  /// shot that another block stores meanwhile: both are single accesses of the second-level cache.
  __device__ void flip(std::uint32_t shot, std::uint32_t bit) const {
    if (!wants(shot)) return;
    if constexpr (kLayout == SparseLayout::kBits) {
      if (Words* const at = line(bit, shot & ~(kBitStore - 1)))
        atomicXor(at->v + shot % kBitStore / 32, 1u << shot % 32);
    } else {
      for (const SparsePart& p : out_.parts) {
        if (bit < p.first || bit >= p.end) continue;
        const auto start =
            static_cast<std::uint32_t>((at_ + shot) * static_cast<std::int64_t>(p.stride)) & 3;
        const std::uint32_t b = bit - p.first + 8 * start;
        atomicXor(word_at(p, shot) + b / 32, 1u << b % 32);
      }
    }
  }

 private:
  // Of a shot that is not wanted it may lie before the array.
  __device__ std::uint32_t* word_at(const SparsePart& p, std::uint32_t shot) const {
    const std::int64_t byte = (at_ + shot) * static_cast<std::int64_t>(p.stride);
    return reinterpret_cast<std::uint32_t*>(p.rows + (byte & ~std::int64_t{3}));
  }

  const SparseOut& out_;
  std::int64_t at_;  // of the block's first shot in the arrays
  std::uint32_t begin_, end_, skew_;
};

}  // namespace tilewave::stabilizer
