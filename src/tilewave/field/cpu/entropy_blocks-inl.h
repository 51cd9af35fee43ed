// Column histograms with AVX-512 (VBMI, VNNI), included by entropy_column.cc for that target. The
// window's histogram stays in registers while it slides along a row, and each pixel's sum of
// sums[n] is left as a vector whose lanes are added up 16 pixels at a time (sum_rows).
//
// Up to 16 classes: see entropy_quarters-inl.h. Windows of more than 127 rows or 65535 cells
// (run_group): columns[x] is 16 counts of 16 bits, the window 16 of 32 bits.
//
// Up to 256 classes (run_blocks): columns[x] is blocks of 64 counts in bytes (at most 127 rows).
// Windows of at most 255 cells count in bytes too; larger ones in 16 bits, classes of even and odd
// number apart. Counts below 64, which is what textured images have, and those below 256 are looked
// up 64 at a time (Digits); blocks with a greater one take the formula. About 15 vector
// instructions a block and pixel, 25 for counts from 64, 60 for counts from 256.
#include <cstring>

#include "tilewave/field/cpu/entropy_quarters-inl.h"

HWY_BEFORE_NAMESPACE();
HWY_PUSH_ATTRIBUTES("avx512vnni")  // the target has it, Highway 1.0 forgets to say so
namespace tilewave::field::HWY_NAMESPACE {

constexpr int kBatch = 16;  // pixels whose sums are added up together

// Lane i: the sum of the lanes of rows[i].
HWY_INLINE __m512i sum_rows(const __m512i* rows) {
  __m512i four[4];
  for (int q = 0; q < 4; ++q) four[q] = sum_blocks(rows + 4 * q);
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

// At most 16 classes in windows too tall or too large for run_quarters.
inline void run_group(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
  const EntropyTables& tables = tile.plan->tables();
  const int w = tile.plan->window().width();
  const auto levels = static_cast<std::size_t>(tile.plan->options().levels);
  Columns<std::uint16_t> s(tile.width, w, 16, scratch);
  const Formula formula(tables);
  const auto column = [&](std::ptrdiff_t x) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(s.counts + 16 * x));
  };
  const auto roll = [&](const std::uint8_t* in, const std::uint8_t* gone) {
    s.roll(in, gone, levels);
  };
  roll_down(tile, s, roll, [&] {
    __m512i window = _mm512_setzero_si512();
    for (int x = 0; x < w - 1; ++x)
      window = _mm512_add_epi32(window, _mm512_cvtepu16_epi32(column(x)));
    for (int x = 0; x < tile.width; x += kBatch) {
      __m512i sums[kBatch];
      HWY_UNROLL(16)
      for (int i = 0; i < kBatch; ++i) {
        // the column before the first is all zeros; those past the last pixel are of no interest
        const __m256i by = _mm256_sub_epi16(column(x + i + w - 1), column(x + i - 1));
        window = _mm512_add_epi32(window, _mm512_cvtepi16_epi32(by));
        sums[i] = formula(VCount{window}).raw;
      }
      _mm512_store_si512(s.sum + x, sum_rows(sums));
    }
  });
}

// A window of at most 255 cells: counts in bytes.
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
    if (HWY_LIKELY(_mm512_test_epi8_mask(any, _mm512_set1_epi8(static_cast<char>(0xC0))) == 0)) {
      for (int b = 0; b < kBlocks; ++b) sums.add<1>(n[b], digits);
    } else {
      for (int b = 0; b < kBlocks; ++b) sums.add<4>(n[b], digits);
    }
    return sums.total();
  }
};

// A window of at most 65535 cells, more than 31: counts in 16 bits, even and odd classes.
template <int kBlocks>
struct WordWindow {
  __m512i even[kBlocks], odd[kBlocks];
  const Digits& digits;
  const Formula formula;

  explicit WordWindow(const EntropyTables& t, const Digits& d) : digits(d), formula(t) {
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
    if (HWY_LIKELY(all_below<6>(any))) {
      for (int b = 0; b < kBlocks; ++b) sums.add<1>(bytes(b), digits);
      return sums.total();
    }
    __m512i great = _mm512_setzero_si512();
    for (int b = 0; b < kBlocks; ++b) {
      const __m512i block = _mm512_or_si512(even[b], odd[b]);
      if (all_below<6>(block)) {
        sums.add<1>(bytes(b), digits);
      } else if (all_below<8>(block)) {
        sums.add<4>(bytes(b), digits);
      } else {
        great = _mm512_add_epi32(great, sum_of_words(even[b], odd[b], formula));
      }
    }
    return _mm512_add_epi32(great, sums.total());
  }

 private:
  HWY_INLINE __m512i bytes(int b) const {
    return _mm512_or_si512(even[b], _mm512_slli_epi16(odd[b], 8));
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
  if (tile.plan->tables().max_count <= 255) {
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
    if (levels <= 16) {
      const bool bytes =
          tile.plan->window().height() <= 127 && tile.plan->tables().max_count <= 65535;
      return bytes ? run_quarters(tile, scratch) : run_group(tile, scratch);
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
