#include "tilewave/python/stream_rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace tilewave::python {
namespace {

constexpr std::size_t kPiece = 32;          // bytes copied at a time, over the end of a row
constexpr std::size_t kStagedBytes = 8192;  // of the first-level cache

void stream(const std::uint8_t* from, std::size_t num_bytes, std::uint8_t* out) {
#ifdef __SSE2__
  const std::size_t head =
      std::min<std::size_t>(num_bytes, -reinterpret_cast<std::uintptr_t>(out) & 15);
  std::memcpy(out, from, head);
  std::size_t k = head;
  for (; k + 16 <= num_bytes; k += 16) {
    __m128i piece;
    std::memcpy(&piece, from + k, 16);
    _mm_stream_si128(reinterpret_cast<__m128i*>(out + k), piece);
  }
  std::memcpy(out + k, from + k, num_bytes - k);
#else
  std::memcpy(out, from, num_bytes);
#endif
}

}  // namespace

void stream_rows(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
                 std::uint64_t bits, std::uint8_t* out) {
  const std::size_t bytes = (bits + 7) / 8;
  if (bytes == 0) return;
  const auto mask = static_cast<std::uint8_t>(bits % 8 ? (1U << (bits % 8)) - 1 : 255);
  const std::size_t at_once = std::max<std::size_t>(1, kStagedBytes / bytes);
  std::vector<std::uint8_t> staged(at_once * bytes + kPiece);
  for (std::size_t done = 0; done < num_rows;) {
    const std::size_t count = std::min(at_once, num_rows - done);
    std::uint8_t* to = staged.data();
    for (std::size_t s = 0; s < count; ++s, to += bytes) {
      const std::uint8_t* row = rows + (done + s) * stride;
      for (std::size_t k = 0; k < bytes; k += kPiece) std::memcpy(to + k, row + k, kPiece);
      to[bytes - 1] &= mask;
    }
    stream(staged.data(), count * bytes, out + done * bytes);
    done += count;
  }
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace tilewave::python
