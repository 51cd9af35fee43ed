// The operations of a tile program as the source of its kernel is written from them, and what each
// takes as machine code.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile {

/// The operations of a program, in order, with what they refer to.
class Operations {
 public:
  explicit Operations(const TilePass& pass) : pass_(pass) {}

  /// f(word, pairs, payload after the head) of each operation.
  template <class F>
  void for_each(const F& f) const {
    const PassFrame& frame = pass_.frame;
    std::size_t chunk = 0;
    for (std::uint32_t k = frame.first_op; k < frame.end_op; ++k) {
      ListedOp op;
      if (k < kInlineOps) {
        op = frame.first_ops[k];
      } else {
        const std::size_t at =
            std::size_t{16} * frame.far_ops + sizeof op * (k - std::size_t{kInlineOps});
        TW_CHECK(at + sizeof op <= pass_.tables.size(), "an operation is not in the tables");
        std::memcpy(&op, pass_.tables.data() + at, sizeof op);
      }
      f(op, chunk + op.word.extent());
      if (op.word.code() == kEnd) {
        ChunkHead head;
        std::memcpy(&head, pass_.code.data() + chunk, sizeof head);
        chunk = std::size_t{16} * head.next16;
      }
    }
  }

  template <class V>
  V read(std::size_t at) const {
    TW_CHECK(at + sizeof(V) <= pass_.code.size(), "an operation reaches beyond its program");
    V value;
    std::memcpy(&value, pass_.code.data() + at, sizeof value);
    return value;
  }

  std::size_t number_bytes() const { return amplitude_bytes(pass_.shape.precision) / 2; }

 private:
  const TilePass& pass_;
};

/// Pairs of amplitudes that an operation on register bit `bit` acts on.
int pairs_of(const ListedOp& op, std::uint32_t bit);

/// How many instructions need each number of an operation that begins with its numbers.
std::vector<int> uses_of_numbers(const ListedOp& op);
constexpr int kLiftUses = 1 << kMaxRegisterBits;

/// Bytes of machine code (sm_90) of an operation, by prediction.
int bytes_of(const ListedOp& op, Precision precision);

}  // namespace tilewave::statevec::tile
