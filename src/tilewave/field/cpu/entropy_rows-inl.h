// Up to 16 classes in rectangles of 3 or 5 columns and at most 31 cells with AVX-512 (VBMI, VNNI,
// GFNI), included by entropy_nibble.cc for that target. 16 consecutive pixels a vector, two vectors
// of 8 classes (half 0 and 1), the row first:
//
//   cell[x]    nibble k of 32 bits is 1 where column x of the row holds class k (+ 8 half): a table
//   part[x]    = cell[x] + .. + cell[x + w - 1]: what the row brings to the window of pixel x
//   counts[x] += part[x] of the row that comes - part[x] of the one h rows above, as bytes
//
// A difference of nibbles would borrow. Every second block of h rows counts each cell once more, in
// all nibbles (by its table), and the part without is taken from the part with: differences are
// 0..2w, and counts carry a bias that walks from 0 to w h and back, w a row. It is gone when a
// count is looked up: the digits' tables are loaded that much further on.
//
// sums[n] has 22 bits, cut into digits of 8, 7, 7 bits, each looked up 64 at a time and added up
// four to a lane with weights -1 and -128. About 53 vector instructions for 16 pixels of a 5x5
// window. Strips of kStrip columns keep all of it in the first-level cache.
#include <cstring>

#include "tilewave/field/cpu/entropy_tile.h"

HWY_BEFORE_NAMESPACE();
HWY_PUSH_ATTRIBUTES("avx512vnni,gfni")  // the target has them, Highway 1.0 forgets to say so
namespace tilewave::field::HWY_NAMESPACE {

// Columns of a strip, and of one whose results leave the caches: there a page's address is looked
// up anew for each row, which shorter rows pay for more often.
constexpr int kStrip = 512, kLongStrip = 1024;
constexpr std::size_t kLine = kLongStrip + 32;  // of a strip's arrays, in 32-bit lanes

inline bool row_first(int w) { return w == 3 || w == 5; }  // up to 7 would fit nibbles

// cell[x] of every code, with one more in each nibble when `biased`; codes from 16 on are no class.
struct CellTable {
  __m512i half[2], none;
  explicit CellTable(bool biased) {
    const std::uint32_t bias = biased ? 0x11111111u : 0;
    alignas(64) std::uint32_t entries[2][16];
    for (int code = 0; code < 16; ++code) {
      for (int k = 0; k < 2; ++k)
        entries[k][code] = bias + (code / 8 == k ? 1u << 4 * (code % 8) : 0);
    }
    half[0] = _mm512_load_si512(entries[0]);
    half[1] = _mm512_load_si512(entries[1]);
    none = _mm512_set1_epi32(static_cast<int>(bias));
  }
};

struct RowStrip {
  std::uint32_t *counts, *ring;  // half, even and odd classes; h rows of two halves
  float *log_n, *inverse, *row;

  RowStrip(int h, EntropyScratch& scratch) {
    const std::size_t lines = 4 + 2 * static_cast<std::size_t>(h) + 3;
    counts = static_cast<std::uint32_t*>(scratch.reserve(lines * kLine * 4));
    ring = counts + 4 * kLine;
    log_n = reinterpret_cast<float*>(ring + 2 * static_cast<std::size_t>(h) * kLine);
    inverse = log_n + kLine;
    row = inverse + kLine;
  }
};

// Digits of sums[n], n from the middle on; zeros before.
struct WalkingDigits {
  alignas(64) std::uint8_t bytes[3][128] = {};
  explicit WalkingDigits(const EntropyTables& tables) {
    for (int n = 0; n < 64 && n <= tables.max_count; ++n) {
      bytes[0][64 + n] = static_cast<std::uint8_t>(tables.sums[n] >> 14);
      bytes[1][64 + n] = static_cast<std::uint8_t>(tables.sums[n] >> 7 & 127);
      bytes[2][64 + n] = static_cast<std::uint8_t>(tables.sums[n] & 127);
    }
  }
};

// - the sum of sums[n] over the 16 counts of each lane.
struct NegatedSum {
  __m512i digit[3];
  NegatedSum(const WalkingDigits& d, int bias) {
    for (int k = 0; k < 3; ++k) digit[k] = _mm512_loadu_si512(d.bytes[k] + 64 - bias);
  }
  HWY_INLINE __m512i operator()(const __m512i* n) const {
    const auto pair = [&](int k, int i) {
      return _mm512_add_epi8(_mm512_permutexvar_epi8(n[i], digit[k]),
                             _mm512_permutexvar_epi8(n[i + 1], digit[k]));
    };
    const __m512i minus_one = _mm512_set1_epi8(-1), minus_128 = _mm512_set1_epi8(-128);
    const __m512i top = _mm512_add_epi8(pair(0, 0), pair(0, 2));
    __m512i sum = _mm512_dpbusd_epi32(_mm512_setzero_si512(), top, minus_one);
    sum = _mm512_slli_epi32(sum, 14);
    sum = _mm512_dpbusd_epi32(sum, pair(1, 0), minus_128);
    sum = _mm512_dpbusd_epi32(sum, pair(1, 2), minus_128);
    sum = _mm512_dpbusd_epi32(sum, pair(2, 0), minus_one);
    return _mm512_dpbusd_epi32(sum, pair(2, 2), minus_one);
  }
};

// The cells of 16 columns.
struct Cells {
  __m512i half[2];
  HWY_INLINE Cells() {}
  HWY_INLINE Cells(const std::uint8_t* codes, const CellTable& table) {
    const __m512i code =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
    for (int k = 0; k < 2; ++k)
      half[k] = _mm512_permutex2var_epi32(table.half[k], code, table.none);
  }
};

// part[x] for 16 pixels after 16: cells of the next columns come in from the right.
template <int kWidth>
class Parts {
  static_assert(kWidth == 3 || kWidth == 5);

