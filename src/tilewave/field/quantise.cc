#include "tilewave/field/quantise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tilewave/base/error.h"
#include "tilewave/base/read_double.h"
#include "tilewave/field/samples.h"

namespace tilewave::field {
namespace {

std::string number(double value) { return write_double(value, std::chars_format::general, 10); }

// Index of a value in a table of all values of its type; only for 8 and 16-bit integers.
template <class T>
constexpr bool kTabled = std::is_integral_v<T> && sizeof(T) <= 2;
template <class T>
std::size_t table_index(T v) {
  return static_cast<std::size_t>(static_cast<std::make_unsigned_t<T>>(v));
}

}  // namespace

Quantiser::Quantiser(const Quantisation& how, const formats::RasterInfo& info)
    : how_(how), info_(info) {
  TW_CHECK(info.channels == 1, "classes are made of one channel");
  if (how.kind == Quantisation::Kind::kRange) {
    const std::string range = "the range " + number(how.low) + ":" + number(how.high);
    if (!(how.high > how.low)) {
      fail(ExitCode::kUsage, range, " is empty: give low:high");
    }
    if (!std::isfinite((how.high - how.low) * how.levels)) {
      fail(ExitCode::kUsage, range, " is too wide: its bins overflow");
    }
  }
  if (how.nodata) how_.nodata = as_sample(info.type, *how.nodata);
  for (const auto& [value, index] : how.classes.index) {
    const double sample = as_sample(info.type, value);
    const auto [at, is_new] = classes_.emplace(sample, index);
    if (!is_new && at->second != index) {
      fail(ExitCode::kInput, "the table of classes lists ", number(value), ", which is ",
           number(sample), " in the image's ", formats::sample_name(info.type),
           ", as another value of another class: keep one of them");
    }
  }
  how_.classes = {};
  with_type(info.type, nullptr, [&](const auto* p) {
    using T = std::remove_cv_t<std::remove_reference_t<decltype(*p)>>;
    if constexpr (kTabled<T>) {
      table_.resize(std::size_t{1} << (8 * sizeof(T)));
      for (std::size_t i = 0; i < table_.size(); ++i)
        table_[i] = code_of(static_cast<double>(static_cast<T>(i)));
    }
  });
}

int Quantiser::code_of(double value) const {
  if (std::isnan(value) || (how_.nodata && value == *how_.nodata)) return how_.levels;
  switch (how_.kind) {
    case Quantisation::Kind::kIdentity:
      return value >= 0 && value < how_.levels && value == std::floor(value)
                 ? static_cast<int>(value)
                 : kNone;
    case Quantisation::Kind::kRange: {
      const double bin = std::floor((value - how_.low) * how_.levels / (how_.high - how_.low));
      const int code = static_cast<int>(std::clamp(bin, 0.0, how_.levels - 1.0));
      return value < how_.low || value > how_.high ? code | kOutside : code;
    }
    case Quantisation::Kind::kClasses: {
      const auto at = classes_.find(value);
      if (at == classes_.end()) return kNone;
      return at->second < 0 ? how_.levels : at->second;
    }
  }
  return kNone;
}

void Quantiser::refuse(double value, std::int64_t x, std::int64_t y) const {
  const std::string where =
      "pixel (" + std::to_string(x) + ", " + std::to_string(y) + ") holds " + number(value);
  if (how_.kind == Quantisation::Kind::kClasses) {
    fail(ExitCode::kInput, where,
         ", which the table of classes does not list: add it, or give --nodata");
  }
  fail(ExitCode::kInput, where, ", which is no class of ", how_.levels,
       ": give --range low:high, --levels, --classes or --nodata");
}

template <class Code>
std::int64_t Quantiser::convert(const void* row, const std::uint8_t* valid, std::int64_t y,
                                Code* codes) const {
  std::int64_t outside = 0;
  with_type(info_.type, row, [&](const auto* samples) {
    using T = std::remove_cv_t<std::remove_reference_t<decltype(*samples)>>;
    // by value: codes of a byte may lie anywhere, for all the compiler knows
    const auto code_of_sample = [&] {
      if constexpr (kTabled<T>) {
        return [table = table_.data()](T sample) { return table[table_index(sample)]; };
      } else {
        return [this](T sample) { return code_of(as_double(sample)); };
      }
    }();
    const std::int64_t width = info_.width;
    const int levels = how_.levels;
    int seen = 0;  // the bits of all codes: one pass while all is well
    for (std::int64_t x = 0; valid == nullptr && x < width; ++x) {
      const int code = code_of_sample(samples[x]);
      seen |= code;
      codes[x] = static_cast<Code>(code & (kOutside - 1));
    }
    for (std::int64_t x = 0; valid != nullptr && x < width; ++x) {
      const int code = valid[x] != 0 ? code_of_sample(samples[x]) : levels;
      seen |= code;
      codes[x] = static_cast<Code>(code & (kOutside - 1));
    }
    if (seen >= 0 && (seen & kOutside) == 0) return;
    for (std::int64_t x = 0; x < width; ++x) {
      if (valid != nullptr && valid[x] == 0) continue;
      const int code = code_of_sample(samples[x]);
      if (code < 0) refuse(as_double(samples[x]), x, y);
      outside += (code & kOutside) != 0;
    }
  });
  return outside;
}

template std::int64_t Quantiser::convert(const void*, const std::uint8_t*, std::int64_t,
                                         std::uint8_t*) const;
template std::int64_t Quantiser::convert(const void*, const std::uint8_t*, std::int64_t,
                                         std::uint16_t*) const;
template std::int64_t Quantiser::convert(const void*, const std::uint8_t*, std::int64_t,
                                         std::uint32_t*) const;

ValueRange find_range(formats::RasterReader& reader, std::optional<double> nodata,
                      double percent_low, double percent_high) {
  const formats::RasterInfo& info = reader.info();
  TW_CHECK(info.channels == 1, "a range is found in one channel");
  if (nodata) nodata = as_sample(info.type, *nodata);
  constexpr std::int64_t kMostSamples = std::int64_t{1} << 22;
  const std::int64_t keep_every = info.width * info.height / kMostSamples + 1;
  std::vector<std::byte> row(static_cast<std::size_t>(info.row_bytes()));
  std::vector<double> samples;
  std::vector<std::uint64_t> histogram(65536);
  std::uint64_t total = 0;
  bool tabled = false, any = false;
  double least = 0, most = 0, table_low = 0;
  for (std::int64_t y = 0; y < info.height; ++y) {
    reader.read_rows(row.data(), 1);
    with_type(info.type, row.data(), [&](const auto* p) {
      using T = std::remove_cv_t<std::remove_reference_t<decltype(*p)>>;
      tabled = kTabled<T>;
      if constexpr (kTabled<T>) table_low = static_cast<double>(std::numeric_limits<T>::min());
      const std::uint8_t* const valid = reader.valid();
      for (std::int64_t x = 0; x < info.width; ++x) {
        const double v = as_double(p[x]);
        if (valid != nullptr && valid[x] == 0) continue;
        if (!std::isfinite(v) || (nodata && v == *nodata)) continue;
        least = any ? std::min(least, v) : v;
        most = any ? std::max(most, v) : v;
        any = true;
        if (kTabled<T>) {
          ++histogram[static_cast<std::size_t>(v - table_low)];
          ++total;
        } else if ((y * info.width + x) % keep_every == 0) {
          samples.push_back(v);
        }
      }
    });
  }
  if (!any) fail(ExitCode::kInput, "no pixel holds a valid value: a range cannot be found");
  if (percent_low <= 0 && percent_high >= 100) return {least, most > least ? most : least + 1};
  const auto at = [&](double percent) {
    if (tabled) {
      const double rank = percent / 100 * static_cast<double>(total - 1);
      std::uint64_t below = 0;
      for (std::size_t i = 0; i < histogram.size(); ++i) {
        below += histogram[i];
        if (static_cast<double>(below) > rank) return table_low + static_cast<double>(i);
      }
    }
    if (samples.empty()) return percent < 50 ? least : most;
    const auto rank =
        static_cast<std::size_t>(percent / 100 * static_cast<double>(samples.size() - 1));
    std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(rank),
                     samples.end());
    return samples[rank];
  };
  const double low = at(percent_low), high = at(percent_high);
  return {low, high > low ? high : low + 1};
}

}  // namespace tilewave::field
