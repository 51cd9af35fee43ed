// The lists of ones against plain writers: row lengths around every limit of the kernels (a
// vector, a block, a piece, numbers of 16 bits), all densities, bits behind the layout's set.
#include <gtest/gtest.h>

#include <random>

#include "tilewave/formats/shots/shots.h"

namespace tilewave::formats {
namespace {

struct Rows {
  std::vector<std::uint8_t> bytes;
  std::size_t stride, count;
  bool one(std::size_t row, std::uint64_t bit) const {
    return (bytes[row * stride + bit / 8] >> (bit % 8)) & 1;
  }
};

Rows random_rows(std::uint64_t bits, std::size_t count, double density, std::mt19937_64& rng) {
  Rows r{{}, bits / 8 + 3, count};
  r.bytes.resize(r.stride * count + 64);
  std::bernoulli_distribution one(density);
  for (std::uint8_t& byte : r.bytes) {
    for (int b = 0; b < 8; ++b) byte |= static_cast<std::uint8_t>(one(rng) << b);
  }
  return r;
}

std::string plain(ShotFormat format, const ShotLayout& l, const Rows& rows) {
  std::string out;
  for (std::size_t s = 0; s < rows.count; ++s) {
    std::string line;
    std::uint64_t zeros = 0;
    std::vector<std::uint32_t> ones;
    const auto run = [&] {
      for (; zeros >= 255; zeros -= 255) line += '\xFF';
      line += static_cast<char>(zeros);
      zeros = 0;
    };
    for (std::uint64_t b = 0; b < l.bits(); ++b) {
      if (!rows.one(s, b)) {
        ++zeros;
        continue;
      }
      ones.push_back(static_cast<std::uint32_t>(b));
      if (format == ShotFormat::kR8) run();
      if (format == ShotFormat::kHits)
        line.append(line.empty() ? "" : ",").append(std::to_string(b));
      if (format == ShotFormat::kDets) {
        const bool m = b < l.measurements, d = !m && b < l.measurements + l.detectors;
        line.append(m ? " M" : d ? " D" : " L");
        line += std::to_string(b - (m ? 0 : l.measurements) - (m || d ? 0 : l.detectors));
      }
    }
    if (format == ShotFormat::kR8) run();
    if (format == ShotFormat::kSparse) {
      ones.insert(ones.begin(), static_cast<std::uint32_t>(ones.size()));
      line.assign(reinterpret_cast<const char*>(ones.data()), 4 * ones.size());
    }
    out += format == ShotFormat::kDets ? "shot" + line : line;
    if (format == ShotFormat::kDets || format == ShotFormat::kHits) out += '\n';
  }
  return out;
}

TEST(ShotLists, are_those_of_plain_writers) {
  std::mt19937_64 rng(1);
  for (std::uint64_t bits :
       {0,    1,    7,    8,     63,    64,    65,    511,   512,   513,   1320,  2047,
        2048, 2049, 9999, 10001, 32767, 32768, 32769, 40000, 65535, 65536, 65537, 100003}) {
    for (double density : {0.0, 0.002, 0.03, 0.5, 1.0}) {
      const std::size_t count = bits > 5000 ? 3 : 131;
      const Rows rows = random_rows(bits, count, density, rng);
      const std::uint64_t third = bits / 3;
      for (const ShotLayout& layout : {ShotLayout{third, third, bits - 2 * third},
                                       ShotLayout{0, bits, 0}, ShotLayout{bits, 0, 0}}) {
        for (ShotFormat format :
             {ShotFormat::kHits, ShotFormat::kDets, ShotFormat::kR8, ShotFormat::kSparse}) {
          ByteBuffer bytes;
          const ShotFormatter formatter(format, layout);
          formatter.append(rows.bytes.data(), rows.stride, 1, bytes);  // then the others behind it
          formatter.append(rows.bytes.data() + rows.stride, rows.stride, count - 1, bytes);
          ASSERT_TRUE(std::string(bytes.data(), bytes.size()) == plain(format, layout, rows))
              << bits << " bits, density " << density << ", format " << static_cast<int>(format);
          // What a full disk leaves.
          const std::size_t cut = bytes.size() * 2 / 3;
          const WholeShots whole = whole_shots(format, layout, bytes.bytes().first(cut));
          ByteBuffer some;
          formatter.append(rows.bytes.data(), rows.stride, whole.shots, some);
          ASSERT_TRUE(whole.bytes <= cut && some.size() == whole.bytes);
          ASSERT_TRUE(std::equal(some.data(), some.data() + some.size(), bytes.data()));
        }
      }
    }
  }
}

// Observables before the detectors: as if the rows had them there.
TEST(ShotLists, observables_first) {
  std::mt19937_64 rng(2);
  for (const ShotLayout& layout :
       {ShotLayout{0, 5, 2}, ShotLayout{0, 1320, 1}, ShotLayout{0, 64, 8}, ShotLayout{0, 700, 90},
        ShotLayout{0, 40000, 3}, ShotLayout{0, 0, 9}, ShotLayout{0, 9, 0}}) {
    for (double density : {0.01, 0.4}) {
      const Rows rows = random_rows(layout.bits(), 37, density, rng);
      Rows turned{std::vector<std::uint8_t>(rows.bytes.size()), rows.stride, rows.count};
      for (std::size_t s = 0; s < rows.count; ++s) {
        for (std::uint64_t b = 0; b < layout.bits(); ++b) {
          const std::uint64_t to =
              b < layout.detectors ? b + layout.observables : b - layout.detectors;
          if (rows.one(s, b))
            turned.bytes[s * rows.stride + to / 8] |= static_cast<std::uint8_t>(1 << (to % 8));
        }
      }
      ShotLayout first = layout;
      first.observables_first = true;
      for (ShotFormat format : {ShotFormat::kHits, ShotFormat::kDets, ShotFormat::kR8,
                                ShotFormat::kB8, ShotFormat::k01}) {
        ByteBuffer got, want;
        ShotFormatter(format, first).append(rows.bytes.data(), rows.stride, rows.count, got);
        if (format != ShotFormat::kDets) {
          ShotFormatter(format, {0, layout.bits(), 0})
              .append(turned.bytes.data(), rows.stride, rows.count, want);
        } else {
          std::string text = plain(format, {layout.observables, layout.detectors, 0}, turned);
          for (char& c : text) c = c == 'M' ? 'L' : c;
          std::copy(text.begin(), text.end(), want.extend(text.size()));
        }
        ASSERT_TRUE(std::string(got.data(), got.size()) == std::string(want.data(), want.size()))
            << layout.detectors << " detectors, format " << static_cast<int>(format);
      }
    }
  }
}

}  // namespace
}  // namespace tilewave::formats
