// Up to 16 classes in rectangles of at most 127 rows and 65535 cells with AVX-512 (VBMI, VNNI),
// included by entropy_column.cc for that target. A column's histogram is 16 bytes, so a vector
// holds four. They are a quarter of the tile apart, and so are the four pixels whose windows slide
// right side by side:
//
//   columns[j]       block b of 128 bits: the 16 counts of column b Q + j, in its h rows
//   window(j)      = window(j - 1) + columns[j + w - 1] - columns[j - 1]: of pixels b Q + j
//
// A quarter keeps the w - 1 columns beyond its last pixel itself, which the next one has too.
// Windows of at most 255 cells count in bytes, larger ones in 16 bits, classes of even and odd
// number apart; 16 pixels whose counts all fit bytes have them looked up (Digits), others take the
// formula. 4 to 8 vector instructions a pixel with bytes, 18 by the formula, and 2 a column to
// roll.
#include <cstring>

#include "tilewave/field/cpu/entropy_digits-inl.h"

HWY_BEFORE_NAMESPACE();
HWY_PUSH_ATTRIBUTES("avx512vnni")  // the target has it, Highway 1.0 forgets to say so
namespace tilewave::field::HWY_NAMESPACE {

struct Quarters {
  static constexpr std::size_t kTogether = 16;  // columns of a quarter that roll together
  std::size_t quarter, num_columns;             // pixels, columns of a quarter
  __m512i* columns;                             // one of zeros before the first
  std::int32_t *sum, *invalid;
  double *log_n, *inverse;

  Quarters(int width, int w, EntropyScratch& scratch) {
    quarter = (static_cast<std::size_t>(width) + 15) / 16 * 4;
    num_columns =
        (quarter + static_cast<std::size_t>(w) - 1 + kTogether - 1) / kTogether * kTogether;
    const std::size_t pixels = 4 * quarter;
    auto* at = static_cast<unsigned char*>(scratch.reserve(64 * (num_columns + 1) + 24 * pixels));
    std::memset(at, 0, 64 * (num_columns + 1));
    columns = reinterpret_cast<__m512i*>(at) + 1;
    log_n = reinterpret_cast<double*>(columns + num_columns);
    inverse = log_n + pixels;
    sum = reinterpret_cast<std::int32_t*>(inverse + pixels);
    invalid = sum + pixels;
  }

  // A row of cells enters; one leaves if kFull. A cell is compared with all 16 classes; codes of
  // missing cells match none. Reads up to 30 codes past the last column: tiles are padded.
  template <bool kFull>
  HWY_INLINE void roll(const std::uint8_t* in, const std::uint8_t* gone) const {
    const __m512i classes =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const __m512i one = _mm512_set1_epi8(1);
    for (std::size_t j = 0; j < num_columns; j += kTogether) {
      const __m512i entering = load(in + j);
      const __m512i leaving = kFull ? load(gone + j) : _mm512_setzero_si512();
      HWY_UNROLL(16)
      for (std::size_t i = 0; i < kTogether; ++i) {
        const __m512i spread = _mm512_set1_epi8(static_cast<char>(i));
        __m512i n = columns[j + i];
        const __m512i a = _mm512_shuffle_epi8(entering, spread);
        n = _mm512_mask_add_epi8(n, _mm512_cmpeq_epi8_mask(a, classes), n, one);
        if constexpr (kFull) {
          const __m512i b = _mm512_shuffle_epi8(leaving, spread);
          n = _mm512_mask_sub_epi8(n, _mm512_cmpeq_epi8_mask(b, classes), n, one);
        }
        columns[j + i] = n;
      }
    }
  }

  // Lane i of block b belongs to pixel b Q + j + i.
  HWY_INLINE void store(__m512i v, std::size_t j, std::int32_t* to) const {
    const auto put = [&](int b, __m128i four) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + static_cast<std::size_t>(b) * quarter + j),
                       four);
    };
    put(0, _mm512_castsi512_si128(v));
    put(1, _mm512_extracti32x4_epi32(v, 1));
    put(2, _mm512_extracti32x4_epi32(v, 2));
    put(3, _mm512_extracti32x4_epi32(v, 3));
  }

 private:
  // 16 codes of each quarter.
  HWY_INLINE __m512i load(const std::uint8_t* codes) const {
    const auto part = [&](std::size_t b) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + b * quarter));
    };
    __m512i v = _mm512_castsi128_si512(part(0));
    v = _mm512_inserti32x4(v, part(1), 1);
    v = _mm512_inserti32x4(v, part(2), 2);
    return _mm512_inserti32x4(v, part(3), 3);
  }
};

// A window of at most 64 kTables - 1 cells.
template <int kTables>
struct ByteCounts {
  using State = __m512i;
  const Digits& digits;
  ByteCounts(const EntropyTables&, const Digits& d) : digits(d) {}

