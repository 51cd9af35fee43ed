#include "tilewave/field/run/entropy_stream.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

#include "tilewave/field/run/entropy_runner.h"
#include "tilewave/field/samples.h"
#include "tilewave/field/view.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::field {
namespace {

// The rows of the input that the next band of output needs, as codes of as many bytes as the plan
// says.
class CodeBand {
 public:
  CodeBand(const EntropyPlan& plan, formats::RasterReader& in, const Quantiser& quantiser,
           std::int64_t most_rows)
      : plan_(plan),
        in_(in),
        quantiser_(quantiser),
        row_(static_cast<std::size_t>(in.info().row_bytes())) {
    const std::int64_t held =
        std::min(plan.height(), most_rows + plan.needed_end(0) + plan.needed_end(0));
    const auto cells = static_cast<std::size_t>(held * plan.width());
    if (plan.code_bytes() == 1) codes_ = std::vector<std::uint8_t>(cells);
    if (plan.code_bytes() == 2) codes_ = std::vector<std::uint16_t>(cells);
    if (plan.code_bytes() == 4) codes_ = std::vector<std::uint32_t>(cells);
  }

  /// Makes rows needed for [y_begin, y_end) available.
  void advance(std::int64_t y_begin, std::int64_t y_end) {
    const std::int64_t begin = plan_.needed_begin(y_begin), end = plan_.needed_end(y_end);
    std::visit(
        [&](auto& codes) {
          const std::int64_t keep = std::max<std::int64_t>(end_ - begin, 0) * plan_.width();
          std::copy_n(codes.begin() + (begin - begin_) * plan_.width(), keep, codes.begin());
          begin_ = begin;
          for (; end_ < end; ++end_) {
            in_.read_rows(row_.data(), 1);
            outside_ += quantiser_.convert(row_.data(), in_.valid(), end_,
                                           codes.data() + (end_ - begin_) * plan_.width());
          }
        },
        codes_);
  }

  template <class Run>
  void with_rows(Run&& run) const {
    std::visit(
        [&](const auto& codes) {
          using Code = std::remove_cvref_t<decltype(codes[0])>;
          run(CodeRows<Code>{codes.data(), plan_.width(), plan_.width(), plan_.height(), begin_,
                             end_});
        },
        codes_);
  }

  std::int64_t outside() const { return outside_; }

 private:
  const EntropyPlan& plan_;
  formats::RasterReader& in_;
  const Quantiser& quantiser_;
  std::vector<std::byte> row_;
  std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<std::uint32_t>>
      codes_;
  std::int64_t begin_ = 0, end_ = 0, outside_ = 0;
};

// log K in the plan's base: the greatest entropy, where u8 output has its 254.
double greatest_entropy(const EntropyOptions& options) {
  const double nats = std::log(static_cast<double>(options.levels));
  return options.log_base > 0 ? nats / std::log(options.log_base) : nats;
}

void add_statistics(const float* values, std::size_t n, EntropySummary& summary) {
  for (std::size_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(values[i]);
    if (std::isnan(v)) continue;
    summary.least = summary.valid_pixels == 0 ? v : std::min(summary.least, v);
    summary.most = summary.valid_pixels == 0 ? v : std::max(summary.most, v);
    summary.mean += v;
    ++summary.valid_pixels;
  }
}

// Host memory that is page-locked for a while.
class PinnedWhile {
 public:
  PinnedWhile(void* data, std::size_t num_bytes)
      : data_(data != nullptr && pin_host_memory(data, num_bytes) ? data : nullptr) {}
  ~PinnedWhile() {
    if (data_ != nullptr) unpin_host_memory(data_);
  }
  PinnedWhile(const PinnedWhile&) = delete;
  PinnedWhile& operator=(const PinnedWhile&) = delete;

 private:
  void* data_;
};

}  // namespace

EntropySummary run_entropy(const EntropyJob& job, formats::RasterReader& in,
                           formats::RasterWriter& out) {
  const formats::RasterInfo& info = in.info();
  const EntropyPlan plan(job.options, info.width, info.height);
  const Quantiser quantiser(job.quantisation, info);
  const std::int64_t band = std::clamp<std::int64_t>(
      kBandBytes / (5 * info.width), std::min<std::int64_t>(16, info.height), info.height);
  CodeBand codes(plan, in, quantiser, band);
  const double greatest = greatest_entropy(job.options);
  std::vector<std::byte> converted;
  std::unique_ptr<ViewBuilder> view;
  if (!job.view_path.empty())
    view = std::make_unique<ViewBuilder>(info.width, info.height, 0.0, greatest);
  EntropyRunner runner(plan, job.devices);

  EntropySummary summary;
  summary.plan = runner.explain();
  summary.width = info.width;
  summary.height = info.height;
  std::vector<float> values(static_cast<std::size_t>(band * info.width));
  // Page-locking pays when a buffer is copied several times.
  const bool reused = runner.set().has_cuda() && info.height >= 4 * band;
  const PinnedWhile pinned(reused ? values.data() : nullptr, values.size() * sizeof(float));
  runtime::Timer total;
  for (std::int64_t y = 0; y < info.height; y += band) {
    const std::int64_t end = std::min(y + band, info.height);
    const auto n = static_cast<std::size_t>((end - y) * info.width);
    runtime::Timer timer;
    codes.advance(y, end);
    summary.read_s += timer.elapsed_s();
    timer.reset();
    codes.with_rows([&](const auto& rows) {
      runner.run(rows, {0, info.width, y, end}, values.data(), info.width);
    });
    summary.compute_s += timer.elapsed_s();
    timer.reset();
    add_statistics(values.data(), n, summary);
    if (view) view->add_rows(values.data(), y, end - y);
    if (job.output == formats::SampleType::kUint8) {
      for (std::size_t i = 0; i < n; ++i) values[i] *= static_cast<float>(254.0 / greatest);
    }
    out.write_rows(from_floats(job.output, values.data(), n, 254, 255, converted), end - y);
    summary.write_s += timer.elapsed_s();
    if (job.on_progress) {
      const double fraction = static_cast<double>(end) / static_cast<double>(info.height);
      job.on_progress(fraction, total.elapsed_s() * (1 - fraction) / fraction);
    }
  }
  summary.outside = codes.outside();
  if (summary.valid_pixels > 0) summary.mean /= static_cast<double>(summary.valid_pixels);
  if (view) view->write(job.view_path);
  return summary;
}

}  // namespace tilewave::field
