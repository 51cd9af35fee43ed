// Up to 16 classes in rectangles of at most 31 cells, several pixels a vector instruction.
//
// A 64-bit lane is one pixel column: 16 nibbles, nibble k counts class k in the h rows of the
// window. Adding a cell is adding 1 << 4k; code 16 (no data, outside) shifts to nothing. Each row:
// columns += new row - old row. A window is w neighbouring columns: summed as nibbles while w * h
// <= 15, then split into bytes (even and odd classes). sums[n] has 22 bits, cut into digits of 8,
// 7, 7 bits, each looked up 16 counts at a time in two 16-entry tables; SumsOf8 adds the eight
// bytes of a lane. The top digits of a window add up to at most the top digit of sums[N], so bytes
// never overflow.
//
// Columns are stored apart, even ones and odd ones: the windows of pixels 2i and 2i+1 share all
// columns but two, and their results interleave into consecutive floats by one shift. Cost: about
// 100 vector instructions for two vectors of pixels (5x5). With AVX-512 (VBMI) windows of 3 or 5
// columns go row by row instead: entropy_rows-inl.h.
#include <cstring>

#include "tilewave/field/cpu/entropy_tile.h"
#include "tilewave/field/cpu/fixed_size_targets.h"

#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/field/cpu/entropy_nibble.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::field::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Without vectors the sliding histogram is as good, and gives the same bits.
void entropy_nibble(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
  entropy_tile_sliding(tile, scratch);
}
#else
namespace hn = hwy::HWY_NAMESPACE;

using D64 = hn::ScalableTag<std::uint64_t>;
using D8 = hn::Repartition<std::uint8_t, D64>;
using DF = hn::Repartition<float, D64>;
using DI = hn::Repartition<std::int32_t, D64>;
using V64 = hn::Vec<D64>;
using V8 = hn::Vec<D8>;

}  // namespace tilewave::field::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL
#include "tilewave/field/cpu/entropy_rows-inl.h"
#endif
HWY_BEFORE_NAMESPACE();
namespace tilewave::field::HWY_NAMESPACE {

constexpr int kDigits = 3;
constexpr int kDigitShift[kDigits] = {14, 7, 0};

// sums[n] digit by digit for n = 0..31, as vectors a byte shuffle can look counts up in.
// Shuffles read 16 entries and give 0 for an index with the top bit set: the low half is asked with
// n, or the top bit for n > 15; the high half with n - 16, which wraps around for n < 16.
struct Index {
  V8 low, high;
  explicit HWY_INLINE Index(V8 n) {
    const D8 d;
    low = hn::SaturatedAdd(n, hn::Set(d, std::uint8_t{112}));
#if !HWY_ARCH_X86  // whose shuffle ignores bits 4 to 6
    low = hn::Xor(low, hn::Set(d, std::uint8_t{112}));
#endif
    high = hn::Sub(n, hn::Set(d, std::uint8_t{16}));
  }
};
struct Table {
  V8 low, high;
  explicit Table(const std::uint8_t* bytes)
      : low(hn::LoadDup128(D8(), bytes)), high(hn::LoadDup128(D8(), bytes + 16)) {}
  HWY_INLINE V8 at(Index i) const {
    return hn::Or(hn::TableLookupBytesOr0(low, i.low), hn::TableLookupBytesOr0(high, i.high));
  }
};

struct DigitBytes {
  HWY_ALIGN std::uint8_t bytes[kDigits][32] = {};
  explicit DigitBytes(const EntropyTables& tables) {
    for (int n = 0; n < 32 && n <= tables.max_count; ++n) {
      for (int k = 0; k < kDigits; ++k) {
        const std::int32_t digit = tables.sums[n] >> kDigitShift[k];
        bytes[k][n] = static_cast<std::uint8_t>(k == 0 ? digit : digit & 127);
      }
    }
  }
};

struct Digits {
  Table top, middle, low;
  explicit Digits(const DigitBytes& b) : top(b.bytes[0]), middle(b.bytes[1]), low(b.bytes[2]) {}
};

// Counts of even and odd classes as bytes.
struct Split {
  V8 even, odd;
};

HWY_INLINE Split split(V64 nibbles) {
  const D64 d;
  const V64 mask = hn::Set(d, 0x0F0F0F0F0F0F0F0Full);
  return {hn::BitCast(D8(), hn::And(nibbles, mask)),
          hn::BitCast(D8(), hn::And(hn::ShiftRight<4>(nibbles), mask))};
}

HWY_INLINE Split operator+(Split a, Split b) {
  return {hn::Add(a.even, b.even), hn::Add(a.odd, b.odd)};
}

// The sum of sums[n] over the 16 counts of each lane.
HWY_INLINE V64 sum_of_logs(const Digits& digits, Split counts) {
  const Index even(counts.even), odd(counts.odd);
  const V64 top = hn::SumsOf8(hn::Add(digits.top.at(even), digits.top.at(odd)));
  const V64 middle = hn::SumsOf8(hn::Add(digits.middle.at(even), digits.middle.at(odd)));
  const V64 low = hn::SumsOf8(hn::Add(digits.low.at(even), digits.low.at(odd)));
  return hn::Add(hn::ShiftLeft<7>(hn::Add(hn::ShiftLeft<7>(top), middle)), low);
}

// Codes of a row as two rows, even and odd columns, times 4.
HWY_INLINE void deinterleave(const std::uint8_t* row, std::size_t pairs, std::uint8_t* even,
                             std::uint8_t* odd) {
  for (std::size_t i = 0; i < pairs; ++i) {
    even[i] = static_cast<std::uint8_t>(4 * row[2 * i]);
    odd[i] = static_cast<std::uint8_t>(4 * row[2 * i + 1]);
  }
}

// 1 << code for a vector of codes (times 4).
HWY_INLINE V64 one_hot(const std::uint8_t* codes) {
  const D64 d;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  const V64 wide{_mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)))};
