#include "tilewave/python/stream_rows.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "tilewave/formats/shots/shots.h"
#include "tilewave/runtime/line_stores.h"

namespace tilewave::python {
namespace {

using runtime::kLine;
constexpr std::size_t kTogether = 4 << 10;  // bytes collected before they are written

// Bytes on their way into an array: collected in the first-level cache and written in whole lines.
class LineStream {
 public:
  /// At most `most` bytes are added at a time.
  LineStream(std::uint8_t* to, std::size_t most, bool past_caches)
      : first_(reinterpret_cast<std::uintptr_t>(to) % kLine),
        used_(first_),
        to_(to - first_),
        past_caches_(past_caches),
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
    if (past_caches_) runtime::finish_lines();
  }

 private:
  void write_lines(std::size_t begin, std::size_t end) {
    if (past_caches_) {
      runtime::write_lines(memory_ + begin, end - begin, to_ + begin);
    } else {
      std::memcpy(to_ + begin, memory_ + begin, end - begin);
    }
  }

  std::size_t first_, used_;  // bytes [first_, used_) of the memory are of the array
  std::uint8_t* to_;          // where memory_[0] belongs
  bool past_caches_;
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
  LineStream lines(out, together * bytes, past_caches);
  for (std::size_t s = 0; s < num_rows; s += together) {
    const std::size_t now = std::min(together, num_rows - s);
    if (form.bit_packed) {
      runtime::pack_rows(rows + s * stride, stride, now, bytes, lines.room());
      if (form.bits % 8) clear_ends(now, form.bits, lines.room());
    } else {
      formats::unpack_rows(rows + s * stride, stride, now, form.bits, lines.room());
    }
    lines.add(now * bytes);
  }
  lines.finish();
}

}  // namespace tilewave::python
