#include "tilewave/field/run/map_stream.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/base/read_double.h"
#include "tilewave/field/run/map_runner.h"
#include "tilewave/field/samples.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::field {
namespace {

// Whether a sample is the same as a float; NaN is.
template <class T>
bool is_exact(T sample, float as_float) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(as_float) == sample || std::isnan(sample);
  } else {
    // the greatest float below 2^bits; beyond it the cast back would overflow
    constexpr int kBits = std::numeric_limits<T>::digits;
    return std::abs(as_float) < std::ldexp(1.0f, kBits)
               ? static_cast<T>(as_float) == sample
               : sample == std::numeric_limits<T>::lowest();
  }
}

// A row's samples as floats. `missing` (null: none is) is set where a pixel holds no data.
class FloatReader {
 public:
  FloatReader(const MapJob& job, const formats::RasterInfo& info)
      : info_(info), rounds_(job.rounds) {
    if (job.nodata) nodata_ = as_sample(info.type, *job.nodata);
  }

  // Pixels first.. of the image, for messages.
  void convert(const void* data, const std::uint8_t* valid, std::int64_t first, std::int64_t n,
               float* to, std::uint8_t* missing) const {
    with_type(info_.type, data, [&](const auto* samples) {
      using T = std::remove_cv_t<std::remove_reference_t<decltype(*samples)>>;
      constexpr bool kAlwaysExact = sizeof(T) <= 2 || std::is_same_v<T, float>;
      for (std::int64_t i = 0; i < n; ++i) {
        const T sample = samples[i];
        if (missing != nullptr) missing[i] = is_missing(sample) || (valid != nullptr && !valid[i]);
        if constexpr (std::is_same_v<T, formats::Half>) {
          to[i] = formats::to_float(sample);
        } else {
          to[i] = static_cast<float>(sample);
        }
        if constexpr (!kAlwaysExact) {
          if (!rounds_ && !is_exact(sample, to[i]) && !(missing != nullptr && missing[i]))
            refuse(as_double(sample), first + i);
        }
      }
    });
  }

 private:
  template <class T>
  bool is_missing(T sample) const {
    if (!nodata_) return false;
    const double value = as_double(sample);
    return value == *nodata_ || (std::isnan(value) && std::isnan(*nodata_));
  }
  [[noreturn]] void refuse(double value, std::int64_t pixel) const {
    const std::string text = write_double(value, std::chars_format::general, 17);
    throw Error(ExitCode::kInput, "pixel (" + std::to_string(pixel % info_.width) + ", " +
                                      std::to_string(pixel / info_.width) + ") holds " + text +
                                      ", which is not exact as a 32-bit float (maps work in "
                                      "float32): round the input with --round, or scale it");
  }

  formats::RasterInfo info_;
  bool rounds_;
  std::optional<double> nodata_;
};

// A value beside stands for a missing one while the map runs: its result counts for nothing, and no
// value is foreign to the input. False where no pixel holds data.
bool cover_missing(const std::vector<std::uint8_t>& missing, std::int64_t n, float* values) {
  const auto end = missing.begin() + n;
  const auto first = std::find(missing.begin(), end, std::uint8_t{0});
  if (first == end) return false;
  float last = values[first - missing.begin()];
  for (std::int64_t i = 0; i < n; ++i) {
    if (missing[static_cast<std::size_t>(i)] != 0) {
      values[i] = last;
    } else {
      last = values[i];
    }
  }
  return true;
}

// Results where the input has none are NaN.
std::int64_t clear_missing(const std::vector<std::uint8_t>& missing, std::int64_t n,
                           float* values) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (missing[static_cast<std::size_t>(i)] == 0) continue;
    values[i] = std::numeric_limits<float>::quiet_NaN();
    ++count;
  }
  return count;
}

}  // namespace

MapSummary run_map(const MapJob& job, formats::RasterReader& in, formats::RasterWriter& out) {
  const formats::RasterInfo& info = in.info();
  TW_CHECK(info.channels == 1, "a map takes one channel");
  const std::int64_t band = std::clamp<std::int64_t>(kBandBytes / (4 * info.width), 1, info.height);
  const auto most = static_cast<std::size_t>(band * info.width);
  const bool misses = may_miss(job, info);
  std::vector<std::byte> samples(static_cast<std::size_t>(band * info.row_bytes())), converted;
  std::vector<std::uint8_t> missing(misses ? most : 0);
  std::vector<float> values(most), input;
  const FloatReader reader(job, info);
  MapRunner runner(job.expression, job.options, info.width, info.width * info.height, job.devices);
  MapSummary summary;
  summary.processors = runner.explain();
  summary.width = info.width;
  summary.height = info.height;
  runtime::Timer total;
  for (std::int64_t y = 0; y < info.height; y += band) {
    const std::int64_t end = std::min(y + band, info.height);
    const std::int64_t n = (end - y) * info.width;
    runtime::Timer timer;
    in.read_rows(samples.data(), end - y);
    reader.convert(samples.data(), in.valid(), y * info.width, n, values.data(),
                   misses ? missing.data() : nullptr);
    const bool any = !misses || cover_missing(missing, n, values.data());
    if (job.verify) input.assign(values.begin(), values.begin() + n);
    summary.read_s += timer.elapsed_s();
    timer.reset();
    if (any) runner.run(y, end, values.data());
    summary.compute_s += timer.elapsed_s();
    if (job.verify && any) {
      verify_map(job.expression, job.options.repeat, info.width, y, end, input.data(),
                 values.data(), summary.error);
    }
    const std::int64_t cleared = misses ? clear_missing(missing, n, values.data()) : 0;
    summary.missing += cleared;
    summary.nonfinite -= cleared;  // counted with the others next
    for (std::int64_t i = 0; i < n; ++i) summary.nonfinite += !std::isfinite(values[i]);
    timer.reset();
    out.write_rows(from_floats(job.output, values.data(), static_cast<std::size_t>(n),
                               misses ? 254 : 255, misses ? 255 : 0, converted),
                   end - y);
    summary.write_s += timer.elapsed_s();
    if (job.on_progress) {
      const double fraction = static_cast<double>(end) / static_cast<double>(info.height);
      job.on_progress(fraction, total.elapsed_s() * (1 - fraction) / fraction);
    }
  }
  return summary;
}

}  // namespace tilewave::field
