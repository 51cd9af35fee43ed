// Rectangles of any size, up to 256 classes, at a cost that hardly depends on the radius: each
// column of the tile keeps the histogram of its h cells in the window rows (Perreault and Hebert,
// 2007). Moving down, a column gains one cell and loses one; moving right, the window's histogram
// gains a column and loses one, 8 or 16 classes an instruction, and sums[n] is gathered for the
// groups of classes that hold anything. With AVX-512 see entropy_blocks-inl.h.
//
// columns[x][class]: 16-bit counts, classes padded to a multiple of 16. window[class]: 32-bit
// counts. Cost a pixel: K / lanes times (2 loads, subtract, widen, add) and one gather for each
// group in use.
#include <cstring>

#include "tilewave/field/cpu/entropy_tile.h"

#define HWY_WANT_AVX3_DL
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/field/cpu/entropy_column.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#if HWY_TARGET == HWY_AVX3_DL
#include "tilewave/field/cpu/entropy_blocks-inl.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace tilewave::field::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DI = hn::ScalableTag<std::int32_t>;
using DS = hn::Rebind<std::int16_t, DI>;

constexpr int kClassPad = 16;

// Moves the window one column right and returns the sum of sums[n] over its classes.
HWY_INLINE std::int32_t slide(const std::uint16_t* in, const std::uint16_t* gone,
                              std::int32_t* window, std::size_t classes, const std::int32_t* sums) {
  const DI d;
  const DS ds;
  auto total = hn::Zero(d);
  for (std::size_t k = 0; k < classes; k += hn::Lanes(d)) {
    // 16-bit differences: a column holds at most 4096 cells
    const auto change = hn::Sub(hn::Load(ds, reinterpret_cast<const std::int16_t*>(in + k)),
                                hn::Load(ds, reinterpret_cast<const std::int16_t*>(gone + k)));
    const auto counts = hn::Add(hn::Load(d, window + k), hn::PromoteTo(d, change));
    hn::Store(counts, d, window + k);
    if (hn::AllTrue(d, hn::Eq(counts, hn::Zero(d)))) continue;
    total = hn::Add(total, hn::GatherIndex(d, sums, counts));
  }
  return hn::GetLane(hn::SumOfLanes(d, total));
}

struct Layout {
  std::size_t classes;  // padded
  std::uint16_t* columns;
  std::int32_t *window, *column_invalid, *sum, *count;
  std::uint16_t* zeros;

  Layout(std::size_t levels, std::size_t num_columns, EntropyScratch& scratch) {
    classes = (levels + kClassPad - 1) / kClassPad * kClassPad;
    const std::size_t wide = (num_columns + 15) / 16 * 16;
    const std::size_t bytes = classes * (num_columns + 2) * 2 + classes * 4 + 3 * wide * 4 + 64 * 8;
    auto* at = static_cast<unsigned char*>(scratch.reserve(bytes));
    std::memset(at, 0, bytes);
    const auto take = [&at](std::size_t n) {
      unsigned char* mine = at;
      at += (n + 63) / 64 * 64;
      return mine;
    };
    window = reinterpret_cast<std::int32_t*>(take(classes * 4));
    zeros = reinterpret_cast<std::uint16_t*>(take(classes * 2));
    columns = reinterpret_cast<std::uint16_t*>(take(classes * num_columns * 2));
    column_invalid = reinterpret_cast<std::int32_t*>(take(wide * 4));
    sum = reinterpret_cast<std::int32_t*>(take(wide * 4));
    count = reinterpret_cast<std::int32_t*>(take(wide * 4));
  }
};

template <class Code>
HWY_INLINE void change_row(const Code* row, std::size_t num_columns, std::size_t levels, int by,
                           const Layout& s) {
  for (std::size_t x = 0; x < num_columns; ++x) {
    const std::size_t code = row[x];
    if (code < levels) {
      s.columns[x * s.classes + code] =
          static_cast<std::uint16_t>(s.columns[x * s.classes + code] + by);
    } else {
      s.column_invalid[x] += by;
    }
  }
}

bool in_blocks(std::int64_t num_cells, int height, int levels) {
#if HWY_TARGET == HWY_AVX3_DL
  if (levels <= 16 && num_cells > 31) return height < 32768;
  return height <= 127 && num_cells <= 65535 && levels <= 256;
#else
  (void)num_cells;
  (void)height;
  (void)levels;
  return false;
#endif
}

template <class Code>
void run(const EntropyTile<Code>& tile, EntropyScratch& scratch) {
#if HWY_TARGET == HWY_AVX3_DL
  if (in_blocks(tile.plan->window().num_cells(), tile.plan->window().height(),
                tile.plan->options().levels)) {
    return run_in_blocks(tile, scratch);
  }
#endif
  const EntropyTables& tables = tile.plan->tables();
  const std::size_t levels = static_cast<std::size_t>(tile.plan->options().levels);
  const int w = tile.plan->window().width(), h = tile.plan->window().height();
  const std::size_t num_columns = static_cast<std::size_t>(tile.width + w - 1);
  const Layout s(levels, num_columns, scratch);
  for (int py = 0; py < h - 1; ++py)
    change_row(tile.codes + py * tile.stride, num_columns, levels, 1, s);
  for (int y = 0; y < tile.height; ++y) {
    change_row(tile.codes + (y + h - 1) * tile.stride, num_columns, levels, 1, s);
    if (y > 0) change_row(tile.codes + (y - 1) * tile.stride, num_columns, levels, -1, s);
    std::memset(s.window, 0, s.classes * sizeof(std::int32_t));
    std::int32_t invalid = 0;
    for (int x = 0; x < w - 1; ++x) {
      slide(s.columns + static_cast<std::size_t>(x) * s.classes, s.zeros, s.window, s.classes,
            tables.sums.data());
      invalid += s.column_invalid[x];
    }
    for (int x = 0; x < tile.width; ++x) {
      const std::size_t in = static_cast<std::size_t>(x + w - 1);
      const std::uint16_t* gone =
          x > 0 ? s.columns + static_cast<std::size_t>(x - 1) * s.classes : s.zeros;
      s.sum[x] = slide(s.columns + in * s.classes, gone, s.window, s.classes, tables.sums.data());
      invalid += s.column_invalid[in] - (x > 0 ? s.column_invalid[x - 1] : 0);
      s.count[x] = tables.max_count - invalid;
    }
    float* out = tile.out + y * tile.out_stride;
    for (int x = 0; x < tile.width; ++x) {
      const std::int32_t count = tile.pop_x != nullptr ? tile.pop_x[x] * tile.pop_y[y] : s.count[x];
      out[x] = tables.entropy(s.sum[x], count);
    }
  }
}

void entropy_column_u8(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
  run(tile, scratch);
}
void entropy_column_u16(const EntropyTile<std::uint16_t>& tile, EntropyScratch& scratch) {
  run(tile, scratch);
}

}  // namespace tilewave::field::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::field {
HWY_EXPORT(entropy_column_u8);
HWY_EXPORT(entropy_column_u16);
HWY_EXPORT(in_blocks);

void entropy_tile_column(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(entropy_column_u8)(tile, scratch);
}
void entropy_tile_column(const EntropyTile<std::uint16_t>& tile, EntropyScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(entropy_column_u16)(tile, scratch);
}
bool column_in_blocks(std::int64_t num_cells, int height, int levels) {
  return HWY_DYNAMIC_DISPATCH(in_blocks)(num_cells, height, levels);
}
}  // namespace tilewave::field
#endif
