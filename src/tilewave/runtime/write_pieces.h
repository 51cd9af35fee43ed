// Large blocks into a file by several threads: what takes the time is to copy into the memory that
// the system keeps for the file, which one thread does at 1 to 3 GB/s.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewave::runtime {

struct WrittenPieces {
  std::uint64_t num_bytes = 0;  ///< from the first on, without a gap
  int error = 0;                ///< errno of what stopped them; 0 where all bytes are written
};

/// Whether write_pieces() may write to this descriptor: a regular file that is not only appended to.
bool takes_pieces(int descriptor);

/// Writes the bytes to a regular file from `offset` on; its position does not move. Where a piece
/// fails, later ones may have been written.
WrittenPieces write_pieces(int descriptor, std::uint64_t offset, const char* bytes,
                           std::size_t num_bytes);

}  // namespace tilewave::runtime