#else
  const hn::Rebind<std::uint32_t, D64> d32;
  const hn::Rebind<std::uint8_t, D64> d8;
  const V64 wide = hn::PromoteTo(d, hn::PromoteTo(d32, hn::LoadU(d8, codes)));
#endif
  return hn::Shl(hn::Set(d, 1), wide);
}

// columns += cells of row `in` - cells of row `out`.
HWY_INLINE void roll(const std::uint8_t* in, const std::uint8_t* out, std::uint64_t* columns,
                     std::size_t n) {
  const D64 d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    V64 c = hn::Add(hn::Load(d, columns + i), one_hot(in + i));
    if (out != nullptr) c = hn::Sub(c, one_hot(out + i));
    hn::Store(c, d, columns + i);
  }
}

// Windows of pixels 2i (first) and 2i + 1 (second), i = start.. for a vector of i.
struct Pair {
  Split first, second;
};

// 5 x 5: columns E[i] O[i] E[i+1] O[i+1] E[i+2] (O[i+2]); the middle three are shared and fit a
// nibble.
HWY_INLINE Pair windows_5x5(const std::uint64_t* even, const std::uint64_t* odd, std::size_t i) {
  const D64 d;
  const V64 e0 = hn::Load(d, even + i), e1 = hn::LoadU(d, even + i + 1),
            e2 = hn::LoadU(d, even + i + 2);
  const V64 o0 = hn::Load(d, odd + i), o1 = hn::LoadU(d, odd + i + 1),
            o2 = hn::LoadU(d, odd + i + 2);
  const Split middle = split(hn::Add(hn::Add(o0, e1), o1));
  return {middle + split(hn::Add(e0, e2)), middle + split(hn::Add(e2, o2))};
}

// Any w x h: nibble sums of groups of floor(15 / h) columns.
HWY_INLINE Split window_any(const std::uint64_t* even, const std::uint64_t* odd, std::size_t i,
                            int first, int w, int group) {
  const D64 d;
  Split total{hn::Zero(D8()), hn::Zero(D8())};
  for (int begin = 0; begin < w; begin += group) {
    const int end = begin + group < w ? begin + group : w;
    V64 nibbles = hn::Zero(d);
    for (int j = begin + first; j < end + first; ++j) {
      const std::uint64_t* columns = j % 2 == 0 ? even : odd;
      nibbles = hn::Add(nibbles, hn::LoadU(d, columns + i + static_cast<std::size_t>(j / 2)));
    }
    total = total + split(nibbles);
  }
  return total;
}

// Two vectors of 64-bit values below 2^31 as one vector of consecutive 32-bit ones.
HWY_INLINE hn::Vec<DI> interleave(V64 first, V64 second) {
  return hn::BitCast(DI(), hn::Or(first, hn::ShiftLeft<32>(second)));
}

HWY_INLINE V64 population(Split counts) { return hn::SumsOf8(hn::Add(counts.even, counts.odd)); }

