#include "tilewave/field/map_stream.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "tilewave/base/error.h"
#include "tilewave/field/half.h"
#include "tilewave/field/map_runner.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::field {
namespace {

// Samples to floats; 32-bit integers must be exact as floats.
void to_floats(io::SampleType type, const void* from, std::int64_t n, float* to) {
  const auto copy = [&](const auto* values) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(values[i]);
  };
  const auto copy_exact = [&](const auto* values) {
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = static_cast<float>(values[i]);
      if (static_cast<double>(to[i]) != static_cast<double>(values[i])) {
        throw Error(ExitCode::kInput,
                    "the value " + std::to_string(values[i]) +
                        " is not exact as a 32-bit float: scale the input to below 2^24");
      }
    }
  };
  switch (type) {
    case io::SampleType::kUint8:
      return copy(static_cast<const std::uint8_t*>(from));
    case io::SampleType::kUint16:
      return copy(static_cast<const std::uint16_t*>(from));
    case io::SampleType::kInt16:
      return copy(static_cast<const std::int16_t*>(from));
    case io::SampleType::kUint32:
      return copy_exact(static_cast<const std::uint32_t*>(from));
    case io::SampleType::kInt32:
      return copy_exact(static_cast<const std::int32_t*>(from));
    case io::SampleType::kFloat16:
      for (std::int64_t i = 0; i < n; ++i) to[i] = to_float(static_cast<const Half*>(from)[i]);
      return;
    case io::SampleType::kFloat32:
      return copy(static_cast<const float*>(from));
    case io::SampleType::kFloat64:
      throw Error(ExitCode::kInput,
                  "maps work in 32-bit floats and the input has 64: convert it to float32 first");
  }
}

const void* from_floats(io::SampleType type, const std::vector<float>& values, std::size_t n,
                        std::vector<std::byte>& store) {
  if (type == io::SampleType::kFloat32) return values.data();
  store.resize(n * io::sample_bytes(type));
  if (type == io::SampleType::kFloat16) {
    auto* to = reinterpret_cast<Half*>(store.data());
    for (std::size_t i = 0; i < n; ++i) to[i] = to_half(values[i]);
  } else {
    auto* to = reinterpret_cast<std::uint8_t*>(store.data());
    for (std::size_t i = 0; i < n; ++i) {
      const float v = values[i];
      to[i] = std::isnan(v) ? std::uint8_t{0}
                            : static_cast<std::uint8_t>(std::clamp(v, 0.0f, 255.0f) + 0.5f);
    }
  }
  return store.data();
}

// Results where the input has none are NaN; what the file writes there is no value of the field.
std::int64_t clear_missing(float nodata, const std::vector<float>& input, std::size_t n,
                           std::vector<float>& values) {
  std::int64_t missing = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (input[i] != nodata) continue;
    values[i] = std::numeric_limits<float>::quiet_NaN();
    ++missing;
  }
  return missing;
}

}  // namespace

MapSummary run_map(const MapJob& job, io::RasterReader& in, io::RasterWriter& out) {
  const io::RasterInfo& info = in.info();
  const std::int64_t band =
      std::clamp<std::int64_t>(job.band_bytes / (4 * info.width), 1, info.height);
  const auto most = static_cast<std::size_t>(band * info.width);
  std::vector<std::byte> samples(static_cast<std::size_t>(band * info.row_bytes())), converted;
  std::vector<float> values(most), input;
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
    to_floats(info.type, samples.data(), n, values.data());
    if (job.verify || info.nodata) input.assign(values.begin(), values.begin() + n);
    summary.read_s += timer.elapsed_s();
    timer.reset();
    runner.run(y, end, values.data());
    summary.compute_s += timer.elapsed_s();
    if (job.verify) {
      verify_map(job.expression, job.options.repeat, info.width, y, end, input.data(),
                 values.data(), summary.error);
    }
    std::int64_t missing = 0;
    if (info.nodata) {
      missing = clear_missing(static_cast<float>(*info.nodata), input, static_cast<std::size_t>(n),
                              values);
    }
    summary.missing += missing;
    summary.nonfinite -= missing;  // counted with the others next
    for (std::int64_t i = 0; i < n; ++i) summary.nonfinite += !std::isfinite(values[i]);
    timer.reset();
    out.write_rows(from_floats(job.output, values, static_cast<std::size_t>(n), converted),
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
