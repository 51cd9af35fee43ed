// Column histograms with AVX-512 (VBMI, VNNI), included by entropy_column.cc for that target. The
// window's histogram stays in registers while it slides along a row, and each pixel's sum of
// sums[n] is left as a vector whose lanes are added up 16 pixels at a time (sum_rows).
//
// Up to 16 classes (run_group): columns[x] is 16 counts, in bytes up to 127 rows, four columns
// rolled at once; the window is 16 of 32 bits. Pixels take turns between the table and its formula,
// so that loads and arithmetic are both busy. About 20 vector instructions a pixel.
//
// Up to 256 classes (run_blocks): columns[x] is blocks of 64 counts in bytes (at most 127 rows).
// Windows of at most 127 cells count in bytes too; larger ones in 16 bits, classes of even and odd
// number apart. Counts below 64, which is what textured images have, are looked up 64 at a time:
// sums[n] in four digits of 8 bits, one byte shuffle and one dot product with ones for each. Blocks
// with a greater count take a second shuffle, or go through run_group's two ways. About 15 vector
// instructions a block and pixel, 40 to 60 for blocks with great counts.
#include <cstring>

#include "tilewave/field/cpu/entropy_sums-inl.h"

HWY_BEFORE_NAMESPACE();
HWY_PUSH_ATTRIBUTES("avx512vnni")  // the target has it, Highway 1.0 forgets to say so
namespace tilewave::field::HWY_NAMESPACE {

constexpr int kBatch = 16;    // pixels whose sums are added up together
constexpr int kLookedUp = 8;  // of them: those whose counts are looked up, measured

// Lane i: the sum of the lanes of rows[i].
HWY_INLINE __m512i sum_rows(const __m512i* rows) {
  __m512i four[4];
  for (int q = 0; q < 4; ++q) {
    const __m512i a = rows[4 * q], b = rows[4 * q + 1], c = rows[4 * q + 2], d = rows[4 * q + 3];
    const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    four[q] = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  }
  const auto halve = [](__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
  };
  return halve(halve(four[0], four[1]), halve(four[2], four[3]));
}

// Column histograms of a tile, and rows of results.
template <class Count>
struct Columns {
  std::size_t num_columns, stride;  // stride: counts from column to column
  Count* counts;
  std::int32_t *column_invalid, *sum, *invalid;
  double *log_n, *inverse;

  Columns(int width, int w, std::size_t stride_of, EntropyScratch& scratch) : stride(stride_of) {
    num_columns = static_cast<std::size_t>(width + w - 1);
    const std::size_t padded = (static_cast<std::size_t>(width) + kBatch - 1) / kBatch * kBatch;
    // one column of zeros before the first, kBatch after the last
    const std::size_t before = (stride * sizeof(Count) + 63) / 64 * 64;
    const std::size_t all =
        before + ((num_columns + kBatch) * stride * sizeof(Count) + 63) / 64 * 64;
    const std::size_t bytes = all + 4 * (num_columns + kBatch) + 24 * padded + 64;
    auto* at = static_cast<unsigned char*>(scratch.reserve(bytes));
    std::memset(at, 0, bytes);
    counts = reinterpret_cast<Count*>(at + before);
    sum = reinterpret_cast<std::int32_t*>(at + all);
    invalid = sum + padded;
    log_n = reinterpret_cast<double*>(invalid + padded);
    inverse = log_n + padded;
    column_invalid = reinterpret_cast<std::int32_t*>(inverse + padded);
  }

  // A row of cells enters; one leaves unless `gone` is null.
  template <class Code>
  HWY_INLINE void roll(const Code* in, const Code* gone, std::size_t levels) {
    Count* column = counts;
    for (std::size_t x = 0; x < num_columns; ++x, column += stride) {
      change(column, x, in[x], levels, 1);
      if (gone != nullptr) change(column, x, gone[x], levels, -1);
    }
  }
  // The same for columns of 16 bytes: a cell is compared with all 16 classes. Codes of missing
  // cells match none, and are counted where that is wanted.
  HWY_INLINE void roll_group(const std::uint8_t* in, const std::uint8_t* gone, bool count_invalid) {
    const __m512i classes =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const __m512i spread =
        _mm512_set_epi64(0x0303030303030303, 0x0303030303030303, 0x0202020202020202,
                         0x0202020202020202, 0x0101010101010101, 0x0101010101010101, 0, 0);
    const __m512i one = _mm512_set1_epi8(1);
    const auto holds = [&](const std::uint8_t* codes) {
      std::int32_t four;
      std::memcpy(&four, codes, 4);
      const __m512i each = _mm512_shuffle_epi8(_mm512_set1_epi32(four), spread);
      return _mm512_cmpeq_epi8_mask(each, classes);
    };
    auto* column = reinterpret_cast<__m512i*>(counts);
    for (std::size_t x = 0; x < num_columns; x += 4, ++column) {  // tiles are padded
      __m512i n = _mm512_load_si512(column);
      n = _mm512_mask_add_epi8(n, holds(in + x), n, one);
      if (gone != nullptr) n = _mm512_mask_sub_epi8(n, holds(gone + x), n, one);
      _mm512_store_si512(column, n);
    }
    if (!count_invalid) return;
    for (std::size_t x = 0; x < num_columns; ++x) {
      column_invalid[x] += in[x] >= 16;
      if (gone != nullptr) column_invalid[x] -= gone[x] >= 16;
    }
  }

