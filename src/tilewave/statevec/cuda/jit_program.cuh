// What a kernel compiled for one tile program knows of it.
//
// A program is a struct `Program` (jit_source.h) with
//   Real, kBlockQubits, kBlockBits, kMinBlocks, kNumbers
//   frame()      the frame of the pass, without its operations
//   op(i)        JitOp
//   exchange(k)  JitExchange, 0 for the first phase
//   list(k)      JitList
//   block(b)     JitBlock
//   run_blocks<Compiled<Program>>(place)   runs the blocks in their order
#pragma once

#include "tilewave/statevec/tile/format.h"

namespace tilewave::statevec::cuda {

/// Numbers of operations that are an argument of the kernel, see JitList.
template <class T, int N>
struct JitNumbers {
  T value[N];
};

/// An operation: its word and pairs (OpHead), which exchange it is, whether a basic block
/// ends before it (in the middle of an exchange), and which list says where its numbers are.
struct JitOp {
  std::uint32_t word, pairs, detail, ends, list;
};

/// Where number k of an operation is: 1 + its place among the JitNumbers, or 0 for the payload. In
/// their order: of a lift up and down, of a rotation p and q, of a tau the tau, of a phase W, g and
/// s (see kPhaseLift) and the factors of pairs, of a matrix row after row.
struct JitList {
  std::uint16_t at[2 << tile::kMaxRegisterBits];
};

/// Columns of an exchange, and the bits that can be 1 in the address of amplitude 0 before it
/// (`from`) and after it (`to`).
struct JitExchange {
  std::uint32_t write[tile::kMaxRegisterBits], read[tile::kMaxRegisterBits];
  std::uint32_t thread[tile::kMaxTileQubits];
  std::uint32_t constant;      ///< XORed into every address read
  std::uint32_t tile_columns;  ///< number of those, in the payload
  std::uint32_t from, to;
};

/// Operations [first, last), which run wherever the same ones come with other numbers; those lie
/// Place::offset bytes behind the ones of the block.
struct JitBlock {
  std::uint32_t first, last;
};

}  // namespace tilewave::statevec::cuda
