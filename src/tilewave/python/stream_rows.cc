#include "tilewave/python/stream_rows.h"

#include <cstring>

namespace tilewave::python {
namespace {

constexpr std::size_t kPiece = 32;    // bytes copied at a time, over the end of a row
constexpr std::size_t kLine = 64;     // of a cache
constexpr std::size_t kAhead = 4096;  // bytes from where is written to what is fetched

}  // namespace

void stream_rows(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
                 std::uint64_t bits, std::uint8_t* out) {
  const std::size_t bytes = (bits + 7) / 8;
  if (bytes == 0) return;
  const auto mask = static_cast<std::uint8_t>(bits % 8 ? (1U << (bits % 8)) - 1 : 255);
  // rows whose pieces end inside of the array
  const std::size_t over = (bytes + kPiece - 1) / kPiece * kPiece;
  const std::size_t size = num_rows * bytes;
  const std::size_t whole = size < over ? 0 : (size - over) / bytes + 1;
  for (std::size_t s = 0; s < num_rows; ++s) {
    const std::uint8_t* const row = rows + s * stride;
    std::uint8_t* const to = out + s * bytes;
    for (std::size_t k = 0; k < bytes; k += kLine) __builtin_prefetch(to + kAhead + k, 1, 3);
    if (s < whole) {
      for (std::size_t k = 0; k < bytes; k += kPiece) std::memcpy(to + k, row + k, kPiece);
    } else {
      std::memcpy(to, row, bytes);
    }
    to[bytes - 1] &= mask;
  }
}

}  // namespace tilewave::python