template <bool kIs5x5, bool kCounted>
HWY_INLINE void evaluate_row(const EntropyTables& tables, const Digits& digits,
                             const std::uint64_t* even, const std::uint64_t* odd, int w, int group,
                             const float* log_n, const float* inverse, int width, float* out) {
  const DF df;
  [[maybe_unused]] const DI di;
  const std::size_t step = hn::Lanes(D64());
  const std::size_t pixels = static_cast<std::size_t>(width);
  for (std::size_t i = 0; 2 * i < pixels; i += step) {
    const Pair p =
        kIs5x5 ? windows_5x5(even, odd, i)
               : Pair{window_any(even, odd, i, 0, w, group), window_any(even, odd, i, 1, w, group)};
    const auto sum =
        hn::ConvertTo(df, interleave(sum_of_logs(digits, p.first), sum_of_logs(digits, p.second)));
    hn::Vec<DF> log, inv;
    if constexpr (kCounted) {
      // lanes beyond the row hold anything: keep them inside the tables
      const auto count = hn::Min(interleave(population(p.first), population(p.second)),
                                 hn::Set(di, tables.max_count));
      log = hn::GatherIndex(df, tables.log_n.data(), count);
      inv = hn::GatherIndex(df, tables.inverse.data(), count);
    } else {
      log = hn::LoadU(df, log_n + 2 * i);
      inv = hn::LoadU(df, inverse + 2 * i);
    }
    const auto h = hn::Sub(log, hn::Mul(sum, inv));
    if (2 * (i + step) <= pixels) {
      hn::StoreU(h, df, out + 2 * i);
    } else {
      HWY_ALIGN float last[HWY_MAX_BYTES / sizeof(float)];
      hn::Store(h, df, last);
      std::memcpy(out + 2 * i, last, (pixels - 2 * i) * sizeof(float));
    }
  }
}

// Scratch of a tile: column counts, the ring of h + 1 deinterleaved rows, log N and 1/N of a row.
struct Layout {
  std::size_t half, ring_row, bytes;
  std::uint64_t *even, *odd;
  std::uint8_t* ring;
  float *log_n, *inverse;

  Layout(const EntropyTile<std::uint8_t>& tile, int w, int h, EntropyScratch& scratch) {
    const std::size_t columns =
        static_cast<std::size_t>(tile.width) + static_cast<std::size_t>(w) + 1;
    half = (columns / 2 + 1 + 2 * 16 + 63) / 64 * 64;  // room for a vector past the end, on lines
    ring_row = 2 * half;
    const std::size_t rows = static_cast<std::size_t>(h) + 1;
    bytes = 2 * half * sizeof(std::uint64_t) + rows * ring_row + 4 * half * sizeof(float);
    even = static_cast<std::uint64_t*>(scratch.reserve(bytes));
    odd = even + half;
    ring = reinterpret_cast<std::uint8_t*>(odd + half);
    log_n = reinterpret_cast<float*>(ring + rows * ring_row);
    inverse = log_n + 2 * half;
    std::memset(even, 0, bytes);
  }
};

template <bool kIs5x5, bool kCounted>
void run(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
  const EntropyTables& tables = tile.plan->tables();
  const int w = tile.plan->window().width(), h = tile.plan->window().height();
  const Layout s(tile, w, h, scratch);
  const Digits digits{DigitBytes(tables)};
  const std::size_t columns = static_cast<std::size_t>(tile.width + w - 1);
  const std::size_t pairs = columns / 2, used = (columns + 1) / 2;
  std::int32_t current_pop = -1;
  for (int py = 0; py < tile.height + h - 1; ++py) {
    // row py comes in, row py - h goes out
    std::uint8_t* in = s.ring + static_cast<std::size_t>(py % (h + 1)) * s.ring_row;
    const std::uint8_t* gone =
        py >= h ? s.ring + static_cast<std::size_t>((py - h) % (h + 1)) * s.ring_row : nullptr;
    const std::uint8_t* row = tile.codes + py * tile.stride;
    deinterleave(row, pairs, in, in + s.half);
    if (columns % 2 != 0) in[pairs] = static_cast<std::uint8_t>(4 * row[columns - 1]);
    roll(in, gone, s.even, used);
    roll(in + s.half, gone == nullptr ? nullptr : gone + s.half, s.odd, used);
    const int y = py - (h - 1);
    if (y < 0) continue;
    if (!kCounted && tile.pop_y[y] != current_pop) {
      current_pop = tile.pop_y[y];
      for (int x = 0; x < tile.width; ++x) {
        s.log_n[x] = tables.log_n[tile.pop_x[x] * current_pop];
        s.inverse[x] = tables.inverse[tile.pop_x[x] * current_pop];
      }
    }
    evaluate_row<kIs5x5, kCounted>(tables, digits, s.even, s.odd, w, 15 / h, s.log_n, s.inverse,
                                   tile.width, tile.out + y * tile.out_stride);
  }
}

void entropy_nibble(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
#if HWY_TARGET == HWY_AVX3_DL
  if (row_first(tile.plan->window().width())) return run_row_first(tile, scratch);
#endif
  const bool is_5x5 = tile.plan->window().width() == 5 && tile.plan->window().height() == 5;
  const bool counted = tile.pop_x == nullptr;
  if (is_5x5 && !counted) return run<true, false>(tile, scratch);
  if (is_5x5) return run<true, true>(tile, scratch);
  if (!counted) return run<false, false>(tile, scratch);
  return run<false, true>(tile, scratch);
}

#endif
}  // namespace tilewave::field::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::field {
HWY_EXPORT(entropy_nibble);

void entropy_tile_nibble(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(entropy_nibble)(tile, scratch);
}
}  // namespace tilewave::field
#endif