 public:
  HWY_INLINE Parts(const std::uint8_t* codes, const CellTable& table)
      : codes_(codes + 32), table_(table), first_(codes, table), second_(codes + 16, table) {
    for (int k = 0; k < 2; ++k) pairs_[k] = pair(first_.half[k], second_.half[k]);
  }
  HWY_INLINE Cells next() {
    const Cells third(codes_, table_);
    codes_ += 16;
    Cells part;
    for (int k = 0; k < 2; ++k) {
      const __m512i a = first_.half[k], b = second_.half[k];
      if constexpr (kWidth == 5) {
        const __m512i pairs = pair(b, third.half[k]);
        const __m512i four = _mm512_add_epi32(pairs_[k], _mm512_alignr_epi32(pairs, pairs_[k], 2));
        part.half[k] = _mm512_add_epi32(four, _mm512_alignr_epi32(b, a, 4));
        pairs_[k] = pairs;
      } else {
        part.half[k] = _mm512_add_epi32(pair(a, b), _mm512_alignr_epi32(b, a, 2));
      }
    }
    first_ = second_;
    second_ = third;
    return part;
  }

 private:
  static HWY_INLINE __m512i pair(__m512i a, __m512i b) {
    return _mm512_add_epi32(a, _mm512_alignr_epi32(b, a, 1));
  }
  const std::uint8_t* codes_;
  const CellTable& table_;
  Cells first_, second_;
  __m512i pairs_[2];
};

// Counts of the windows of a row from those of the row above; with `out`, their entropy. kRises:
// the row that comes is the biased one.
template <int kWidth, bool kRises, bool kCounted>
HWY_INLINE void finish_row(const EntropyTables& tables, const RowStrip& s, Parts<kWidth> parts,
                           std::uint32_t* old, const NegatedSum& negated_sum, int bias, int width,
                           float* out) {
  const DF df;
  const DI di;
  const __m512i low = _mm512_set1_epi8(0x0F);
  const __m512i to_low = _mm512_set1_epi64(0x1020408000000000);  // bits 4 to 7 of a byte
  for (int x = 0; x < width; x += 16) {
    __m512i n[4];
    const Cells cells = parts.next();
    for (int k = 0; k < 2; ++k) {
      const __m512i part = cells.half[k];
      std::uint32_t* gone = old + static_cast<std::size_t>(k) * kLine + x;
      const __m512i before = _mm512_load_si512(gone);
      _mm512_store_si512(gone, part);
      const __m512i change =
          kRises ? _mm512_sub_epi32(part, before) : _mm512_sub_epi32(before, part);
      const __m512i by[2] = {_mm512_and_si512(change, low),
                             _mm512_gf2p8affine_epi64_epi8(change, to_low, 0)};
      for (int odd = 0; odd < 2; ++odd) {
        std::uint32_t* at = s.counts + static_cast<std::size_t>(2 * k + odd) * kLine + x;
        const __m512i c = _mm512_load_si512(at);
        n[2 * k + odd] = kRises ? _mm512_add_epi8(c, by[odd]) : _mm512_sub_epi8(c, by[odd]);
        _mm512_store_si512(at, n[2 * k + odd]);
      }
    }
    if (out == nullptr) continue;
    const auto minus_sum = hn::ConvertTo(df, hn::Vec<DI>{negated_sum(n)});
    hn::Vec<DF> log, inv;
    if constexpr (kCounted) {
      __m512i valid = _mm512_set1_epi32(-16 * bias);
      for (const __m512i c : n) valid = _mm512_dpbusd_epi32(valid, c, _mm512_set1_epi8(1));
      // lanes beyond the row hold anything: keep them inside the tables
      const auto count = hn::Min(hn::Vec<DI>{valid}, hn::Set(di, tables.max_count));
      log = hn::GatherIndex(df, tables.log_n.data(), count);
      inv = hn::GatherIndex(df, tables.inverse.data(), count);
    } else {
      log = hn::Load(df, s.log_n + x);
      inv = hn::Load(df, s.inverse + x);
    }
    const auto h = hn::Add(log, hn::Mul(minus_sum, inv));
    if (x + 16 <= width) {
      hn::StoreU(h, df, out + x);
    } else {
      _mm512_mask_storeu_ps(out + x, static_cast<__mmask16>((1u << (width - x)) - 1), h.raw);
    }
  }
}

// A row of results to memory that no cache holds: whole lines, which then need not be read first.
HWY_INLINE void stream_row(const float* row, int width, float* out) {
  const auto past = static_cast<int>(reinterpret_cast<std::uintptr_t>(out) % 64 / sizeof(float));
  int x = past == 0 ? 0 : 16 - past;
  if (x > width) x = width;
  std::memcpy(out, row, static_cast<std::size_t>(x) * sizeof(float));
  for (; x + 16 <= width; x += 16) _mm512_stream_ps(out + x, _mm512_loadu_ps(row + x));
  std::memcpy(out + x, row + x, static_cast<std::size_t>(width - x) * sizeof(float));
}

template <int kWidth, bool kCounted>
void run_rows(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
  const EntropyTables& tables = tile.plan->tables();
  const int w = tile.plan->window().width(), h = tile.plan->window().height();
  const RowStrip s(h, scratch);
  const CellTable plain(false), biased(true);
  const WalkingDigits digits(tables);
  const int strip = tile.past_caches ? kLongStrip : kStrip;
  for (int begin = 0; begin < tile.width; begin += strip) {
    const int width = tile.width - begin < strip ? tile.width - begin : strip;
    // no cells yet; the rows before the first are biased ones
    std::memset(s.counts, w * h, 4 * kLine * 4);
    std::memset(s.ring, 0x11 * w, 2 * static_cast<std::size_t>(h) * kLine * 4);
    std::int32_t current_pop = -1;
    int bias = w * h;
    for (int py = 0; py < tile.height + h - 1; ++py) {
      const bool rises = py / h % 2 != 0;
      bias += rises ? w : -w;
      const Parts<kWidth> parts(tile.codes + py * tile.stride + begin, rises ? biased : plain);
      const int y = py - (h - 1);
      float* const to = tile.out + y * tile.out_stride + begin;
      float* const out = y < 0 ? nullptr : tile.past_caches ? s.row : to;
      if (!kCounted && y >= 0 && tile.pop_y[y] != current_pop) {
        current_pop = tile.pop_y[y];
        for (int x = 0; x < width; ++x) {
          s.log_n[x] = tables.log_n[tile.pop_x[begin + x] * current_pop];
          s.inverse[x] = tables.inverse[tile.pop_x[begin + x] * current_pop];
        }
      }
      std::uint32_t* old = s.ring + 2 * static_cast<std::size_t>(py % h) * kLine;
      const NegatedSum sum(digits, bias);
      if (rises) {
        finish_row<kWidth, true, kCounted>(tables, s, parts, old, sum, bias, width, out);
      } else {
        finish_row<kWidth, false, kCounted>(tables, s, parts, old, sum, bias, width, out);
      }
      if (tile.past_caches && y >= 0) stream_row(s.row, width, to);
    }
  }
  if (tile.past_caches) _mm_sfence();
}

void run_row_first(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
  const bool counted = tile.pop_x == nullptr;
  if (tile.plan->window().width() == 3)
    return counted ? run_rows<3, true>(tile, scratch) : run_rows<3, false>(tile, scratch);
  return counted ? run_rows<5, true>(tile, scratch) : run_rows<5, false>(tile, scratch);
}

}  // namespace tilewave::field::HWY_NAMESPACE
HWY_POP_ATTRIBUTES
HWY_AFTER_NAMESPACE();