 private:
  HWY_INLINE void change(Count* column, std::size_t x, std::size_t code, std::size_t levels,
                         int by) {
    if (HWY_LIKELY(code < levels)) {
      column[code] = static_cast<Count>(column[code] + by);
    } else {
      column_invalid[x] += by;
    }
  }
};

// Rolls the tile's columns down by roll(in, gone) and calls slide() for every row of pixels: it
// leaves the sums.
template <class Code, class Count, class Roll, class Slide>
HWY_INLINE void roll_down(const EntropyTile<Code>& tile, Columns<Count>& s, Roll&& roll,
                          Slide&& slide) {
  const EntropyTables& tables = tile.plan->tables();
  const int w = tile.plan->window().width(), h = tile.plan->window().height();
  RowEntropy finish(tables, tile.pop_x, tile.width, s.log_n, s.inverse);
  for (int py = 0; py < tile.height + h - 1; ++py) {
    const Code* in = tile.codes + py * tile.stride;
    roll(in, py >= h ? in - h * tile.stride : nullptr);
    const int y = py - (h - 1);
    if (y < 0) continue;
    slide();
    float* out = tile.out + y * tile.out_stride;
    if (tile.pop_x != nullptr) {
      finish(s.sum, tile.pop_y[y], out);
      continue;
    }
    std::int32_t invalid = 0;
    for (int x = 0; x < w - 1; ++x) invalid += s.column_invalid[x];
    for (int x = 0; x < tile.width; ++x) {
      invalid += s.column_invalid[x + w - 1];
      s.invalid[x] = invalid;
      invalid -= s.column_invalid[x];
    }
    finish(s.sum, s.invalid, out);
  }
}

// 16 counts of a column as 32-bit ones, and those of two columns' difference.
HWY_INLINE __m512i widen(const std::uint8_t* n) {
  return _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(n)));
}
HWY_INLINE __m512i widen(const std::uint16_t* n) {
  return _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(n)));
}
HWY_INLINE __m512i difference(const std::uint8_t* a, const std::uint8_t* b) {
  return _mm512_cvtepi8_epi32(_mm_sub_epi8(_mm_load_si128(reinterpret_cast<const __m128i*>(a)),
                                           _mm_load_si128(reinterpret_cast<const __m128i*>(b))));
}
HWY_INLINE __m512i difference(const std::uint16_t* a, const std::uint16_t* b) {
  return _mm512_cvtepi16_epi32(
      _mm256_sub_epi16(_mm256_load_si256(reinterpret_cast<const __m256i*>(a)),
                       _mm256_load_si256(reinterpret_cast<const __m256i*>(b))));
}

// At most 16 classes.
template <class Count, class Code>
void run_group(const EntropyTile<Code>& tile, EntropyScratch& scratch) {
  const EntropyTables& tables = tile.plan->tables();
  const int w = tile.plan->window().width();
  Columns<Count> s(tile.width, w, 16, scratch);
  const LookUp look_up(tables);
  const Formula formula(tables);
  const auto roll = [&](const Code* in, const Code* gone) {
    if constexpr (sizeof(Count) == 1 && sizeof(Code) == 1) {
      s.roll_group(in, gone, tile.pop_x == nullptr);
    } else {
      s.roll(in, gone, static_cast<std::size_t>(tile.plan->options().levels));
    }
  };
  roll_down(tile, s, roll, [&] {
    __m512i window = _mm512_setzero_si512();
    for (int x = 0; x < w - 1; ++x) window = _mm512_add_epi32(window, widen(s.counts + 16 * x));
    for (int x = 0; x < tile.width; x += kBatch) {
      // the column before the first is all zeros; those past the last pixel are of no interest
      const Count* gone = s.counts + 16 * (x - 1);
      const Count* in = s.counts + 16 * (x + w - 1);
      __m512i sums[kBatch];
      HWY_UNROLL(16)
      for (int i = 0; i < kBatch; ++i) {
        window = _mm512_add_epi32(window, difference(in + 16 * i, gone + 16 * i));
        const bool by_table = (i + 1) * kLookedUp / kBatch != i * kLookedUp / kBatch;
        sums[i] = by_table ? look_up(VCount{window}).raw : formula(VCount{window}).raw;
      }
      _mm512_store_si512(s.sum + x, sum_rows(sums));
    }
  });
}