  static HWY_INLINE State none() { return _mm512_setzero_si512(); }
  static HWY_INLINE void change(State& n, __m512i in, __m512i gone) {
    n = _mm512_add_epi8(n, _mm512_sub_epi8(in, gone));
  }
  HWY_INLINE void sums(const State* n, __m512i* sum) const {
    for (int i = 0; i < 4; ++i) sum[i] = digits.sum<kTables>(n[i]);
  }
  static HWY_INLINE __m512i count(const State& n) {
    return _mm512_dpbusd_epi32(_mm512_setzero_si512(), n, _mm512_set1_epi8(1));
  }
};

// A window of at most 65535 cells, more than 31.
struct WordCounts {
  struct State {
    __m512i even, odd;
    HWY_INLINE __m512i bytes() const { return _mm512_or_si512(even, _mm512_slli_epi16(odd, 8)); }
  };
  const Digits& digits;
  const Formula formula;
  WordCounts(const EntropyTables& t, const Digits& d) : digits(d), formula(t) {}

  static HWY_INLINE State none() { return {_mm512_setzero_si512(), _mm512_setzero_si512()}; }
  static HWY_INLINE void change(State& n, __m512i in, __m512i gone) {
    const __m512i by = _mm512_sub_epi8(in, gone);
    n.odd = _mm512_add_epi16(n.odd, _mm512_srai_epi16(by, 8));
    n.even = _mm512_add_epi16(n.even, _mm512_srai_epi16(_mm512_slli_epi16(by, 8), 8));
  }
  HWY_INLINE void sums(const State* n, __m512i* sum) const {
    __m512i any = _mm512_or_si512(n[0].even, n[0].odd);
    for (int i = 1; i < 4; ++i) any = _mm512_ternarylogic_epi32(any, n[i].even, n[i].odd, 0xFE);
    if (all_below<6>(any)) {
      for (int i = 0; i < 4; ++i) sum[i] = digits.sum<1>(n[i].bytes());
    } else if (all_below<8>(any)) {
      for (int i = 0; i < 4; ++i) sum[i] = digits.sum<4>(n[i].bytes());
    } else {
      for (int i = 0; i < 4; ++i) sum[i] = sum_of_words(n[i].even, n[i].odd, formula);
    }
  }
  static HWY_INLINE __m512i count(const State& n) {
    const __m512i both = _mm512_add_epi16(n.even, n.odd);
    return _mm512_add_epi32(_mm512_and_si512(both, _mm512_set1_epi32(0xFFFF)),
                            _mm512_srli_epi32(both, 16));
  }
};

template <class Counts, bool kCounted>
HWY_INLINE void slide_quarters(const Quarters& s, int w, std::int32_t max_count,
                               const Counts& counts) {
  auto n = Counts::none();
  const __m512i* in = s.columns;
  for (int x = 0; x < w - 1; ++x) Counts::change(n, *in++, s.columns[-1]);
  const __m512i* gone = s.columns - 1;
  for (std::size_t j = 0; j < s.quarter; j += 4) {
    typename Counts::State four[4];
    __m512i sums[4];
    for (auto& each : four) {
      Counts::change(n, *in++, *gone++);
      each = n;
    }
    counts.sums(four, sums);
    s.store(sum_blocks(sums), j, s.sum);
    if constexpr (kCounted) {
      for (int i = 0; i < 4; ++i) sums[i] = Counts::count(four[i]);
      s.store(_mm512_sub_epi32(_mm512_set1_epi32(max_count), sum_blocks(sums)), j, s.invalid);
    }
  }
}

template <class Counts>
void run_quarters_of(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
  const EntropyTables& tables = tile.plan->tables();
  const int w = tile.plan->window().width(), h = tile.plan->window().height();
  const Quarters s(tile.width, w, scratch);
  const Digits digits(tables);
  const Counts counts(tables, digits);
  RowEntropy finish(tables, tile.pop_x, tile.width, s.log_n, s.inverse);
  for (int py = 0; py < tile.height + h - 1; ++py) {
    const std::uint8_t* in = tile.codes + py * tile.stride;
    if (py < h) {
      s.roll<false>(in, nullptr);
    } else {
      s.roll<true>(in, in - h * tile.stride);
    }
    const int y = py - (h - 1);
    if (y < 0) continue;
    float* out = tile.out + y * tile.out_stride;
    if (tile.pop_x != nullptr) {
      slide_quarters<Counts, false>(s, w, tables.max_count, counts);
      finish(s.sum, tile.pop_y[y], out);
    } else {
      slide_quarters<Counts, true>(s, w, tables.max_count, counts);
      finish(s.sum, s.invalid, out);
    }
  }
}

inline void run_quarters(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
  const std::int32_t cells = tile.plan->tables().max_count;
  if (cells < 64) return run_quarters_of<ByteCounts<1>>(tile, scratch);
  if (cells < 128) return run_quarters_of<ByteCounts<2>>(tile, scratch);
  if (cells < 256) return run_quarters_of<ByteCounts<4>>(tile, scratch);
  return run_quarters_of<WordCounts>(tile, scratch);
}

}  // namespace tilewave::field::HWY_NAMESPACE
HWY_POP_ATTRIBUTES
HWY_AFTER_NAMESPACE();
