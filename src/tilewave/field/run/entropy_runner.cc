#include "tilewave/field/run/entropy_runner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/runtime/cost_cache.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::field {
namespace {

// Seconds a pixel of the plan on all threads, from a sample of random classes.
double measure_cpu(const EntropyPlan& plan) {
  constexpr std::int64_t kWidth = 512, kHeight = 48;
  EntropyOptions options = plan.options();
  options.algorithm = plan.cpu_algorithm();
  options.threads = 1;
  const EntropyPlan sample(options, kWidth, kHeight);
  std::vector<std::uint16_t> codes(kWidth * kHeight);
  std::uint32_t state = 1;
  for (auto& c : codes) {
    state = state * 1664525u + 1013904223u;
    c = static_cast<std::uint16_t>((state >> 8) % static_cast<std::uint32_t>(options.levels));
  }
  std::vector<float> out(codes.size());
  const CodeRows<std::uint16_t> rows{codes.data(), kWidth, kWidth, kHeight, 0, kHeight};
  const auto run = [&](std::int64_t height) {
    runtime::Timer timer;
    entropy_cpu(sample, rows, 0, height, out.data(), kWidth);
    return timer.elapsed_s();
  };
  run(8);  // warm up
  // the difference leaves out what a tile costs before its first row
  const double few = run(kHeight / 2), all = run(kHeight);
  const double pixels = static_cast<double>(kWidth * kHeight / 2);
  return std::max(all - few, 0.2 * all) / pixels /
         runtime::resolve_num_threads(plan.options().threads);
}

EntropyCosts costs_of(const EntropyPlan& plan, double cpu_s) {
  EntropyCosts costs;
  costs.cpu_s = cpu_s;
  for (const runtime::CudaDevice& device : runtime::cuda_devices()) {
    if (!cuda_serves(plan, device)) break;
    ++costs.num_devices;
  }
  if (costs.num_devices == 0) return costs;
  costs.cuda = cached_cuda_costs(0);
  costs.update_columns = packed_kernel_serves(plan) ? 0 : plan.window().width();
  costs.code_bytes = plan.code_bytes();
  return costs;
}

}  // namespace

CudaCosts cached_cuda_costs(int device) {
  const std::vector<runtime::CudaDevice> devices = runtime::cuda_devices();
  if (device < 0 || device >= static_cast<int>(devices.size())) {
    throw Error(ExitCode::kResources, "there is no CUDA device " + std::to_string(device));
  }
  const std::string key = runtime::cost_key(devices[static_cast<std::size_t>(device)], "entropy");
  const std::vector<double> c = runtime::cached_costs(key, 6, [&] {
    const CudaCosts m = measure_cuda_costs(device);
    return std::vector<double>{m.start_s,         m.call_s,   m.in_bytes_per_s,
                               m.out_bytes_per_s, m.packed_s, m.update_s};
  });
  return {c[0], c[1], c[2], c[3], c[4], c[5]};
}

EntropyChoice choose_processors(const EntropyCosts& c, std::int64_t num_pixels) {
  const auto pixels = static_cast<double>(num_pixels);
  EntropyChoice choice;
  choice.cpu_s = c.cpu_s * pixels;
  choice.set = DeviceSet::cpu();
  char text[200];
  if (c.num_devices == 0) {
    std::snprintf(text, sizeof text, "auto: cpu (%.3g s expected; no CUDA device)", choice.cpu_s);
    choice.reason = text;
    return choice;
  }
  const double kernel =
      c.update_columns == 0 ? c.cuda.packed_s : c.cuda.update_s * c.update_columns;
  const auto seconds = [&](int devices) {
    // The copies of pageable memory share the host, so only kernels go faster on several.
    const double copies = c.code_bytes / c.cuda.in_bytes_per_s + 4 / c.cuda.out_bytes_per_s;
    return (c.started ? 0.0 : c.cuda.start_s) * devices + c.cuda.call_s +
           pixels * (copies + kernel / devices);
  };
  int best = 1;
  for (int n = 2; n <= c.num_devices; ++n) {
    if (seconds(n) < kWorthwhile * seconds(best)) best = n;
  }
  choice.cuda_s = seconds(best);
  const bool on_cuda = choice.cuda_s < kWorthwhile * choice.cpu_s;
  if (on_cuda) {
    std::vector<int> indices(static_cast<std::size_t>(best));
    std::iota(indices.begin(), indices.end(), 0);
    choice.set = DeviceSet::cuda(std::move(indices));
  }
  std::snprintf(text, sizeof text,
                "auto: %s (expected: cpu %.3g s, %d CUDA device%s %.3g s, of which %.3g s start)",
                choice.set.text().c_str(), choice.cpu_s, best, best > 1 ? "s" : "", choice.cuda_s,
                c.started ? 0.0 : c.cuda.start_s * best);
  choice.reason = text;
  return choice;
}

