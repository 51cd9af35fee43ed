// A tile of codes with its halo, border rule applied, so that kernels know nothing of edges. Codes
// in a tile are canonical: every code >= K has become the one code `invalid`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "tilewave/field/entropy.h"

namespace tilewave::field {

/// One rectangle of output and what a kernel needs to fill it.
template <class Code>
struct EntropyTile {
  const EntropyPlan* plan = nullptr;
  /// Padded: codes[0] is the upper left cell of the first pixel's window.
  const Code* codes = nullptr;
  std::int64_t stride = 0;    ///< elements between padded rows
  int width = 0, height = 0;  ///< of the output
  /// N = pop_x[x] * pop_y[y] when set; otherwise the kernel counts the valid cells.
  const std::int32_t* pop_x = nullptr;
  const std::int32_t* pop_y = nullptr;
  float* out = nullptr;
  std::int64_t out_stride = 0;
  bool past_caches = false;  ///< the whole output is so large that its lines are better not cached
};

namespace detail {

constexpr std::int64_t kOutside = -1;   ///< no cell
constexpr std::int64_t kConstant = -2;  ///< the constant class

/// The source index of position i on an axis of `size` cells, or kOutside / kConstant.
std::int64_t border_index(std::int64_t i, std::int64_t size, Border border);

/// Copies n codes, those >= levels becoming `invalid`; returns whether there was one.
template <class Dst, class Src>
bool copy_codes(const Src* __restrict__ src, Dst* __restrict__ dst, std::int64_t n, int levels,
                Dst invalid) {
  if (static_cast<std::uint32_t>(levels) > std::numeric_limits<Src>::max()) {
    for (std::int64_t i = 0; i < n; ++i) dst[i] = static_cast<Dst>(src[i]);
    return false;
  }
  const Src limit = static_cast<Src>(levels);
  Src greatest = 0;
  for (std::int64_t i = 0; i < n; ++i) {  // one pass while all is well
    greatest = std::max(greatest, src[i]);
    dst[i] = static_cast<Dst>(src[i]);
  }
  if (greatest < limit) return false;
  for (std::int64_t i = 0; i < n; ++i)
    dst[i] = src[i] >= limit ? invalid : static_cast<Dst>(src[i]);
  return true;
}

/// Fills the padded tile whose output starts at (x0, y0). Returns whether a cell inside the image
/// is invalid.
template <class Dst, class Src>
bool fill_tile(const EntropyPlan& plan, const CodeRows<Src>& codes, std::int64_t x0,
               std::int64_t y0, int width, int height, Dst invalid, Dst* tile,
               std::int64_t stride) {
  const Footprint& window = plan.window();
  const EntropyOptions& o = plan.options();
  const auto constant = static_cast<Dst>(o.constant_code);
  const std::int64_t first = x0 - window.left();
  const std::int64_t padded_width = width + window.width() - 1;
  const std::int64_t padded_height = height + window.height() - 1;
  // [a, b): padded columns inside the image
  const std::int64_t a = std::clamp<std::int64_t>(-first, 0, padded_width);
  const std::int64_t b = std::clamp<std::int64_t>(codes.width - first, a, padded_width);
  bool any_invalid = false;
  for (std::int64_t py = 0; py < padded_height; ++py) {
    Dst* dst = tile + py * stride;
    const std::int64_t y = border_index(y0 - window.top() + py, codes.height, o.border);
    if (y < 0) {
      std::fill_n(dst, padded_width, y == kConstant ? constant : invalid);
      continue;
    }
    const Src* src = codes.data + (y - codes.row_begin) * codes.stride;
    any_invalid |= copy_codes(src + first + a, dst + a, b - a, o.levels, invalid);
    const auto edge = [&](std::int64_t from, std::int64_t to) {
      if (o.border != Border::kReflect && o.border != Border::kNearest) {
        std::fill_n(dst + from, to - from, o.border == Border::kConstant ? constant : invalid);
        return;
      }
      for (std::int64_t px = from; px < to; ++px) {
        const std::int64_t x = border_index(first + px, codes.width, o.border);
        any_invalid |= copy_codes(src + x, dst + px, 1, o.levels, invalid);
      }
    };
    edge(0, a);
    edge(b, padded_width);
  }
  return any_invalid;
}

}  // namespace detail

/// Memory of one thread, on cache-line boundaries, grown on demand and reused from tile to tile.
class EntropyScratch {
 public:
  /// At least `num_bytes`; what it held before is lost.
  void* reserve(std::size_t num_bytes) {
    if (bytes_.size() < num_bytes + kAlign) bytes_.resize(num_bytes + kAlign);
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return bytes_.data() + (kAlign - address % kAlign) % kAlign;
  }

 private:
  static constexpr std::size_t kAlign = 64;
  std::vector<unsigned char> bytes_;
};

// The kernels. Each fills tile.out.

template <class Code>
void entropy_tile_naive(const EntropyTile<Code>& tile, EntropyScratch& scratch);
template <class Code>
void entropy_tile_sliding(const EntropyTile<Code>& tile, EntropyScratch& scratch);
void entropy_tile_nibble(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch);
void entropy_tile_plane(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch);
void entropy_tile_column(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch);
void entropy_tile_column(const EntropyTile<std::uint16_t>& tile, EntropyScratch& scratch);

/// Whether this machine's entropy_tile_column keeps such a window's histogram in registers.
bool column_in_blocks(std::int64_t num_cells, int height, int levels);

}  // namespace tilewave::field
