#include "tilewave/python/stream_rows.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/io/shots.h"

namespace tilewave::python {
namespace {

constexpr std::size_t kLine = 64;  // of a cache, and copied at a time over the end of a row
constexpr std::size_t kTogether = 4 << 10;  // bytes collected before they are written

// Rows side by side; up to kLine bytes behind them are overwritten.
using CopyRows = void (*)(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
                          std::size_t bytes, std::uint8_t* to);
// Whole lines, both ends aligned, past the caches.
using WriteLines = void (*)(const std::uint8_t* from, std::size_t num_bytes, std::uint8_t* to);

void copy_rows_plain(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
                     std::size_t bytes, std::uint8_t* to) {
  for (std::size_t s = 0; s < num_rows; ++s, rows += stride, to += bytes) {
    for (std::size_t k = 0; k < bytes; k += kLine) std::memcpy(to + k, rows + k, kLine);
  }
}

void write_lines_plain(const std::uint8_t* from, std::size_t num_bytes, std::uint8_t* to) {
#if defined(__x86_64__)
  for (std::size_t k = 0; k < num_bytes; k += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + k),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(from + k)));
  }
#else
  std::memcpy(to, from, num_bytes);
#endif
}

#if defined(__x86_64__)
TW_TARGET_AVX512 void copy_rows_avx512(const std::uint8_t* rows, std::size_t stride,
                                       std::size_t num_rows, std::size_t bytes, std::uint8_t* to) {
  for (std::size_t s = 0; s < num_rows; ++s, rows += stride, to += bytes) {
    for (std::size_t k = 0; k < bytes; k += kLine) {
      _mm512_storeu_si512(to + k, _mm512_loadu_si512(rows + k));
    }
  }
}

TW_TARGET_AVX512 void write_lines_avx512(const std::uint8_t* from, std::size_t num_bytes,
                                         std::uint8_t* to) {
  for (std::size_t k = 0; k < num_bytes; k += kLine) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + k), _mm512_load_si512(from + k));
  }
}
#endif

CopyRows pick_copy_rows() {
#if defined(__x86_64__)
  if (cpu_level() == CpuLevel::kAvx512) return copy_rows_avx512;
#endif
  return copy_rows_plain;
}

WriteLines pick_write_lines() {
#if defined(__x86_64__)
  if (cpu_level() == CpuLevel::kAvx512) return write_lines_avx512;
#endif
  return write_lines_plain;
}

// Bytes on their way into an array: collected in the first-level cache and written in whole lines.
class LineStream {
 public:
  /// At most `most` bytes are added at a time.
  LineStream(std::uint8_t* to, std::size_t most, bool past_caches)
      : first_(reinterpret_cast<std::uintptr_t>(to) % kLine),
        used_(first_),
        to_(to - first_),
        write_past_caches_(past_caches ? pick_write_lines() : nullptr),
        memory_(new (std::align_val_t{kLine}) std::uint8_t[most + 3 * kLine]) {}
  ~LineStream() { ::operator delete[](memory_, std::align_val_t{kLine}); }
  LineStream(const LineStream&) = delete;
  LineStream& operator=(const LineStream&) = delete;

  /// Where the next bytes are put; kLine more may be overwritten.
  std::uint8_t* room() { return memory_ + used_; }
  void add(std::size_t num_bytes) {
    used_ += num_bytes;
    const std::size_t whole = used_ / kLine * kLine;
    if (whole == 0) return;
    std::size_t begin = 0;
    if (first_ > 0) {  // the line that the array begins in is not ours alone
      std::memcpy(to_ + first_, memory_ + first_, kLine - first_);
      begin = kLine;
      first_ = 0;
    }
    write_lines(begin, whole);
    std::memcpy(memory_, memory_ + whole, kLine);
    to_ += whole;
    used_ -= whole;
  }
  void finish() {
    std::memcpy(to_ + first_, memory_ + first_, used_ - first_);
#if defined(__x86_64__)
    if (write_past_caches_) _mm_sfence();  // before other threads read
#endif
  }

 private:
  void write_lines(std::size_t begin, std::size_t end) {
    if (write_past_caches_) return write_past_caches_(memory_ + begin, end - begin, to_ + begin);
    std::memcpy(to_ + begin, memory_ + begin, end - begin);
  }

  std::size_t first_, used_;      // bytes [first_, used_) of the memory are of the array
  std::uint8_t* to_;              // where memory_[0] belongs
  WriteLines write_past_caches_;  // null: into them
  std::uint8_t* memory_;
};

// The bits from `bits` on of every last byte become 0.
void clear_ends(std::size_t num_rows, std::uint64_t bits, std::uint8_t* rows) {
  const std::size_t bytes = (bits + 7) / 8;
  const auto mask = static_cast<std::uint8_t>((1U << (bits % 8)) - 1);
  for (std::size_t s = 1; s <= num_rows; ++s) rows[s * bytes - 1] &= mask;
}

}  // namespace

void stream_rows(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows, RowForm form,
                 bool past_caches, std::uint8_t* out) {
  const std::size_t bytes = form.bytes();
  if (bytes == 0 || num_rows == 0) return;
  const std::size_t together = std::max<std::size_t>(1, kTogether / bytes);
  const CopyRows copy_rows = pick_copy_rows();
  LineStream lines(out, together * bytes, past_caches);
  for (std::size_t s = 0; s < num_rows; s += together) {
    const std::size_t now = std::min(together, num_rows - s);
    if (form.bit_packed) {
      copy_rows(rows + s * stride, stride, now, bytes, lines.room());
      if (form.bits % 8) clear_ends(now, form.bits, lines.room());
    } else {
      io::unpack_rows(rows + s * stride, stride, now, form.bits, lines.room());
    }
    lines.add(now * bytes);
  }
  lines.finish();
}

}  // namespace tilewave::python