std::vector<std::int64_t> cut_axis(std::int64_t total, const std::vector<double>& weights,
                                   std::int64_t grain) {
  double sum = 0, part = 0;
  for (const double w : weights) sum += w;
  std::vector<std::int64_t> cuts{0};
  for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
    part += weights[i];
    const auto at = static_cast<std::int64_t>(
        std::llround(static_cast<double>(total) * part / sum / static_cast<double>(grain)));
    cuts.push_back(std::clamp(at * grain, cuts.back(), total));
  }
  cuts.push_back(total);
  return cuts;
}

EntropyRunner::EntropyRunner(const EntropyPlan& plan, const DeviceSet& set)
    : plan_(plan), set_(set) {
  double cpu_s = 0;
  if (set_.is_auto()) {
    cpu_s = measure_cpu(plan);
    const std::int64_t pixels = plan.width() * plan.height();
    EntropyCosts costs;
    costs.cpu_s = cpu_s;
    if (cpu_s * static_cast<double>(pixels) >= kNeverAsk) costs = costs_of(plan, cpu_s);
    const EntropyChoice choice = choose_processors(costs, pixels);
    set_ = choice.set;
    reason_ = choice.reason;
    if (choice.cpu_s < kNeverAsk) {
      char text[100];
      std::snprintf(text, sizeof text, "auto: cpu (%.3g s expected: no device is asked)",
                    choice.cpu_s);
      reason_ = text;
    }
  }
  for (const int index : set_.cuda()) {
    devices_.push_back(std::make_unique<EntropyCuda>(plan, index));
    weights_.push_back(1);
  }
  if (!set_.has_cpu()) return;
  if (!devices_.empty()) {  // sharing: in proportion to what each could do alone
    EntropyCosts costs = costs_of(plan, cpu_s > 0 ? cpu_s : measure_cpu(plan));
    costs.started = true;
    costs.num_devices = 1;
    const EntropyChoice one = choose_processors(costs, 1 << 24);
    weights_.push_back(one.cuda_s / one.cpu_s);
  } else {
    weights_.push_back(1);
  }
}

EntropyRunner::~EntropyRunner() = default;

template <class Code>
void EntropyRunner::run(const CodeRows<Code>& codes, const Region& region, float* out,
                        std::int64_t out_stride) {
  const std::size_t pieces = weights_.size();
  const auto run_on = [&](std::size_t k, const Region& mine, float* to) {
    if (k == devices_.size()) return entropy_cpu(plan_, codes, mine, to, out_stride);
    if constexpr (sizeof(Code) <= 2) {
      devices_[k]->run(codes, mine, to, out_stride);
    } else {  // no device has the shared memory for so many classes
      TW_CHECK(false, "32-bit codes are for the CPU");
    }
  };
  if (pieces == 1) return run_on(0, region, out);
  const bool by_rows = region.height() >= region.width();
  const std::vector<std::int64_t> cuts =
      cut_axis(by_rows ? region.height() : region.width(), weights_, by_rows ? 1 : 128);
  runtime::run_on_threads(static_cast<int>(pieces), [&](int number) {
    const std::size_t k =
        pieces - 1 - static_cast<std::size_t>(number);  // the CPU's, or the last, on this thread
    Region mine = region;
    float* to = out;
    if (by_rows) {
      mine.y_begin = region.y_begin + cuts[k];
      mine.y_end = region.y_begin + cuts[k + 1];
      to += cuts[k] * out_stride;
    } else {
      mine.x_begin = region.x_begin + cuts[k];
      mine.x_end = region.x_begin + cuts[k + 1];
      to += cuts[k];
    }
    if (mine.width() == 0 || mine.height() == 0) return;
    run_on(k, mine, to);
  });
}

template void EntropyRunner::run(const CodeRows<std::uint8_t>&, const Region&, float*,
                                 std::int64_t);
template void EntropyRunner::run(const CodeRows<std::uint16_t>&, const Region&, float*,
                                 std::int64_t);
template void EntropyRunner::run(const CodeRows<std::uint32_t>&, const Region&, float*,
                                 std::int64_t);

std::string EntropyRunner::explain() const {
  std::string text = plan_.explain() + "; " + set_.text();
  if (!devices_.empty()) text += std::string(", ") + devices_[0]->kernel() + " kernel";
  if (!devices_.empty() && set_.has_cpu()) {
    char share[60];
    double sum = 0;
    for (const double w : weights_) sum += w;
    std::snprintf(share, sizeof share, ", %.0f %% of it on the cpu", 100 * weights_.back() / sum);
    text += share;
  }
  return reason_.empty() ? text : text + "\n" + reason_;
}

}  // namespace tilewave::field
