#include "tilewave/field/run/map_runner.h"

#include <cstdio>

#include "tilewave/base/error.h"
#include "tilewave/field/run/entropy_runner.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::field {
namespace {

constexpr double kCompileSeconds = 0.3;  // NVRTC, a kernel

// Seconds a pixel on all threads, from whole numbers 1..256.
double measure_cpu(const MapExpression& expression, const MapOptions& options) {
  constexpr std::int64_t kWidth = 1024, kHeight = 32;
  std::vector<float> values(kWidth * kHeight);
  MapOptions sample = options;
  sample.threads = 1;
  if (sample.precision == MapPrecision::kLut) sample.repeat = 1;
  const auto run = [&](std::int64_t height) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(1 + i * 37 % 256);
    runtime::Timer timer;
    map_cpu(expression, sample, kWidth, 0, height, values.data());
    return timer.elapsed_s();
  };
  run(2);
  return run(kHeight) / static_cast<double>(kWidth * kHeight) /
         runtime::resolve_num_threads(options.threads);
}

}  // namespace

MapRunner::MapRunner(const MapExpression& expression, const MapOptions& options, std::int64_t width,
                     std::int64_t num_pixels, const DeviceSet& set)
    : expression_(expression), options_(options), width_(width), set_(set) {
  if (set_.has_cpu() && set_.has_cuda()) {
    throw Error(ExitCode::kUsage, "device '" + set_.text() +
                                      "': a map is not shared by the cpu and a device, whose last "
                                      "bits may differ: use one of them");
  }
  if (set_.is_auto()) {
    set_ = DeviceSet::cpu();
    const auto pixels = static_cast<double>(num_pixels);
    const double cpu_s = pixels * measure_cpu(expression, options);
    char text[160];
    if (cpu_s < kNeverAsk || num_cuda_devices() == 0) {
      std::snprintf(text, sizeof text, "auto: cpu (%.3g s expected; no device is asked)", cpu_s);
    } else {
      const CudaCosts c = cached_cuda_costs(0);
      const double cuda_s = c.start_s + kCompileSeconds + c.call_s +
                            pixels * 4 * (1 / c.in_bytes_per_s + 1 / c.out_bytes_per_s);
      if (cuda_s < kWorthwhile * cpu_s) set_ = DeviceSet::cuda({0});
      std::snprintf(text, sizeof text, "auto: %s (expected: cpu %.3g s, cuda:0 %.3g s)",
                    set_.text().c_str(), cpu_s, cuda_s);
    }
    reason_ = text;
  }
  for (const int index : set_.cuda())
    devices_.push_back(std::make_unique<MapCuda>(expression, options, width, index));
}

MapRunner::~MapRunner() = default;

void MapRunner::run(std::int64_t y_begin, std::int64_t y_end, float* values) {
  if (devices_.empty()) return map_cpu(expression_, options_, width_, y_begin, y_end, values);
  const std::int64_t first = y_begin * width_, count = (y_end - y_begin) * width_;
  if (devices_.size() == 1 || first % 16 != 0) return devices_[0]->run(y_begin, y_end, values);
  if (count == 0 || options_.repeat == 0) return;
  const bool by_table = options_.precision == MapPrecision::kLut;
  MapTable table;
  if (by_table) table = make_map_table(expression_, options_, width_, y_begin, y_end, values);
  const auto cuts = cut_axis(count, std::vector<double>(devices_.size(), 1.0), 16);
  runtime::run_on_threads(static_cast<int>(devices_.size()), [&](int number) {
    const auto k = static_cast<std::size_t>(number);
    const std::int64_t n = cuts[k + 1] - cuts[k];
    float* mine = values + cuts[k];
    by_table ? devices_[k]->look_up_flat(table, first + cuts[k], n, mine)
             : devices_[k]->run_flat(first + cuts[k], n, mine);
  });
}

std::string MapRunner::explain() const {
  return reason_.empty() ? set_.text() : set_.text() + "\n" + reason_;
}

}  // namespace tilewave::field