// sums[n] of n < 128 in digits.
struct Digits {
  __m512i low[4], high[4];  // n < 64, n - 64
  explicit Digits(const EntropyTables& t) {
    alignas(64) std::uint8_t bytes[2][4][64] = {};
    const int most = t.max_count < 127 ? t.max_count : 127;
    for (int n = 0; n <= most; ++n) {
      for (int k = 0; k < 4; ++k)
        bytes[n / 64][k][n % 64] = static_cast<std::uint8_t>(t.sums[n] >> 8 * k);
    }
    for (int k = 0; k < 4; ++k) {
      low[k] = _mm512_load_si512(bytes[0][k]);
      high[k] = _mm512_load_si512(bytes[1][k]);
    }
  }
};

// Sums by digits, over the lanes of a vector and the blocks added.
struct DigitSums {
  __m512i digit[4];
  HWY_INLINE DigitSums() {
    for (auto& d : digit) d = _mm512_setzero_si512();
  }
  // counts below 64 in bytes
  HWY_INLINE void add(__m512i n, const Digits& t) {
    const __m512i ones = _mm512_set1_epi8(1);
    for (int k = 0; k < 4; ++k)
      digit[k] = _mm512_dpbusd_epi32(digit[k], _mm512_permutexvar_epi8(n, t.low[k]), ones);
  }
  // counts below 128
  HWY_INLINE void add_high(__m512i n, const Digits& t) {
    const __m512i ones = _mm512_set1_epi8(1);
    const __mmask64 high = _mm512_test_epi8_mask(n, _mm512_set1_epi8(64));
    for (int k = 0; k < 4; ++k) {
      const __m512i low = _mm512_permutexvar_epi8(n, t.low[k]);
      const __m512i both = _mm512_mask_permutexvar_epi8(low, high, n, t.high[k]);
      digit[k] = _mm512_dpbusd_epi32(digit[k], both, ones);
    }
  }
  HWY_INLINE __m512i total() const {
    const __m512i low = _mm512_add_epi32(digit[0], _mm512_slli_epi32(digit[1], 8));
    const __m512i high = _mm512_add_epi32(digit[2], _mm512_slli_epi32(digit[3], 8));
    return _mm512_add_epi32(low, _mm512_slli_epi32(high, 16));
  }
};

// A window of at most 127 cells: counts in bytes.
template <int kBlocks>
struct ByteWindow {
  __m512i n[kBlocks];
  const Digits& digits;

  explicit ByteWindow(const EntropyTables&, const Digits& d) : digits(d) {
    for (auto& v : n) v = _mm512_setzero_si512();
  }
  HWY_INLINE void change(const std::uint8_t* in, const std::uint8_t* gone) {
    for (int b = 0; b < kBlocks; ++b) {
      n[b] = _mm512_sub_epi8(_mm512_add_epi8(n[b], _mm512_load_si512(in + 64 * b)),
                             _mm512_load_si512(gone + 64 * b));
    }
  }
  HWY_INLINE __m512i sum() const {
    DigitSums sums;
    __m512i any = n[0];
    for (int b = 1; b < kBlocks; ++b) any = _mm512_or_si512(any, n[b]);
    if (HWY_LIKELY(_mm512_test_epi8_mask(any, _mm512_set1_epi8(64)) == 0)) {
      for (int b = 0; b < kBlocks; ++b) sums.add(n[b], digits);
    } else {
      for (int b = 0; b < kBlocks; ++b) sums.add_high(n[b], digits);
    }
    return sums.total();
  }
};

// A window of at most 65535 cells, more than 31: counts in 16 bits, even and odd classes.
template <int kBlocks>
struct WordWindow {
  __m512i even[kBlocks], odd[kBlocks];
  const Digits& digits;
  const LookUp look_up;
  const Formula formula;

  explicit WordWindow(const EntropyTables& t, const Digits& d) : digits(d), look_up(t), formula(t) {
    for (int b = 0; b < kBlocks; ++b) even[b] = odd[b] = _mm512_setzero_si512();
  }
  HWY_INLINE void change(const std::uint8_t* in, const std::uint8_t* gone) {
    for (int b = 0; b < kBlocks; ++b) {
      const __m512i by =
          _mm512_sub_epi8(_mm512_load_si512(in + 64 * b), _mm512_load_si512(gone + 64 * b));
      odd[b] = _mm512_add_epi16(odd[b], _mm512_srai_epi16(by, 8));
      even[b] = _mm512_add_epi16(even[b], _mm512_srai_epi16(_mm512_slli_epi16(by, 8), 8));
    }
  }
  HWY_INLINE __m512i sum() const {
    DigitSums sums;
    __m512i any = _mm512_setzero_si512();
    for (int b = 0; b < kBlocks; ++b) any = _mm512_ternarylogic_epi32(any, even[b], odd[b], 0xFE);
    if (HWY_LIKELY(small(any))) {
      for (int b = 0; b < kBlocks; ++b) sums.add(bytes(b), digits);
      return sums.total();
    }
    __m512i great = _mm512_setzero_si512();
    for (int b = 0; b < kBlocks; ++b) {
      if (small(_mm512_or_si512(even[b], odd[b]))) {
        sums.add(bytes(b), digits);
      } else {
        great = _mm512_add_epi32(great, sum_of_words(even[b], odd[b]));
      }
    }
    return _mm512_add_epi32(great, sums.total());
  }

 private:
  static HWY_INLINE bool small(__m512i words) {
    return _mm512_test_epi16_mask(words, _mm512_set1_epi16(static_cast<short>(0xFFC0))) == 0;
  }
  HWY_INLINE __m512i bytes(int b) const {
    return _mm512_or_si512(even[b], _mm512_slli_epi16(odd[b], 8));
  }
  HWY_INLINE __m512i sum_of_words(__m512i a, __m512i b) const {
    const __m512i low = _mm512_set1_epi32(0xFFFF);
    const VCount a0{_mm512_and_si512(a, low)}, a1{_mm512_srli_epi32(a, 16)};
    const VCount b0{_mm512_and_si512(b, low)}, b1{_mm512_srli_epi32(b, 16)};
    return hn::Add(hn::Add(look_up(a0), formula(a1)), hn::Add(look_up(b0), formula(b1))).raw;
  }
};

template <class Code, class Window, int kBlocks>
void run_blocks(const EntropyTile<Code>& tile, EntropyScratch& scratch) {
  const EntropyTables& tables = tile.plan->tables();
  const int w = tile.plan->window().width();
  constexpr std::size_t kStride = 64 * kBlocks;
  Columns<std::uint8_t> s(tile.width, w, kStride, scratch);
  const Digits digits(tables);
  const auto levels = static_cast<std::size_t>(tile.plan->options().levels);
  const auto roll = [&](const Code* in, const Code* gone) { s.roll(in, gone, levels); };
  roll_down(tile, s, roll, [&] {
    Window window(tables, digits);
    const std::uint8_t* const zeros = s.counts - kStride;
    const std::uint8_t* in = s.counts;
    for (int x = 0; x < w - 1; ++x, in += kStride) window.change(in, zeros);
    const std::uint8_t* gone = zeros;
    for (int x = 0; x < tile.width; x += kBatch) {
      __m512i sums[kBatch];
      for (int i = 0; i < kBatch; ++i, in += kStride, gone += kStride) {
        window.change(in, gone);
        sums[i] = window.sum();
      }
      _mm512_store_si512(s.sum + x, sum_rows(sums));
    }
  });
}

template <class Code, int kBlocks>
void run_blocks_of(const EntropyTile<Code>& tile, EntropyScratch& scratch) {
  if (tile.plan->tables().max_count <= 127) {
    run_blocks<Code, ByteWindow<kBlocks>, kBlocks>(tile, scratch);
  } else {
    run_blocks<Code, WordWindow<kBlocks>, kBlocks>(tile, scratch);
  }
}

// What in_blocks() allows.
template <class Code>
void run_in_blocks(const EntropyTile<Code>& tile, EntropyScratch& scratch) {
  if constexpr (sizeof(Code) == 2) {  // 256 classes
    return run_blocks_of<Code, 4>(tile, scratch);
  } else {
    const int levels = tile.plan->options().levels;
    if (levels <= 16 && !tile.plan->tables().narrow) {
      return tile.plan->window().height() <= 127 ? run_group<std::uint8_t>(tile, scratch)
                                                 : run_group<std::uint16_t>(tile, scratch);
    }
    switch ((levels + 63) / 64) {
      case 1:
        return run_blocks_of<Code, 1>(tile, scratch);
      case 2:
        return run_blocks_of<Code, 2>(tile, scratch);
      case 3:
        return run_blocks_of<Code, 3>(tile, scratch);
      default:
        return run_blocks_of<Code, 4>(tile, scratch);
    }
  }
}

}  // namespace tilewave::field::HWY_NAMESPACE
HWY_POP_ATTRIBUTES
HWY_AFTER_NAMESPACE();
